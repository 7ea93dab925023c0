"""What a fleet's supervisor works with, and the time it keeps of jobs in shared state."""

from __future__ import annotations

import logging
import random as random_numbers
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from gossamer.policy.shifts import Limits
from gossamer.words.clock import Clock
from gossamer.words.model import Job
from gossamer.words.ports import JobBook, OwnedFrontier, Roster, SharedState, Store
from gossamer.words.shifts import PAGE_LANE, Shift

log = logging.getLogger("gossamer.fleet")

SPENT = "fleet-spent"
BREAK_S = 10.0
"""A longer time between two looks counts as so much: nobody looked after the job meanwhile."""

KEPT_S = 10 * 365 * 86_400.0
"""The mark outlives any job; losing it lets the job's time count anew."""


class FleetFrontier(OwnedFrontier, Protocol):
    """A frontier whose leases belong to shifts, and that may lose its latest changes."""

    async def finish_seeding(self) -> None:
        """Record that all seeds were added, by this object: ``stats().seeded`` is true from now on.

        A server that loses a seed loses this record with it, and the job is seeded again. Raises
        ``StorageError`` when seeds may have been lost already.
        """
        ...

    async def redo_lost(self) -> int:
        """Make requests pending again that were settled with links which a server has lost; how many.

        Call it after ``stats`` said that nothing waits: ``0`` proves that it was true.
        """
        ...


@dataclass(frozen=True)
class Watched:
    """A job as the supervisor sees it."""

    frontier: FleetFrontier
    per_host: int = 1
    max_time_s: float | None = None
    lanes: tuple[str, ...] = (PAGE_LANE,)  # of its requests


@dataclass(frozen=True)
class FleetParts:
    """Everything a supervisor works with; all state is in here, and none in the supervisor."""

    book: JobBook
    store: Store
    roster: Roster
    shared: SharedState
    clock: Clock
    watched: Callable[[Job], Watched]  # raises OperatorError for a job that it cannot make out
    publish: Callable[[Sequence[Shift]], Awaitable[None]]  # messages to workers; may be lost


@dataclass(frozen=True)
class FleetOptions:
    """How a supervisor goes about it."""

    limits: Limits = field(default_factory=Limits)
    look_every_s: float = 1.0
    breath_s: float = 0.02  # between two looks, however often the bell rings
    lead_ttl_s: float = 5.0  # a leader that is gone is followed after so long
    expires_s: float = 5.0  # a shift that nobody began for so long is asked for again
    patience_s: float = 10.0  # for any one answer of a server
    sample_every_s: float = 2.0
    first_pause_s: float = 1.0  # after trouble with a server; twice as long each time
    longest_pause_s: float = 15.0
    side_by_side: int = 16  # jobs that are looked at side by side


def tag_of(job: Job) -> str:
    """A job's name where several stores keep things: their ids are alike, and begin anew with each store."""
    return f"{job.id}-{sha256(job.key).hexdigest()[:12]}"


async def spent_s(shared: SharedState, job: Job, now: float) -> float:
    """For how long a job has been looked after, this look included; while it is paused no time is spent."""
    value = await shared.get(SPENT, tag_of(job))
    spent, seen_at = map(float, value.split()) if value else (0.0, now)
    spent += min(max(now - seen_at, 0.0), BREAK_S)
    await shared.put(SPENT, tag_of(job), f"{spent!r} {now!r}".encode(), KEPT_S)
    return spent


async def forget_spent(shared: SharedState, job: Job) -> None:
    """The run is over; should the job be resumed, its time counts anew."""
    await shared.put(SPENT, tag_of(job), b"", KEPT_S)


async def forget_marks(shared: SharedState, job: Job) -> None:
    """The job and its requests are history."""
    await shared.put(SPENT, tag_of(job), b"", 0.0)


class Complaints:
    """Trouble by what it is with: one line when it begins or changes, one when it is over, and back-off.

    The same words are not said twice: a server that is gone is the trouble of every job.
    """

    def __init__(
        self, options: FleetOptions | None = None, random: Callable[[], float] = random_numbers.random
    ) -> None:
        self._options = options or FleetOptions()
        self._random = random
        self._texts: dict[str, str] = {}
        self._until: dict[str, float] = {}
        self._times: dict[str, int] = {}
        self._told: set[str] = set()

    def say(self, what: str, text: str, now: float) -> float:
        """There is trouble; how long to leave it alone."""
        if text not in self._texts.values():
            log.warning("%s: %s", what, text)
            self._told.add(what)
        self._texts[what] = text
        times = self._times[what] = self._times.get(what, 0) + 1
        most_s = self._options.first_pause_s * 2.0 ** min(times - 1, 30)
        pause_s = min(most_s, self._options.longest_pause_s) * (0.5 + self._random() / 2)
        self._until[what] = now + pause_s
        return pause_s

    def well(self, what: str) -> None:
        """It goes again."""
        if what in self._told:
            log.info("%s: it goes on", what)
        self._forget(what)

    def leaves_alone(self, what: str, now: float) -> bool:
        """Whether it is too early to try again."""
        return self._until.get(what, now) > now

    def of(self, what: str) -> str:
        """The trouble, if there is any."""
        return self._texts.get(what, "")

    def keep(self, those: set[str]) -> None:
        """Forget all but the trouble with these."""
        for what in self._texts.keys() - those:
            self._forget(what)

    def _forget(self, what: str) -> None:
        self._told.discard(what)
        for kept in (self._texts, self._until, self._times):
            kept.pop(what, None)
