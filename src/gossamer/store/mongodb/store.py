"""Items, pages and the ledger in MongoDB.

Guarantee: when :meth:`MongoStore.write` returns, the batch is on the server's disk, and on most members of a
replica set. A batch that is repeated after a lost connection is stored and counted once. A standalone server
has no transactions: a worker that is killed within a batch may leave a part of it. Its requests are done
again, with the same items and pages; its rows of the ledger stay, and may be missing from totals and series.

Documents are written after those that they refer to: items, the job's sightings of them, pages, the ledger,
counters over time; the totals are last, and durable.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from gossamer.core.errors import LedgerReason
from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, JobTotals, StoredItem
from gossamer.core.results import Attempt, VisitResult
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.errors import is_only_duplicates
from gossamer.drivers.mongodb.packages import AsyncCollection, UpdateOne, driver
from gossamer.drivers.mongodb.server import QUICK, Document, MongoDatabase, MongoServer
from gossamer.policy.item_filter import fits_filter
from gossamer.store.counters import NO_STATS, count_stale
from gossamer.store.mongodb.batch import SEEN, MongoBatch, batch_of, batch_of_attempts
from gossamer.store.mongodb.change_numbers import close_numbers
from gossamer.store.mongodb.counts import BatchWriter, read_counts
from gossamer.store.mongodb.documents import document_of_page, item_of, read_attempt
from gossamer.store.mongodb.known_pages import save_pages
from gossamer.store.mongodb.numbers import take_numbers
from gossamer.store.mongodb.samples import keep_samples
from gossamer.store.mongodb.values import ItemRules, SeenVersion, mixed, read_seen, sighting_id, upsert_items
from gossamer.store.totals import totals_of

PAGE = 500  # items read at a time
DAY_S = 86400
_STALE = LedgerReason.STALE.value
_CountedWork = Callable[[MongoDatabase, BatchWriter], Awaitable[None]]


class MongoStore:
    """A ``Store`` on a server.

    ``min_interval_s``: an item that changed less than this ago is not changed again. ``history``: all former
    versions of items are kept, not only those that another job saw. ``seen_resolution_s``: an item that is
    found as it was is written only if it was last seen longer ago than this. ``ledger_days``: days that the
    ledger keeps; ``None`` is all. ``follows_changes``: changes of items are noted for outputs.
    """

    def __init__(
        self,
        server: MongoServer,
        *,
        min_interval_s: float = 0.0,
        history: bool = False,
        seen_resolution_s: float = 3600.0,
        ledger_days: int | None = None,
        follows_changes: bool = False,
    ) -> None:
        self._server = server
        self._rules = ItemRules(min_interval_s, seen_resolution_s, history)
        self._ledger_days = ledger_days
        self._follows_changes = follows_changes
        self._writers: list[BatchWriter] = []  # that are not writing now

    def __repr__(self) -> str:
        return f"<MongoStore on {self._server!r}>"

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        await self._write_batch(batch_of(job, results))

    async def record_attempts(
        self, job: Job, attempts: Sequence[Attempt], stats: Mapping[str, int] = NO_STATS
    ) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        await self._write_batch(batch_of_attempts(job, attempts, stats))

    async def _write_batch(self, batch: MongoBatch) -> None:
        async def write(db: MongoDatabase, writer: BatchWriter) -> None:
            seen = await self._store_items(db, batch) if batch.items else []
            items = await _store_sightings(db, batch, seen)
            batch.add_found(await _store_pages(db, batch), items)
            await _store_attempts(db, batch)
            if batch.samples:
                await keep_samples(db, batch.job, batch.samples)
            if batch.known:
                await save_pages(db, batch.job.name, batch.known)
            await writer.add_counts(db, batch.job, batch.changes)

        await self._write_counted(write)

    async def _store_items(self, db: MongoDatabase, batch: MongoBatch) -> list[SeenVersion]:
        seen = await upsert_items(db, batch, self._rules, notes_changes=self._follows_changes)
        if batch.first_change is not None:
            await close_numbers(db, batch.token)
        return seen

    async def _write_counted(self, write: _CountedWork) -> None:
        """Run what counts with a writer of its own, the same one however often it is tried."""
        writer = self._writers.pop() if self._writers else BatchWriter()
        writer.begin_batch()
        await self._server.run(lambda db: write(db, writer))
        self._writers.append(writer)  # not one whose last batch may still be under way

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        """See :class:`~gossamer.ports.store.Store`."""
        if not attempts:
            return
        keys = {(attempt.fingerprint, attempt.at, clean(attempt.worker)) for attempt in attempts}
        of_these = {"job": job.id, "fingerprint": {"$in": list({key[0] for key in keys})}}
        token = secrets.token_hex(12)

        async def mark(db: MongoDatabase, writer: BatchWriter) -> None:
            rows = db["attempt"].with_options(write_concern=QUICK)
            found = [row async for row in rows.find({**of_these, "reason": {"$ne": _STALE}})]
            marks = [
                UpdateOne(
                    {"_id": row["_id"], "reason": row["reason"]},
                    {"$set": {"reason": _STALE, "former": row["reason"], "marked_by": token}},
                )
                for row in found
                if (row["fingerprint"], row["at"], row["worker"]) in keys
            ]
            if marks:
                await rows.bulk_write(marks, ordered=False)
            marked = [row async for row in rows.find({**of_these, "marked_by": token})]
            changes = count_stale(read_attempt({**row, "reason": row["former"]}) for row in marked)
            await writer.add_counts(db, job, changes)

        await self._write_counted(mark)

    async def read_items(
        self, job: Job | None = None, after_id: int = 0, which: ItemFilter = EVERY_ITEM
    ) -> AsyncIterator[StoredItem]:
        """See :class:`~gossamer.ports.store.Store`. Reads a page at a time."""
        while True:
            found, last = await self._read_page(job, after_id, which)
            for item in found:
                if which == EVERY_ITEM or fits_filter(item, which):
                    yield item
            if last is None:
                return
            after_id = last

    async def _read_page(
        self, job: Job | None, after_id: int, which: ItemFilter
    ) -> tuple[list[StoredItem], int | None]:
        """Return items behind an id, and the last id examined; ``None``: there are no more."""

        fitting: Document = {"type": clean(which.type)} if which.type else {}
        if which.changed_since is not None:  # a job's view of an item is never newer than the item
            fitting["changed_at"] = {"$gte": which.changed_since}

        async def read(db: MongoDatabase) -> tuple[list[StoredItem], int | None]:
            if job is None:
                cursor = (
                    db["item"].find({**fitting, "number": {"$gt": after_id}}).sort("number", 1).limit(PAGE)
                )
                rows = [item_of(one) async for one in cursor]
                return rows, rows[-1].id if len(rows) == PAGE else None
            query = {"job": job.id, "item": {"$gt": after_id}}
            sightings = db["sighting"].find(query).sort("item", 1).limit(PAGE)
            seen = {one["item"]: one["version"] async for one in sightings}
            items = await read_seen(
                db, db["item"].find({**fitting, "number": {"$in": list(seen)}}).sort("number", 1), seen
            )
            return items, max(seen) if len(seen) == PAGE else None

        return await self._server.run(read)

    async def latest_attempts(self, job: Job, url: str | None = None, limit: int = 1000) -> list[Attempt]:
        """See :class:`~gossamer.ports.store.Store`."""
        query: Document = {"job": job.id} if url is None else {"job": job.id, "url": clean(url)}

        async def read(db: MongoDatabase) -> list[Attempt]:
            return [read_attempt(row) async for row in db["attempt"].find(query).sort("_id", -1).limit(limit)]

        return await self._server.run(read)

    async def read_totals(self, job: Job) -> JobTotals:
        """See :class:`~gossamer.ports.store.Store`. Pages and items are counted where they are."""

        async def read(db: MongoDatabase) -> JobTotals:
            total = await read_counts(db, job)
            pages, items = [
                int((await db.command("count", name, query={"job": job.id}))["n"])
                for name in ("page", "sighting")
            ]
            again = max(total.pop(SEEN, 0) - items, 0)
            return totals_of({**total, "pages": pages, "items": items, "duplicates": again})

        return await self._server.run(read)

    async def prune_ledger(self, now: float) -> None:
        """Drop the days that the ledger does not keep."""
        if self._ledger_days is not None:
            first = (now // DAY_S - self._ledger_days) * DAY_S
            await self._server.run(lambda db: db["attempt"].delete_many({"at": {"$lt": first}}))


async def _store_sightings(db: MongoDatabase, batch: MongoBatch, seen: Sequence[SeenVersion]) -> int:
    """Note which versions the job saw; how many items are new to it."""
    if not seen:
        return 0
    changes = []
    for item, version, rev in seen:
        place, named = {"_id": sighting_id(batch.job.id, item)}, {"version": version, "rev": rev}
        first = {"job": batch.job.id, "item": item, "mix": mixed(item), "by": batch.token, **named}
        changes += [
            UpdateOne(place, {"$setOnInsert": first}, upsert=True),
            UpdateOne({**place, "rev": {"$lt": rev}}, {"$set": named}),
        ]
    sightings = db["sighting"].with_options(write_concern=QUICK)
    await sightings.bulk_write(changes)
    return await _count_made(db, "sighting", batch, [sighting_id(batch.job.id, one.item) for one in seen])


async def _store_pages(db: MongoDatabase, batch: MongoBatch) -> int:
    """Store the pages of a batch; how many are new."""
    if not batch.pages:
        return 0
    pages = db["page"].with_options(write_concern=QUICK)
    changes, places = [], []
    for visit, is_again, record in batch.pages:
        number = await _find_visit(pages, batch.job, record.fingerprint) if is_again else None
        number = visit if number is None else number
        places.append(f"{batch.job.id}/{record.fingerprint}/{number}")
        place, values = {"_id": places[-1]}, document_of_page(record)
        named = {"job": batch.job.id, "visit": number, "by": batch.token}
        changes += [
            UpdateOne(place, {"$setOnInsert": {**values, **named}}, upsert=True),
            UpdateOne({**place, "at": {"$lte": record.at}}, {"$set": values}),
        ]
    await pages.bulk_write(changes)
    return await _count_made(db, "page", batch, places)


async def _find_visit(pages: AsyncCollection[Document], job: Job, fingerprint: int) -> int | None:
    """Return the latest visit on purpose to a page."""
    query = {"job": job.id, "fingerprint": fingerprint, "visit": {"$gt": 0}}
    async for one in pages.find(query).sort("visit", -1).limit(1):
        return int(one["visit"])
    return None


async def _count_made(db: MongoDatabase, name: str, batch: MongoBatch, places: Sequence[str]) -> int:
    """Return how many of these documents this batch has made, now or when it was tried before."""
    query = {"_id": {"$in": list(places)}, "by": batch.token}
    return int((await db.command("count", name, query=query))["n"])


async def _store_attempts(db: MongoDatabase, batch: MongoBatch) -> None:
    """Add rows of the ledger; those that are there already have come before."""
    if not batch.attempts:
        return
    if "_id" not in batch.attempts[0]:
        batch.number_attempts(await take_numbers(db, "attempt", len(batch.attempts)))
    try:
        await db["attempt"].with_options(write_concern=QUICK).insert_many(batch.attempts, ordered=False)
    except driver.BulkWriteError as error:
        if not is_only_duplicates(error):
            raise
