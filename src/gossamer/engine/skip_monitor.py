"""Whether a job waits for nothing but hosts that a person skips, and since when."""

from __future__ import annotations

from gossamer.core.jobs import FrontierStats
from gossamer.ports.frontier_admin import FrontierAdmin

HOSTS_LOOKED_AT = 100
"""Hosts with most requests among which a skipped one is looked for."""


class SkipMonitor:
    """Watches one job for the decision that it is over.

    ``is_old``: the state at the first look has lasted for long, as in a resumed run.
    """

    def __init__(self, frontier: FrontierAdmin, *, is_old: bool = False) -> None:
        self._frontier = frontier
        self._is_old = is_old
        self._since: float | None = None

    async def measure_wait(self, stats: FrontierStats, now: float, *, seeding: bool) -> float | None:
        """Return for how many seconds only skipped hosts have had requests; ``None``: others have some.

        Hosts whose budgets of pages are spent may be among them.
        """
        if seeding:
            return None
        if not await self._is_skipped(stats):
            self._since, self._is_old = None, False
            return None
        if self._is_old:
            return float("inf")
        self._since = now if self._since is None else self._since
        return now - self._since

    async def _is_skipped(self, stats: FrontierStats) -> bool:
        if stats.next_at is not None or stats.leased or stats.budget_spent or not stats.waiting:
            return False
        return any(one.state.is_skipped for one in await self._frontier.busiest_hosts(HOSTS_LOOKED_AT))
