"""The frontier in the one SQLite file.

Guarantee: all state is in the file, so a crawl survives any crash between two commits, several
processes may share it, and a call that fails has changed nothing. Each call is one transaction of the
:class:`~gossamer.drivers.sqlite.database.Database`; waiting calls commit together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import inf
from sqlite3 import Connection
from typing import TypeVar

from gossamer.core.hosts import FrontierRules, HostOrder, HostSignal, HostState
from gossamer.core.jobs import (
    AddResult,
    DeadLetter,
    DeadLetterFilter,
    DueCounts,
    FrontierStats,
    HostReport,
    KnownRequest,
    LetterCounts,
    LetterPlace,
    LetterRows,
    earliest_time,
)
from gossamer.core.lifecycle import JobCommand, RequestState, next_job_state
from gossamer.core.requests import Entry, Grant, Lease
from gossamer.core.results import Outcome
from gossamer.core.shifts import EXTRACT_LANE, PAGE_LANE
from gossamer.drivers.sqlite.database import Database
from gossamer.frontier.sqlite import admin, moves
from gossamer.frontier.sqlite.due import count_due
from gossamer.frontier.sqlite.hosts import KEPT, withdraw_claims
from gossamer.frontier.sqlite.session import SQL, FrontierTransaction, lane_key, lane_name, pack_rules
from gossamer.frontier.transitions import ROUND
from gossamer.ports.clock import Clock

T = TypeVar("T")
PACES = "paces"
"""The key in the database's memory for the common knowledge of hosts."""
MOST_PACES = 4 * KEPT
"""Hosts that are remembered there, about 1 KB each; beyond it, memory starts anew."""


