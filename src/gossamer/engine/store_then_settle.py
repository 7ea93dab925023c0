"""Frontier and store in two places: the store first, then the lease.

Guarantee: a crash between the two costs one more fetch and doubles nothing, because items are stored
idempotently and the lease that was not settled is handed out again.
"""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.jobs import Job
from gossamer.core.results import Verdict, VisitResult
from gossamer.policy.redirects import redirect_targets, with_known_targets
from gossamer.ports.job_frontier import AdminFrontier
from gossamer.ports.store import Store


class SplitCommitter:
    """A ``Committer`` over any frontier and any store.

    It reads which redirects lead to known pages before it writes to the store: of two workers that record
    redirects to the same new page within the same milliseconds, the second may not know of the first.

    Results that were stored, but could not be settled with others, are not stored again when they are
    committed alone.
    """

    def __init__(self, frontier: AdminFrontier, store: Store, job: Job) -> None:
        self._frontier = frontier
        self._store = store
        self._job = job
        self._unsettled: set[tuple[int, Verdict]] = set()  # stored already, by the token of the lease

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`. Marks the rows of lost leases after the fact."""
        targets = redirect_targets(results)
        if targets:
            results = with_known_targets(results, targets, await self._frontier.are_known(targets))
        new = [result for result in results if _key_of(result) not in self._unsettled]
        if new:
            await self._store.write(self._job, new)
        keys = [_key_of(result) for result in results]
        self._unsettled.update(keys)
        kept = await self._frontier.settle([result.outcome for result in results])
        self._unsettled.difference_update(keys)
        if not all(kept):
            lost = [result for result, is_kept in zip(results, kept, strict=True) if not is_kept]
            rows = [attempt for result in lost for attempt in result.attempts]
            await self._store.mark_stale(self._job, rows)
        return kept


def _key_of(result: VisitResult) -> tuple[int, Verdict]:
    """Return the key that identifies a result while its lease is valid."""
    return result.outcome.lease.token, result.outcome.verdict
