"""A batch of writes for one job, kept until it succeeds, however often it is retried. Pure."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from gossamer.core.drops import DropSample
from gossamer.core.freshness import KnownPage
from gossamer.core.jobs import Job
from gossamer.core.results import Attempt, PageRecord, VisitResult
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.server import Document
from gossamer.store.counters import NO_STATS, BatchCounts, count_rows
from gossamer.store.known_pages import known_pages_of
from gossamer.store.mongodb.documents import TooLargeError, document_of_attempt, fields_of
from gossamer.store.totals import count_results, seen_at, visit_of

UNREADABLE = "dropped:item:not JSON"
TOO_LARGE = "dropped:item:too large for MongoDB"
SEEN = "seen"
"""The total of items that were found, the same ones as often as they were."""

_UNREADABLE = (ValueError, RecursionError, msgspec.MsgspecError)

log = logging.getLogger("gossamer.crawl")


class BatchItem(NamedTuple):
    """An item of a batch, as it was found the last time."""

    type: str
    key: str
    hash: int
    first_at: float
    at: float
    url: str
    fields: Document


class BatchPage(NamedTuple):
    """A page of a batch."""

    visit: int
    is_again: bool  # the visit may be there already
    record: PageRecord


class MongoBatch:
    """Items by their ``_id``, pages, rows of the ledger, and their increments of the counters."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.spider = clean(job.name)
        self.token = secrets.token_hex(12)  # by which what this batch has made is known again
        self.items: dict[bytes, BatchItem] = {}
        self.pages: list[BatchPage] = []
        self.attempts: list[Document] = []
        self.samples: list[DropSample] = []
        self.known: list[KnownPage] = []
        self.changes = BatchCounts()
        self.first_change: int | None = None  # of the numbers of changes that it has taken, one an item
        self.is_counted = False  # whether new items and pages are among the changes

    def number_attempts(self, first: int) -> None:
        """Give the rows of the ledger their ids."""
        for number, row in enumerate(self.attempts, first):
            row["_id"] = number

    def add_found(self, pages: int, items: int) -> None:
        """Count what turned out to be new, once."""
        if not self.is_counted:
            self.is_counted = True
            self.changes.add_found(pages, items, self.changes.total.get(SEEN, 0) - items)

    def add_item(self, item_id: bytes, found: BatchItem) -> None:
        """Add an item; of equal ones the later is kept."""
        known = self.items.get(item_id)
        if known is None:
            self.items[item_id] = found
        elif found.at >= known.at:
            self.items[item_id] = found._replace(first_at=min(found.first_at, known.first_at))


def item_id(spider: str, kind: str, key: str) -> bytes:
    """Return the id of an item: of one length, however long its key is."""
    parts = [text.encode() for text in (spider, kind, key)]
    return blake2b(msgspec.msgpack.encode(parts), digest_size=16).digest()


def batch_of(job: Job, results: Sequence[VisitResult]) -> MongoBatch:
    """Everything in these results."""
    batch = MongoBatch(job)
    batch.changes = count_results(results)
    batch.known = known_pages_of(results)
    for result in results:
        _add_items(batch, result)
        batch.attempts += [document_of_attempt(job.id, attempt) for attempt in result.attempts]
        batch.samples += result.samples
        if result.page is not None:
            batch.pages.append(BatchPage(*visit_of(result), result.page))
    return batch


def batch_of_attempts(
    job: Job, attempts: Sequence[Attempt], stats: Mapping[str, int] = NO_STATS
) -> MongoBatch:
    """Return a batch of ledger rows and of the spider's own counts."""
    batch = MongoBatch(job)
    batch.changes = count_rows(attempts, stats)
    batch.attempts = [document_of_attempt(job.id, attempt) for attempt in attempts]
    return batch


def _add_items(batch: MongoBatch, result: VisitResult) -> None:
    at = seen_at(result)
    for item in result.items:
        try:
            fields = fields_of(item.data)
        except TooLargeError:
            batch.changes.total[TOO_LARGE] += 1
            log.warning(
                "%s: %s %.200r was not stored: a document of MongoDB has at most 16 MiB",
                *(batch.job.id, item.type, item.key),
            )
            continue
        except _UNREADABLE:
            batch.changes.total[UNREADABLE] += 1
            continue
        batch.changes.total[SEEN] += 1
        kind, key = clean(item.type), clean(item.key)
        found = BatchItem(kind, key, item.hash, at, at, clean(item.url), fields)
        batch.add_item(item_id(batch.spider, kind, key), found)
