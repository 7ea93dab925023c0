"""The jobs of a place with the facts about each: the base of all answers about many jobs.

A place may have hundreds of open jobs. The watching process's memory is enough for most; only the jobs
shown cost a look at their requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER
from gossamer.core.shifts import RosterView
from gossamer.policy.job_memory import PlaceMemory
from gossamer.policy.troubles import Severity
from gossamer.queries.observed_jobs import NO_PLACE, ObservedJob, glance_at_job, observe_job, troubles_of
from gossamer.queries.places import RosterFacts, read_fleet_places, read_view, read_views
from gossamer.queries.remembered_jobs import remember_jobs
from gossamer.targets.plan import fleet_of_job
from gossamer.wiring.backends import Backends

AT_ONCE = 8
"""Jobs that are looked at side by side."""
OPEN, ENDED = "open", "ended"


class PlaceView(NamedTuple):
    """The jobs of a place at one time: those that are listed as one look shows them, others as remembered."""

    view: RosterView | None  # the roster of the fleet that the settings name, if there is one
    place: PlaceMemory  # of that fleet, and of crawls of this machine
    open: Sequence[Job]
    ended: Sequence[Job]
    part: Sequence[Job]  # those to be listed
    next_cursor: str | None
    known: Mapping[str, ObservedJob]  # all that are open, and all that are to be listed
    close: Sequence[ObservedJob]  # those of them that were looked at closely

    @property
    def running(self) -> list[ObservedJob]:
        """All that run."""
        return [one for job in self.open if (one := self.known[job.id]).is_running]


async def look_at_jobs(
    backends: Backends,
    settings: Settings,
    *,
    show: str = OPEN,
    cursor: str = "",
    limit: int = 50,
    needy_first: bool = False,
) -> PlaceView:
    """Look at all jobs that are open, and closely at ``limit`` of them and at those that are to be listed.

    ``needy_first``: those that need a person are among the first, whichever began last.
    """
    if show not in (OPEN, ENDED):
        raise UsageError(f"{show!r} is not a kind of jobs: use open or ended")
    view = await read_view(backends)
    listed = sorted(await backends.book.list_jobs(), key=_place_of, reverse=True)
    unfinished = [job for job in listed if job.state not in OVER]
    ended = [job for job in listed if job.state in OVER]
    views = await read_views(backends, unfinished, view)
    places = await read_fleet_places(backends, settings, unfinished)
    known: dict[str, ObservedJob] = {}
    if len(unfinished) > limit:
        look = partial(glance_at_job, remembered=await remember_jobs(backends, unfinished))
        known = {one.job.id: one for one in await observe_jobs(backends, unfinished, views, places, look)}
        if needy_first:
            unfinished.sort(key=lambda job: not _needs_person(known[job.id]))
    rest = _behind(unfinished if show == OPEN else ended, cursor)
    close = {job.id: job for job in (*unfinished[:limit], *rest[:limit])}
    found = await observe_jobs(backends, list(close.values()), views, places)
    known |= {one.job.id: one for one in found}
    next_cursor = rest[limit - 1].id if len(rest) > limit else None
    place = places[settings.cluster.fleet]
    return PlaceView(view, place, unfinished, ended, rest[:limit], next_cursor, known, found)


def _needs_person(known: ObservedJob) -> bool:
    return any(trouble.severity is Severity.NEEDS_YOU for trouble in troubles_of(known))


def _place_of(job: Job) -> tuple[bool, float]:
    """Those that run first, then the newest."""
    return job.is_running, job.created_at


def _behind(jobs: Sequence[Job], cursor: str) -> Sequence[Job]:
    place = next((number for number, job in enumerate(jobs, start=1) if job.id == cursor), 0)
    return jobs[place:]


async def observe_jobs(
    backends: Backends,
    jobs: Sequence[Job],
    views: RosterFacts,
    places: Mapping[str, PlaceMemory],
    look: Callable[..., Awaitable[ObservedJob]] = observe_job,
) -> list[ObservedJob]:
    """Return the facts about each job, by ``observe_job`` or ``glance_at_job``.

    ``views`` and ``places`` are those of the jobs' fleets.
    """
    in_turn = asyncio.Semaphore(AT_ONCE)

    async def observe(job: Job) -> ObservedJob:
        async with in_turn:
            place = places.get(fleet_of_job(job, views.here), NO_PLACE)
            return await look(backends, job, view=views.view_of(job), place=place)

    return list(await asyncio.gather(*map(observe, jobs)))
