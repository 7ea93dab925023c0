"""Numbers of changes in MongoDB, which tell the order of what was written without transactions.

A change gets its number before it is written, so one with a later number may be there first. Therefore who
takes numbers is noted as long as it writes, in the document that also says how far the numbers have come:
before the first number that is being written, nothing comes any more. Who was killed would hold up all others
for ever: after ``STALE_S`` its numbers are given up, and what is or will be found with one of them gets a new
number, however late it was written. How long somebody writes is told by the server's clock alone: the clocks
of two machines, one that writes and one that reads, may be minutes apart.

The document: ``value``, the highest number; ``open`` and ``late``, by writer, the numbers that are being
written and those that were given up; ``floor``: up to here, changes are forgotten.
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
"""How long a writer holds up those who read, at most. What is written later than that is told later."""
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
        """Up to this number, nothing is written any more but what is late."""
        return min([self.value, *(taken.first - 1 for taken in self.open.values())])

    def is_late(self, number: int) -> bool:
        """Whether a number was given up."""
        return any(taken.first <= number <= taken.last for taken in self.late.values())


async def open_numbers(db: MongoDatabase, writer: str, count: int) -> int:
    """The first of ``count`` new numbers, which are open until :func:`close_numbers`.

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
    """All is written that these numbers were for: durably, with what was written before. Safe to repeat."""
    await db["feed"].update_one(PLACE, {"$unset": {f"open.{writer}": ""}})


async def settle_numbers(db: MongoDatabase) -> FeedState:
    """Give up what was not finished, give new numbers to what is late; how far all is settled then."""
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
    """Those that were still open, and now are late."""
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
    """Give new numbers to what was written with these, if anything was since the last time."""
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
    """As most members of a replica set have it: what it tells is not taken back."""
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
    """A time of the server; earlier versions noted the seconds of a writer's clock."""
    return at.replace(tzinfo=UTC).timestamp() if isinstance(at, datetime) else at
