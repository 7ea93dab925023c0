"""The tools of the roster contract: a world with a roster and a clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from gossamer.core.shifts import EndReason, LaneHealth, Shift, ShiftResult, WorkerInfo
from gossamer.ports.backends import FleetRoster
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.suite import assert_holds

TTL_S = 5.0
EXPIRES_S = 5.0


@dataclass
class RosterSubject:
    """The roster under test, a way to empty its storage, and its clock."""

    roster: FleetRoster
    lose_everything: Callable[[], Awaitable[None]]
    clock: ManualClock


Make = Callable[[ManualClock], AbstractAsyncContextManager[RosterSubject]]
Check = Callable[[Make], Awaitable[None]]

ROSTER_CHECKS: dict[str, Check] = {}
"""The checks by name."""


class RosterHarness:
    """A roster, its clock, and short methods for the checks."""

    def __init__(self, subject: RosterSubject) -> None:
        self.subject = subject
        self.roster = subject.roster
        self.clock = subject.clock

    async def claim_leadership(self, me: str = "s1") -> int:
        """Return the token of a supervisor that must become the leader."""
        token = await self.roster.claim_leadership(me, TTL_S)
        if token is None:
            raise AssertionError(f"{me} may lead")
        return token

    async def request_shifts(self, *names: str, lane: str = "http") -> list[Shift]:
        """Request shifts of job ``j-1``."""
        shifts = [make_shift(self.clock.now(), name, lane) for name in names]
        assert_holds(
            await self.roster.request_shifts(shifts, {}, await self.claim_leadership()), "the leader may ask"
        )
        return shifts

    async def begin_shift(self, name: str = "a", worker: str = "w1") -> Shift:
        """Return a shift that a worker has begun."""
        await self.request_shifts(name)
        begun = await self.roster.begin_shift(name, worker)
        if begun is None:
            raise AssertionError("a requested shift can be begun")
        return begun

    async def read_shifts(self) -> dict[str, Shift]:
        """Return the present shifts."""
        return {shift.id: shift for shift in (await self.roster.read_roster()).shifts}

    async def read_health(self) -> LaneHealth:
        """Return the health of the only job."""
        (standing,) = (await self.roster.read_roster()).standings
        return standing

    async def end_shift(self, name: str, why: EndReason, pages: int = 0, **fields: object) -> None:
        """Request, begin and end a shift."""
        begun = await self.begin_shift(name)
        await self.roster.end_shifts([make_end(begun, why, pages=pages, **fields)])


def register_check(body: Callable[[RosterHarness], Awaitable[None]]) -> Check:
    """Register a check that runs in a :class:`RosterHarness` of its own."""

    async def check(make: Make) -> None:
        async with make(ManualClock()) as subject:
            await body(RosterHarness(subject))

    check.__name__, check.__doc__ = body.__name__, body.__doc__
    ROSTER_CHECKS[body.__name__] = check
    return check


def make_card(name: str = "w1", **fields: object) -> WorkerInfo:
    """Make a worker with two slots."""
    return WorkerInfo(**({"id": name, "slots": 2, "lanes": ("seed", "http")} | fields))  # type: ignore[arg-type]


def make_shift(now: float, name: str, lane: str = "http", job: str = "j-1") -> Shift:
    """Make a shift to request."""
    return Shift(id=name, job=job, lane=lane, expires_at=now + EXPIRES_S)


def make_end(begun: Shift, why: EndReason, **fields: object) -> ShiftResult:
    """Make the end of a shift."""
    whole = {"id": begun.id, "job": begun.job, "lane": begun.lane, "why": why, "worker": begun.worker}
    return ShiftResult(**(whole | fields))  # type: ignore[arg-type]
