"""The rules and the hosts of the memory frontier, and how a person changes them."""

from __future__ import annotations

from gossamer.core.hosts import FrontierRules, HostOrder, HostState
from gossamer.core.jobs import HostReport
from gossamer.frontier.memory.schedule import HostSchedule
from gossamer.frontier.paced_hosts import Paces, PaceTable
from gossamer.policy import steering
from gossamer.ports.clock import Clock


class SteeredHosts:
    """A ``SteeredFrontier`` without requests: the base of the frontier in memory."""

    def __init__(self, rules: FrontierRules, clock: Clock, paces: Paces = None) -> None:
        self._rules = rules
        self._clock = clock
        self._paces = PaceTable(hex(id(self)), paces, rules, clock.now)
        self._schedule = HostSchedule(self._paces)

    async def read_rules(self) -> FrontierRules:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        return self._rules

    async def change_rules(self, rules: FrontierRules, *, expected: FrontierRules) -> bool:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        is_expected = self._rules == expected
        if is_expected:
            self._apply_rules(rules)
        return is_expected

    def _apply_rules(self, rules: FrontierRules) -> None:
        """From now on these rules are in force."""
        before, self._rules = self._rules, rules
        self._paces.rules = rules
        for host in self._schedule.hosts.values():
            if before.domains != rules.domains:
                host.adopt_rules(rules)
            if steering.changes_delays(before, rules):
                host.state = steering.move_turn(host.state, rules, self._clock.now())
            self._schedule.place_host(host, rules)

    async def find_host(self, host: str) -> HostReport | None:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        known = self._schedule.hosts.get(host)
        return None if known is None else HostReport(host=host, state=known.report, pending=known.pending)

    async def steer_host(self, host: str, order: HostOrder) -> HostState | None:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        known = self._schedule.hosts.get(host)
        if known is None:
            return None
        before = known.report
        known.state = steering.steer_host(known.state, order, self._rules, self._clock.now())
        self._schedule.place_host(known, self._rules)
        return before

    async def busiest_hosts(self, limit: int) -> list[HostReport]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        reports = [
            HostReport(host=host.name, state=host.report, pending=pending)
            for host in self._schedule.hosts.values()
            if (pending := host.pending)
        ]
        return sorted(reports, key=lambda report: -report.pending)[:limit]
