"""From harvests to the columns of the statement ``write``. Pure.

Guarantee: no text in them is refused by PostgreSQL, no two rows of a batch are the same item or page, and an
item whose JSON cannot be read is left out and counted: it does not lose the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from gossamer.core.results import Attempt, Harvest
from gossamer.store.attempts import packed_request
from gossamer.store.postgres.json import clean, stored
from gossamer.store.totals import counted, counted_attempts, counted_stale, seen_at, visit_of

Place = tuple[str, str]  # type and key of an item
Columns = list[Sequence[Any]]

UNREADABLE = "dropped:item:not JSON"
REFUSED = "dropped:item:refused by PostgreSQL"

DAY_S = 86400

_UNREADABLE = (ValueError, RecursionError, msgspec.MsgspecError)
_AT = 4  # where an item's row has its time
_plain = attrgetter(
    *("fingerprint", "at", "attempt", "status", "depth", "size_bytes", "elapsed_ms"),
    *("verdict", "reason", "rung", "worker", "url", "via", "detail", "method"),
)
_ATTEMPT_COLUMNS = 17
_ATTEMPT_TEXTS = slice(7, _ATTEMPT_COLUMNS)
_PAGE_TEXTS = slice(7, 10)


class Batch:
    """What is to be written for one job at once."""

    __slots__ = ("attempts", "items", "pages", "seen", "total")

    def __init__(self) -> None:
        self.items: dict[Place, tuple[Any, ...]] = {}
        self.seen = 0  # items, the same ones counted as often as they were found
        self.pages: Columns = [()] * 10
        self.attempts: Columns = [()] * _ATTEMPT_COLUMNS
        self.total: Counter[str] = Counter()

    def values(self) -> tuple[Any, ...]:
        """The arguments of the statement, from ``$8`` on."""
        columns = _transposed(self.items.values(), 9)
        names = [clean(name) for name in self.total]
        return (self.seen, *columns, *self.pages, *self.attempts, names, list(self.total.values()))

    def days(self) -> set[int]:
        """The days (UTC) of the attempts, counted from the epoch."""
        return {int(at // DAY_S) for at in self.attempts[1]}

    def only(self, item: Place) -> Batch:
        """A batch of one of its items and nothing else."""
        batch = Batch()
        batch.items[item] = self.items[item]
        return batch

    def drop(self, refused: Collection[Place]) -> None:
        """Leave these items out, and count them."""
        for place in refused:
            del self.items[place]
        self.seen -= len(refused)
        self.total[REFUSED] += len(refused)


def batch_of(harvests: Sequence[Harvest]) -> Batch:
    """Everything in these harvests."""
    batch = Batch()
    batch.total = counted(harvests)
    _add_items(batch, harvests)
    batch.pages = _pages(harvests)
    batch.attempts = _attempts([attempt for harvest in harvests for attempt in harvest.attempts])
    return batch


def batch_of_attempts(attempts: Sequence[Attempt]) -> Batch:
    """Rows of the ledger alone."""
    batch = Batch()
    batch.total = counted_attempts(attempts)
    batch.attempts = _attempts(attempts)
    return batch


def stale_rows(attempts: Sequence[Attempt]) -> Columns:
    """Which rows of the ledger are stale, and what that changes of the totals: eight columns."""
    rows = [(attempt.fingerprint, attempt.at, clean(attempt.worker)) for attempt in attempts]
    changes = [
        (*row, clean(name), value)
        for row, attempt in zip(rows, attempts, strict=True)
        for name, value in counted_stale([attempt]).items()
    ]
    return [*_transposed(rows, 3), *_transposed(changes, 5)]


def _add_items(batch: Batch, harvests: Sequence[Harvest]) -> None:
    for harvest in harvests:
        at = seen_at(harvest)
        for item in harvest.items:
            try:
                data, layout, is_altered = stored(item.data)
            except _UNREADABLE:
                batch.total[UNREADABLE] += 1
                continue
            batch.seen += 1
            place = (clean(item.type), clean(item.key))
            known = batch.items.get(place)
            if known is None:
                batch.items[place] = (*place, item.hash, at, at, clean(item.url), data, layout, is_altered)
            elif at >= known[_AT]:  # the same one twice: the later one is what is stored
                row = (*place, item.hash, min(at, known[3]), at, clean(item.url), data, layout, is_altered)
                batch.items[place] = row


def _pages(harvests: Sequence[Harvest]) -> Columns:
    rows: dict[tuple[int, int], tuple[Any, ...]] = {}
    for harvest in harvests:
        page = harvest.page
        if page is None:
            continue
        visit, is_again = visit_of(harvest)
        place = (page.fingerprint, -1 if is_again else visit)
        if place in rows and rows[place][3] > page.at:
            continue
        numbers = (page.fingerprint, visit, is_again, page.at, page.status, page.depth, page.size_bytes)
        rows[place] = (*numbers, page.content_type, page.title, page.url)
    columns = _transposed(rows.values(), 10)
    columns[_PAGE_TEXTS] = map(_cleaned, columns[_PAGE_TEXTS])
    return columns


def _attempts(attempts: Sequence[Attempt]) -> Columns:
    columns = _transposed(map(_attempt, attempts), _ATTEMPT_COLUMNS)
    columns[_ATTEMPT_TEXTS] = map(_cleaned, columns[_ATTEMPT_TEXTS])
    return columns


def _attempt(attempt: Attempt) -> tuple[Any, ...]:
    return (*_plain(attempt), " ".join(attempt.flags), packed_request(attempt))


def _transposed(rows: Iterable[tuple[Any, ...]], width: int) -> Columns:
    return list(zip(*rows, strict=True)) or [()] * width


def _cleaned(column: Sequence[str]) -> Sequence[str]:
    """The same as :func:`clean` for each; looks at all of them at once, since hardly ever one needs it."""
    everything = "".join(column)
    if everything.isascii() and "\0" not in everything:
        return column
    return [clean(text) for text in column]
