"""Folds old buckets of counters into hours, without transactions.

An hour is written with the names of its buckets, which no longer count from then on. Then the buckets are
deleted, and the names with them. The next process completes interrupted work; only one folds at a time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import blake2b

from gossamer.core.series import BUCKET_S, HOUR_S
from gossamer.drivers.mongodb.packages import UpdateOne, driver
from gossamer.drivers.mongodb.server import Document, MongoDatabase

CLAIM_S = 600.0
"""How long a claim keeps other processes from folding, unless its holder ends it."""
_CLAIM = "folding"
_PART = 5_000
"""Buckets that are deleted by one command."""


async def fold_series(db: MongoDatabase, before: int, now: float) -> None:
    """Fold the buckets that began before a time, unless another process does so at the moment."""
    free = {"_id": _CLAIM, "value": {"$lt": now}}
    try:
        await db["counter"].update_one(free, {"$set": {"value": now + CLAIM_S}}, upsert=True)
    except driver.DuplicateKeyError:
        return
    await _delete_folded(db)
    hours: defaultdict[tuple[str, int], list[Document]] = defaultdict(list)
    async for one in db["series"].find({"step": BUCKET_S, "at": {"$lt": before}}):
        hours[one["job"], one["at"] // HOUR_S * HOUR_S].append(one)
    for (job, hour), buckets in hours.items():
        await db["series"].update_one(*_hour_of(job, hour, buckets), upsert=True)
    await _delete_folded(db)
    await db["counter"].update_one({"_id": _CLAIM}, {"$set": {"value": 0.0}})


def _hour_of(job: str, hour: int, buckets: list[Document]) -> tuple[Document, Document]:
    """Return an hour's filter, and the values to insert if it is missing."""
    names = sorted(f"{one['_id']}#{one.get('batch', 0)}" for one in buckets)
    digest = blake2b("\n".join(names).encode(), digest_size=12).hexdigest()
    counts: Counter[str] = Counter()
    for one in buckets:
        counts.update(one.get("counts", {}))
    covered = BUCKET_S * len({one["at"] for one in buckets})
    named = {"job": job, "step": HOUR_S, "at": hour, "covered": covered, "counts": dict(counts)}
    return {"_id": f"{job}/{HOUR_S}/{hour}/{digest}"}, {
        "$setOnInsert": {**named, "of": [one["_id"] for one in buckets], "is_pending": True}
    }


async def _delete_folded(db: MongoDatabase) -> None:
    """Delete the buckets that are in hours."""
    pending = [one async for one in db["series"].find({"is_pending": True})]
    for hour in pending:
        names = hour["of"]
        for start in range(0, len(names), _PART):
            await db["series"].delete_many({"_id": {"$in": names[start : start + _PART]}})
        await db["series"].update_one({"_id": hour["_id"]}, {"$unset": {"of": "", "is_pending": ""}})


async def fold_gauges(db: MongoDatabase, before: int) -> None:
    """Replace old gauges by their means; existing means stay."""
    values: defaultdict[tuple[str, int, str], list[int]] = defaultdict(list)
    old = {"step": BUCKET_S, "at": {"$lt": before}}
    async for one in db["gauge"].find(old):
        values[one["job"], one["at"] // HOUR_S * HOUR_S, one["name"]].append(one["value"])
    changes = []
    for (job, hour, name), noted in values.items():
        mean = {"value": round(sum(noted) / len(noted))}
        named = {"job": job, "step": HOUR_S, "at": hour, "name": name}
        place = {"_id": f"{job}/{HOUR_S}/{hour}/{name}"}
        changes.append(UpdateOne(place, {"$setOnInsert": {**named, **mean}}, upsert=True))
    if changes:
        await db["gauge"].bulk_write(changes, ordered=False)
        await db["gauge"].delete_many(old)
