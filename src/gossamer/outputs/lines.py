"""Changed items as JSON Lines: their identity, the place and time of this version, and their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from gossamer.core.changes import ChangedItem
from gossamer.core.record import Record

LINE_START = b'{"spider":'
"""How each begins."""

_encode = msgspec.json.Encoder().encode


class ItemLine(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One line."""

    spider: str
    type: str
    key: str
    url: str
    first_seen: float  # seconds since the epoch
    changed_at: float
    data: dict[str, object]


def lines_of(items: Iterable[ChangedItem]) -> Iterator[bytes]:
    """Return each item as a line of its own."""
    return (_encode(_line_of(item)) + b"\n" for item in items)


def _line_of(item: ChangedItem) -> ItemLine:
    return ItemLine(
        spider=item.spider,
        type=item.type,
        key=item.key,
        url=item.url,
        first_seen=item.first_seen,
        changed_at=item.changed_at,
        data=item.data,
    )
