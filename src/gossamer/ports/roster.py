"""A fleet's roster as its supervisors and the commands use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gossamer.core.shifts import EndReason, FleetStore, JobSample, RosterView, Shift


class Roster(Protocol):
    """Who works on what, who leads, and what became of the shifts that were asked for.

    One object implements this port and :class:`~gossamer.ports.worker_registry.WorkerRegistry`.
    """

    async def claim_leadership(self, me: str, ttl_s: float) -> int | None:
        """Become or stay the one supervisor that leads, for ``ttl_s`` seconds; ``0`` resigns.

        A token that is larger than that of every leader before. ``None``: somebody else leads.
        """
        ...

    async def join_store(self, store: FleetStore) -> FleetStore:
        """The store that this fleet works with: the one that was named first, until another is adopted.

        The place of the same store is kept as it is named last.
        """
        ...

    async def adopt_store(self, store: FleetStore) -> None:
        """Let the fleet work with another store; what is known of shifts and jobs is forgotten."""
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

    async def forget_health(self, job: str) -> None:
        """Forget how a job's shifts have ended, since a person has changed it, and notify the supervisor."""
        ...

    async def notify_supervisor(self) -> None:
        """Let the supervisor look at once."""
        ...

    async def wait_for_notification(self, timeout_s: float) -> bool:
        """Wait until it rings, for so long at most. ``True``: it rang, perhaps before the call."""
        ...
