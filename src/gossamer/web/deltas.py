"""Differences between two answers. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Path = tuple[str | int, ...]


class AnswerDelta(NamedTuple):
    """Changes from a former answer to a later one: values to set and keys to drop, by their paths."""

    set: list[tuple[Path, Any]]
    drop: list[Path]


def find_delta(former: Any, later: Any) -> AnswerDelta:
    """Return the differences; a list of another length has changed as a whole."""
    delta = AnswerDelta([], [])
    for path, value, is_there in _walk((), former, later):
        if is_there:
            delta.set.append((path, value))
        else:
            delta.drop.append(path)
    return delta


def _walk(path: Path, former: Any, later: Any) -> Iterator[tuple[Path, Any, bool]]:
    if type(former) is dict and type(later) is dict:
        for name in former.keys() - later.keys():
            yield (*path, name), None, False
        for name, value in later.items():
            if name not in former:
                yield (*path, name), value, True
            else:
                yield from _walk((*path, name), former[name], value)
    elif type(former) is list and type(later) is list and len(former) == len(later):
        for number, (one, other) in enumerate(zip(former, later, strict=True)):
            yield from _walk((*path, number), one, other)
    elif former != later or type(former) is not type(later):
        yield path, later, True
