"""Inspection of a frontier and manual changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.jobs import (
    DeadLetter,
    DeadLetterFilter,
    DueCounts,
    HostReport,
    KnownRequest,
    LetterCounts,
    LetterPlace,
    LetterRows,
)
from gossamer.core.requests import Entry


class FrontierAdmin(Protocol):
    """Inspection of a frontier and manual changes."""

    async def are_known(self, entries: Sequence[Entry]) -> list[bool]:
        """Return whether each request was accepted before, by fingerprint. Cheap; others may add them right
        after.
        """
        ...

    async def find_request(
        self, fingerprint: int, host: str, *, tried_at: float = 0.0
    ) -> KnownRequest | None:
        """Return the state of a request to a host, or ``None`` if it was never accepted.

        ``tried_at`` is the time of the last attempt of a request that is dead or due again. The search is
        bounded: a frontier without an index of requests examines a limited number and, if the request is not
        among them, returns ``PENDING`` with that number as ``beyond``; the true state is then unknown.
        """
        ...

    async def raise_requests(self, entries: Sequence[Entry]) -> int:
        """Raise the priority of waiting requests for these pages; return how many were raised.

        An entry's callback, ``meta`` and ``cb_kwargs`` replace those of its request. Requests that are
        leased, done or dead do not change. For manual use: a frontier without an index of requests searches
        in bounded time and may miss some.
        """
        ...

    async def busiest_hosts(self, limit: int) -> list[HostReport]:
        """Return the hosts with most pending requests, busiest first."""
        ...

    async def count_due(self) -> list[DueCounts]:
        """Count the requests that may start now, by lane; empty lanes are left out.

        This is the number that :meth:`~gossamer.ports.frontier.Frontier.lease` would grant without a limit.
        The cost is bounded (``DUE_HOSTS``) and does not grow with the queue.
        """
        ...

    async def dead_letters(self, which: DeadLetterFilter, limit: int = 1000) -> list[DeadLetter]:
        """Dead letters, oldest first."""
        ...

    async def page_letters(
        self, which: DeadLetterFilter, limit: int, before: LetterPlace | None = None
    ) -> LetterRows:
        """Return dead letters older than a position, newest first, in bounded time.

        A part that ends early may have fewer than ``limit``, or none, and names the position to continue
        from.
        """
        ...

    async def count_letters(self, which: DeadLetterFilter) -> LetterCounts:
        """Count the newest ten thousand dead letters that match, by reason."""
        ...

    async def revive_letters(self, which: DeadLetterFilter) -> int:
        """Make dead letters pending again with their counts at zero; a finished job runs again."""
        ...

    async def drop_letters(self, which: DeadLetterFilter) -> int:
        """Delete dead letters; their fingerprints stay known."""
        ...

    async def bury_letters(self, letters: Sequence[DeadLetter], *, were_dropped: bool) -> int:
        """Undo a drop or a retry of dead letters and return how many were restored as they were.

        After a retry only those are restored that still wait unchanged.
        """
        ...
