"""Applies changes of a job's settings to its run.

Changes of the frontier's rules are in the frontier already. The others are read from the book of jobs, twice
a second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from gossamer.config.live import with_changes
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.steering import SettingChange, WorkLimits
from gossamer.wiring.assemble import CrawlParts
from gossamer.wiring.rules import rules_of

LOOK_S = 0.5

log = logging.getLogger("gossamer.crawl")


class ChangeMonitor:
    """Calls ``follow`` with the new settings and limits of a run whenever they have changed."""

    def __init__(self, wired: CrawlParts, follow: Callable[[Settings, WorkLimits], None]) -> None:
        self._wired = wired
        self._follow = follow
        self._known = wired.changes
        before = {change.key: change.before for change in wired.changes}
        self._base = with_changes(wired.settings, before)  # without the changes

    async def run(self) -> None:
        """Look again and again; to be cancelled."""
        parts = self._wired.parts
        while True:
            await parts.clock.sleep(LOOK_S)
            try:
                changes = await self._wired.backends.book.read_changes(parts.job)
                if changes != self._known:
                    await self._apply_changes(changes)
            except StorageError as error:  # the crawl itself says so, if it lasts
                log.debug("the changes of the job could not be read: %s", error)

    async def _apply_changes(self, changes: Sequence[SettingChange]) -> None:
        settings = with_changes(self._base, {change.key: change.value for change in changes})
        rules = rules_of(settings, touches_network=self._wired.parts.fetcher.touches_network)
        await self._put_rules(rules)
        self._follow(settings, WorkLimits(concurrency=settings.concurrency, rules=rules))
        for line in _lines_of(self._known, changes):
            log.info("%s", line)
        self._known = tuple(changes)

    async def _put_rules(self, rules: FrontierRules) -> None:
        """Put the rules into the frontier, unless the change has done so already."""
        frontier = self._wired.backends.open_frontier(self._wired.parts.job)
        while (now := await frontier.read_rules()) != rules:
            await frontier.change_rules(rules, expected=now)


def _lines_of(before: Sequence[SettingChange], after: Sequence[SettingChange]) -> list[str]:
    """Return lines for the log about new changes."""
    news = [f"{new.key} is {new.value} now: changed by {new.by}" for new in after if new not in before]
    kept = {change.key for change in after}
    return news + [f"{old.key} is {old.before} again" for old in before if old.key not in kept]
