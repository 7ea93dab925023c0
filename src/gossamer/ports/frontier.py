"""The requests of a job, as workers use them.

What a back end implements in the end is :class:`~gossamer.ports.job_frontier.JobFrontier`: this port and
those of owners and of the people who look into it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.jobs import AddResult, FrontierStats
from gossamer.core.lifecycle import JobCommand
from gossamer.core.requests import Entry, Grant, Lease
from gossamer.core.results import Outcome


class Frontier(Protocol):
    """The requests of one job: hands them out, takes them back, keeps the hosts' politeness.

    Invariants (each a test of the contract suite): every accepted request is in exactly one state; a
    fingerprint is accepted once (``dont_filter`` aside); no host has more leases than
    ``FrontierRules.per_host`` nor a start before its ``next_at``; a lower band goes first across hosts,
    within a band the host that may start first, within a host the oldest; a stale token changes nothing.
    """

    async def add(self, entries: Sequence[Entry]) -> AddResult:
        """Accept what is not known yet and not too deep. Counts what it refuses."""
        ...

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Grant:
        """Hand out up to ``limit`` requests that may start now, each for ``ttl_s`` seconds.

        First takes back what is past its deadline (``Grant.expired``). An empty grant does not mean
        that the job is finished.
        """
        ...

    async def settle(self, outcomes: Sequence[Outcome]) -> list[bool]:
        """Apply outcomes with their outlinks, each in one atomic step.

        ``False`` for an outcome whose lease is no longer in force; nothing of it was applied.
        """
        ...

    async def extend(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """Move deadlines to ``ttl_s`` seconds from now. ``False``: the lease is lost; drop the work."""
        ...

    async def release(self, leases: Sequence[Lease], signals: Sequence[HostSignal]) -> None:
        """Give leases back unstarted, in their old place in the queue; costs no attempt.

        ``signals`` (one per lease) say whether the host was spoken to meanwhile (robots.txt).
        Stale leases are ignored.
        """
        ...

    async def apply_change(self, change: JobCommand, rules: FrontierRules | None = None) -> tuple[Lease, ...]:
        """Change the job's state along :data:`~gossamer.core.lifecycle.JOB_TABLE`, and its rules from now on.

        Raises :class:`~gossamer.core.errors.TransitionError` for a command that the table does not have in
        this state: nothing is changed then, the rules neither. ``RECOVER`` takes every lease back as if
        expired and returns them; the others return ``()``.
        """
        ...

    async def read_stats(self) -> FrontierStats:
        """Counts. ``waiting == 0`` is what finished means."""
        ...