class SqliteFrontier:
    """An ``OwnedFrontier`` and ``FrontierAdmin`` over a database.

    ``rules`` are those of a new job; a job that exists keeps its own until they are changed.
    ``owner`` is who leases, for ``recover``. ``seed`` seeds the jitter of back-offs. Opening blocks for one
    small transaction.
    """

    def __init__(
        self,
        db: Database,
        job: str,
        rules: FrontierRules,
        clock: Clock,
        *,
        owner: str = "",
        seed: int | None = None,
    ) -> None:
        self._db = db
        self._job = job
        self._owner = owner
        self._key = ("frontier", job)  # of the session in the database's memory
        self._clock = clock
        self._random = random.Random(seed)  # noqa: S311 - spreads back-offs, guards nothing
        first = next_job_state(None, JobCommand.CREATE)
        if db.run_sync(
            lambda conn: conn.execute(SQL["open"], (job, first.value, pack_rules(rules))).rowcount
        ):
            db.run_sync(lambda _: db.memory.clear())  # the others are no longer alone

    def __repr__(self) -> str:
        return f"<SqliteFrontier {self._job} in {self._db!r}>"

    # ----------------------------------------------------------------- the port

    async def add(self, entries: Sequence[Entry]) -> AddResult:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return await self._run_change(lambda s: s.add_entries(entries))

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Grant:
        """See :class:`~gossamer.ports.frontier.Frontier`."""

        def lease(s: FrontierTransaction) -> Grant:
            key = lane_key(lane)
            expired = moves.take_back(s, s.now, ROUND)
            moves.promote_due(s, key)
            s.hosts.save(s.conn)  # so that their turns are seen
            leases = moves.hand_out(s, key, limit, ttl_s, self._owner, jitter=self._random.random)
            s.hosts.save(s.conn)
            next_at = earliest_time(moves.next_times(s, key))
            return Grant(leases=leases, next_at=next_at, expired=expired)

        return await self._run_change(lease)

    async def settle(self, outcomes: Sequence[Outcome]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return await self._db.run(lambda conn: self.settle_within(conn, outcomes))

    def settle_within(self, conn: Connection, outcomes: Sequence[Outcome]) -> list[bool]:
        """Return the same inside a transaction of the caller's."""
        return self._run_within(conn, lambda s: moves.settle_outcomes(s, outcomes, self._random.random))

    async def extend(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return await self._run_change(lambda s: moves.extend_leases(s, leases, ttl_s))

    async def release(self, leases: Sequence[Lease], signals: Sequence[HostSignal]) -> None:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        await self._run_change(lambda s: moves.release_leases(s, leases, signals, self._random.random))

    async def apply_change(self, change: JobCommand, rules: FrontierRules | None = None) -> tuple[Lease, ...]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""

        def control(s: FrontierTransaction) -> tuple[Lease, ...]:
            s.state = next_job_state(s.state, change)
            if rules is not None:
                s.apply_rules(rules)
            return moves.take_back(s, inf, -1) if change is JobCommand.RECOVER else ()

        taken = await self._run_change(control)
        await self._db.run(lambda _: self._db.memory.clear())  # others may be alone, or no longer so
        return taken

    async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
        """See :class:`~gossamer.ports.owned_frontier.OwnedFrontier`."""
        return await self._run_change(lambda s: moves.take_back(s, inf, -1, owner))

    async def withdraw_claims(self, at: float) -> None:
        """Release the slots of requests that were in flight at a time; the requests stay leased.

        Call it only if the job has no live worker: later requests count as usual.
        """

        def withdraw(conn: Connection) -> None:
            withdraw_claims(conn, self._job, at)
            self._db.memory.clear()  # it knew of them

        await self._db.run(withdraw)

    async def read_stats(self) -> FrontierStats:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return await self._db.read(
            lambda conn: _stats_of(FrontierTransaction(conn, self._job, self._clock.now()))
        )

    # ----------------------------------------------------------------- looking and steering

    async def are_known(self, entries: Sequence[Entry]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        wanted = {entry.fingerprint for entry in entries}
        known = await self._db.read(
            lambda conn: FrontierTransaction(conn, self._job, 0.0).known_fingerprints(wanted)
        )
        return [entry.fingerprint in known for entry in entries]

    def known_within(self, conn: Connection, entries: Sequence[Entry]) -> list[bool]:
        """Return the same inside a transaction of the caller's."""
        known = self._run_within(
            conn, lambda s: s.known_fingerprints({entry.fingerprint for entry in entries})
        )
        return [entry.fingerprint in known for entry in entries]

    async def find_request(
        self, fingerprint: int, host: str, *, tried_at: float = 0.0
    ) -> KnownRequest | None:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        now = self._clock.now()
        return await self._db.read(lambda conn: admin.find_request(conn, self._job, fingerprint, now))

    async def raise_requests(self, entries: Sequence[Entry]) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._run_change(lambda s: admin.raise_requests(s, entries))

    async def busiest_hosts(self, limit: int) -> list[HostReport]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        now = self._clock.now()
        return await self._db.read(lambda conn: admin.busiest_hosts(conn, self._job, limit, now))

    async def read_rules(self) -> FrontierRules:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        return await self._db.read(lambda conn: admin.read_rules(conn, self._job))

    async def change_rules(self, rules: FrontierRules, *, expected: FrontierRules) -> bool:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""

        def change(s: FrontierTransaction) -> bool:
            is_expected = s.rules == expected
            if is_expected:
                s.apply_rules(rules)
            return is_expected

        return await self._run_change(change)

    async def find_host(self, host: str) -> HostReport | None:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        now = self._clock.now()
        return await self._db.read(lambda conn: admin.find_host(conn, self._job, host, now))

    async def steer_host(self, host: str, order: HostOrder) -> HostState | None:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        return await self._run_change(lambda s: admin.steer_host(s, host, order))

    async def count_due(self) -> list[DueCounts]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._db.read(
            lambda conn: count_due(FrontierTransaction(conn, self._job, self._clock.now()))
        )

    async def dead_letters(self, which: DeadLetterFilter, limit: int = 1000) -> list[DeadLetter]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._db.read(lambda conn: admin.dead_letters(conn, self._job, which, limit))

    async def page_letters(
        self, which: DeadLetterFilter, limit: int, before: LetterPlace | None = None
    ) -> LetterRows:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._db.read(lambda conn: admin.page_letters(conn, self._job, which, limit, before))

    async def count_letters(self, which: DeadLetterFilter) -> LetterCounts:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._db.read(lambda conn: admin.count_letters(conn, self._job, which))

    async def revive_letters(self, which: DeadLetterFilter) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._run_change(lambda s: admin.revive_letters(s, self._job, which))

    async def drop_letters(self, which: DeadLetterFilter) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._run_change(lambda s: admin.drop_letters(s, self._job, which))

    async def bury_letters(self, letters: Sequence[DeadLetter], *, were_dropped: bool) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await self._run_change(lambda s: admin.bury_letters(s, letters, were_dropped=were_dropped))

    # ----------------------------------------------------------------- transactions

    async def _run_change(self, act: Callable[[FrontierTransaction], T]) -> T:
        return await self._db.run(lambda conn: self._run_within(conn, act))

    def _run_within(self, conn: Connection, act: Callable[[FrontierTransaction], T]) -> T:
        # The time is taken here, under the lock, so that a call that waited grants no stale lease.
        now = self._clock.now()
        memory = self._db.memory
        if len(memory.get(PACES, ())) > MOST_PACES:
            memory.clear()
        session = memory.get(self._key)
        if session is None:
            paces = memory.setdefault(PACES, {})
            session = memory[self._key] = FrontierTransaction(conn, self._job, now, paces)
        else:
            session.begin_transaction(now)
        result = act(session)
        session.save()
        return result


def _stats_of(s: FrontierTransaction) -> FrontierStats:
    lanes = [row[0] for row in s.fetch_all("lanes", s.id)]
    times = {lane: moves.next_times(s, lane) for lane in lanes or [lane_key(PAGE_LANE)]}
    return FrontierStats(
        state=s.state,
        pending=s.counts[RequestState.PENDING],
        delayed=s.counts[RequestState.DELAYED],
        leased=s.counts[RequestState.LEASED],
        done=s.counts[RequestState.DONE],
        dead=s.counts[RequestState.DEAD],
        pages=s.pages,
        duplicates=s.duplicates,
        too_deep=s.too_deep,
        hosts=s.known_hosts,
        deadline=next(iter(times.values()))[0],
        next_by_lane={lane_name(lane): at for lane, (_, at) in times.items() if at is not None},
        budget_spent=_is_budget_spent(s),
    )


def _is_budget_spent(s: FrontierTransaction) -> bool:
    if s.rules.max_pages is None or s.pages < s.rules.max_pages:
        return False
    _, due, turn = s.fetch_one("next_times", s.id, lane_key(EXTRACT_LANE))
    return due is None and turn is None
