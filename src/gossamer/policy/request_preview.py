"""The ledger's preview of a request: enough to distinguish requests to one URL. Pure.

Guarantee: bounded for any request, and without values whose names sound like secrets.
"""

from __future__ import annotations

import json
import sys
from itertools import takewhile
from typing import Any
from urllib.parse import unquote_plus

from gossamer.core.lazy import lazy_pattern
from gossamer.core.redaction import hide_userinfo
from gossamer.core.request_options import has_own_options
from gossamer.core.requests import Request, RequestPreview
from gossamer.policy.redirects import is_credential
from gossamer.policy.secret_names import HIDDEN, is_secret

MAX_BODY = 300
"""Characters of a body that are kept."""
MAX_VALUE = 100
"""Characters of one value of ``cb_kwargs``, as JSON, and of one name."""
MAX_URL = 2000
"""Characters of a URL that are kept."""
MAX_NAMES = 20
"""Names of headers, ``cb_kwargs`` or ``meta`` that are kept."""
MAX_PARSED_BYTES = 64 * 1024
"""Maximum size of a body in which single secrets are hidden; a larger one with secrets is hidden whole."""
MAX_DEPTH = 10
"""Values nested deeper are hidden."""
_MARGIN = 1000
"""Characters of a text that are looked at behind those that are kept: a secret may begin before the end."""
_ENTRY = 3
"""Characters of JSON that a name in a dict takes besides itself."""

_FORM = lazy_pattern(r"[^=&\s{}\[\]<>\"']+=[^\r\n]*")
_NAME = lazy_pattern(r"[\w-]+")
_LABEL = lazy_pattern(r"(?<![\w-])([\w-]++)[\"'\]\\]{0,9}\s{0,9}[=:>]")


def preview_of(request: Request) -> RequestPreview | None:
    """Return the preview of a request; ``None`` for most, which their URL describes fully."""
    special = request.body or request.headers or request.cb_kwargs or request.meta or request.redirects
    if not (special or request.session) and request.method == "GET" and not has_own_options(request):
        return None
    session = (f"session {_clean_text(request.session)[:MAX_VALUE]}",) if request.session else ()
    return RequestPreview(
        callback=(request.callback or "")[:MAX_VALUE],
        headers=_shown_names(request.headers),
        body=_cut_text(shown_body(request.body[: MAX_PARSED_BYTES + 1]), MAX_BODY),
        body_bytes=len(request.body),
        cb_kwargs=_shown_arguments(request.cb_kwargs),
        meta=_shown_names(request.meta),
        options=(*session, *shown_options(request)),
        redirected_by=_cut_text(_clean_text(request.redirects[-1]), MAX_URL) if request.redirects else "",
    )


def describe_preview(preview: RequestPreview | None) -> str:
    """Describe the differences of a request from others to its URL in one line, the body first."""
    if preview is None:
        return ""
    parts = [
        preview.body,
        f"cb_kwargs {_to_json(preview.cb_kwargs)}" if preview.cb_kwargs else "",
        f"headers {', '.join(preview.headers)}" if preview.headers else "",
        f"meta {', '.join(preview.meta)}" if preview.meta else "",
        *preview.options,
    ]
    return "; ".join(filter(None, parts))


def is_hidden(name: str) -> bool:
    """Whether the value of a field of that name is kept out of the ledger."""
    return is_secret(name.replace("-", "_")) or "session" in name.lower()


def _shown_names(mapping: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_clean_text(name[:MAX_VALUE]) for name in list(mapping)[:MAX_NAMES])


