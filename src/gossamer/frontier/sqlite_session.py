"""One transaction's view of one job's frontier.

Guarantee: what is read is the file's state under the write lock, so any number of processes may share
it; what has changed is written once, at the end: counters, hosts and turns cannot disagree with the
requests. Policies see hosts as :class:`HostState`, whatever the table looks like.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from sqlite3 import Connection
from typing import Any

import msgspec
from msgspec.structs import astuple

from gossamer.disk.sql import bulk, load
from gossamer.frontier.codec import pack
from gossamer.policy import politeness
from gossamer.words.lifecycle import JobState, Move, State, after
from gossamer.words.model import Added, Entry, HostState, Rules

SQL = load("gossamer.frontier", "sqlite.sql")
CODES = {State.PENDING: 0, State.DELAYED: 1, State.LEASED: 2, State.DEAD: 3}
"""The states of rows; a done request has none."""

as_json = msgspec.json.Encoder().encode


class Host:
    """One host during a transaction."""

    __slots__ = ("heads", "id", "name", "state")

    def __init__(self, row: Sequence[Any]) -> None:
        self.id: int = row[0]
        self.name: str = row[1]
        self.state = host_state(row[2:])
        self.heads: list[Sequence[Any]] = []  # while it is handed out: its next requests, first one last

    def best(self) -> int | None:
        """The band of the next request that was loaded."""
        return self.heads[-1][1] if self.heads else None


def host_state(columns: Sequence[Any]) -> HostState:
    """The policy's record from the table's columns."""
    next_at, delay_s, in_flight, crawl_delay_s, incidents, silences, incident_at, pages = columns[:8]
    last_at, hold_until = columns[8:]
    return HostState(
        next_at=next_at,
        delay_s=delay_s,
        in_flight=in_flight,
        crawl_delay_s=crawl_delay_s,
        incidents=incidents,
        silences=silences,
        incident_at=incident_at,
        pages=pages,
        last_at=last_at,
        hold_until=hold_until,
    )


@lru_cache(maxsize=64)
def _rules(record: bytes) -> Rules:
    return msgspec.msgpack.decode(record, type=Rules)


class Session:
    """What a transaction reads of the frontier of ``job``, and what it has changed."""

    def __init__(self, conn: Connection, job: str, now: float) -> None:
        self.conn = conn
        self.now = now
        row = self.one("frontier", job)
        self.id: int = row[0]
        self.state = JobState(row[1])
        self.rules = _rules(row[2])
        self.next_token: int = row[3]
        self.counts = dict(zip(State, row[4:9], strict=True))  # the columns are in State's order
        self.pages, self.duplicates, self.too_deep, self.known_hosts = row[9:13]
        self._before = self._frontier_row()
        self._hosts: dict[int, Host] = {}
        self._touched: set[int] = set()  # hosts whose turn has to be found anew

    def all(self, statement: str, *values: Any) -> list[Any]:
        """All rows of a named statement."""
        return self.conn.execute(SQL[statement], values).fetchall()

    def one(self, statement: str, *values: Any) -> Any:
        """The first row of a named statement."""
        return self.conn.execute(SQL[statement], values).fetchone()

    def bulk(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """A named statement with many rows."""
        bulk(self.conn, SQL[statement], rows)

    def move(self, count: int, before: State | None, to: State) -> None:
        """Count requests that changed their state."""
        if before is not None:
            self.counts[before] -= count
        self.counts[to] += count

    # ----------------------------------------------------------------- hosts

    def host(self, number: int) -> Host:
        """A host that was loaded."""
        return self._hosts[number]

    def load_hosts(self, numbers: Iterable[int]) -> None:
        """Make hosts known to this session."""
        missing = set(numbers) - self._hosts.keys()
        if missing:
            self._take(self.all("hosts_by_id", as_json(list(missing))))

    def take_host(self, row: Sequence[Any]) -> Host:
        """A host from a row that was read otherwise."""
        return self._hosts.setdefault(row[0], Host(row))

    def touch(self, numbers: Iterable[int]) -> None:
        """These hosts' pending requests or politeness have changed."""
        self._touched.update(numbers)

    def _take(self, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self.take_host(row)

    def _hosts_named(self, names: list[str]) -> dict[str, int]:
        """The ids of hosts, made for those that are new, in the order of ``names``."""
        self._take(self.all("hosts_by_name", self.id, as_json(names)))
        found = {host.name: host.id for host in self._hosts.values()}
        fresh = [name for name in names if name not in found]
        if fresh:
            bulk(self.conn, SQL["add_hosts"], [(self.id, name) for name in fresh])
            self._take(self.all("hosts_by_name", self.id, as_json(fresh)))
            self.known_hosts += len(fresh)
            found = {host.name: host.id for host in self._hosts.values()}
        return found

    # ----------------------------------------------------------------- adding

    def add(self, entries: Sequence[Entry]) -> Added:
        """Accept what is new; duplicates cost one look-up, and nothing else."""
        max_depth = self.rules.max_depth
        offered = len(entries)
        if max_depth is not None:
            entries = [entry for entry in entries if entry.request.depth <= max_depth]
        too_deep = offered - len(entries)
        fresh = self._fresh(entries)
        if fresh:
            self._admit(fresh)
        added = Added(accepted=len(fresh), duplicates=len(entries) - len(fresh), too_deep=too_deep)
        self.duplicates += added.duplicates
        self.too_deep += too_deep
        return added

    def _fresh(self, entries: Sequence[Entry]) -> list[Entry]:
        wanted = {entry.fingerprint for entry in entries}
        known = {row[0] for row in self.all("known", self.id, as_json(sorted(wanted)))} if wanted else set()
        if len(known) == len(wanted) and not any(entry.request.dont_filter for entry in entries):
            return []
        fresh = []
        for entry in entries:
            if entry.fingerprint not in known or entry.request.dont_filter:
                known.add(entry.fingerprint)
                fresh.append(entry)
        return fresh

    def _admit(self, entries: list[Entry]) -> None:
        hosts = self._hosts_named(list(dict.fromkeys(entry.host for entry in entries)))
        first = self.one("take_ids", len(entries))[0] - len(entries)
        now = self.now
        rows = []
        later = 0
        for number, entry in enumerate(entries, first):
            request = entry.request
            state = after(None, Move.ADMIT_LATER if entry.due_at > now else Move.ADMIT)
            later += state is State.DELAYED
            place = (self.id, hosts[entry.host], CODES[state], request.lane, request.band)
            rows.append((number, *place, entry.fingerprint, entry.due_at, pack(request)))
        self.bulk("admit", rows)
        # Sorted by fingerprint, so that neighbours in the tree are written together.
        latest = {entry.fingerprint: number for number, entry in enumerate(entries, first)}
        self.bulk("see", [(self.id, fingerprint, latest[fingerprint]) for fingerprint in sorted(latest)])
        self.move(later, None, State.DELAYED)
        self.move(len(entries) - later, None, State.PENDING)
        self.touch({hosts[entry.host] for entry in entries})

    # ----------------------------------------------------------------- writing back

    def save_hosts(self) -> None:
        """Write the hosts that were touched, and their turns anew."""
        if not self._touched:
            return
        self.load_hosts(self._touched)
        touched = [self._hosts[number] for number in sorted(self._touched)]
        self.bulk("save_hosts", [(host.id, *astuple(host.state)) for host in touched])
        self.all("close_turns", as_json([host.id for host in touched]))
        open_to = [host.id for host in touched if politeness.has_room(host.state, self.rules)]
        self.all("open_turns", as_json(open_to))
        self._touched.clear()

    def save(self) -> None:
        """Write back what has changed."""
        self.save_hosts()
        row = self._frontier_row()
        if row != self._before:
            self.conn.execute(SQL["save_frontier"], (*row, self.id))
            self._before = row

    def _frontier_row(self) -> tuple[Any, ...]:
        counts = tuple(self.counts[state] for state in State)
        rest = (self.pages, self.duplicates, self.too_deep, self.known_hosts)
        return (self.state.value, pack_rules(self.rules), self.next_token, *counts, *rest)


def pack_rules(rules: Rules) -> bytes:
    """The stored form of rules."""
    return msgspec.msgpack.encode(rules)
