"""The live view on a terminal: drawn from the loop twice a second, gone when the crawl is over."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import TYPE_CHECKING, Self

from gossamer.cli.terminal.signals import StopHandler
from gossamer.core.errors import StorageError
from gossamer.core.jobs import HostReport, Job
from gossamer.crawl.run import CrawlRun
from gossamer.observe.run_stats import RunStats
from gossamer.ports.frontier_admin import FrontierAdmin
from gossamer.queries.jobs import describe_goals
from gossamer.runtime.cancelling import end_tasks
from gossamer.wiring.backends import Backends, open_backends

if TYPE_CHECKING:
    from rich.console import Console

log = logging.getLogger("gossamer.cli")
DRAW_EVERY_S = 0.5
HOSTS_SHOWN = 5


class StderrHandler(logging.Handler):
    """Writes log lines to stderr, or above the live view while one is shown."""

    console: Console | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        try:
            line = self.format(record)
            if self.console is None:
                sys.stderr.write(f"{line}\n")
            else:
                self.console.print(line, soft_wrap=True)
        except OSError:  # the terminal is gone; the crawl continues
            return
        except Exception:  # noqa: BLE001 - as every handler: a line that is wrong costs no page
            self.handleError(record)


class LiveView:
    """Shows a crawl while it is entered; with ``on=False`` it shows nothing."""

    def __init__(
        self, tallies: RunStats, crawling: CrawlRun, stopper: StopHandler, log: StderrHandler, *, on: bool
    ) -> None:
        self._tallies = tallies
        self._crawling = crawling
        self._stopper = stopper
        self._log = log
        self._on = on
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._on:
            self._task = asyncio.create_task(self._draw_view())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            if self._task.done() and not self._task.cancelled() and (error := self._task.exception()):
                log.warning("the live view had ended: %s", error)  # the terminal is gone, for one
            await end_tasks(self._task)

    async def _draw_view(self) -> None:
        from gossamer.cli.terminal.panel import open_live, render_panel  # Rich: only where it is shown

        # A separate reader: it neither waits for the crawl's writes nor delays them.
        backends = await open_backends(self._crawling.settings)
        delay_s = self._crawling.settings.delay
        job = self._crawling.job
        frontier = backends.open_frontier(job)
        try:
            with open_live() as live:
                self._log.console = live.console
                while True:
                    hosts, goals = await _busiest_hosts(frontier), await _goals_of(backends, job)
                    status = self._stopper.status
                    shown = render_panel(
                        self._tallies, time.time(), hosts=hosts, goals=goals, delay_s=delay_s, status=status
                    )
                    live.update(shown, refresh=True)
                    await asyncio.sleep(DRAW_EVERY_S)
        finally:
            self._log.console = None
            await backends.close()


async def _busiest_hosts(frontier: FrontierAdmin) -> list[HostReport]:
    try:
        return await frontier.busiest_hosts(HOSTS_SHOWN)
    except StorageError:  # the crawl itself will say so
        return []


async def _goals_of(backends: Backends, job: Job) -> str:
    try:
        return await describe_goals(backends, job)
    except StorageError:  # the crawl itself will say so
        return ""
