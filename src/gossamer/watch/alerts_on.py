"""Reads which alerts are on from what a watch remembers, and keeps which of them were acknowledged."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.jobs import Job, tag_of
from gossamer.core.shifts import RosterView
from gossamer.policy.alerts import AlertRules
from gossamer.policy.alerts_on import AlertView, alerts_of_job, alerts_of_place
from gossamer.policy.job_memory import JobMemory
from gossamer.policy.job_profile import decode_profile
from gossamer.policy.sentences.words import SentenceFormatter
from gossamer.policy.troubles import Trouble
from gossamer.ports.profile_store import ProfileStore
from gossamer.ports.shared_state import SharedState
from gossamer.watch.memories import (
    load_acknowledged,
    load_job_memory,
    load_place_memory,
    place_of_crawl,
    place_of_fleet,
    save_acknowledged,
)

MOST_JOBS = 200
"""Crawls of one machine whose places are looked at."""


async def read_job_alerts(
    shared: SharedState,
    profiles: ProfileStore,
    job: Job,
    show: SentenceFormatter,
    *,
    now: float,
    rules: AlertRules,
    memory: JobMemory | None = None,
) -> AlertView:
    """The alerts that are on for a job; ``memory`` where it was read already. Raises ``StorageError``."""
    memory = memory or await load_job_memory(shared, job)
    kept = await profiles.read_profiles([job]) if job.end_reason is not None else {}
    profile = decode_profile(kept.get(job.id))
    found = alerts_of_job(job, memory, now, show, profile=profile, rules=rules)
    return found.acknowledge(await load_acknowledged(shared, tag_of(job))) if found.troubles else found


async def read_place_alerts(
    shared: SharedState, fleet: str, jobs: Iterable[Job], *, now: float, view: RosterView | None
) -> AlertView:
    """The alerts that are on for what these jobs need. Raises ``StorageError``."""
    unfinished = [job for job in jobs if job.is_unfinished]
    names = list_places(fleet, unfinished[:MOST_JOBS], is_fleet=view is not None)
    memories = [await load_place_memory(shared, name) for name in names]
    running = sum(job.is_fleet and job.is_running for job in unfinished)
    found = alerts_of_place(memories, now, view=view, running=running)
    known = await load_acknowledged(shared, place_of_fleet(fleet)) if found.troubles else {}
    return found.acknowledge(known)


def list_places(fleet: str, jobs: Iterable[Job], *, is_fleet: bool) -> list[str]:
    """The names of the places that are watched: the fleet, and each crawl of one machine."""
    crawls = [place_of_crawl(job) for job in jobs if not job.is_fleet]
    return [place_of_fleet(fleet), *crawls] if is_fleet else crawls


async def acknowledge_alerts(
    shared: SharedState, fleet: str, job: Job | None, alerts: Iterable[Trouble], now: float
) -> None:
    """Keep that somebody knows of these alerts: of a job, or of what all jobs need."""
    about = place_of_fleet(fleet) if job is None else tag_of(job)
    await save_acknowledged(shared, about, {one.id: now for one in alerts})
