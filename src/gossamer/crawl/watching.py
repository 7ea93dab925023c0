"""The watch of a crawl of one machine, loaded when its first look is due: a short crawl does without."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from gossamer.config.settings import Settings
from gossamer.core.jobs import FrontierStats, Job
from gossamer.ports.sink import Sink
from gossamer.wiring.backends import Backends

if TYPE_CHECKING:
    from gossamer.watch.watch import AlertWatch

FIRST_REST_S = 5.0
"""Seconds from the beginning of a crawl to the first look."""


class CrawlWatch:
    """Watches a crawl from its first rest on.

    If the settings have targets for alerts, it watches from the start, since a short crawl has an end as
    well. Replays are not watched, since their caller sees the result. Raises ``SettingError`` for an invalid
    target, ``MissingServiceError`` for a missing extra.
    """

    def __init__(
        self,
        settings: Settings,
        backends: Backends,
        job: Job,
        sink: Sink,
        is_seeded: Callable[[FrontierStats], bool],
    ) -> None:
        self._settings = settings
        self._sink = sink
        self._is_seeded = is_seeded
        self._backends = backends
        self._job = job
        self._is_wanted = settings.replay.job is None
        self._watch = self._open() if settings.alerts.targets and self._is_wanted else None

    async def run(self) -> None:
        """Watch until cancelled. Raises nothing else."""
        if not self._is_wanted:
            return
        await self._backends.clock.sleep(FIRST_REST_S)
        self._watch = self._watch or self._open()
        await self._watch.run()

    async def end(self, patience_s: float) -> None:
        """Send the last alerts, within a time. Raises nothing."""
        if self._watch is not None:
            await self._watch.end(patience_s)

    def _open(self) -> AlertWatch:
        room = import_module("gossamer.wiring.watch")  # with fifty modules that nothing else needs in a crawl
        watch: AlertWatch = room.watch_crawl(
            self._settings, self._backends, self._job, self._sink, self._is_seeded
        )
        return watch
