"""The alerts that last now, and who is told of them."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.config.settings import Settings
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER
from gossamer.core.record import Record, Time
from gossamer.policy.alerts_on import FOUND_S, alerts_of_place
from gossamer.policy.troubles import Trouble, order_troubles
from gossamer.queries.observed_jobs import read_alerts
from gossamer.watch.memories import (
    load_job_memory,
    load_notices,
    load_place_memory,
    place_of_crawl,
    place_of_fleet,
)
from gossamer.wiring.backends import Backends

ENDED_JOBS = 50
"""Jobs that are over of which alerts are listed."""


class TargetStatus(Record, frozen=True, kw_only=True):
    """Who is told, without what is secret."""

    name: str
    kind: str  # webhook, email, apprise
    severities: tuple[str, ...]  # what it is told of
    waiting: int  # news that it has not taken yet


class AlertPage(Record, frozen=True, kw_only=True):
    """The alerts that last."""

    at: Time
    alerts: tuple[Trouble, ...]  # the worst first
    targets: tuple[TargetStatus, ...]
    is_watched: bool  # somebody looks after the jobs, so that nothing in here is old


async def list_alerts(backends: Backends, settings: Settings) -> AlertPage:
    """The alerts of all jobs that are not over, of what they need, and of the latest job of each spider
    where that has ended lately. Raises ``StorageError``.
    """
    shared, now = backends.requests.shared, backends.clock.now()
    listed = await backends.book.list_jobs()
    jobs = [job for job in listed if job.state not in OVER]
    places = [place_of_fleet(settings.cluster.fleet)] if backends.requests.fleet is not None else []
    places += [place_of_crawl(job) for job in jobs if job.is_unfinished and not job.is_fleet]
    fleet = backends.requests.fleet
    place = alerts_of_place(
        [await load_place_memory(shared, name) for name in places],
        now,
        view=await fleet.roster.read_roster() if fleet is not None else None,
        running=sum(job.is_fleet and job.is_running for job in jobs),
    )
    alerts = [*place.troubles]
    for job in (*jobs, *_ended_lately(listed, now)):
        alerts += (await read_alerts(backends, job, await load_job_memory(shared, job))).troubles
    waiting: dict[str, int] = {}
    for name in places:
        for news in (await load_notices(shared, name)).waiting:
            waiting[news.target] = waiting.get(news.target, 0) + 1
    return AlertPage(
        at=now,
        alerts=tuple(order_troubles(alerts)),
        targets=tuple(
            TargetStatus(name=name, kind=one.kind, severities=one.severities, waiting=waiting.get(name, 0))
            for name, one in settings.alerts.targets.items()
        ),
        is_watched=place.is_known,
    )


def _ended_lately(listed: Sequence[Job], now: float) -> Sequence[Job]:
    """The latest job of each spider, of those that are over since a few days."""
    latest: dict[str, Job] = {}
    for job in listed:
        latest.setdefault(job.name, job)
    ended = [job for job in latest.values() if job.state in OVER]
    return [job for job in ended if (job.finished_at or now) > now - FOUND_S][:ENDED_JOBS]
