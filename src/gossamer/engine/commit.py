"""Frontier and store in two places: the store first, then the lease.

Guarantee: a crash between the two costs one more fetch and doubles nothing, because items are stored
idempotently and the lease that was not settled is handed out again.
"""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.words.model import Harvest, Job
from gossamer.words.ports import Frontier, Store


class SplitCommitter:
    """A ``Committer`` over any frontier and any store."""

    def __init__(self, frontier: Frontier, store: Store, job: Job) -> None:
        self._frontier = frontier
        self._store = store
        self._job = job

    async def commit(self, harvests: Sequence[Harvest]) -> list[bool]:
        """Store everything, then settle; ``False`` for leases that were lost (their items are kept)."""
        await self._store.write(self._job, harvests)
        return await self._frontier.settle([harvest.outcome for harvest in harvests])
