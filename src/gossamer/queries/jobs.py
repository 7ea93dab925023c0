"""The jobs of a place: which there are, which one is meant, and how each stands in short."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

from gossamer.core.errors import LostRequestsError, StorageError, UnknownJobError
from gossamer.core.jobs import FrontierStats, Job, JobTotals
from gossamer.core.record import FieldMeaning, Record, Time
from gossamer.policy.goals import ListingGoal, read_goals
from gossamer.policy.job_life import shown_state
from gossamer.ports.backends import StoreBackend
from gossamer.wiring.backends import Backends, refresh_job

NAMED = 10
"""Jobs that are named when the one asked for is not there."""
NO_JOB = "no job exists yet; `gossamer crawl` starts one"


class JobSummary(Record, frozen=True, kw_only=True):
    """One job in a listing."""

    job: str  # its id
    name: str
    target: str
    state: str  # running, paused, cancelled, finished; ``unfinished``: its last run ended with work left
    finish_reason: str  # why its last run ended, in a word; "" while it runs
    error: str  # the message of the error that ended it
    created_at: Time
    finished_at: Time | None
    pages: int
    items: int
    waiting: int | None  # None: its requests cannot be read, or are forgotten
    dead: int | None
    goals: tuple[ListingGoal, ...] = ()  # how many of something the site announces, and how many there are
    unreadable: Annotated[str, FieldMeaning.ASIDE] = ""  # why its requests cannot be read


class JobPage(Record, frozen=True, kw_only=True):
    """A part of a listing of jobs."""

    jobs: tuple[JobSummary, ...]
    next_cursor: str | None = None  # where the next part begins (after this job); None: this is the last part


async def find_job(backends: Backends | StoreBackend, name: str) -> Job:
    """A job by its id, or the latest by its name: the spider's, or as the id spells it.

    Raises ``UnknownJobError`` that names those that are there.
    """
    job = await backends.book.get(name)
    if job is not None:
        return job
    listed = await backends.book.list_jobs()
    same = next((job for job in listed if job.id.rpartition("-")[0] == name), None)
    if same is not None:
        return same
    if not listed:
        raise UnknownJobError(NO_JOB)
    known = [job.id for job in listed]
    more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    raise UnknownJobError(f"no job is named {name!r}; existing jobs: {', '.join(known[:NAMED])}{more}")


async def find_latest(backends: Backends, name: str | None) -> Job:
    """The same; without a name, the latest job of all. Raises ``UnknownJobError``."""
    if name is not None:
        return await find_job(backends, name)
    listed = await backends.book.list_jobs()
    if not listed:
        raise UnknownJobError(NO_JOB)
    return listed[0]


async def list_jobs(
    backends: Backends,
    limit: int,
    *,
    after: str = "",
    name: str = "",
    text: str = "",
    states: Collection[str] = (),
) -> JobPage:
    """Jobs, newest first: those behind ``after`` (an id), with this spider's name, in one of these states
    as they are shown.

    ``text`` is in the id or the target; capitals are the same.

    A job whose requests cannot be read is listed all the same, and says why (``unreadable``).
    """
    listed = _behind(await backends.book.list_jobs(), after)
    chosen = [job for job in listed if name in ("", job.name)]
    if states:
        chosen = [job for job in chosen if shown_state(await refresh_job(backends, job)) in states]
    if text:
        chosen = [job for job in chosen if text.lower() in f"{job.id} {job.target}".lower()]
    shown = chosen[:limit]
    return JobPage(
        jobs=tuple([await _summarise_listed(backends, job) for job in shown]),
        next_cursor=shown[-1].id if shown and len(chosen) > limit else None,
    )


def _behind(listed: Sequence[Job], after: str) -> Sequence[Job]:
    """The jobs behind one of them; all when it is not there."""
    place = next((number for number, job in enumerate(listed, start=1) if job.id == after), 0)
    return listed[place:]


async def _summarise_listed(backends: Backends, job: Job) -> JobSummary:
    job = await refresh_job(backends, job)
    totals = await backends.store.read_totals(job)
    try:
        stats = await backends.open_frontier(job).read_stats()
    except LostRequestsError:  # nothing waits in a frontier that is gone
        stats = FrontierStats(state=job.state)
    except StorageError as error:
        return summarise_job(job, totals, None, unreadable=str(error))
    return summarise_job(job, totals, stats)


def summarise_job(
    job: Job, totals: JobTotals, stats: FrontierStats | None, *, unreadable: str = ""
) -> JobSummary:
    """A job with its counts; ``stats`` is ``None`` where nothing is known of its requests."""
    return JobSummary(
        job=job.id,
        name=job.name,
        target=job.target,
        state=shown_state(job),
        finish_reason=str(job.end_reason or ""),
        error=job.end_error,
        created_at=job.created_at,
        finished_at=job.finished_at,
        pages=totals.pages,
        items=totals.items,
        waiting=stats.waiting if stats else None,
        dead=stats.dead if stats else None,
        goals=read_goals(totals),
        unreadable=unreadable,
    )


async def describe_goals(backends: Backends, job: Job) -> str:
    """``3,120 of 4,213 products``; empty where the site announces nothing."""
    return ", ".join(goal.to_text() for goal in read_goals(await backends.store.read_totals(job)))
