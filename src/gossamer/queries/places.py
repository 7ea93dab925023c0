"""The place of one or all jobs: its fleet's roster, and the state of the parts that jobs share."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.shifts import RosterView
from gossamer.policy.job_memory import PlaceMemory
from gossamer.targets.plan import plan_from
from gossamer.watch.job_look import find_refusal
from gossamer.watch.memories import load_place_memory, place_of_crawl, place_of_fleet
from gossamer.wiring.backends import Backends, name_place

MOST = 8
"""Places that are looked at."""


async def read_view(backends: Backends, job: Job | None = None) -> RosterView | None:
    """Return the roster of the fleet, or of a job's fleet; ``None`` without a fleet.

    Raises ``StorageError``.
    """
    fleet = backends.requests.fleet
    if fleet is None:
        return None
    roster = fleet.roster
    if job is not None and fleet_of(job, backends.settings) != backends.settings.cluster.fleet:
        roster = fleet.roster_of(job)
    return await roster.read_roster(history=True)


def fleet_of(job: Job, settings: Settings) -> str:
    """The name of the fleet that looks after a job; that of the settings, where its plan cannot be read."""
    with contextlib.suppress(StorageError):
        return plan_from(job.plan).fleet if job.is_fleet else settings.cluster.fleet
    return settings.cluster.fleet


async def read_place(backends: Backends, settings: Settings, jobs: Sequence[Job]) -> PlaceMemory:
    """Return the remembered state of the parts these jobs share, from a supervisor or the latest crawl."""
    fleet = backends.requests.fleet
    names = [place_of_crawl(job) for job in jobs if job.is_running and not job.is_fleet]
    if fleet is not None:
        fleets = {fleet_of(job, settings): None for job in jobs if job.is_fleet}
        names = [*map(place_of_fleet, fleets or [settings.cluster.fleet]), *names]
    found = [await load_place_memory(backends.requests.shared, name) for name in names[:MOST]]
    place = max(found, key=lambda memory: memory.at, default=PlaceMemory())
    refusing = {**place.look.refusing} if place.is_fresh(backends.clock.now()) else {}
    if fleet is not None:  # one that takes no changes could not have remembered it
        refusing[name_place(settings.frontier.url)] = await find_refusal(fleet.try_writing)
    found_now = {service: why for service, why in refusing.items() if why}
    return replace(place, look=replace(place.look, refusing=found_now))
