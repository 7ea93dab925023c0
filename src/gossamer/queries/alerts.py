"""The alerts that last now, and who is told of them."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.config.settings import Settings
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER
from gossamer.core.record import Record, Time
from gossamer.policy.alerts_on import FOUND_S
from gossamer.policy.troubles import Trouble, order_troubles
from gossamer.queries.observed_jobs import read_alerts
from gossamer.queries.overview import read_fleet_alerts
from gossamer.watch.alerts_on import list_places
from gossamer.watch.memories import load_notices
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
    acknowledged: tuple[Trouble, ...]  # they last, and somebody has said that they know
    targets: tuple[TargetStatus, ...]
    is_watched: bool  # somebody looks after the jobs, so that nothing in here is old
    checked_at: Time | None  # when what all jobs need was last checked; None: never


async def list_alerts(backends: Backends, settings: Settings) -> AlertPage:
    """The alerts of all jobs that are not over, of what they need, and of the latest job of each spider
    where that has ended lately. Raises ``StorageError``.
    """
    shared, now, fleet = backends.requests.shared, backends.clock.now(), backends.requests.fleet
    listed = await backends.book.list_jobs()
    jobs = [job for job in listed if job.state not in OVER]
    view = await fleet.roster.read_roster() if fleet is not None else None
    place = await read_fleet_alerts(backends, settings, jobs, view)
    found = [place, *[await read_alerts(backends, job) for job in (*jobs, *_ended_lately(listed, now))]]
    waiting: dict[str, int] = {}
    unfinished = [job for job in jobs if job.is_unfinished]
    for name in list_places(settings.cluster.fleet, unfinished, is_fleet=view is not None):
        for news in (await load_notices(shared, name)).waiting:
            waiting[news.target] = waiting.get(news.target, 0) + 1
    return AlertPage(
        at=now,
        alerts=tuple(order_troubles(one for view in found for one in view.troubles)),
        acknowledged=tuple(order_troubles(one for view in found for one in view.acknowledged)),
        targets=tuple(
            TargetStatus(name=name, kind=one.kind, severities=one.severities, waiting=waiting.get(name, 0))
            for name, one in settings.alerts.targets.items()
        ),
        is_watched=place.is_known,
        checked_at=place.checked_at or None,
    )


def _ended_lately(listed: Sequence[Job], now: float) -> Sequence[Job]:
    """The latest job of each spider, of those that are over since a few days."""
    latest: dict[str, Job] = {}
    for job in listed:
        latest.setdefault(job.name, job)
    ended = [job for job in latest.values() if job.state in OVER]
    return [job for job in ended if (job.finished_at or now) > now - FOUND_S][:ENDED_JOBS]
