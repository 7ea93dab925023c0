"""One transaction's view of one job's frontier.

Guarantee: it has the file's state under the write lock, so any number of processes may share the file.
Changes are written once, at the end: counters, hosts and turns cannot disagree with the requests. A session
serves successive transactions until another connection writes to the file (``Database.memory``), so that most
need to read only requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf
from sqlite3 import Connection
from typing import Any

import msgspec

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import AddResult
from gossamer.core.lifecycle import JobState, RequestState, RequestTransition, next_state
from gossamer.core.requests import Entry
from gossamer.drivers.sql import load_statements, write_rows
from gossamer.frontier.codec import pack_request
from gossamer.frontier.paced_hosts import Paces, PaceTable
from gossamer.frontier.sqlite.hosts import HostCache, as_json
from gossamer.frontier.transitions import recorded_as
from gossamer.policy import politeness
from gossamer.policy.steering import changes_delays, changes_room, move_turn

SQL = load_statements("gossamer.frontier.sqlite", "frontier.sql")
CODES = {RequestState.PENDING: 0, RequestState.DELAYED: 1, RequestState.LEASED: 2, RequestState.DEAD: 3}
"""The states of rows; a done request has none."""

Untried = (0.0, 0, 0, 0, 0)
"""due_at, attempts, failures, throttled, expiries of a request without a row in ``trial``."""


@lru_cache(maxsize=64)
def _unpack_rules(record: bytes) -> FrontierRules:
    return msgspec.msgpack.decode(record, type=FrontierRules)


def lane_key(lane: str) -> str:
    """Return a lane as the tables name it: the usual one takes no room."""
    return "" if lane == "http" else "=" + lane


def lane_name(key: str) -> str:
    """Return a lane by the key that the tables have."""
    return key[1:] if key else "http"


class FrontierTransaction:
    """The transactions' common knowledge of the frontier of ``job``, and the changes of the present one.

    ``paces`` is the common knowledge of hosts in all jobs; ``None``: it is read anew.
    """

    def __init__(self, conn: Connection, job: str, now: float, paces: Paces = None) -> None:
        self.conn = conn
        self.now = now
        row = self.fetch_one("frontier", job)
        self.id: int = row[0]
        self.state = JobState(row[1])
        self.rules = _unpack_rules(row[2])
        self.next_token: int = row[3]
        self.counts = dict(zip(RequestState, row[4:9], strict=True))  # the columns are in State's order
        self.pages, self.duplicates, self.too_deep, self.known_hosts = row[9:13]
        table = PaceTable(str(self.id), {} if paces is None else paces, self.rules, lambda: self.now)
        others = [row[0] for row in self.fetch_all("others", self.id)]
        table.has_others = bool(others)
        self.hosts = HostCache(self.id, table, others)
        # Not before these times is a lease overdue, and a delayed request due in its lane.
        self.first_deadline = -inf
        self.first_due: dict[str, float] = {}
        self._before = self._frontier_row()

    def begin_transaction(self, now: float) -> None:
        """Serve another transaction."""
        self.now = now
        self.hosts.forget_some()

    def fetch_all(self, statement: str, *values: Any) -> list[Any]:
        """Return all rows of a named statement."""
        return self.conn.execute(SQL[statement], values).fetchall()

    def fetch_one(self, statement: str, *values: Any) -> Any:
        """Return the first row of a named statement."""
        return self.conn.execute(SQL[statement], values).fetchone()

    def execute_many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """A named statement with many rows."""
        write_rows(self.conn, SQL[statement], rows)

    # ----------------------------------------------------------------- moves

    def count_move(self, count: int, before: RequestState | None, to: RequestState) -> None:
        """Count requests that changed their state."""
        if before is not None:
            self.counts[before] -= count
        self.counts[to] += count

    def enqueue_requests(self, rows: Sequence[tuple[int, str, int, int]]) -> None:
        """Requests (host, lane, rank, id) begin to wait for their hosts' turns. The hosts are loaded."""
        self.execute_many("enqueue", rows)
        for (host, lane, rank), count in Counter(row[:3] for row in rows).items():
            self.hosts.touch_host(host).count_waiting(lane, rank, count)

    def begin_waiting(self, waiting: Iterable[tuple[int, float]]) -> None:
        """Requests (host, time) are about to wait for a turn: hosts for which none did remember when."""
        for number, at in waiting:
            if not self.hosts[number].waiting:
                host = self.hosts.touch_host(number)
                host.state = politeness.begin_waiting(host.state, at)

    def delay_requests(self, rows: Sequence[tuple[str, float, int, int, int]]) -> None:
        """Requests (lane, due_at, id, host, rank) begin to wait for a time of their own."""
        self.execute_many("delay", [(self.id, *row) for row in rows])
        for lane, due_at, *_ in rows:
            if due_at < self.first_due.get(lane, -inf):
                self.first_due[lane] = due_at

    def apply_rules(self, rules: FrontierRules) -> None:
        """From now on these rules are in force."""
        before, self.rules = self.rules, rules
        is_moving = changes_delays(before, rules)
        if not (is_moving or changes_room(before, rules)):
            self.hosts.rules = rules
            return
        numbers = self.hosts.load_all(self.conn)  # by the former rules: who has room may have changed
        self.hosts.rules = rules
        for number in numbers:
            host = self.hosts.touch_host(number)
            if before.domains != rules.domains:
                host.adopt_rules(rules)
            if is_moving:
                host.state = move_turn(host.state, rules, self.now)

    # ----------------------------------------------------------------- adding

    def add_entries(self, entries: Sequence[Entry]) -> AddResult:
        """Accept new entries; a duplicate costs one look-up."""
        max_depth = self.rules.max_depth
        offered = len(entries)
        if max_depth is not None:
            entries = [entry for entry in entries if entry.request.depth <= max_depth]
        too_deep = offered - len(entries)
        fresh = self._new_entries(entries)
        if fresh:
            self._admit_entries(fresh)
        added = AddResult(accepted=len(fresh), duplicates=len(entries) - len(fresh), too_deep=too_deep)
        self.duplicates += added.duplicates
        self.too_deep += too_deep
        return added

    def known_fingerprints(self, wanted: set[int]) -> set[int]:
        """Return those of some fingerprints that were accepted before."""
        return (
            {row[0] for row in self.fetch_all("known", self.id, as_json(sorted(wanted)))} if wanted else set()
        )

    def _new_entries(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return those that are accepted: one of each fingerprint, and all that ask for a page on purpose."""
        known = self.known_fingerprints(
            {entry.fingerprint for entry in entries if not entry.request.dont_filter}
        )
        fresh = []
        for entry in entries:
            if entry.request.dont_filter:
                fresh.append(entry)
            elif entry.fingerprint not in known:
                known.add(entry.fingerprint)
                fresh.append(entry)
        return fresh

    def _admit_entries(self, entries: list[Entry]) -> None:
        names = list(dict.fromkeys(entry.host for entry in entries))
        hosts, new = self.hosts.find_or_add(self.conn, names)
        self.known_hosts += new
        first = self.fetch_one("take_ids", len(entries))[0] - len(entries)
        rows, waiting, later, due = [], [], [], []
        for number, entry in enumerate(entries, first):
            request = entry.request
            host, lane, rank = hosts[entry.host].id, lane_key(request.lane), request.rank
            rows.append((number, host, lane, rank, entry.fingerprint, pack_request(request, entry.host)))
            if entry.due_at > self.now:
                later.append((lane, entry.due_at, number, host, rank))
            else:
                waiting.append((host, lane, rank, number))
            if entry.due_at:
                due.append((number, entry.due_at))
        self.execute_many("admit", rows)
        # Sorted by fingerprint, so that neighbours in the tree are written together.
        latest = {recorded_as(entry): row[0] for entry, row in zip(entries, rows, strict=True)}
        self.execute_many(
            "see", [(self.id, fingerprint, latest[fingerprint]) for fingerprint in sorted(latest)]
        )
        self.begin_waiting((host, self.now) for host in {row[0] for row in waiting})
        self.enqueue_requests(waiting)
        self.delay_requests(later)
        self.execute_many("due", due)
        self.count_move(len(later), None, next_state(None, RequestTransition.ADMIT_LATER))
        self.count_move(len(waiting), None, next_state(None, RequestTransition.ADMIT))

    # ----------------------------------------------------------------- writing back

    def save(self) -> None:
        """Write the changes back."""
        self.hosts.save(self.conn)
        row = self._frontier_row()
        if row != self._before:
            self.conn.execute(SQL["save_frontier"], (*row, self.id))
            self._before = row

    def _frontier_row(self) -> tuple[Any, ...]:
        counts = tuple(self.counts[state] for state in RequestState)
        rest = (self.pages, self.duplicates, self.too_deep, self.known_hosts)
        return (self.state.value, pack_rules(self.rules), self.next_token, *counts, *rest)


def pack_rules(rules: FrontierRules) -> bytes:
    """Return the stored form of rules."""
    return msgspec.msgpack.encode(rules)


def of_lines(text: str | None) -> Iterable[list[str]]:
    """The rows of a statement that hands them over as one text: lines, with tabs between their columns.

    Fetching hands the interpreter lock back and forth with every row; so it does once.
    """
    return (line.split("\t") for line in text.split("\n")) if text else ()
