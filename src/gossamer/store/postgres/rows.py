"""From the results of visits to the columns of the statement ``write``. Pure.

Guarantee: no text in them is refused by PostgreSQL, no two rows of a batch are the same item or page, and an
item whose JSON cannot be read is left out and counted: it does not lose the others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.drops import DropSample
from gossamer.core.freshness import KnownPage
from gossamer.core.results import Attempt, VisitResult
from gossamer.store.attempts import packed_request
from gossamer.store.counters import NO_STATS, BatchCounts, count_rows, count_stale
from gossamer.store.known_pages import known_pages_of
from gossamer.store.postgres.json import clean_text, to_jsonb
from gossamer.store.samples import place_samples
from gossamer.store.totals import count_results, seen_at, visit_of

Place = tuple[str, str]  # type and key of an item
Columns = list[Sequence[Any]]

UNREADABLE = "dropped:item:not JSON"
REFUSED = "dropped:item:refused by PostgreSQL"

DAY_S = 86400

_UNREADABLE = (ValueError, RecursionError, msgspec.MsgspecError)
_AT = 4  # where an item's row has its time
_PLAIN = (
    *("fingerprint", "at", "attempt", "status", "depth", "size_bytes", "elapsed_ms", "wire_bytes", "cost"),
    *("verdict", "reason", "rung", "worker", "url", "via", "detail", "method", "proxy", "session", "address"),
)
_plain = attrgetter(*_PLAIN)
COPIED_COLUMNS = ("job", *_PLAIN, "flags", "request")
"""The columns of :meth:`WriteBatch.attempt_rows`."""
_ATTEMPT_COLUMNS = 22
_ATTEMPT_TEXTS = slice(9, _ATTEMPT_COLUMNS)
_FIRST_TEXT = 1 + _ATTEMPT_TEXTS.start
"""In a row that is copied, which begins with the job."""
_TEXTS_OF_COPIED = itemgetter(slice(_FIRST_TEXT, None))
_PAGE_COLUMNS = 11
_PAGE_TEXTS = slice(7, 10)


class WriteBatch:
    """The rows to write for one job at once."""

    __slots__ = ("attempts", "changes", "items", "known", "pages", "samples", "seen")

    def __init__(self) -> None:
        self.items: dict[Place, tuple[Any, ...]] = {}
        self.seen = 0  # items, the same ones counted as often as they were found
        self.pages: Columns = [()] * _PAGE_COLUMNS
        self.attempts: Sequence[Attempt] = ()
        self.samples: Columns = []
        self.known: list[KnownPage] = []
        self.changes = BatchCounts()

    def to_values(self, *options: Any, with_attempts: bool = True) -> tuple[Any, ...]:
        """Return the arguments of the statement, from ``$8`` on; ``options`` are ``$61`` and later."""
        columns = _transpose_rows(self.items.values(), 9)
        total = self.changes.total
        totals = ([clean_text(name) for name in total], list(total.values()))
        series = self.changes.series_rows()
        over_time = (self.changes.latest, [row[0] for row in series], [list(row[1:]) for row in series])
        hourly = _transpose_rows(map(_clean_hour, self.changes.hourly_rows()), 5)
        *pages, found = self.pages
        attempts = _attempt_columns(self.attempts if with_attempts else ())
        fixed = (self.seen, *columns, *pages, *attempts, *totals, *over_time, *hourly)
        return (*fixed, found, *options, *self.samples)

    @property
    def attempt_count(self) -> int:
        """Rows of the ledger."""
        return len(self.attempts)

    def attempt_rows(self, job: int) -> list[tuple[Any, ...]]:
        """Return the rows of the ledger, to be copied into it."""
        rows = [_attempt_row(attempt, job) for attempt in self.attempts]
        if _are_clean(chain.from_iterable(map(_TEXTS_OF_COPIED, rows))):
            return rows
        return [(*row[:_FIRST_TEXT], *map(clean_text, _TEXTS_OF_COPIED(row))) for row in rows]

    def attempt_days(self) -> set[int]:
        """Return the days (UTC) of the attempts, counted from the epoch."""
        return {int(attempt.at // DAY_S) for attempt in self.attempts}

    def with_only(self, item: Place) -> WriteBatch:
        """Return a batch of one of its items and nothing else."""
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
    batch.samples = _sample_columns(results)
    batch.attempts = [attempt for result in results for attempt in result.attempts]
    batch.known = known_pages_of(results)
    return batch


def batch_of_attempts(attempts: Sequence[Attempt], stats: Mapping[str, int] = NO_STATS) -> WriteBatch:
    """Return a batch of ledger rows and of the spider's own counts."""
    batch = WriteBatch()
    batch.changes = count_rows(attempts, stats)
    batch.attempts = attempts
    return batch


def stale_rows(attempts: Sequence[Attempt]) -> Columns:
    """Return stale rows of the ledger, and their changes of totals, series and hours: 22 columns."""
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
            elif at >= known[_AT]:  # of duplicates the later one is stored
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
        rows[place] = (*numbers, page.content_type, page.title, page.url, page.items)
    columns = _transpose_rows(rows.values(), _PAGE_COLUMNS)
    columns[_PAGE_TEXTS] = map(_clean_column, columns[_PAGE_TEXTS])
    return columns


def _sample_columns(results: Sequence[VisitResult]) -> Columns:
    samples = [_clean_sample(sample) for result in results for sample in result.samples]
    placed = place_samples(samples).items()
    rows = [(reason, slot, s.stage, s.type, s.url, s.at, s.data) for (reason, slot), s in placed]
    return list(zip(*rows, strict=True))


def _clean_sample(sample: DropSample) -> DropSample:
    """Cleaned before it has its place: two reasons may be one then."""
    texts = {name: clean_text(getattr(sample, name)) for name in ("reason", "stage", "type", "url")}
    return replace(sample, **texts)


def _attempt_columns(attempts: Sequence[Attempt]) -> Columns:
    columns = _transpose_rows(map(_attempt_row, attempts), _ATTEMPT_COLUMNS)
    columns[_ATTEMPT_TEXTS] = map(_clean_column, columns[_ATTEMPT_TEXTS])
    return columns


def _attempt_row(attempt: Attempt, *before: Any) -> tuple[Any, ...]:
    flags = attempt.flags
    request = "" if attempt.request is None else packed_request(attempt)
    return (*before, *_plain(attempt), " ".join(flags) if flags else "", request)


def _transpose_rows(rows: Iterable[tuple[Any, ...]], width: int) -> Columns:
    return list(zip(*rows, strict=True)) or [()] * width


def _clean_column(column: Sequence[str]) -> Sequence[str]:
    """Apply :func:`clean_value` to each; all are checked together, since hardly any needs it."""
    return column if _are_clean(column) else [clean_text(text) for text in column]


def _are_clean(texts: Iterable[str]) -> bool:
    everything = "".join(texts)
    return everything.isascii() and "\0" not in everything
