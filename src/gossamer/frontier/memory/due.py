"""Finds the requests of the memory frontier that may start now. It checks every host, for readability."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DueCounts
from gossamer.frontier.memory.rows import RequestRow
from gossamer.frontier.memory.schedule import HostSchedule
from gossamer.policy import politeness


def count_due(
    schedule: HostSchedule,
    delayed: Mapping[str, Sequence[tuple[float, int, RequestRow]]],
    rules: FrontierRules,
    leases_left: Callable[[str], int | None],
    now: float,
) -> list[DueCounts]:
    """Return the counts by lane, each within ``leases_left``."""
    found = []
    for lane in sorted({*schedule.lanes, *delayed}):
        left = leases_left(lane)
        come_due: defaultdict[str, list[float]] = defaultdict(list)
        for due_at, _, row in delayed.get(lane, ()):
            if due_at <= now:
                come_due[row.host.name].append(due_at)
        requests, since = 0, []
        for host in schedule.hosts.values():
            pending, due = len(host.queues.get(lane, ())), come_due.get(host.name, [])
            startable = politeness.count_startable(host.state, rules, pending + len(due), now)
            requests += startable
            if startable:
                ready = politeness.ready_since(host.state)
                since.append(ready if pending else max(ready, min(due)))
        requests = requests if left is None else min(requests, left)
        if requests:
            found.append(DueCounts(lane=lane, requests=requests, since=min(since)))
    return found
