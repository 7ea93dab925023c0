"""Examples of dropped items, in MongoDB."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.drops import DropSample
from gossamer.core.jobs import Job
from gossamer.core.storable import without_surrogates as clean
from gossamer.drivers.mongodb.packages import UpdateOne
from gossamer.drivers.mongodb.server import QUICK, Document, MongoDatabase
from gossamer.store.samples import FIRST, distinct_samples, place_samples, sample_of

_FIELDS = ("reason", "stage", "type", "url", "at", "data")


async def keep_samples(db: MongoDatabase, job: Job, samples: Sequence[DropSample]) -> None:
    """Keep those that have a slot: the earliest in slot 0, the latest in each of the others."""
    changes = []
    for (dirty, slot), sample in place_samples(samples).items():
        reason = clean(dirty)
        place = {"_id": f"{job.id}/{slot}/{reason}"}
        texts = {"stage": clean(sample.stage), "type": clean(sample.type), "url": clean(sample.url)}
        values = {**texts, "at": sample.at, "data": sample.data}
        named = {"job": job.id, "reason": reason, "slot": slot}
        is_better = {"$gt": sample.at} if slot == FIRST else {"$lte": sample.at}
        changes += [
            UpdateOne(place, {"$setOnInsert": {**named, **values}}, upsert=True),
            UpdateOne({**place, "at": is_better}, {"$set": values}),
        ]
    if changes:
        await db["sample"].with_options(write_concern=QUICK).bulk_write(changes)


async def read_samples(db: MongoDatabase, job: Job, reason: str, limit: int) -> list[DropSample]:
    """Examples in the order of their reasons and slots, for one reason or any."""
    query: Document = {"job": job.id, "reason": clean(reason)} if reason else {"job": job.id}
    found = db["sample"].find(query).sort([("reason", 1), ("slot", 1)]).limit(2 * limit)  # two slots each
    return distinct_samples([sample_of(one[name] for name in _FIELDS) async for one in found], limit)
