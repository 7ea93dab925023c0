"""What asks a server whether something has changed since it was seen (RFC 9110, 8.8 and 13): pure."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.results import TRUNCATED, FetchResult

NOT_MODIFIED = 304
"""The status of what is as it was."""
MAX_VALIDATOR = 500
"""Characters of a validator that is kept."""
_QUESTIONS = frozenset({"if-modified-since", "if-none-match"})
_CONDITIONS = _QUESTIONS | {"if-match", "if-range", "if-unmodified-since"}


def validator_of(fetched: FetchResult, name: str) -> str:
    """A validator that can be sent as it came; ``""``: there is none, or a part of the page was had only."""
    if TRUNCATED in fetched.flags:  # "not modified" would make that part the page for ever
        return ""
    value = fetched.header(name)
    return value if len(value) <= MAX_VALIDATOR and value.isascii() and value.isprintable() else ""


def question_of(etag: str, modified: str) -> dict[str, str]:
    """The headers that ask whether what had these validators has changed."""
    asked = {"If-None-Match": etag, "If-Modified-Since": modified}
    return {name: value for name, value in asked.items() if value}


def is_question(names: Iterable[str]) -> bool:
    """Whether headers of these names ask for an answer only if something has changed."""
    return not _QUESTIONS.isdisjoint(name.lower() for name in names)


def is_conditional(names: Iterable[str]) -> bool:
    """Whether what is answered to headers of these names depends on what whoever asks has already."""
    return not _CONDITIONS.isdisjoint(name.lower() for name in names)
