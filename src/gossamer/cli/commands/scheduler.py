"""``gossamer scheduler``: run the schedules of one data directory."""

from __future__ import annotations

import asyncio
import logging

from gossamer.cli.commands.workers import Verbose
from gossamer.cli.errors import SIGNALS
from gossamer.cli.options import Data, Set
from gossamer.cli.terminal.backends import run_with_backends
from gossamer.cli.terminal.process_log import write_log
from gossamer.config.command_settings import settings_of
from gossamer.jobs.scheduler import lock_scheduler, run_scheduler
from gossamer.wiring.backends import Backends

EXAMPLES = """
  gossamer scheduler
  gossamer scheduler --data /srv/crawls/.gossamer
"""
log = logging.getLogger("gossamer.schedules")


def start_scheduler(data: Data = None, settings: Set = None, verbose: Verbose = False) -> None:
    """Run the schedules of this machine until stopped.

    Each crawl is a separate process, as `gossamer crawl` would run it; its log is in the data directory.
    SIGTERM (or Ctrl-C) stops running crawls; they continue when the scheduler is started again. Each schedule
    says how to handle runs that were due meanwhile. A fleet does not need this command.
    """
    settled = settings_of(data, settings)

    async def work(backends: Backends) -> None:
        told = asyncio.Event()
        for number in SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, told.set)
        log.info("the scheduler of %s", settled.data)
        await run_scheduler(backends, told)

    with lock_scheduler(settled), write_log(settled, verbose=verbose):
        run_with_backends(settled, work, create=True)


COMMANDS = (("scheduler", start_scheduler, EXAMPLES),)
