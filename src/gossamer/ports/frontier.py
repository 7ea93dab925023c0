"""The requests of a job, as workers use them.

Back ends implement :class:`~gossamer.ports.job_frontier.JobFrontier`: this port, and those for owners and for
inspection.
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
    """The requests of one job and the politeness of their hosts.

    Invariants (each a test of the contract suite): every accepted request is in exactly one state; a
    fingerprint is accepted once (except with ``dont_filter``); no host has more leases than
    ``FrontierRules.per_host`` or a start before its ``next_at``. A lower band goes first across hosts; within
    a band the host that may start first, within a host the oldest request. A stale token changes nothing.
    """

    async def add(self, entries: Sequence[Entry]) -> AddResult:
        """Accept requests that are new and not too deep. Counts the refused ones."""
        ...

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Grant:
        """Lease up to ``limit`` requests that may start now, each for ``ttl_s`` seconds.

        First takes back leases past their deadline (``Grant.expired``). An empty grant does not mean that the
        job is finished.
        """
        ...

    async def settle(self, outcomes: Sequence[Outcome]) -> list[bool]:
        """Apply outcomes with their outlinks, each in one atomic step.

        Return ``False`` for each outcome whose lease is no longer valid; such an outcome changes nothing.
        """
        ...

    async def extend(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """Move deadlines to ``ttl_s`` seconds from now. ``False``: the lease is lost; drop the work."""
        ...

    async def release(self, leases: Sequence[Lease], signals: Sequence[HostSignal]) -> None:
        """Give unstarted leases back to their old place in the queue, without counting an attempt.

        ``signals`` (one per lease) say whether the host was contacted meanwhile (robots.txt). Stale leases
        are ignored.
        """
        ...

    async def apply_change(self, change: JobCommand, rules: FrontierRules | None = None) -> tuple[Lease, ...]:
        """Change the job's state along :data:`~gossamer.core.lifecycle.JOB_TABLE`, and its rules from now on.

        Raises :class:`~gossamer.core.errors.TransitionError`, and changes nothing, for a command that the
        table does not allow in this state. ``RECOVER`` takes every lease back as if expired and returns them;
        the others return ``()``.
        """
        ...

    async def read_stats(self) -> FrontierStats:
        """Return the counts. The job is finished when ``waiting == 0``."""
        ...
