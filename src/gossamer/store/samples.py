"""Chooses the dropped items that are kept as examples; the same for every store. Pure.

For each reason the earliest is kept, in slot 0, since it shows when the trouble began, and up to four later
ones, each in a slot by its URL: the latest there. So the result does not depend on the order of writing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

from gossamer.core.drops import DropSample

FIRST = 0
"""The slot of the earliest."""
SLOTS = 5

SamplePlace = tuple[str, int]
"""A reason and a slot."""


def place_samples(
    samples: Iterable[DropSample], known: Mapping[SamplePlace, DropSample] | None = None
) -> dict[SamplePlace, DropSample]:
    """Return the new contents of the slots, at most one sample in each."""
    kept = dict(known or {})
    for sample in samples:
        place = (sample.reason, FIRST)
        if place not in kept or sample.at < kept[place].at:
            kept[place] = sample
        place = (sample.reason, 1 + crc32(sample.url.encode("utf-8", "replace")) % (SLOTS - 1))
        if place not in kept or sample.at >= kept[place].at:
            kept[place] = sample
    return kept


def sample_of(row: Iterable[Any]) -> DropSample:
    """Return the record of a row: ``reason, stage, type, url, at, data``."""
    reason, stage, kind, url, at, data = row
    return DropSample(reason=reason, stage=stage, type=kind, url=url, at=at, data=bytes(data))


def distinct_samples(found: Iterable[DropSample], limit: int) -> list[DropSample]:
    """Samples in the order of their slots, without those that stand in two of them."""
    return list(dict.fromkeys(found))[:limit]
