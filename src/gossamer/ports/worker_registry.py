"""A fleet's roster as its workers use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.shifts import EndReason, Shift, ShiftResult, WorkerInfo


class WorkerRegistry(Protocol):
    """A fleet's roster as workers use it.

    Losing all of it costs seconds and no work: the next beat registers worker and shifts again.
    """

    async def begin_shift(self, shift_id: str, worker_id: str) -> Shift | None:
        """Begin a shift that was asked for; the message that names it may be late, lost or doubled.

        ``None`` is not a sign of trouble: nobody asks for it any longer, it expired, or another message
        began it. Do nothing then, and report no end.
        """
        ...

    async def record_heartbeat(self, worker: WorkerInfo, shifts: Sequence[Shift]) -> dict[str, EndReason]:
        """Say that the worker lives and what its shifts have done.

        Returns the shifts that shall stop, each with the reason to give at its end; a shift that is not
        in it continues. ``LOST`` (it was declared dead): stop like any other; results for leases that were
        reclaimed are refused; leases granted since then are still valid.
        """
        ...

    async def end_shifts(self, ends: Sequence[ShiftResult]) -> None:
        """Say how shifts ended, and ring the supervisor's bell. Repeating it changes nothing more."""
        ...

    async def remove_worker(self, worker_id: str) -> None:
        """Strike a worker off; leases of shifts that it did not end are taken back at once."""
        ...
