"""Reads the current alerts from the memory of a watch, and stores which of them are acknowledged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from gossamer.core.jobs import Job, tag_of
from gossamer.core.shifts import RosterView
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alerts_on import AlertView, alerts_of_job, alerts_of_place
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.job_profile import decode_profile
from gossamer.policy.troubles import Trouble
from gossamer.targets.plan import fleet_of_job
from gossamer.watch.memories import (
    load_acknowledged,
    load_job_memory,
    load_place_memory,
    place_of_crawl,
    place_of_fleet,
    save_acknowledged,
)
from gossamer.wiring.alert_targets import alert_rules_of
from gossamer.wiring.backends import Backends

MOST_JOBS = 200
"""Crawls of one machine whose places are looked at."""


async def read_job_alerts(
    backends: Backends,
    job: Job,
    memory: JobMemory | None = None,
    profiles: Mapping[str, bytes] | None = None,
) -> AlertView:
    """Return the current alerts of a job; ``memory`` and ``profiles`` (by job) save reading them again.

    Raises ``StorageError``.
    """
    shared, now = backends.requests.shared, backends.clock.now()
    memory = memory or await load_job_memory(shared, job)
    if profiles is None:
        profiles = await read_profiles_of(backends, [job])
    found = alerts_of_job(
        job,
        memory,
        now,
        formatter_at(now),
        profile=decode_profile(profiles.get(job.id)),
        rules=alert_rules_of(backends.settings.alerts),
    )
    return found.acknowledge(await load_acknowledged(shared, tag_of(job))) if found.troubles else found


async def read_profiles_of(backends: Backends, jobs: Iterable[Job]) -> Mapping[str, bytes]:
    """Return the item profiles of the ended jobs, by job. Raises ``StorageError``."""
    ended = [job for job in jobs if job.end_reason is not None]
    return await backends.profiles.read_profiles(ended) if ended else {}


async def read_place_memories(
    backends: Backends, jobs: Collection[Job], view: RosterView | None
) -> list[PlaceMemory]:
    """Return the latest looks at the services of these jobs: of the fleet, and of each local crawl."""
    unfinished = [job for job in jobs if job.is_unfinished]
    names = list_places(backends, unfinished[:MOST_JOBS], is_fleet=view is not None)
    return [await load_place_memory(backends.requests.shared, name) for name in names]


async def read_place_alerts(
    backends: Backends,
    jobs: Collection[Job],
    view: RosterView | None,
    memories: Sequence[PlaceMemory] | None = None,
) -> AlertView:
    """Return the current alerts of the services of these jobs; ``memories`` saves reading the looks again.

    Raises ``StorageError``.
    """
    if memories is None:
        memories = await read_place_memories(backends, jobs, view)
    here = backends.settings.cluster.fleet
    running = sum(job.is_fleet and job.is_running and fleet_of_job(job, here) == here for job in jobs)
    found = alerts_of_place(memories, backends.clock.now(), view=view, running=running)
    known = await load_acknowledged(backends.requests.shared, _place_here(backends)) if found.troubles else {}
    return found.acknowledge(known)


def list_places(backends: Backends, jobs: Iterable[Job], *, is_fleet: bool) -> list[str]:
    """Return the names of the watched places: the fleet, and each crawl of one machine."""
    crawls = [place_of_crawl(job) for job in jobs if not job.is_fleet]
    return [_place_here(backends), *crawls] if is_fleet else crawls


async def acknowledge_alerts(backends: Backends, job: Job | None, alerts: Iterable[Trouble]) -> None:
    """Store that these alerts, of one job or of the shared services, are acknowledged."""
    about, now = _place_here(backends) if job is None else tag_of(job), backends.clock.now()
    await save_acknowledged(backends.requests.shared, about, {one.id: now for one in alerts})


def _place_here(backends: Backends) -> str:
    return place_of_fleet(backends.settings.cluster.fleet)
