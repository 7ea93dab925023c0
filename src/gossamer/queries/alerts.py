"""The alerts that last now, and who is told of them."""

from __future__ import annotations

from collections.abc import Collection

from gossamer.config.settings import Settings
from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alert_readings import kind_of_finding
from gossamer.policy.alerts import AlertKey
from gossamer.policy.alerts_on import alerts_of_job, alerts_of_place
from gossamer.policy.job_profile import decode_profile
from gossamer.policy.sentences.quality import describe_finding
from gossamer.policy.troubles import Trouble, TroubleKind, make_trouble, order_troubles
from gossamer.watch.memories import (
    load_job_memory,
    load_notices,
    load_place_memory,
    place_of_crawl,
    place_of_fleet,
)
from gossamer.wiring.backends import Backends

ENDED_S = 7 * 86_400.0
"""For so long what was found of a job that has ended is an alert, unless its spider runs again."""
ENDED_JOBS = 50


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
    """The alerts of all jobs that run or are paused, and of what they need; what is worse than usual of the
    items of jobs that have ended. Raises ``StorageError``.
    """
    shared, now = backends.requests.shared, backends.clock.now()
    jobs = await backends.book.list_jobs(unfinished=True)
    places = [place_of_fleet(settings.cluster.fleet)] if backends.requests.fleet is not None else []
    places += [place_of_crawl(job) for job in jobs if not job.is_fleet]
    memories = [await load_place_memory(shared, place) for place in places]
    fleet = backends.requests.fleet
    place_alerts = alerts_of_place(
        memories,
        now,
        view=await fleet.roster.read_roster() if fleet is not None else None,
        running=sum(job.is_fleet and job.is_running for job in jobs),
    )
    alerts = [*place_alerts.troubles]
    for job in jobs:
        alerts += alerts_of_job(job, await load_job_memory(shared, job), now).troubles
    waiting: dict[str, int] = {}
    for place in places:
        for news in (await load_notices(shared, place)).waiting:
            waiting[news.target] = waiting.get(news.target, 0) + 1
    alerts += await _list_findings(backends, settings, now, {(one.kind, one.job, one.who) for one in alerts})
    return AlertPage(
        at=now,
        alerts=tuple(order_troubles(alerts)),
        targets=tuple(
            TargetStatus(name=name, kind=one.kind, severities=one.severities, waiting=waiting.get(name, 0))
            for name, one in settings.alerts.targets.items()
        ),
        is_watched=place_alerts.is_known,
    )


async def _list_findings(
    backends: Backends, settings: Settings, now: float, known: Collection[AlertKey]
) -> list[Trouble]:
    """What is worse than usual of the items of the latest job of each spider, if that ended lately."""
    rules = settings.alerts
    latest: dict[str, Job] = {}
    for job in await backends.book.list_jobs():
        latest.setdefault(job.name, job)
    ended = [job for job in latest.values() if job.end_reason and (job.finished_at or now) > now - ENDED_S]
    kept = await backends.profiles.read_profiles(ended[:ENDED_JOBS]) if ended else {}
    show, found = formatter_at(now), []
    for job in ended[:ENDED_JOBS]:
        profile = decode_profile(kept.get(job.id))
        if profile is None:
            continue
        for one in profile.findings:
            kind, who = kind_of_finding(one), one.field or job.id
            is_told = rules.no_items_pages if kind is TroubleKind.NO_ITEMS else rules.drift
            if is_told and (kind, job.id, who) not in known:
                text, since = describe_finding(one, job.id, show), one.since or profile.at
                found.append(make_trouble(kind, who, text, since=since, job=job.id))
    return found
