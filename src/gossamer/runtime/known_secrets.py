"""The secrets that this process knows: all text that it writes or stores is written without them.

This is the last line of defence, behind the rules that keep secrets out of texts: a driver's error may quote
its URL, and a spider may raise ``ValueError(f"wrong password {password}")``. Only values that are too long to
occur in ordinary words are hidden.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "***"
"""Replacement for a secret."""
SHORTEST = 6
"""Characters that a value must have to be looked for in a text."""
MOST = 20_000
"""Secrets that are remembered: proxies may have a password each. The rest is kept out by the rules alone."""

_known: set[str] = set()
_sorted: list[str] = []


def remember_secrets(values: Iterable[str]) -> None:
    """Hide these from now on wherever they occur, also in the forms of URLs, Python and JSON."""
    forms = {form for value in values for form in _forms_of(value) if len(form) >= SHORTEST}
    if len(_known) < MOST and not forms <= _known:
        _known.update(forms)
        _sorted[:] = sorted(_known, key=len, reverse=True)  # one secret may be a part of another


def _forms_of(value: str) -> tuple[str, ...]:
    """Return the forms of a secret in a text: as it is, in a URL, in a ``repr``, in JSON."""
    in_json = json.dumps(value, ensure_ascii=False)[1:-1]
    return value, quote(value, safe="", errors="replace"), repr(value)[1:-1], in_json


def forget_secrets() -> None:
    """Begin anew, as a process of its own would: for tests, which share one."""
    _known.clear()
    _sorted.clear()


def knows_secrets() -> bool:
    """Whether there is any secret to hide."""
    return bool(_sorted)


def hide_secrets(text: str, more: Iterable[str] = ()) -> str:
    """``text`` without the secrets that are known, and without ``more`` of them."""
    own = sorted((value for value in more if len(value) >= SHORTEST), key=len, reverse=True)
    for secret in (*own, *_sorted):
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return text
