"""From the results of visits to the columns of the statement ``write``. Pure.

Guarantee: no text in them is refused by PostgreSQL, no two rows of a batch are the same item or page, and an
item whose JSON cannot be read is left out and counted: it does not lose the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any

import msgspec

from gossamer.core.results import Attempt, VisitResult
from gossamer.store.attempts import packed_request
from gossamer.store.counters import BatchCounts, count_attempts, count_stale
from gossamer.store.postgres.json import clean_text, to_jsonb
from gossamer.store.totals import count_results, seen_at, visit_of

Place = tuple[str, str]  # type and key of an item
Columns = list[Sequence[Any]]

UNREADABLE = "dropped:item:not JSON"
REFUSED = "dropped:item:refused by PostgreSQL"

DAY_S = 86400

_UNREADABLE = (ValueError, RecursionError, msgspec.MsgspecError)
_AT = 4  # where an item's row has its time
_plain = attrgetter(
    *("fingerprint", "at", "attempt", "status", "depth", "size_bytes", "elapsed_ms", "wire_bytes", "cost"),
    *("verdict", "reason", "rung", "worker", "url", "via", "detail", "method", "proxy", "session", "address"),
)
_ATTEMPT_COLUMNS = 22
_ATTEMPT_TEXTS = slice(9, _ATTEMPT_COLUMNS)
_PAGE_TEXTS = slice(7, 10)


class WriteBatch:
    """What is to be written for one job at once."""

    __slots__ = ("attempts", "changes", "items", "pages", "seen")

    def __init__(self) -> None:
        self.items: dict[Place, tuple[Any, ...]] = {}
        self.seen = 0  # items, the same ones counted as often as they were found
        self.pages: Columns = [()] * 10
        self.attempts: Columns = [()] * _ATTEMPT_COLUMNS
        self.changes = BatchCounts()

    def to_values(self) -> tuple[Any, ...]:
        """The arguments of the statement, from ``$8`` on."""
        columns = _transpose_rows(self.items.values(), 9)
        total = self.changes.total
        totals = ([clean_text(name) for name in total], list(total.values()))
        series = self.changes.series_rows()
        over_time = (self.changes.latest, [row[0] for row in series], [list(row[1:]) for row in series])
        hourly = _transpose_rows(map(_clean_hour, self.changes.hourly_rows()), 5)
        return (self.seen, *columns, *self.pages, *self.attempts, *totals, *over_time, *hourly)

    def attempt_days(self) -> set[int]:
        """The days (UTC) of the attempts, counted from the epoch."""
        return {int(at // DAY_S) for at in self.attempts[1]}

    def with_only(self, item: Place) -> WriteBatch:
        """A batch of one of its items and nothing else."""
        batch = WriteBatch()
        batch.items[item] = self.items[item]
        return batch

    def drop_items(self, refused: Collection[Place]) -> None:
        """Leave these items out, and count them."""
        for place in refused:
            del self.items[place]
        self.seen -= len(refused)
        self.changes.total[REFUSED] += len(refused)


def batch_of(results: Sequence[VisitResult]) -> WriteBatch:
    """Everything in these results."""
    batch = WriteBatch()
    batch.changes = count_results(results)
    _add_items(batch, results)
    batch.pages = _page_columns(results)
    batch.attempts = _attempt_columns([attempt for result in results for attempt in result.attempts])
    return batch


def batch_of_attempts(attempts: Sequence[Attempt]) -> WriteBatch:
    """Rows of the ledger alone."""
    batch = WriteBatch()
    batch.changes = count_attempts(attempts)
    batch.attempts = _attempt_columns(attempts)
    return batch


def stale_rows(attempts: Sequence[Attempt]) -> Columns:
    """Which rows of the ledger are stale, and what that changes of totals, series and hours: 22 columns."""
    rows = [(attempt.fingerprint, attempt.at, clean_text(attempt.worker)) for attempt in attempts]
    changes = [(row, count_stale([attempt])) for row, attempt in zip(rows, attempts, strict=True)]
    totals = [
        (*row, clean_text(name), value) for row, change in changes for name, value in change.total.items()
    ]
    series = [
        (*row, at, counts["failed"], counts["dead"])
        for row, change in changes
        for at, counts in change.series.items()
    ]
    hourly = [(*row, *_clean_hour(more)) for row, change in changes for more in change.hourly_rows()]
    return [
        *_transpose_rows(rows, 3),
        *_transpose_rows(totals, 5),
        *_transpose_rows(series, 6),
        *_transpose_rows(hourly, 8),
    ]


def _clean_hour(row: tuple[str, int, str, str, int]) -> tuple[Any, ...]:
    kind, hour, who, *more = row
    return (kind, hour, clean_text(who), *more)


def _add_items(batch: WriteBatch, results: Sequence[VisitResult]) -> None:
    for result in results:
        at = seen_at(result)
        for item in result.items:
            try:
                data, layout, is_altered = to_jsonb(item.data)
            except _UNREADABLE:
                batch.changes.total[UNREADABLE] += 1
                continue
            batch.seen += 1
            place = (clean_text(item.type), clean_text(item.key))
            known = batch.items.get(place)
            if known is None:
                batch.items[place] = (
                    *place,
                    item.hash,
                    at,
                    at,
                    clean_text(item.url),
                    data,
                    layout,
                    is_altered,
                )
            elif at >= known[_AT]:  # the same one twice: the later one is what is stored
                row = (
                    *place,
                    item.hash,
                    min(at, known[3]),
                    at,
                    clean_text(item.url),
                    data,
                    layout,
                    is_altered,
                )
                batch.items[place] = row


def _page_columns(results: Sequence[VisitResult]) -> Columns:
    rows: dict[tuple[int, int], tuple[Any, ...]] = {}
    for result in results:
        page = result.page
        if page is None:
            continue
        visit, is_again = visit_of(result)
        place = (page.fingerprint, -1 if is_again else visit)
        if place in rows and rows[place][3] > page.at:
            continue
        numbers = (page.fingerprint, visit, is_again, page.at, page.status, page.depth, page.size_bytes)
        rows[place] = (*numbers, page.content_type, page.title, page.url)
    columns = _transpose_rows(rows.values(), 10)
    columns[_PAGE_TEXTS] = map(_clean_column, columns[_PAGE_TEXTS])
    return columns


def _attempt_columns(attempts: Sequence[Attempt]) -> Columns:
    columns = _transpose_rows(map(_attempt_row, attempts), _ATTEMPT_COLUMNS)
    columns[_ATTEMPT_TEXTS] = map(_clean_column, columns[_ATTEMPT_TEXTS])
    return columns


def _attempt_row(attempt: Attempt) -> tuple[Any, ...]:
    return (*_plain(attempt), " ".join(attempt.flags), packed_request(attempt))


def _transpose_rows(rows: Iterable[tuple[Any, ...]], width: int) -> Columns:
    return list(zip(*rows, strict=True)) or [()] * width


def _clean_column(column: Sequence[str]) -> Sequence[str]:
    """The same as :func:`clean_value` for each; all are looked at at once, since hardly any needs it."""
    everything = "".join(column)
    if everything.isascii() and "\0" not in everything:
        return column
    return [clean_text(text) for text in column]
