"""A fleet's roster, for supervisors and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gossamer.core.shifts import EndReason, FleetStore, JobSample, RosterView, Shift


class Roster(Protocol):
    """The workers, the leader and the shifts of a fleet.

    One object implements this port and :class:`~gossamer.ports.worker_registry.WorkerRegistry`.
    """

    async def claim_leadership(self, me: str, ttl_s: float) -> int | None:
        """Become or stay the leading supervisor for ``ttl_s`` seconds; ``0`` resigns.

        Return a token larger than that of every earlier leader, or ``None`` if another supervisor leads.
        """
        ...

    async def join_store(self, store: FleetStore) -> FleetStore:
        """Return the store of this fleet: the first one named, until another is adopted.

        The latest address of the same store is kept.
        """
        ...

    async def adopt_store(self, store: FleetStore) -> None:
        """Switch the fleet to another store, and forget its shifts and jobs."""
        ...

    async def request_shifts(
        self, shifts: Sequence[Shift], recalls: Mapping[str, EndReason], token: int
    ) -> bool:
        """Request shifts and recall others: a running shift stops, one that has not begun becomes void.

        Return ``False``, and change nothing, if the token is not the leader's. Publish only after ``True``.
        """
        ...

    async def read_roster(self, *, history: bool = False) -> RosterView:
        """Return the current roster; ``ends`` and ``samples`` are filled with ``history`` only."""
        ...

    async def reap_shifts(self, shift_ids: Sequence[str]) -> None:
        """Remove shifts whose leases were taken back; a shift that still runs is stopped at its next
        heartbeat.
        """
        ...

    async def add_sample(self, job: str, sample: JobSample) -> None:
        """Store a sample of a job; the latest sixty are kept."""
        ...

    async def forget_health(self, job: str) -> None:
        """Forget how a job's shifts have ended after a manual change, and notify the supervisor."""
        ...

    async def notify_supervisor(self) -> None:
        """Wake the supervisor."""
        ...

    async def wait_for_notification(self, timeout_s: float) -> bool:
        """Wait for a notification, at most this time; return whether one came, also if it came before the
        call.
        """
        ...
