"""The workers of a fleet, and the shifts they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gossamer.core.shifts import EndReason, JobSample, RosterView, Shift, ShiftResult, WorkerInfo


class WorkerRegistry(Protocol):
    """A fleet's roster as workers use it.

    Losing all of it costs seconds and no work: the next beat registers worker and shifts again.
    """

    async def begin_shift(self, shift_id: str, worker_id: str) -> Shift | None:
        """Begin a shift that was asked for; the message that names it may be late, lost or doubled.

        ``None`` is no trouble: nobody asks for it any more, it expired, or another message began it.
        Do nothing then, and report no end.
        """
        ...

    async def record_heartbeat(self, worker: WorkerInfo, shifts: Sequence[Shift]) -> dict[str, EndReason]:
        """Say that the worker lives and what its shifts have done.

        Returns the shifts that shall stop, each with the reason to give at its end; a shift that is not
        in it goes on. ``LOST`` (it was declared dead): stop like any other; of what it holds, that which was
        taken back is refused when it lands, and that which it has leased since is good.
        """
        ...

    async def end_shifts(self, ends: Sequence[ShiftResult]) -> None:
        """Say how shifts ended, and ring the supervisor's bell. Repeating it changes nothing more."""
        ...

    async def remove_worker(self, worker_id: str) -> None:
        """Strike a worker off; leases of shifts that it did not end are taken back at once."""
        ...


class Roster(Protocol):
    """A fleet's roster as supervisors and commands use it."""

    async def claim_leadership(self, me: str, ttl_s: float) -> int | None:
        """Become or stay the one supervisor that leads, for ``ttl_s`` seconds; ``0`` resigns.

        A token that is larger than that of every leader before. ``None``: somebody else leads.
        """
        ...

    async def request_shifts(
        self, shifts: Sequence[Shift], recalls: Mapping[str, EndReason], token: int
    ) -> bool:
        """Enter shifts as asked for, and recall others: one that is begun stops, one that is not is void.

        ``False``: the token is not that of the leader, and nothing was changed. Publish only after ``True``.
        """
        ...

    async def read_roster(self, *, history: bool = False) -> RosterView:
        """Everything as it is now; ``ends`` and ``samples`` are filled with ``history`` only."""
        ...

    async def reap_shifts(self, shift_ids: Sequence[str]) -> None:
        """Strike off shifts whose leases were taken back; should one still live, its next beat stops it."""
        ...

    async def add_sample(self, job: str, sample: JobSample) -> None:
        """Keep a sample of a job; the latest sixty are remembered."""
        ...

    async def notify_supervisor(self) -> None:
        """Let the supervisor look at once."""
        ...

    async def wait_for_notification(self, timeout_s: float) -> bool:
        """Wait until it rings, for so long at most. ``True``: it rang, perhaps before the call."""
        ...
