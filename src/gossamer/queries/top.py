"""An overview for a terminal: all jobs, one of them in detail, the workers, and problems."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError, UsageError
from gossamer.core.record import Record, Time
from gossamer.policy.troubles import Trouble
from gossamer.queries.fleet_view import FleetView, WorkerView, show_fleet
from gossamer.queries.hosts import HostPage, HostStatus, list_hosts
from gossamer.queries.job_view import JobView, read_job_view
from gossamer.queries.jobs import find_job
from gossamer.queries.overview import JobRow, Overview, show_overview
from gossamer.queries.seen_jobs import ENDED, look_at_jobs
from gossamer.wiring.backends import Backends

JOBS = 20
"""Maximum number of jobs shown: those that need a person first, then by remaining work."""
HOSTS = 20
"""Hosts of the chosen job."""
WORKERS = 100
"""Workers, those that are silent first."""


class ChosenJob(Record, frozen=True, kw_only=True):
    """The job that was chosen."""

    job: str  # its id
    say: tuple[str, str]
    hosts: tuple[HostStatus, ...]  # for which most requests wait


class WorkerPage(Record, frozen=True, kw_only=True):
    """The workers of a fleet."""

    say: tuple[str, str]
    workers: tuple[WorkerView, ...]
    more: int  # that are not among them


class TopView(Record, frozen=True, kw_only=True):
    """Everything at one glance."""

    at: Time
    say: tuple[str, str]
    jobs: tuple[JobRow, ...]  # open ones; ended ones where none is open
    more_jobs: int
    chosen: ChosenJob | None  # None: no job
    fleet: WorkerPage | None  # None: no fleet
    troubles: tuple[Trouble, ...]  # the worst
    more_troubles: int


async def read_top(backends: Backends, settings: Settings, chosen: str = "") -> TopView:
    """Return the overview, with the job ``chosen`` (id or name; default: the first one) in detail.

    Raises ``UsageError`` for an unknown job, and ``StorageError``.
    """
    seen = await look_at_jobs(backends, settings, limit=JOBS, needy_first=True)
    if not seen.open:
        seen = await look_at_jobs(backends, settings, show=ENDED, limit=JOBS)
    found = await show_overview(backends, seen)
    close = await _read_closely(backends, settings, chosen or next((row.job for row in found.jobs), ""))
    rows, hidden = list(found.jobs), _count_hidden(found)
    if close is not None and close.job not in {row.job for row in rows}:
        rows, hidden = [close, *rows[: JOBS - 1]], hidden + max(len(rows) - JOBS + 1, 0)
    return TopView(
        at=found.at,
        say=found.say,
        jobs=tuple(rows),
        more_jobs=hidden,
        chosen=None if close is None else await _close_up(backends, close),
        fleet=_page_workers(await show_fleet(backends, seen)) if seen.view is not None else None,
        troubles=found.troubles,
        more_troubles=found.more_troubles,
    )


def _count_hidden(found: Overview) -> int:
    return max((found.open or found.ended) - len(found.jobs), 0)


async def _read_closely(backends: Backends, settings: Settings, name: str) -> JobView | None:
    return await read_job_view(backends, settings, await find_job(backends, name)) if name else None


async def _close_up(backends: Backends, job: JobView) -> ChosenJob:
    try:
        page = await list_hosts(backends, await find_job(backends, job.job), HOSTS)
    except (StorageError, UsageError):  # its requests are gone; the job's sentences say so
        page = HostPage()
    return ChosenJob(job=job.job, say=job.say, hosts=page.hosts)


def _page_workers(view: FleetView) -> WorkerPage:
    shown = _silent_first(view.workers)[:WORKERS]
    more = view.more_workers + len(view.workers) - len(shown)
    return WorkerPage(say=view.say, workers=tuple(shown), more=more)


def _silent_first(workers: Sequence[WorkerView]) -> Sequence[WorkerView]:
    return sorted(workers, key=lambda worker: not worker.is_silent)
