"""Which job a crawl of this machine is."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

from gossamer.core.access import LOCAL
from gossamer.core.errors import JobBusyError, OperatorError, UsageError
from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.lifecycle import OVER, JobState
from gossamer.core.steering import SettingChange
from gossamer.observe.text import error_headline
from gossamer.policy.job_life import fail_run
from gossamer.policy.spider_switches import switch_of
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.targets.discovery import CrawlTarget
from gossamer.targets.launch import launch_from, overridden_by
from gossamer.wiring.backends import Backends

log = logging.getLogger("gossamer")


async def choose_job(
    backends: Backends, target: CrawlTarget, *, fresh: bool, goes_back: bool = False, key: bytes = b""
) -> tuple[Job, bool]:
    """Return the latest job of this target, or a new one; and whether it is an old one.

    A new job is made with ``fresh``, after a cancelled one, and for a re-crawl if the latest has ended. With
    a ``key`` it is the job of that key, found or made. Jobs of the fleet are left to the fleet. Raises
    ``JobBusyError`` while the fleet works on this target.
    """
    same = [
        job for job in await backends.book.list_jobs() if (job.name, job.target) == (target.name, target.text)
    ]
    for job in same:
        if job.is_fleet and job.is_unfinished:
            raise JobBusyError(
                f"{job.id} is a job of the fleet: `gossamer wait {job.id}` follows it, "
                f"`gossamer cancel {job.id}` ends it"
            )
    own = [job for job in same if not job.is_fleet]
    is_over = bool(own) and (own[0].state is JobState.CANCELLED or (goes_back and not own[0].is_unfinished))
    if own and not is_over and not fresh and not key:
        return own[0], True
    if key and (made := await backends.book.find_by_key(key)):
        if made.state in OVER:
            raise UsageError(f"{made.id} is {made.state}: a key starts only one job")
        return made, True
    return await backends.book.create(target.name, target.text, key=key), False


@contextlib.asynccontextmanager
async def recorded_failure(
    backends: Backends, job: Job, *, resumed: bool, is_watched: bool
) -> AsyncIterator[None]:
    """Record the error for which a new job cannot begin: it was not killed. An older one keeps its end."""
    try:
        yield
    except OperatorError as error:
        if not resumed:
            none, now = FrontierStats(state=job.state), backends.clock.now()
            ended = fail_run(job, none, now, hide_secrets(error_headline(str(error))), is_watched=is_watched)
            with contextlib.suppress(OperatorError):
                await backends.book.update(ended)
        raise


async def take_up_changes(backends: Backends, job: Job, launch: bytes) -> tuple[SettingChange, ...]:
    """Return the changes that a person made to a job, except for settings that this launch sets anew."""
    changes = await backends.book.read_changes(job)
    new = launch_from(launch)
    if new is None:
        return changes
    former = launch_from(await backends.book.read_launch(job))
    said = overridden_by(new, former)
    if stale := [change.key for change in changes if change.key in said]:
        await backends.book.save_changes(job, (), stale)
    await backends.book.save_launch(job, launch)
    if former is not None and former.version and new.version not in ("", former.version):
        switch = switch_of(job, former.version, new.version, LOCAL, backends.clock.now())
        await backends.actions.add_action(switch)
        log.info("%s continues with another version of its spider (%s)", job.id, new.version)
    return tuple(change for change in changes if change.key not in said)
