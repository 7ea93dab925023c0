"""Submits jobs of a fleet, and changes their state. Nothing here needs the broker."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gossamer.config.option import SettingOption
from gossamer.config.settings import Settings
from gossamer.core.errors import (
    JobBusyError,
    LostRequestsError,
    OperatorError,
    SettingError,
    StorageError,
    TransitionError,
    UsageError,
)
from gossamer.core.jobs import DeadLetterFilter, Job
from gossamer.core.lifecycle import OVER, FinishReason, JobCommand, JobState
from gossamer.engine.job_stop import begin_next_run
from gossamer.policy.job_life import change_job_record, end_run
from gossamer.policy.job_profile import decode_profile
from gossamer.policy.spider_switches import switch_of
from gossamer.spiders.generic import GenericSpider
from gossamer.targets.loading import load_target
from gossamer.targets.plan import pack_plan, plan_from
from gossamer.targets.planned_spider import plan_of, with_version_here
from gossamer.wiring.backends import Backends
from gossamer.wiring.fetchers import touches_network
from gossamer.wiring.rules import check_deferral, rules_of


def prepare_submission(
    target: str, arguments: Mapping[str, str], overrides: Sequence[SettingOption] | Mapping[str, Any]
) -> tuple[Settings, bytes, str, str]:
    """Return the settings, the plan, the name and the text of a target. Raises ``UsageError``."""
    loaded = load_target(target, arguments, overrides)
    found = loaded.target
    if found.authorizations and type(found.spider) is GenericSpider:
        raise UsageError(
            "user and password of a URL are not kept with a job: leave them out, and set http.headers with "
            "an Authorization for every worker, or write a spider that has the URL in its start_urls"
        )
    check_deferral(loaded.settings, is_fleet=True)
    return loaded.settings, plan_of(target, arguments, loaded.settings, found), found.name, found.text


async def submit_job(
    backends: Backends, settings: Settings, plan: bytes, name: str, text: str, *, key: bytes = b""
) -> Job:
    """Make the job and notify the supervisor; with a ``key`` there is one job, however often this is done.

    Raises ``JobBusyError`` while one of this name is under way, ``SettingError`` where there can be no fleet.
    """
    if backends.requests.fleet is None:
        raise SettingError(
            "`gossamer submit` hands a crawl to a fleet, and a fleet keeps its requests in Redis: set "
            "frontier.url to redis://HOST/0, or crawl on this machine with `gossamer crawl`, which takes the "
            "same target and options"
        )
    await backends.join_fleet()
    roster = backends.requests.fleet.roster
    key = key or secrets.token_bytes(16)
    job = await backends.book.create(name, text, plan=plan, key=key, alone=True)
    if job.key != key:
        way = f"`gossamer resume {job.id}` continues it, " if job.state is JobState.PAUSED else ""
        raise JobBusyError(
            f"{job.id} ({job.target}) is {job.state} already: {way}`gossamer wait {job.id}` follows it, "
            f"`gossamer cancel {job.id}` ends it"
        )
    if not job.is_unfinished:
        return job
    try:
        await backends.requests.create_frontier(
            job, rules_of(settings, touches_network=touches_network(settings))
        )
    except BaseException:  # a job that cannot begin must not keep the next one of its name out
        ended = end_run(job, FinishReason.NOT_BEGUN, JobState.CANCELLED, backends.clock.now())
        with contextlib.suppress(OperatorError):
            await backends.book.update(ended)
        raise
    await roster.notify_supervisor()
    return job


async def change_job(backends: Backends, job: Job, what: JobCommand) -> Job:
    """Pause, resume or cancel a job; the job as it is then. Raises ``UsageError`` when it is over."""
    if job.state in OVER:
        raise UsageError(f"{job.id} is {job.state}; there is nothing to {what}")
    await backends.check_fleet(job)
    try:
        await backends.open_frontier(job).apply_change(what)
    except TransitionError as error:  # it was cancelled, and that is not recorded yet
        raise UsageError(f"{job.id}: {error}") from None
    except LostRequestsError:  # of a job that had not begun, the supervisor makes them anew
        is_new = (await backends.store.read_totals(job)).is_empty
        if what is not JobCommand.CANCEL and not (what is JobCommand.RESUME and is_new):
            raise
    await begin_next_run(backends.requests.shared, job)
    job = change_job_record(job, what, backends.clock.now())
    if job.is_fleet or await backends.at_work(job) is None:  # the process of an embedded crawl says so itself
        await backends.book.update(job)
    if backends.requests.fleet is not None:
        roster = backends.requests.fleet.roster_of(job)
        await (roster.forget_health(job.id) if what is JobCommand.RESUME else roster.notify_supervisor())
    return job


EXAMINED_S = 10.0
"""Seconds that ``wait`` gives a crawl of one machine to examine its items."""
LOOK_S = 0.2
"""So often it is looked whether anything is still in hand."""


async def check_store(backends: Backends, job: Job) -> None:
    """Raise ``StorageError`` if the store takes no changes, before the requests are changed without it."""
    if (stored := await backends.book.get(job.id)) is not None:
        await backends.book.update(stored, expected=stored)


async def revive_letters(backends: Backends, job: Job, which: DeadLetterFilter) -> tuple[Job, int]:
    """Revive dead letters; the job as it is then, and how many there were.

    A job of the fleet runs again if it was over. One of this machine is taken up by its next crawl.
    """
    await backends.check_fleet(job)
    await check_store(backends, job)
    count = await backends.open_frontier(job).revive_letters(which)
    return (await reopen_job(backends, job) if count else job), count


async def wait_for_rest(backends: Backends, job: Job) -> None:
    """Wait for the work that follows the end of a job.

    On a fleet, requests in flight when a budget was spent, or when the job was stopped, are finished, and
    their items count. Workers have ``cluster.drain`` seconds for that; requests of a dead worker are not
    awaited longer. The process of a crawl of one machine examines its items after the end of the job.
    """
    clock = backends.clock
    until = clock.now() + (backends.settings.cluster.drain if job.is_fleet else EXAMINED_S)
    with contextlib.suppress(StorageError):
        while clock.now() < until and await _has_rest(backends, job):
            await clock.sleep(LOOK_S)


async def _has_rest(backends: Backends, job: Job) -> bool:
    if job.is_fleet:
        return bool((await backends.open_frontier(job).read_stats()).leased)
    if await backends.at_work(job) is None:
        return False
    profile = decode_profile((await backends.profiles.read_profiles([job])).get(job.id))
    return profile is None or profile.at < (job.finished_at or 0.0)


async def adopt_version(backends: Backends, job: Job, project: Path | None, by: str) -> Job:
    """Return a fleet's job with the version of its spider on this machine; a switch is logged.

    A fleet works on a job with the submitted version; after the spider was fixed, only the person who resumes
    the job can choose the new one. Requests for a callback that the new version lacks become dead letters
    that name it. Raises ``UsageError`` if the spider is not installed here.
    """
    if not job.is_fleet:
        return job
    await backends.check_fleet(job)
    plan = plan_from(job.plan)
    if (mended := with_version_here(plan, project)) == plan:
        return job
    job = replace(job, plan=pack_plan(mended))
    await backends.book.update_plan(job)
    switch = switch_of(job, plan.version, mended.version, by, backends.clock.now())
    await backends.actions.add_action(switch)
    return job


async def reopen_job(backends: Backends, job: Job) -> Job:
    """Run a fleet's job again that was over: it has work. A job of this machine waits for its next run."""
    if not job.is_fleet:
        return job
    job = await backends.book.get(job.id) or job
    is_over = job.state is JobState.FINISHED or (
        job.state is JobState.RUNNING and job.finished_at is not None
    )
    if is_over:
        await begin_next_run(backends.requests.shared, job)
        running = change_job_record(job, JobCommand.REOPEN, backends.clock.now())
        if await backends.book.update(running, expected=job):
            job = running
    if backends.requests.fleet is not None:
        await backends.requests.fleet.roster_of(job).forget_health(job.id)
    return job
