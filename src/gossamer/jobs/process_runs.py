"""Crawls of schedules on one machine: each in a process of its own, as `gossamer crawl` would run it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from subprocess import Popen

from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.exits import ExitCode
from gossamer.core.jobs import Job
from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.policy.schedule_runs import MOST_STARTS
from gossamer.ports.backends import FrontierBackend
from gossamer.runtime.detached import last_words, start_detached
from gossamer.targets.launch import LaunchPlan

LOG_BYTES = 1_000_000
"""A log that is longer is put aside before the next run; the one before it is forgotten."""
LOOK_S = 0.1
MOST_ENDED = 1000
"""Processes that are remembered when they have ended: who asks next how wants to know."""


class ProcessStarter:
    """A ``RunStarter`` whose crawls are processes of this machine; they outlive this one."""

    def __init__(self, settings: Settings, requests: FrontierBackend) -> None:
        self._data = Path(settings.data).absolute()
        self._variables = variables_of(settings)
        self._requests = requests
        self._processes: dict[str, Popen[bytes]] = {}  # by the key of the run
        self._targets: dict[str, tuple[str, str]] = {}  # the name and the target of its job, likewise

    async def find_rival(self, schedule: Schedule, run: ScheduledRun) -> str:
        """See :class:`~gossamer.ports.run_starter.RunStarter`."""
        for key, process in self._processes.items():  # it may not be at work yet
            if key != run.key and self._targets[key] == _target_of(schedule) and process.poll() is None:
                return f"process {process.pid} crawls the same"
        holder = await self._requests.at_work(_any_job(schedule))
        return "" if holder is None else f"process {holder} crawls the same"

    async def start_run(self, schedule: Schedule, run: ScheduledRun) -> str:
        """See :class:`~gossamer.ports.run_starter.RunStarter`."""
        plan = LaunchPlan(
            folder=schedule.folder,
            target=schedule.target,
            arguments=schedule.arguments,
            options=schedule.options,
        )
        crawl, *options, end, target = plan.to_command()
        command = [sys.executable, "-m", "gossamer", crawl, *options, "--key", run.key, end, target]
        log = self._log_of(run)
        try:
            if log.exists() and log.stat().st_size > LOG_BYTES:
                log.replace(log.with_suffix(".log.1"))
            self._processes[run.key] = start_detached(command, Path(schedule.folder), log, self._variables)
            self._targets[run.key] = _target_of(schedule)
            self._forget_ended()
        except OSError as error:
            raise UsageError(f"its process cannot be started in {schedule.folder}: {error}") from None
        return ""

    async def is_at_work(self, schedule: Schedule, run: ScheduledRun, job: Job | None) -> bool:
        """See :class:`~gossamer.ports.run_starter.RunStarter`."""
        process = self._processes.get(run.key)
        if process is not None and process.poll() is None:
            return True
        return await self._requests.at_work(job or _any_job(schedule)) is not None

    async def read_failure(self, run: ScheduledRun) -> str:
        """See :class:`~gossamer.ports.run_starter.RunStarter`."""
        process = self._processes.get(run.key)
        if process is None or process.poll() in (None, -signal.SIGKILL):
            return ""
        if process.returncode == ExitCode.MISSING and run.starts < MOST_STARTS:
            return ""  # another process was quicker, or a server is away: that may pass
        said = last_words(self._log_of(run)).rpartition("gossamer: ")[2]  # of this run: it came last
        return said or f"its process ended with {process.returncode}"

    async def stop_runs(self, patience_s: float) -> list[int]:
        """Let the crawls that were started from here end; the processes that are still there afterwards."""
        loop = asyncio.get_running_loop()
        living = [process for process in self._processes.values() if process.poll() is None]
        for process in living:
            with contextlib.suppress(OSError):
                os.kill(process.pid, signal.SIGTERM)
        until = loop.time() + patience_s
        while living and loop.time() < until:
            await asyncio.sleep(LOOK_S)
            living = [process for process in living if process.poll() is None]
        return [process.pid for process in living]

    def _forget_ended(self) -> None:
        """Forget all but the latest processes that have ended."""
        ended = [key for key, process in self._processes.items() if process.poll() is not None]
        for key in ended[:-MOST_ENDED]:
            del self._processes[key], self._targets[key]

    def _log_of(self, run: ScheduledRun) -> Path:
        return self._data / "logs" / f"schedule-{run.schedule}.log"


def _target_of(schedule: Schedule) -> tuple[str, str]:
    return schedule.job_name, schedule.job_target


def _any_job(schedule: Schedule) -> Job:
    """Return a job of a schedule with the fields that tell whether the same crawl is running."""
    return Job(id="", name=schedule.job_name, target=schedule.job_target, created_at=0.0)


def variables_of(settings: Settings) -> dict[str, str]:
    """Return the place of crawls as environment variables, which other users cannot read."""
    named = {
        "FRONTIER__URL": settings.frontier.url,
        "STORE__URL": settings.store.url,
        "BROKER__URL": settings.broker.url,
        "CLUSTER__FLEET": settings.cluster.fleet,
        "DATA": str(Path(settings.data).absolute()),
    }
    return {f"GOSSAMER_{name}": value for name, value in named.items() if value}
