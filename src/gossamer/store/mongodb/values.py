"""Items as upserts in MongoDB, without transactions.

Guarantee: each of many writers sees the others' writes: a document is changed only as it was read (its
``rev``), and read again if another writer was first. The version that a job saw is kept before it is
replaced, so that an interruption loses nothing; repeating the whole gives the same result.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Mapping, Sequence
from typing import NamedTuple

from gossamer.core.jobs import StoredItem
from gossamer.drivers.mongodb.errors import is_only_duplicates
from gossamer.drivers.mongodb.packages import AsyncCollection, InsertOne, UpdateOne, driver
from gossamer.drivers.mongodb.server import QUICK, Document, MongoDatabase
from gossamer.store.mongodb.batch import BatchItem, MongoBatch
from gossamer.store.mongodb.change_numbers import open_numbers
from gossamer.store.mongodb.documents import item_of
from gossamer.store.mongodb.numbers import take_numbers

SEVERAL = ""
"""In the place of the job that alone has seen a version: there are several."""
_STATE = ("number", "hash", "last_seen", "changed_at", "version", "rev", "job")
_VALUES = ("data", "json", "url", "hash", "last_seen", "changed_at")


class ItemRules(NamedTuple):
    """How items are kept."""

    min_interval_s: float = 0.0  # an item that changed less than this ago is not changed again
    seen_resolution_s: float = 0.0  # one found as it was is written only if it was last seen longer ago
    history: bool = False  # whether former versions are kept that no other job saw


class SeenVersion(NamedTuple):
    """Which version of an item a job saw."""

    item: int  # its number
    version: int
    rev: int


async def upsert_items(
    db: MongoDatabase, batch: MongoBatch, rules: ItemRules, *, notes_changes: bool = False
) -> list[SeenVersion]:
    """Store the items of a batch; the versions that its job saw.

    ``notes_changes``: for outputs. Their numbers are the caller's to close.
    """
    items = db["item"].with_options(write_concern=QUICK)
    numbers: dict[bytes, int] = {}
    while True:
        query = {"_id": {"$in": list(batch.items)}}
        known = {one["_id"]: one async for one in items.find(query, dict.fromkeys(_STATE, 1))}
        missing = [one for one in batch.items if one not in known and one not in numbers]
        if missing:
            first = await take_numbers(db, "item", len(missing))
            numbers |= {one: number for number, one in enumerate(missing, first)}
        wanted = {
            one: _plan_change(known.get(one), found, numbers.get(one, 0), batch, rules)
            for one, found in batch.items.items()
        }
        if notes_changes:
            await _number_changes(db, batch, wanted)
        replaced = [
            one
            for one, plan in wanted.items()
            if plan and one in known and _needs_former(known[one], batch, rules, plan)
        ]
        await _keep_former(db, items, replaced)
        if await _write_items(items, known, wanted):
            return [_seen_version(known.get(one), plan) for one, plan in wanted.items()]


def _plan_change(
    known: Document | None, found: BatchItem, number: int, batch: MongoBatch, rules: ItemRules
) -> Document:
    """Return the fields to set on an item; empty if it is up to date."""
    job = batch.job.id
    values = {**found.fields, "url": found.url, "hash": found.hash, "changed_at": found.at}
    if known is None:
        named = {"number": number, "spider": batch.spider, "type": found.type, "key": found.key}
        times = {"first_seen": found.first_at, "last_seen": found.at}
        return {**named, **values, **times, "version": 1, "rev": 1, "job": job}
    plan: Document = {}
    is_new = found.hash != known["hash"] and found.at >= max(
        known["last_seen"], known["changed_at"] + rules.min_interval_s
    )
    if is_new:
        plan |= {**values, "version": known["version"] + 1, "job": job}
    elif known["job"] not in (job, SEVERAL):
        plan["job"] = SEVERAL
    is_due = found.at > known["last_seen"] + rules.seen_resolution_s
    if plan or is_due or found.hash != known["hash"]:
        latest = max(known["last_seen"], found.at)
        plan |= {} if latest == known["last_seen"] else {"last_seen": latest}
    return plan


async def _number_changes(db: MongoDatabase, batch: MongoBatch, wanted: Mapping[bytes, Document]) -> None:
    """Give each new value the number of its change: one that is open, also at another try of the batch."""
    changed = [(place, plan) for place, plan in enumerate(wanted.values()) if "version" in plan]
    if changed:
        batch.first_change = first = await open_numbers(db, batch.token, len(batch.items))
        for place, plan in changed:
            plan["change"] = first + place


def _needs_former(known: Document, batch: MongoBatch, rules: ItemRules, plan: Document) -> bool:
    """Whether the replaced version must be kept: for the history, or for another job."""
    return "version" in plan and (rules.history or known["job"] != batch.job.id)


async def _keep_former(
    db: MongoDatabase, items: AsyncCollection[Document], replaced: Sequence[bytes]
) -> None:
    """Keep the present versions of items, as they are now."""
    if not replaced:
        return
    changes = []
    async for one in items.find({"_id": {"$in": list(replaced)}}):
        values = {name: one[name] for name in _VALUES if name in one}
        last_seen = values.pop("last_seen")
        place = {"_id": version_id(one["number"], one["version"])}
        named = {"item": one["number"], "version": one["version"], **values}
        changes.append(
            UpdateOne(place, {"$setOnInsert": named, "$max": {"last_seen": last_seen}}, upsert=True)
        )
    await db["version"].with_options(write_concern=QUICK).bulk_write(changes)


async def _write_items(
    items: AsyncCollection[Document], known: Mapping[bytes, Document], wanted: Mapping[bytes, Document]
) -> bool:
    """Write the items. Return whether no other writer was first."""
    writes: list[InsertOne[Document] | UpdateOne] = []
    for one, plan in wanted.items():
        if one not in known:
            writes.append(InsertOne({"_id": one, **plan}))
        elif plan:
            update: Document = {"$set": plan, "$inc": {"rev": 1}}
            if "version" in plan:  # the one of both that the new value is not
                update["$unset"] = {"data" if "json" in plan else "json": ""}
            writes.append(UpdateOne({"_id": one, "rev": known[one]["rev"]}, update))
    if not writes:
        return True
    try:
        done = await items.bulk_write(writes, ordered=False)
    except driver.BulkWriteError as error:
        if not is_only_duplicates(error):
            raise
        return False
    return done.inserted_count + done.matched_count == len(writes)


def _seen_version(known: Document | None, plan: Document) -> SeenVersion:
    """Return the state of an item after a change."""
    if known is None:
        return SeenVersion(plan["number"], 1, 1)
    now = known | plan
    return SeenVersion(now["number"], now["version"], known["rev"] + (1 if plan else 0))


def mixed(item: int) -> int:
    """Return an item's place among those of a job, in mixed order (Knuth's multiplicative hash)."""
    return item % 1048573 * 2654435761 % 4294967296


def version_id(item: int, version: int) -> str:
    """Return the ``_id`` of a former version."""
    return f"{item}/{version}"


def sighting_id(job: str, item: int) -> str:
    """Return the ``_id`` of a job's sighting of an item."""
    return f"{job}/{item}"


async def read_seen(
    db: MongoDatabase, items: AsyncIterable[Document], seen: Mapping[int, int]
) -> list[StoredItem]:
    """Return items in the versions that were seen, by number; others are left out.

    A version that the job itself replaced is not kept: the job's view is then the current version.
    """
    found = [one async for one in items if one["number"] in seen]
    wanted = [
        version_id(one["number"], seen[one["number"]])
        for one in found
        if seen[one["number"]] != one["version"]
    ]
    former: dict[int, Document] = {}
    if wanted:
        former = {one["item"]: one async for one in db["version"].find({"_id": {"$in": wanted}})}
    return [item_of(one, former.get(one["number"])) for one in found]