def _shown_arguments(values: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in list(values.items())[:MAX_NAMES]:
        masked = _mask_secrets({name: value}, 0, [MAX_VALUE + len(name) + _ENTRY + 1])
        shown |= {clean[:MAX_VALUE]: _bound_value(inner) for clean, inner in masked.items()}
    return shown


def _bound_value(value: Any) -> Any:
    text = value if isinstance(value, str) else _to_json(value)
    return value if len(text) <= MAX_VALUE else _cut_text(text, MAX_VALUE)


def _cut_text(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def shown_options(request: Request) -> tuple[str, ...]:
    """Return a request's options besides headers and body: limits with values, others by name."""
    cookies = request.cookies or {}
    names = [*cookies] if isinstance(cookies, dict) else [str(cookie["name"]) for cookie in cookies]
    told = {
        "auth": "" if request.auth is None else "auth",
        "cookies": f"cookies {', '.join(_shown_names(dict.fromkeys(names)))}" if names else "",
        "without": f"without {', '.join(request.omit_headers[:MAX_NAMES])}" if request.omit_headers else "",
    }
    bounds = {name: getattr(request, name) for name in ("timeout", "max_size", "max_retries", "delay")}
    said = (f"{name} {value:g}" for name, value in bounds.items() if value is not None)
    return (*filter(None, told.values()), *said)


def shown_headers(headers: dict[str, str]) -> dict[str, str]:
    """Headers without the values of those that may carry secrets."""
    return {
        name: HIDDEN if is_credential(name) or is_hidden(name) else _shown_text(value)
        for name, value in headers.items()
    }


def shown_values(values: dict[str, Any]) -> dict[str, Any]:
    """Values by name without those that are secrets, at any depth."""
    shown: dict[str, Any] = _mask_secrets(values, 0, [sys.maxsize])
    return shown


def _mask_secrets(value: Any, depth: int, left: list[int]) -> Any:
    """Return a value without secrets, cut where its JSON reaches ``left`` characters."""
    left[0] -= 1
    if isinstance(value, str):
        text = _shown_text(value[: max(left[0], 0) + _MARGIN])
        left[0] -= len(text)
        return text
    if isinstance(value, dict):
        named: dict[str, Any] = {}
        for name, inner in takewhile(lambda _: left[0] >= 0, value.items()):
            clean = _clean_text(name)
            left[0] -= len(clean) + _ENTRY
            is_secret_value = is_hidden(name) or depth > MAX_DEPTH
            named[clean] = HIDDEN if is_secret_value else _mask_secrets(inner, depth + 1, left)
        return named
    if isinstance(value, list | tuple):
        if depth > MAX_DEPTH:
            return HIDDEN
        return [_mask_secrets(inner, depth + 1, left) for inner in takewhile(lambda _: left[0] >= 0, value)]
    return value


def _shown_text(text: str) -> str:
    """One value; hidden when it has names and values in it, and one of the names is that of a secret."""
    labels = _LABEL.findall(unquote_plus(text))
    return HIDDEN if any(map(is_hidden, labels)) else _clean_text(text)


def _clean_text(text: str) -> str:
    """Text that UTF-8 can carry, without the passwords of URLs in it."""
    text = text.encode("utf-8", "replace").decode()
    return hide_userinfo(text)


def shown_body(body: bytes) -> str:
    """A body as text, without the secrets in it."""
    text = _clean_text(body.decode("utf-8", "backslashreplace"))
    if _has_secrets(text):
        return HIDDEN if len(body) > MAX_PARSED_BYTES else _without_secrets(text)
    return text


def _has_secrets(text: str) -> bool:
    """Whether any word in it is the name of a secret."""
    return any(map(is_hidden, _NAME.findall(unquote_plus(text))))


def _without_secrets(text: str) -> str:
    """A body that has names of secrets in it, without their values; hidden where its form is not known."""
    try:
        return _to_json(_mask_secrets(json.loads(text), 0, [sys.maxsize]))
    except (ValueError, RecursionError):
        pass
    if not _FORM.fullmatch(text):
        return HIDDEN
    return "&".join(map(_shown_field, text.split("&")))


def _shown_field(pair: str) -> str:
    name, equals, value = pair.partition("=")
    if not equals:
        return _shown_text(pair)
    return f"{name}={HIDDEN if _has_secrets(name) else _shown_text(value)}"


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
