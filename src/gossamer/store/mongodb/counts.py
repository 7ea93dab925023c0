"""Counters in MongoDB: each writer has its own documents, with the number of their last batch.

Guarantee: a repeated batch adds nothing to a document that already has it.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence

from gossamer.core.jobs import Job
from gossamer.core.series import BUCKET_S, COUNTERS
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.errors import is_only_duplicates
from gossamer.drivers.mongodb.packages import AsyncCollection, UpdateOne, driver
from gossamer.drivers.mongodb.server import QUICK, Document, MongoDatabase
from gossamer.policy.counter_rules import STAT, MergeRule, merge_counts, rule_of
from gossamer.store.counters import BatchCounts
from gossamer.store.mongodb.documents import field_of, name_of

_OPERATORS = {MergeRule.SUM: "$inc", MergeRule.LARGEST: "$max", MergeRule.SMALLEST: "$min"}


class BatchWriter:
    """Numbers batches in order, and adds their counts."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(8)
        self._batch = 0

    def begin_batch(self) -> None:
        """Begin a new batch with the next counts."""
        self._batch += 1

    async def add_counts(self, db: MongoDatabase, job: Job, changes: BatchCounts) -> None:
        """Add the counters of a batch: over time, by the hour, and the totals, which are durable."""
        quick = [db[name].with_options(write_concern=QUICK) for name in ("series", "hourly")]
        await _write_new(quick[0], self._series_of(job, changes))
        await _write_new(quick[1], self._hours_of(job, changes))
        counted = {name: value for name, value in changes.total.items() if value or name.startswith(STAT)}
        latest = {name: counted.pop(name) for name in [*counted] if rule_of(name) is MergeRule.LATEST}
        await _write_new(db["tally"], [self._addition(f"{job.id}/{self.id}", {"job": job.id}, counted)])
        if latest:  # all writers have one document of these
            values = {f"counts.{field_of(name)}": value for name, value in latest.items()}
            change = {"$set": values, "$setOnInsert": {"job": job.id}}
            await db["tally"].update_one({"_id": f"{job.id}/latest"}, change, upsert=True)

    def _series_of(self, job: Job, changes: BatchCounts) -> list[UpdateOne]:
        return [
            self._addition(
                f"{job.id}/{BUCKET_S}/{at}/{self.id}",
                {"job": job.id, "step": BUCKET_S, "at": at, "covered": BUCKET_S},
                {name: counts[name] for name in COUNTERS if counts.get(name)},
            )
            for at, counts in sorted(changes.series.items())
        ]

    def _hours_of(self, job: Job, changes: BatchCounts) -> list[UpdateOne]:
        found = []
        for kind, hour, dirty, label, value in changes.hourly_rows():
            who = clean(dirty)
            named = {"job": job.id, "kind": kind, "hour": hour, "who": who, "label": label}
            place = f"{job.id}/{kind}/{hour}/{label}/{who}/{self.id}"
            found.append(self._addition(place, named, {}, {"value": value}))
        return found

    def _addition(
        self, place: str, named: Document, counts: dict[str, int], plain: dict[str, int] | None = None
    ) -> UpdateOne:
        """Add to the document of a place, unless it has this batch."""
        update: Document = {"$set": {"batch": self._batch}, "$setOnInsert": named}
        for name, value in counts.items():
            update.setdefault(_OPERATORS[rule_of(name)], {})[f"counts.{field_of(name)}"] = value
        if plain:
            update.setdefault("$inc", {}).update(plain)
        return UpdateOne({"_id": place, "batch": {"$lt": self._batch}}, update, upsert=True)


async def _write_new(documents: AsyncCollection[Document], additions: Sequence[UpdateOne]) -> None:
    """Write; one that is there with this batch already fits no filter, and cannot be made twice."""
    if not additions:
        return
    try:
        await documents.bulk_write(additions, ordered=False)
    except driver.BulkWriteError as error:
        if not is_only_duplicates(error):
            raise


async def read_counts(db: MongoDatabase, job: Job) -> Counter[str]:
    """Return the totals of a job, of all writers together."""
    total: Counter[str] = Counter()
    async for one in db["tally"].find({"job": job.id}):
        merge_counts(total, {name_of(field): value for field, value in one.get("counts", {}).items()})
    return total
