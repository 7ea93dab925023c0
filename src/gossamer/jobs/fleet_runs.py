"""Crawls of schedules on a fleet: each submitted as `gossamer submit` would, by a process of its own.

By a process, since users' code is loaded for it, which may be slow, break or have changed since the last
time: none of that is to reach the supervisor.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError, UsageError
from gossamer.core.exits import ExitCode
from gossamer.core.jobs import Job
from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.jobs.process_runs import variables_of
from gossamer.ports.job_store import JobStore
from gossamer.targets.launch import LaunchPlan

TAKES_S = 90.0
"""Seconds that a submission may take: other schedules wait for it, and must not be missed."""
WORDS = 600
"""Characters of the error of a failed submission, at most."""


class FleetStarter:
    """A ``RunStarter`` whose crawls are jobs of a fleet."""

    def __init__(self, settings: Settings, book: JobStore) -> None:
        self._variables = variables_of(settings)
        self._book = book

    async def find_rival(self, schedule: Schedule, run: ScheduledRun) -> str:
        """See :class:`~gossamer.ports.run_starter.RunStarter`."""
        for job in await self._book.list_jobs(unfinished=True):
            if job.is_fleet and job.name == schedule.job_name and job.key != run.key_bytes:
                return f"{job.id} was not over"
        return ""

    async def start_run(self, schedule: Schedule, run: ScheduledRun) -> str:
        """See :class:`~gossamer.ports.run_starter.RunStarter`."""
        plan = LaunchPlan(
            folder="", target=schedule.target, arguments=schedule.arguments, options=schedule.options
        )
        _, *options, end, target = plan.to_command()
        command = ["submit", *options, "--json", "--key", run.key, end, target]
        code, said, complaint = await _run_command(command, self._variables)
        if code == ExitCode.OK:
            return str(json.loads(said)["job"])
        problem = (
            complaint.strip().removeprefix("gossamer: ")[-WORDS:] or f"`gossamer submit` ended with {code}"
        )
        raise (StorageError if code == ExitCode.MISSING else UsageError)(problem)

    async def is_at_work(self, schedule: Schedule, run: ScheduledRun, job: Job | None) -> bool:
        """See :class:`~gossamer.ports.run_starter.RunStarter`: a fleet works on all of its jobs."""
        return job is not None

    async def read_failure(self, run: ScheduledRun) -> str:
        """See :class:`~gossamer.ports.run_starter.RunStarter`: :meth:`start_run` has said it."""
        return ""


async def _run_command(command: list[str], variables: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a Gossamer command; return its exit code, stdout and stderr. Raises ``StorageError``."""
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gossamer", *command),
            stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env={**os.environ, **variables},
        )  # fmt: skip
    except OSError as error:
        raise StorageError(f"a process for the submission cannot be started: {error}") from None
    try:
        async with asyncio.timeout(TAKES_S):
            said, complaint = await process.communicate()
    except TimeoutError:
        raise UsageError(f"the submission took longer than {TAKES_S:.0f} s, and was ended") from None
    finally:
        await _end_process(process)
    return process.returncode or 0, said.decode("utf-8", "replace"), complaint.decode("utf-8", "replace")


async def _end_process(process: Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()
