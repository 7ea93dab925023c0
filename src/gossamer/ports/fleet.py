"""The workers of a fleet, and the shifts they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gossamer.core.shifts import RosterView, Sample, Shift, ShiftEnd, Why, WorkerCard


class Attendance(Protocol):
    """A fleet's roster as workers use it.

    Losing all of it costs seconds and no work: the next beat registers worker and shifts again.
    """

    async def begin(self, shift_id: str, worker_id: str) -> Shift | None:
        """Begin a shift that was asked for; the message that names it may be late, lost or doubled.

        ``None`` is no trouble: nobody asks for it any more, it expired, or another message began it.
        Do nothing then, and report no end.
        """
        ...

    async def beat(self, worker: WorkerCard, shifts: Sequence[Shift]) -> dict[str, Why]:
        """Say that the worker lives and what its shifts have done.

        Returns the shifts that shall stop, each with the reason to give at its end; a shift that is not
        in it goes on. ``LOST`` (it was declared dead): stop like any other; of what it holds, that which was
        taken back is refused when it lands, and that which it has leased since is good.
        """
        ...

    async def end(self, ends: Sequence[ShiftEnd]) -> None:
        """Say how shifts ended, and ring the supervisor's bell. Repeating it changes nothing more."""
        ...

    async def leave(self, worker_id: str) -> None:
        """Strike a worker off; leases of shifts that it did not end are taken back at once."""
        ...


class Roster(Protocol):
    """A fleet's roster as supervisors and commands use it."""

    async def lead(self, me: str, ttl_s: float) -> int | None:
        """Become or stay the one supervisor that leads, for ``ttl_s`` seconds; ``0`` resigns.

        A token that is larger than that of every leader before. ``None``: somebody else leads.
        """
        ...

    async def ask(self, shifts: Sequence[Shift], recalls: Mapping[str, Why], token: int) -> bool:
        """Enter shifts as asked for, and recall others: one that is begun stops, one that is not is void.

        ``False``: the token is not that of the leader, and nothing was changed. Publish only after ``True``.
        """
        ...

    async def look(self, *, history: bool = False) -> RosterView:
        """Everything as it is now; ``ends`` and ``samples`` are filled with ``history`` only."""
        ...

    async def bury(self, shift_ids: Sequence[str]) -> None:
        """Strike off shifts whose leases were taken back; should one still live, its next beat stops it."""
        ...

    async def note(self, job: str, sample: Sample) -> None:
        """Keep a sample of a job; the latest sixty are remembered."""
        ...

    async def ring(self) -> None:
        """Let the supervisor look at once."""
        ...

    async def wait_bell(self, timeout_s: float) -> bool:
        """Wait until it rings, for so long at most. ``True``: it rang, perhaps before the call."""
        ...
