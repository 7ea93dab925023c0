"""Validators of conditional requests (RFC 9110, 8.8 and 13). Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.results import TRUNCATED, FetchResult

NOT_MODIFIED = 304
"""The status of an unchanged resource."""
MAX_VALIDATOR = 500
"""Characters of a validator that is kept."""
_QUESTIONS = frozenset({"if-modified-since", "if-none-match"})
_CONDITIONS = _QUESTIONS | {"if-match", "if-range", "if-unmodified-since"}


def validator_of(fetched: FetchResult, name: str) -> str:
    """Return a validator to send back unchanged; ``""`` without one, or if only part of the page came."""
    if TRUNCATED in fetched.flags:  # "not modified" would make that part the page for ever
        return ""
    value = fetched.header(name)
    return value if len(value) <= MAX_VALIDATOR and value.isascii() and value.isprintable() else ""


def question_of(etag: str, modified: str) -> dict[str, str]:
    """Return the headers of a conditional request for these validators."""
    asked = {"If-None-Match": etag, "If-Modified-Since": modified}
    return {name: value for name, value in asked.items() if value}


def is_question(names: Iterable[str]) -> bool:
    """Whether headers of these names ask for an answer only if something has changed."""
    return not _QUESTIONS.isdisjoint(name.lower() for name in names)


def is_conditional(names: Iterable[str]) -> bool:
    """Whether headers of these names make the answer depend on the client's cached copy."""
    return not _CONDITIONS.isdisjoint(name.lower() for name in names)
