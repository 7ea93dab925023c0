"""Requests of jobs that ended long ago are deleted."""

from __future__ import annotations

import logging
from math import inf

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobState
from gossamer.ports.job_store import JobStore
from gossamer.targets.plan import plan_from
from gossamer.wiring.backends import Backends

log = logging.getLogger("gossamer.fleet")


class RetentionDuty:
    """Deletes the data in Redis of the fleet's jobs that ended longer than ``frontier.keep`` ago."""

    name = "retention"
    every_s = 3600.0

    def __init__(self, settings: Settings, backends: Backends) -> None:
        self._keep_s = inf if settings.frontier.keep is None else settings.frontier.keep
        self._requests = backends.require_fleet()
        self._book = FleetJobStore(backends.book, settings.cluster.fleet)

    async def run(self, now: float) -> None:
        """See :class:`~gossamer.ports.duty.Duty`."""
        ended_before = now - self._keep_s
        for listed in await self._book.list_jobs():
            if not _is_old(listed, ended_before):
                continue
            job = await self._book.get(listed.id)  # it may have been taken up again meanwhile
            if job is not None and _is_old(job, ended_before) and await self._requests.forget_job(job):
                log.info("%s: ended long ago; its requests are deleted from Redis", job.id)


def _is_old(job: Job, ended_before: float) -> bool:
    """Whether the job ended before ``ended_before``; a paused job waits for a person and is never old."""
    return job.state is not JobState.PAUSED and job.finished_at is not None and job.finished_at < ended_before


class FleetJobStore:
    """A book that lists the jobs of one fleet; those of `gossamer crawl` look after themselves."""

    def __init__(self, book: JobStore, fleet: str) -> None:
        self._book = book
        self._fleet = fleet
        self.read_identity = book.read_identity
        self.create = book.create
        self.get = book.get
        self.find_by_key = book.find_by_key
        self.update = book.update
        self.update_plan = book.update_plan
        self.read_changes = book.read_changes
        self.save_changes = book.save_changes
        self.read_launch = book.read_launch
        self.save_launch = book.save_launch

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        found = await self._book.list_jobs(unfinished=unfinished)
        return [job for job in found if job.is_fleet and self._is_ours(job)]

    def _is_ours(self, job: Job) -> bool:
        try:
            return plan_from(job.plan).fleet == self._fleet
        except StorageError:
            return True  # the reader of the job reports the damage
