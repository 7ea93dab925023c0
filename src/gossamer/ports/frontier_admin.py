"""Looking into a frontier, and what a person may do to it."""

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
    """Looking into a frontier, and what a person may do to it."""

    async def are_known(self, entries: Sequence[Entry]) -> list[bool]:
        """Whether each was accepted before, by its fingerprint. Cheap; others may add them right after."""
        ...

    async def find_request(
        self, fingerprint: int, host: str, *, tried_at: float = 0.0
    ) -> KnownRequest | None:
        """What is known of a request to a host, and where it stands; ``None``: never accepted.

        ``tried_at`` is when it was tried for the last time, if it was: it died, or is due, after that. In
        bounded time: a frontier without an index of its requests looks at so many, and if it is none of them
        says ``PENDING`` and ``beyond`` how many; then it may be anything that it can be.
        """
        ...

    async def raise_requests(self, entries: Sequence[Entry]) -> int:
        """Give the waiting requests for some pages the priority that is wanted for them, where it is higher.

        What an entry says of its callback, of ``meta`` and of ``cb_kwargs`` counts, too. Nothing changes for
        requests that are leased, done or dead. How many were raised. For a person: a frontier without an
        index of its requests looks in bounded time at those that may be meant, and leaves out others.
        """
        ...

    async def busiest_hosts(self, limit: int) -> list[HostReport]:
        """The hosts with most pending requests, busiest first."""
        ...

    async def count_due(self) -> list[DueCounts]:
        """How many requests may start now, by lane; lanes with none are left out.

        So many would :meth:`~gossamer.ports.frontier.Frontier.lease` hand out, if it was asked for all. The
        cost is bounded (``DUE_HOSTS``) and does not grow with what waits.
        """
        ...

    async def dead_letters(self, which: DeadLetterFilter, limit: int = 1000) -> list[DeadLetter]:
        """Dead letters, oldest first."""
        ...

    async def page_letters(
        self, which: DeadLetterFilter, limit: int, before: LetterPlace | None = None
    ) -> LetterRows:
        """Dead letters older than a place, newest first, in bounded time.

        A part that ends early may have fewer than asked for, or none, and says where to go on.
        """
        ...

    async def count_letters(self, which: DeadLetterFilter) -> LetterCounts:
        """How many of the newest ten thousand dead letters fit, by their reasons."""
        ...

    async def revive_letters(self, which: DeadLetterFilter) -> int:
        """Make dead letters pending again with their counts at zero; a finished job runs again."""
        ...

    async def drop_letters(self, which: DeadLetterFilter) -> int:
        """Forget dead letters; their fingerprints stay known."""
        ...

    async def bury_letters(self, letters: Sequence[DeadLetter], *, were_dropped: bool) -> int:
        """Take back that dead letters were dropped, or revived: they are there again, as they were; how many.

        Of those that were revived only such as have waited untouched since then.
        """
        ...
