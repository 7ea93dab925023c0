"""The place of one or all jobs: its fleet's roster, and the state of the parts that jobs share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.jobs import Job
from gossamer.core.shifts import RosterView
from gossamer.policy.job_memory import PlaceMemory
from gossamer.targets.plan import fleet_of_job
from gossamer.watch.job_look import find_refusal
from gossamer.watch.memories import load_place_memory, place_of_crawl, place_of_fleet
from gossamer.wiring.backends import Backends, name_place

MOST = 8
"""Places, and fleets, that are looked at."""


async def read_view(backends: Backends, job: Job | None = None) -> RosterView | None:
    """Return the roster of the fleet, or of a job's fleet; ``None`` without a fleet.

    Raises ``StorageError``.
    """
    fleet = backends.requests.fleet
    if fleet is None:
        return None
    roster, here = fleet.roster, backends.settings.cluster.fleet
    if job is not None and fleet_of_job(job, here) != here:
        roster = fleet.roster_of(job)
    return await roster.read_roster(history=True)


class RosterFacts(NamedTuple):
    """The rosters of the fleets of some jobs: statements about a job are about its own fleet."""

    here: str  # the fleet that the settings name
    views: Mapping[str, RosterView]  # by the fleet

    def view_of(self, job: Job) -> RosterView | None:
        """The roster of the fleet of a job; ``None``: the job has no fleet, or its roster was not read."""
        return self.views.get(fleet_of_job(job, self.here)) if job.is_fleet else None


async def read_views(backends: Backends, jobs: Iterable[Job], view: RosterView | None) -> RosterFacts:
    """The rosters of the fleets of these jobs; ``view`` is that of the fleet that the settings name.

    Raises ``StorageError``.
    """
    here = backends.settings.cluster.fleet
    views = {here: view} if view is not None else {}
    for name, job in _by_fleet(jobs, here).items():
        if view is not None and name not in views and len(views) < MOST:
            views[name] = await backends.require_fleet().roster_of(job[0]).read_roster(history=True)
    return RosterFacts(here, views)


async def read_fleet_places(
    backends: Backends, settings: Settings, jobs: Sequence[Job]
) -> Mapping[str, PlaceMemory]:
    """Return the memory of the parts that each fleet's jobs need, by fleet; the settings' fleet comes first.

    Its entry also covers crawls on this machine. Raises ``StorageError``.
    """
    here = settings.cluster.fleet
    found = _by_fleet(jobs, here)
    known = {here: await read_place(backends, settings, found.pop(here, []))}
    for name in list(found)[: MOST - 1]:
        known[name] = await read_place(backends, settings, found[name])
    return known


def _by_fleet(jobs: Iterable[Job], here: str) -> dict[str, list[Job]]:
    found: dict[str, list[Job]] = {}
    for job in jobs:
        found.setdefault(fleet_of_job(job, here), []).append(job)
    return found


async def read_place(backends: Backends, settings: Settings, jobs: Sequence[Job]) -> PlaceMemory:
    """Return the remembered state of the parts these jobs share, from a supervisor or the latest crawl."""
    fleet = backends.requests.fleet
    names = [place_of_crawl(job) for job in jobs if job.is_running and not job.is_fleet]
    if fleet is not None:
        fleets = {fleet_of_job(job, settings.cluster.fleet): None for job in jobs if job.is_fleet}
        names = [*map(place_of_fleet, fleets or [settings.cluster.fleet]), *names]
    found = [await load_place_memory(backends.requests.shared, name) for name in names[:MOST]]
    place = max(found, key=lambda memory: memory.at, default=PlaceMemory())
    refusing = {**place.look.refusing} if place.is_fresh(backends.clock.now()) else {}
    if fleet is not None:  # one that takes no changes could not have remembered it
        refusing[name_place(settings.frontier.url)] = await find_refusal(fleet.try_writing)
    found_now = {service: why for service, why in refusing.items() if why}
    return replace(place, look=replace(place.look, refusing=found_now))
