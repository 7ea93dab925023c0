"""What the checks of the roster contract are written with: a world with a roster and a clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from gossamer.core.shifts import Shift, ShiftEnd, Standing, Why, WorkerCard
from gossamer.ports.fleet import Attendance, Roster
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_world import holds

TTL_S = 5.0
EXPIRES_S = 5.0


class FullRoster(Roster, Attendance, Protocol):
    """A roster with both of its sides."""


@dataclass
class RosterSubject:
    """What is checked: a roster, how its storage is emptied, and the clock it goes by."""

    roster: FullRoster
    lose_everything: Callable[[], Awaitable[None]]
    clock: ManualClock


Make = Callable[[ManualClock], AbstractAsyncContextManager[RosterSubject]]
Check = Callable[[Make], Awaitable[None]]

ROSTER_CHECKS: dict[str, Check] = {}
"""The checks by name."""


class World:
    """A roster, its clock, and short words for what checks do with them."""

    def __init__(self, subject: RosterSubject) -> None:
        self.subject = subject
        self.roster = subject.roster
        self.clock = subject.clock

    async def leader(self, me: str = "s1") -> int:
        """The token of a supervisor that must come to lead."""
        token = await self.roster.lead(me, TTL_S)
        if token is None:
            raise AssertionError(f"{me} may lead")
        return token

    async def asked(self, *names: str, lane: str = "http") -> list[Shift]:
        """Shifts of job ``j-1`` that were asked for."""
        shifts = [shift(self.clock.now(), name, lane) for name in names]
        holds(await self.roster.ask(shifts, {}, await self.leader()), "the leader may ask")
        return shifts

    async def begun(self, name: str = "a", worker: str = "w1") -> Shift:
        """A shift that a worker has begun."""
        await self.asked(name)
        begun = await self.roster.begin(name, worker)
        if begun is None:
            raise AssertionError("what was asked for can be begun")
        return begun

    async def shifts(self) -> dict[str, Shift]:
        """The shifts as they stand."""
        return {shift.id: shift for shift in (await self.roster.look()).shifts}

    async def standing(self) -> Standing:
        """The standing of the only job."""
        (standing,) = (await self.roster.look()).standings
        return standing

    async def ended(self, name: str, why: Why, pages: int = 0, **fields: object) -> None:
        """A shift that is asked for, begun, and ended like this."""
        begun = await self.begun(name)
        await self.roster.end([end(begun, why, pages=pages, **fields)])


def checked(body: Callable[[World], Awaitable[None]]) -> Check:
    """Register a check that runs in a :class:`World` of its own."""

    async def check(make: Make) -> None:
        async with make(ManualClock()) as subject:
            await body(World(subject))

    check.__name__, check.__doc__ = body.__name__, body.__doc__
    ROSTER_CHECKS[body.__name__] = check
    return check


def card(name: str = "w1", **fields: object) -> WorkerCard:
    """A worker with two slots."""
    return WorkerCard(**({"id": name, "slots": 2, "lanes": ("seed", "http")} | fields))  # type: ignore[arg-type]


def shift(now: float, name: str, lane: str = "http", job: str = "j-1") -> Shift:
    """A shift to be asked for."""
    return Shift(id=name, job=job, lane=lane, expires_at=now + EXPIRES_S)


def end(begun: Shift, why: Why, **fields: object) -> ShiftEnd:
    """How a shift ended."""
    whole = {"id": begun.id, "job": begun.job, "lane": begun.lane, "why": why, "worker": begun.worker}
    return ShiftEnd(**(whole | fields))  # type: ignore[arg-type]
