"""Paths into JSON: ``$.meta.total``, ``$.products[0].name``, ``$.products[*].price``, ``$["odd name"]``.

The part of JSONPath (RFC 9535) that says where a value is: names, indices and ``*``; without filters, slices
and descendants.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_STEP = re.compile(
    r"""\.(?P<name>[^\W\d][\w-]*)|\[(?P<index>-?\d+)\]|(?P<all>\.\*|\[\*\])|\[(?P<quoted>"[^"]*"|'[^']*')\]"""
)
_ALL = None

PathStep = str | int | None
"""A name, an index, or ``None`` for every value."""


@lru_cache(maxsize=1024)
def parse_path(text: str) -> tuple[PathStep, ...]:
    """Return the steps of a path. Raises ``ValueError`` for one that cannot be read, and says where."""
    if not text.startswith("$"):
        raise ValueError(f"invalid JSON path {text!r}: it begins with $")
    steps: list[PathStep] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f'invalid JSON path {text!r}: {text[at:]!r} is not .name, [0], [*] or ["name"]')
        if found["all"]:
            steps.append(_ALL)
        elif found["index"]:
            steps.append(int(found["index"]))
        else:
            steps.append(found["name"] or found["quoted"][1:-1])
        at = found.end()
    return tuple(steps)


def find_values(value: Any, path: str) -> list[Any]:
    """Return the values at a path, in order, without ``null``. Raises ``ValueError`` for an invalid path."""
    found = [value]
    for step in parse_path(path):
        found = [inner for outer in found for inner in _values_in(outer, step)]
    return [inner for inner in found if inner is not None]


def _values_in(value: Any, step: PathStep) -> Iterator[Any]:
    if step is _ALL:
        yield from value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield value[step]
    elif isinstance(value, dict) and step in value:
        yield value[step]


def replace_value(document: Any, path: str, value: Any) -> Any:
    """Return the same JSON with another value at a path of names; missing names are added.

    Raises ``ValueError`` for a path with indices or ``*``, and if a part of it is not an object.
    """
    steps = parse_path(path)
    if not steps or not all(isinstance(step, str) for step in steps):
        raise ValueError(f"{path!r} cannot be set: only names of objects can")
    changed = json.loads(json.dumps(document))
    place = changed
    for number, step in enumerate(steps):
        if not isinstance(place, dict):
            raise ValueError(f"{path!r} cannot be set: the parent of {step!r} is not an object")  # noqa: TRY004 - the document's
        if number == len(steps) - 1:
            place[step] = value
        else:
            place = place.setdefault(step, {})
    return changed
