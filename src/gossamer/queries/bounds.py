"""Limits of output: no text, row or listing grows with the crawl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from gossamer.core.results import Attempt
from gossamer.queries.documents import to_answer

T = TypeVar("T")
AttemptT = TypeVar("AttemptT", bound=Attempt)

CUT = "…"
DETAIL = 400
"""Characters of an attempt's detail in a listing."""

_encode = msgspec.json.Encoder().encode


def cut_text(text: str, longest: int) -> str:
    """Return at most ``longest`` characters; a mark at the end shows that text was cut."""
    return text if len(text) <= longest else text[: longest - 1] + CUT


def cut_attempt(attempt: AttemptT, detail: int = DETAIL) -> AttemptT:
    """An attempt whose detail is no longer."""
    return replace(attempt, detail=cut_text(attempt.detail, detail)) if attempt.detail else attempt


def cut_values(values: dict[str, Any], *, longest: int = DETAIL, fields: int = 200) -> dict[str, Any]:
    """Return an item's fields, each cut; long values that are not text become the text of their JSON."""
    return {cut_text(name, 100): _cut_value(value, longest) for name, value in list(values.items())[:fields]}


def _cut_value(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return cut_text(value, longest)
    if isinstance(value, dict | list):
        packed = _encode(value)
        return value if len(packed) <= longest else cut_text(packed.decode("utf-8", "replace"), longest)
    return value


def fit_rows(rows: Iterable[T], most_bytes: int) -> list[T]:
    """As many of the first rows as fit into an answer; one of them fits in any case."""
    found: list[T] = []
    left = most_bytes
    for row in rows:
        left -= len(_encode(to_answer(row))) + 1
        if left < 0 and found:
            break
        found.append(row)
    return found
