"""Change numbers in MongoDB, which order writes without transactions.

A change gets its number before it is written, so a change with a later number may appear first. Therefore
each writer is registered while it writes, in the document that also holds the highest number: below the first
number being written, no change appears any more. A killed writer would block readers for ever: after
``STALE_S`` its numbers are given up, and changes with one of them get a new number, however late they were
written. The server's clock alone measures these times: the clocks of two machines, a writer and a reader, may
be minutes apart.

The document: ``value``, the highest number; ``open`` and ``late``, by writer, the numbers being written and
those given up; ``floor``: up to here, changes are forgotten.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from gossamer.core.record import Record
from gossamer.drivers.mongodb.packages import ReadConcern, UpdateOne
from gossamer.drivers.mongodb.server import QUICK, Document, MongoDatabase

STALE_S = 10.0
"""The longest time that a writer delays readers. Later writes are reported later."""
LATE_DAYS = 30
"""How long numbers are remembered that were given up: longer than a suspended machine sleeps in a write."""
DAY_S = 86400.0
PLACE: Document = {"_id": "changes"}


class NumberRange(Record, frozen=True):
    """Numbers of one writer."""

    first: int
    last: int
    at: float  # when they were taken, or given up, by the server's clock: seconds since the epoch


class FeedState(Record, frozen=True, kw_only=True):
    """The document."""

    value: int = 0
    open: Mapping[str, NumberRange] = {}
    late: Mapping[str, NumberRange] = {}
    floor: int = 0

    @property
    def settled(self) -> int:
        """Up to this number, only late changes are still written."""
        return min([self.value, *(taken.first - 1 for taken in self.open.values())])

    def is_late(self, number: int) -> bool:
        """Whether a number was given up."""
        return any(taken.first <= number <= taken.last for taken in self.late.values())


async def open_numbers(db: MongoDatabase, writer: str, count: int) -> int:
    """Return the first of ``count`` new numbers, which are open until :func:`close_numbers`.

    Who asks again for as many, since the answer was lost, gets the same ones if they are still open.
    """
    feed = db["feed"].with_options(write_concern=QUICK)
    while True:
        document = await feed.find_one(PLACE)
        if document is None:
            await feed.update_one(PLACE, {"$setOnInsert": {"value": 0, "floor": 0}}, upsert=True)
            continue
        state = _state_of(document)
        if writer in state.open:
            return state.open[writer].first
        first, last = state.value + 1, state.value + count
        taken = {"value": last, f"open.{writer}.first": first, f"open.{writer}.last": last}
        done = await feed.update_one(
            {**PLACE, "value": state.value}, {"$set": taken, "$currentDate": {f"open.{writer}.at": True}}
        )
        if done.matched_count:
            return first


async def close_numbers(db: MongoDatabase, writer: str) -> None:
    """Release a writer's numbers: its changes and all earlier writes are durable. Safe to repeat."""
    await db["feed"].update_one(PLACE, {"$unset": {f"open.{writer}": ""}})


async def settle_numbers(db: MongoDatabase) -> FeedState:
    """Give up stale numbers, and renumber late changes. Return the state up to which all is settled."""
    state = await _read_state(db)
    if not (state.open or state.late):
        return state
    now = _seconds_of((await db.command("hello"))["localTime"])
    if stale := {name: taken for name, taken in state.open.items() if taken.at < now - STALE_S}:
        late = await _give_up(db, stale)
        still_open = {name: taken for name, taken in state.open.items() if name not in late}
        state = replace(state, open=still_open, late={**state.late, **late})
    if state.late:
        await _renumber(db, list(state.late.values()))
        await _forget_late(db, state, now)
    return state


async def _give_up(db: MongoDatabase, stale: Mapping[str, NumberRange]) -> dict[str, NumberRange]:
    """Return those that were still open, and now are late."""
    feed = db["feed"].with_options(write_concern=QUICK)
    late = {}
    for name, taken in stale.items():
        done = await feed.update_one(
            {**PLACE, f"open.{name}.first": taken.first},
            {
                "$unset": {f"open.{name}": ""},
                "$set": {f"late.{name}.first": taken.first, f"late.{name}.last": taken.last},
                "$currentDate": {f"late.{name}.at": True},
            },
        )
        if done.matched_count:
            late[name] = taken
    return late


async def _renumber(db: MongoDatabase, late: Sequence[NumberRange]) -> None:
    """Give new numbers to changes written with these, if there are any since the last time."""
    items = db["item"].with_options(write_concern=QUICK)
    ranges = [{"change": {"$gte": taken.first, "$lte": taken.last}} for taken in late]
    found = [one async for one in items.find({"$or": ranges}, {"change": 1})]
    if not found:
        return
    writer = secrets.token_hex(12)
    first = await open_numbers(db, writer, len(found))
    changes: list[UpdateOne] = [
        UpdateOne({"_id": one["_id"], "change": one["change"]}, {"$set": {"change": first + number}})
        for number, one in enumerate(found)
    ]
    await items.bulk_write(changes, ordered=False)
    await close_numbers(db, writer)


async def _forget_late(db: MongoDatabase, state: FeedState, now: float) -> None:
    old = [name for name, taken in state.late.items() if taken.at < now - LATE_DAYS * DAY_S]
    if old:
        await db["feed"].update_one(PLACE, {"$unset": {f"late.{name}": "" for name in old}})


async def _read_state(db: MongoDatabase) -> FeedState:
    """Read the state from a majority of a replica set: it cannot be rolled back."""
    feed = db["feed"].with_options(read_concern=ReadConcern("majority"))
    return _state_of(await feed.find_one(PLACE) or {})


def _state_of(document: Mapping[str, Any]) -> FeedState:
    ranges = {
        name: {
            writer: NumberRange(taken["first"], taken["last"], _seconds_of(taken["at"]))
            for writer, taken in document.get(name, {}).items()
        }
        for name in ("open", "late")
    }
    return FeedState(value=document.get("value", 0), floor=document.get("floor", 0), **ranges)


def _seconds_of(at: datetime | float) -> float:
    """Return a time of the server; earlier versions noted the seconds of a writer's clock."""
    return at.replace(tzinfo=UTC).timestamp() if isinstance(at, datetime) else at
