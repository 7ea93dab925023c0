"""A fleet's roster, for workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.shifts import EndReason, Shift, ShiftResult, WorkerInfo


class WorkerRegistry(Protocol):
    """A fleet's roster, for workers.

    Losing all of it costs seconds but no work: the next heartbeat registers worker and shifts again.
    """

    async def begin_shift(self, shift_id: str, worker_id: str) -> Shift | None:
        """Begin a requested shift; the message that names it may be late, lost or duplicated.

        ``None`` is not an error: the shift is no longer requested, has expired, or was begun by another
        message. Do nothing then, and report no end.
        """
        ...

    async def record_heartbeat(self, worker: WorkerInfo, shifts: Sequence[Shift]) -> dict[str, EndReason]:
        """Report that the worker is alive, and the progress of its shifts.

        Returns the shifts to stop, each with the reason to give at its end; other shifts continue. Treat
        ``LOST`` (the shift was declared dead) like any other: results for reclaimed leases are refused;
        leases granted since then are still valid.
        """
        ...

    async def end_shifts(self, ends: Sequence[ShiftResult]) -> None:
        """Report the ends of shifts, and notify the supervisor. Idempotent."""
        ...

    async def remove_worker(self, worker_id: str) -> None:
        """Remove a worker; leases of shifts that it did not end are taken back at once."""
        ...
