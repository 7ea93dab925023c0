"""Frontier and store in one file: the results of visits are recorded in one transaction.

Guarantee: a lease is settled, its outlinks are queued, its items, page and ledger rows are stored together or
not at all. For lost leases see :class:`~gossamer.ports.committer.Committer`.
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
        write: Callable[[Connection, Job, Sequence[VisitResult], Sequence[VisitResult]], None],
        job: Job,
    ) -> None:
        self._db = db
        self._settle = settle
        self._known = known
        self._write = write
        self._job = job

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        return await self._db.run(lambda conn: self._commit_within(conn, results))

    def _commit_within(self, conn: Connection, results: Sequence[VisitResult]) -> list[bool]:
        targets = redirect_targets(results)
        known = self._known(conn, targets) if targets else []
        accepted = self._settle(conn, [result.outcome for result in results])
        kept = [result for result, is_kept in zip(results, accepted, strict=True) if is_kept]
        lost = [result for result, is_kept in zip(results, accepted, strict=True) if not is_kept]
        self._write(conn, self._job, with_known_targets(kept, targets, known) if targets else kept, lost)
        return accepted
