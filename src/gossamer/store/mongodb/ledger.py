"""Looking things up in the ledger in MongoDB, as ``store/sqlite/ledger.py`` does in SQLite.

Guarantee: reads only.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any

from gossamer.core.drops import DropSample
from gossamer.core.jobs import Job
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, AttemptRows, PageRecord
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.server import Document, MongoDatabase, MongoServer
from gossamer.store.attempts import SLICE, latest_attempts, page_attempts
from gossamer.store.mongodb.documents import read_page, row_of_attempt
from gossamer.store.mongodb.samples import read_samples

PAGES = 500
"""Pages that are read at a time."""


class MongoLedgerReader:
    """The ledger and the pages of a server, as a person asks for them."""

    def __init__(self, server: MongoServer) -> None:
        self._server = server

    def __repr__(self) -> str:
        return f"<MongoLedgerReader on {self._server!r}>"

    async def find_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT
    ) -> list[Attempt]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        rows = _MongoLedgerRows(self._server, job, which)
        return await latest_attempts(rows.read_before, limit, which.host)

    async def page_attempts(
        self, job: Job, limit: int, which: AttemptFilter = EVERY_ATTEMPT, before_id: int | None = None
    ) -> AttemptRows:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        return await page_attempts(_MongoLedgerRows(self._server, job, which), limit, which, before_id)

    async def read_pages(self, job: Job) -> AsyncIterator[PageRecord]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        last, count = -(1 << 63) - 1, PAGES
        while count == PAGES:
            count, found = await self._server.run(partial(_read_pages, job, last))
            for document in found:
                last = document["fingerprint"]
                yield read_page(document)

    async def find_page(self, job: Job, fingerprint: int) -> PageRecord | None:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        query = {"job": job.id, "fingerprint": fingerprint}
        found = await self._server.run(lambda db: db["page"].find_one(query, sort=[("at", -1)]))
        return None if found is None else read_page(found)

    async def read_samples(self, job: Job, reason: str = "", limit: int = 50) -> list[DropSample]:
        """See :class:`~gossamer.ports.ledger_reader.LedgerReader`."""
        return await self._server.run(lambda db: read_samples(db, job, reason, limit))


async def _read_pages(job: Job, last: int, db: MongoDatabase) -> tuple[int, list[Document]]:
    """Return how many pages behind a fingerprint were found, at most ``PAGES``, and those that are read next.

    Those of the last fingerprint are all among them: they may have been cut.
    """
    query = {"job": job.id, **({"fingerprint": {"$gt": last}} if last >= -(1 << 63) else {})}
    found = await db["page"].find(query, sort=[("fingerprint", 1)], limit=PAGES).to_list()
    if len(found) < PAGES:
        return len(found), found
    edge = found[-1]["fingerprint"]
    visits = await db["page"].find({"job": job.id, "fingerprint": edge}).to_list()
    return PAGES, [*(document for document in found if document["fingerprint"] != edge), *visits]


class _MongoLedgerRows:
    """A part of one job's ledger: ``store.attempts.LedgerRows``."""

    def __init__(self, server: MongoServer, job: Job, which: AttemptFilter) -> None:
        self._server = server
        self._base: Document = {"job": job.id}
        if which.reason:
            self._base["reason"] = clean(which.reason)
        self._asked = self._base | _conditions_of(which)

    async def read_before(self, before: int, count: int, since: int = 0) -> Sequence[Any]:
        """Return rows below an id, and from another one on, that fit, newest first."""
        query = self._asked | {"_id": {"$lt": before, "$gte": since}}

        async def read(db: MongoDatabase) -> list[tuple[Any, ...]]:
            cursor = db["attempt"].find(query).sort("_id", -1).limit(count)
            return [row_of_attempt(row) async for row in cursor]

        return await self._server.run(read)

    async def read_slice(self, before: int, count: int) -> Sequence[Any]:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        edge = await self.find_edge(before)
        return await self.read_before(before, count, 0 if edge is None else edge[0])

    async def find_edge(self, before: int) -> tuple[int, float] | None:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        return await self._find_row(before, SLICE - 1)

    async def find_below(self, number: int) -> tuple[int, float] | None:
        """See :class:`~gossamer.store.attempts.LedgerRows`."""
        return await self._find_row(number, 0)

    async def _find_row(self, before: int, behind: int) -> tuple[int, float] | None:
        query = self._base | {"_id": {"$lt": before}}
        fields = {"at": 1}
        row = await self._server.run(
            lambda db: db["attempt"].find_one(query, fields, sort=[("_id", -1)], skip=behind)
        )
        return None if row is None else (row["_id"], row["at"])


def _conditions_of(which: AttemptFilter) -> Document:
    """Return the conditions of a filter, except for the reason."""
    words = {
        "verdict": which.verdict,
        "method": which.method,
        "flags": which.flag,
        "ways": which.rung,
        "proxy": which.proxy,
        "worker": which.worker,
        "host": which.host,
    }
    asked: Document = {name: clean(word) for name, word in words.items() if word}
    if which.urls:
        asked["url"] = {"$in": [clean(url) for url in which.urls]}
    if which.fingerprint is not None:
        asked["fingerprint"] = which.fingerprint
    status: Document = {"$in": [which.status]} if which.status is not None else {}
    if which.statuses is not None:
        status |= dict(zip(("$gte", "$lt"), which.statuses, strict=True))
    at = {"$gte": which.since, "$lt": which.until}
    at = {operator: bound for operator, bound in at.items() if bound is not None}
    return asked | ({"status": status} if status else {}) | ({"at": at} if at else {})
