"""The seams of the house: every place where one thing can be put for another.

At most seven methods each. Adapters implement them, the engine speaks only to them, and
``gossamer.testing.contracts`` proves every implementation. Unless a method says otherwise it may be
called concurrently, raises :class:`~gossamer.core.errors.StorageError` when its storage fails, and
has then changed nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.jobs import (
    AddResult,
    DeadLetter,
    DeadLetterFilter,
    FrontierStats,
    HostReport,
    JobCommand,
    KnownRequest,
)
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

        ``False`` for an outcome whose lease is not in force any more; nothing of it was applied.
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
        """Change the job's state, or (``rules``) its rules from now on.

        ``RECOVER`` takes every lease back as if expired and returns them; the others return ``()``.
        """
        ...

    async def read_stats(self) -> FrontierStats:
        """Counts. ``waiting == 0`` is what finished means."""
        ...


class OwnedFrontier(Frontier, Protocol):
    """A frontier that several processes share: every lease belongs to the owner that it was opened for.

    One that lives and dies with its process has no use for owners.
    """

    async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
        """Take back every lease of ``owner`` as if expired and return them: the caller knows that it is gone.

        The leases of all others stay in force.
        """
        ...


class FrontierAdmin(Protocol):
    """Looking into a frontier, and what a person may do to it."""

    async def are_known(self, entries: Sequence[Entry]) -> list[bool]:
        """Whether each was accepted before, by its fingerprint. Cheap; others may add them right after."""
        ...

    async def find_request(self, fingerprint: int) -> KnownRequest | None:
        """What is known of a fingerprint; ``None``: never accepted."""
        ...

    async def busiest_hosts(self, limit: int) -> list[HostReport]:
        """The hosts with most pending requests, busiest first."""
        ...

    async def dead_letters(self, which: DeadLetterFilter, limit: int = 1000) -> list[DeadLetter]:
        """Dead letters, oldest first."""
        ...

    async def revive_letters(self, which: DeadLetterFilter) -> int:
        """Make dead letters pending again with their counts at zero; a finished job runs again."""
        ...

    async def drop_letters(self, which: DeadLetterFilter) -> int:
        """Forget dead letters; their fingerprints stay known."""
        ...
