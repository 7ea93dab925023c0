"""Frontier and store in one file: a worker's results are recorded in one transaction.

Guarantee: a lease is settled, its outlinks are queued, its items, page and ledger rows are stored
together or not at all. A result whose lease was lost leaves only its ledger rows, marked ``stale``:
the fetch did happen, and nothing of what it brought counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sqlite3 import Connection

from gossamer.core.jobs import Job
from gossamer.core.requests import Entry
from gossamer.core.results import Outcome, VisitResult
from gossamer.drivers.sqlite.database import Database
from gossamer.policy.redirects import redirect_targets, with_known_targets


class SameFileCommitter:
    """A ``Committer`` over one database.

    ``settle`` and ``known`` are ``SqliteFrontier``'s, ``write`` is ``SqliteStore``'s, each ``_within``.
    """

    def __init__(
        self,
        db: Database,
        settle: Callable[[Connection, Sequence[Outcome]], list[bool]],
        known: Callable[[Connection, Sequence[Entry]], list[bool]],
        write: Callable[[Connection, Job, Sequence[VisitResult]], None],
        job: Job,
    ) -> None:
        self._db = db
        self._settle = settle
        self._known = known
        self._write = write
        self._job = job

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """Settle, then store what was accepted; ``False`` for leases that were lost."""
        return await self._db.run(lambda conn: self._commit_within(conn, results))

    def _commit_within(self, conn: Connection, results: Sequence[VisitResult]) -> list[bool]:
        targets = redirect_targets(results)
        known = self._known(conn, targets) if targets else []
        accepted = self._settle(conn, [result.outcome for result in results])
        kept = [result for result, taken in zip(results, accepted, strict=True) if taken]
        told = iter(with_known_targets(kept, targets, known) if targets else kept)
        recorded = [
            next(told) if taken else _only_ledger(result)
            for result, taken in zip(results, accepted, strict=True)
        ]
        self._write(conn, self._job, recorded)
        return accepted


def _only_ledger(result: VisitResult) -> VisitResult:
    attempts = tuple(attempt.as_stale() for attempt in result.attempts)
    return VisitResult(outcome=result.outcome, attempts=attempts)
