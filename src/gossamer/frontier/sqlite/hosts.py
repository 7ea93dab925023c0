"""The hosts of a SQL frontier: their states, their waiting requests, and their turns.

Guarantee: the rows of ``turn`` follow from the hosts' stored pace and the rules (``SqliteHost.turns_under``),
so that they are written without a look-up; pace and turns are written once per transaction, however often a
host has changed in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection
from typing import Any

import msgspec
from msgspec.structs import replace

from gossamer.core.hosts import FREE, FrontierRules, HostState, SharedPace
from gossamer.core.requests import band_of
from gossamer.drivers.sql import load_statements, write_rows
from gossamer.frontier.paced_hosts import PacedHost, PaceTable
from gossamer.policy import politeness
from gossamer.policy.host_sharing import first_pace, merge_pace, withdraw_claim

SQL = load_statements("gossamer.frontier.sqlite", "hosts.sql")
KEPT = 8192
"""Hosts remembered from one transaction to the next, about 2 KB each."""

Waiting = dict[str, dict[int, int]]
"""The number of pending requests by lane and band; none is zero."""

as_json = msgspec.json.Encoder().encode
state_of = msgspec.json.Decoder(HostState).decode
pace_of = msgspec.json.Decoder(SharedPace).decode
waiting_of = msgspec.json.Decoder(Waiting).decode


class SqliteHost(PacedHost):
    """One host: its politeness, its waiting requests, and its turns on disk."""

    __slots__ = ("heads", "id", "turns", "waiting")

    def __init__(self, number: int, name: str, state: HostState, waiting: Waiting, paces: PaceTable) -> None:
        super().__init__(name, state, paces)
        self.id = number
        self.waiting = waiting
        self.turns = self.turns_under(paces.rules, self._state)  # before other jobs are looked at
        self.heads: list[Any] = []  # while it is handed out: its next requests, first one last

    def next_band(self) -> int | None:
        """Return the band of the next request that was loaded."""
        return band_of(self.heads[-1][0]) if self.heads else None

    def count_waiting(self, lane: str, rank: int, change: int) -> None:
        """Requests that began to wait for this host, or do not any more."""
        band, bands = band_of(rank), self.waiting.setdefault(lane, {})
        left = bands.get(band, 0) + change
        if left:
            bands[band] = left
            return
        bands.pop(band, None)
        if not bands:
            del self.waiting[lane]

    def turns_under(self, rules: FrontierRules, state: HostState) -> list[tuple[str, int, float]]:
        """Lane, band and time of the turns it has with this state while nothing changes."""
        if not self.waiting or (at := politeness.turn_of(state, rules)) is None:
            return []
        return [(lane, min(bands), at) for lane, bands in self.waiting.items()]


def report_of(name: str, state: str, pace: str | None, now: float) -> HostState:
    """Return a host for people, from its rows."""
    own = state_of(state)
    if FREE in name:  # stored only with its first lease
        return replace(own, is_free=True)
    return own if pace is None else merge_pace(own, pace_of(pace), now)


def withdraw_claims(conn: Connection, job: str, at: float) -> None:
    """Stop counting the requests that a job had in flight ``at`` a time, for all other jobs."""
    published = []
    for frontier, name, state, known in conn.execute(SQL["claimed"], (job, at)).fetchall():
        claimant = str(frontier)
        pace = first_pace(state_of(state), claimant, at) if known is None else pace_of(known)
        published.append((name, as_json(withdraw_claim(pace, claimant)).decode()))
    write_rows(conn, SQL["publish"], published)


class HostCache:
    """The hosts of one frontier, as far as they were asked for."""

    def __init__(self, frontier: int, paces: PaceTable, others: Sequence[int] = ()) -> None:
        self._frontier = frontier
        self._others = others
        self._paces = paces
        self._by_id: dict[int, SqliteHost] = {}
        self._by_name: dict[str, SqliteHost] = {}
        self._touched: set[int] = set()  # pace and turns have to be written

    @property
    def rules(self) -> FrontierRules:
        """The rules in force."""
        return self._paces.rules

    @rules.setter
    def rules(self, rules: FrontierRules) -> None:
        self._paces.rules = rules  # the turns of hosts that are touched move

    def __getitem__(self, number: int) -> SqliteHost:
        return self._by_id[number]

    def load_by_id(self, conn: Connection, numbers: Iterable[int]) -> None:
        """Make hosts known by their ids."""
        missing = [number for number in numbers if number not in self._by_id]
        if missing:
            self._add_hosts(conn, conn.execute(SQL["by_id"], (as_json(missing),)))

    def find_host(self, conn: Connection, name: str) -> SqliteHost | None:
        """Return a host by its name, if there is one."""
        if name not in self._by_name:
            self._add_hosts(conn, conn.execute(SQL["by_name"], (self._frontier, as_json([name]))))
        return self._by_name.get(name)

    def load_all(self, conn: Connection) -> Iterable[int]:
        """Make every host known; their ids."""
        numbers = [row[0] for row in conn.execute(SQL["all"], (self._frontier,))]
        self.load_by_id(conn, numbers)
        return numbers

    def find_or_add(self, conn: Connection, names: Sequence[str]) -> tuple[dict[str, SqliteHost], int]:
        """Hosts by name, made in that order when they are new; and how many are new."""
        fresh = 0
        missing = [name for name in names if name not in self._by_name]
        if missing:
            self._add_hosts(conn, conn.execute(SQL["by_name"], (self._frontier, as_json(missing))))
            new = [name for name in missing if name not in self._by_name]
            if new:
                fresh = write_rows(conn, SQL["add"], [(self._frontier, name) for name in new])
                self._add_hosts(conn, conn.execute(SQL["by_name"], (self._frontier, as_json(new))))
        return {name: self._by_name[name] for name in names}, fresh

    def touch_host(self, number: int) -> SqliteHost:
        """Return a host that is about to change."""
        self._touched.add(number)
        return self._by_id[number]

    def save(self, conn: Connection) -> None:
        """Write the hosts that were touched, and their turns anew."""
        if not self._touched:
            return
        rows, published, closed, opened = [], [], [], []
        for number in sorted(self._touched):
            host = self._by_id[number]
            state = host.state
            rows.append((number, as_json(state).decode(), as_json(host.waiting).decode()))
            if (pace := host.publish()) is not None:
                published.append((host.name, as_json(pace).decode()))
            turns = host.turns_under(self.rules, state)
            if turns != host.turns:
                closed += [(self._frontier, *turn, number) for turn in host.turns]
                opened += [(self._frontier, *turn, number) for turn in turns]
                host.turns = turns
        write_rows(conn, SQL["save"], rows)
        write_rows(conn, SQL["publish"], published)
        write_rows(conn, SQL["close_turns"], closed)
        write_rows(conn, SQL["open_turns"], opened)
        self._touched.clear()

    def forget_some(self) -> None:
        """Between transactions: do not grow forever."""
        if len(self._by_id) > KEPT:
            self._by_id.clear()
            self._by_name.clear()

    def _add_hosts(self, conn: Connection, rows: Iterable[Any]) -> None:
        paces, lonely = self._paces.paces, {}
        for number, name, state, waiting, pace in rows:
            if pace is not None and paces is not None and name not in paces:
                paces[name] = pace_of(pace)
            host = SqliteHost(number, name, state_of(state), waiting_of(waiting), self._paces)
            self._by_id[number] = self._by_name[name] = host
            if pace is None and self._others:
                lonely[name] = host
        if lonely:
            self._ask_others(conn, lonely)

    def _ask_others(self, conn: Connection, lonely: Mapping[str, SqliteHost]) -> None:
        """Read other jobs' knowledge of hosts that were not shared until now; the latest counts."""
        rows = conn.execute(SQL["beside"], (as_json(self._others), as_json([*lonely])))
        latest: dict[str, SharedPace] = {}
        for name, frontier, stored in rows:
            pace = first_pace(state_of(stored), str(frontier), self._paces.now())
            if pace.next_at > (latest.get(name) or lonely[name].state).next_at:
                latest[name] = pace
        for name, pace in latest.items():
            if self._paces.paces is not None:
                self._paces.paces.setdefault(name, pace)
