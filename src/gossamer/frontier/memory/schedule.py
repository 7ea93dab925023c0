"""When each host's next turn comes, by lane and band. Stale heap entries are dropped when they surface."""

from __future__ import annotations

from collections.abc import Collection
from heapq import heappop, heappush
from math import inf

from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import BANDS, band_of
from gossamer.frontier.memory.rows import MemoryHost
from gossamer.frontier.paced_hosts import PaceTable
from gossamer.policy import politeness


class HostSchedule:
    """The hosts of one job, and their turns."""

    def __init__(self, paces: PaceTable) -> None:
        self._paces = paces
        self.hosts: dict[str, MemoryHost] = {}
        self._by_id: dict[int, MemoryHost] = {}
        self._turns: dict[str, list[list[tuple[float, int]]]] = {}  # by lane, band: (next_at, host id)

    @property
    def lanes(self) -> Collection[str]:
        """The lanes on which a host has had a turn."""
        return self._turns.keys()

    def open_host(self, name: str) -> MemoryHost:
        """Return the host of that name, made when it is new."""
        host = self.hosts.get(name)
        if host is None:
            host = MemoryHost(len(self.hosts) + 1, name, self._paces)
            self.hosts[name] = self._by_id[host.id] = host
        return host

    def pop_ready_hosts(self, lane: str, limit: int, now: float) -> list[MemoryHost]:
        """Return the first hosts in turn; each is taken off its heap and must be placed again."""
        ready: list[MemoryHost] = []
        for band, heap in enumerate(self._turns.get(lane, ())):
            while len(ready) < limit and self.first_turn(lane, band) <= now:
                host = self._by_id[heappop(heap)[1]]
                del host.turns[lane]
                if not politeness.may_start(host.state, self._paces.rules, now):
                    host.miss_turn(self._paces.rules, now)
                    self.place_host(host, self._paces.rules)
                    continue
                host.lane = lane
                ready.append(host)
        return ready

    def first_turn(self, lane: str, band: int) -> float:
        """Return the time of the first turn that is still true; infinity if there is none."""
        heap = self._turns[lane][band] if lane in self._turns else []
        while heap:
            next_at, number = heap[0]
            if self._by_id[number].turns.get(lane) == (band, next_at):
                return next_at
            heappop(heap)
        return inf

    def first_in(self, lane: str) -> float:
        """Return the time of the first turn of a lane; infinity if there is none."""
        return min(self.first_turn(lane, band) for band in range(BANDS))

    def place_host(self, host: MemoryHost, rules: FrontierRules) -> None:
        """Give the host a turn in each lane where it has something to do and room to do it."""
        next_turn = politeness.turn_of(host.state, rules)
        host.publish()
        for lane, queue in host.queues.items():
            if not queue or next_turn is None:
                host.turns.pop(lane, None)
                continue
            turn = (band_of(queue[0][0]), next_turn)
            if host.turns.get(lane) != turn:
                host.turns[lane] = turn
                heaps = self._turns.setdefault(lane, [[] for _ in range(BANDS)])
                heappush(heaps[turn[0]], (turn[1], host.id))

    def keep_lease(self, host: MemoryHost, deadline: float) -> None:
        """Note a lease of a host, valid until ``deadline``; other jobs see it as well."""
        host.keep_lease(deadline)
        self.place_host(host, self._paces.rules)
