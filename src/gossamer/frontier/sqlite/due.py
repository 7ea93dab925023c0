"""Finds the requests of a SQLite frontier that may start now, at bounded cost for any number of hosts."""

from __future__ import annotations

from gossamer.core.jobs import DueCounts
from gossamer.core.lifecycle import JobState
from gossamer.drivers.sql import load_statements
from gossamer.frontier.sqlite import moves
from gossamer.frontier.sqlite.session import FrontierTransaction, lane_name
from gossamer.frontier.transitions import DUE_HOSTS
from gossamer.policy import politeness

SQL = load_statements("gossamer.frontier.sqlite", "due.sql")
MOST = 10_000
"""Hosts in turn that are counted; those beyond ``DUE_HOSTS`` are not looked at."""


def count_due(s: FrontierTransaction) -> list[DueCounts]:
    """By lane."""
    if s.state is not JobState.RUNNING:
        return []
    lanes = [(lane, moves.left_in(s, lane)) for (lane,) in s.fetch_all("lanes", s.id)]
    counted = [_count_lane(s, lane, left) for lane, left in lanes if left != 0]
    return sorted((due for due in counted if due.requests), key=lambda due: due.lane)


def _count_lane(s: FrontierTransaction, lane: str, left: int | None) -> DueCounts:
    in_turn = [row[0] for row in s.conn.execute(SQL["in_turn"], (s.id, lane, s.now, MOST))]
    come_due = {row[0]: row[1:] for row in s.conn.execute(SQL["come_due"], (s.id, lane, s.now, DUE_HOSTS))}
    looked_at = dict.fromkeys((*in_turn[:DUE_HOSTS], *come_due))
    s.hosts.load_by_id(s.conn, looked_at)
    requests, since = len(in_turn[DUE_HOSTS:]), []
    for number in looked_at:
        host = s.hosts[number]
        pending = sum(host.waiting.get(lane, {}).values())
        due, first_due_at = come_due.get(number, (0, 0.0))
        startable = politeness.count_startable(host.state, s.rules, pending + due, s.now)
        requests += startable
        if startable:
            ready = politeness.ready_since(host.state)
            since.append(ready if pending else max(ready, first_due_at))
    return DueCounts(
        lane=lane_name(lane),
        requests=requests if left is None else min(requests, left),
        since=min(since, default=None),
        has_more=len(in_turn) > DUE_HOSTS or sum(due for due, _ in come_due.values()) >= DUE_HOSTS,
    )
