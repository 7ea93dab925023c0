"""Current alerts and their notifications."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gossamer.config.alerts import AlertTargetSettings
from gossamer.config.settings import Settings
from gossamer.core.alerts import AlertNotice
from gossamer.core.lifecycle import OVER
from gossamer.core.record import Record, Time
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alerts_on import AlertView, select_ended
from gossamer.policy.notices import NoticeMemory
from gossamer.policy.sentences.alerts import AlertFacts, describe_alerts
from gossamer.policy.troubles import Severity, Trouble, order_troubles
from gossamer.queries.observed_jobs import read_current_alerts
from gossamer.queries.places import read_view, read_views
from gossamer.watch.memories import load_left_news, load_notices
from gossamer.wiring.alerts_on import list_places, read_place_alerts, read_profiles_of
from gossamer.wiring.backends import Backends, refresh_job

NOTICES = 50
"""Notifications that are shown."""


class TargetStatus(Record, frozen=True, kw_only=True):
    """A target of notifications, without its secrets."""

    name: str
    kind: str  # webhook, email, apprise
    severities: tuple[str, ...]  # severities that it receives
    waiting: int  # notifications that it has not taken yet
    sent_at: Time | None  # when it took the latest one; None: not lately
    error: str  # why it did not take the one that waits; empty: it takes them, as far as is known


class NoticeStatus(Record, frozen=True, kw_only=True):
    """The delivery state of one notification."""

    target: str
    state: str  # sent, waiting, failed
    change: str  # the event: the alert began, or ended
    alert: str  # its kind
    job: str  # "": it is about what all jobs need
    text: str
    at: Time  # when the alert was found to begin or to end
    settled_at: Time | None  # when it was sent or given up; None: it waits
    next_at: Time | None  # when it is tried again; None: it is not
    tries: int
    error: str  # of the latest try, or why it was given up; empty: there was none


class AlertPage(Record, frozen=True, kw_only=True):
    """The alerts that last."""

    at: Time
    say: tuple[str, str]  # the problem, and whether any target is notified
    alerts: tuple[Trouble, ...]  # the worst first
    acknowledged: tuple[Trouble, ...]  # current, and acknowledged by a person
    targets: tuple[TargetStatus, ...]
    notices: tuple[NoticeStatus, ...]  # waiting, and recently sent or given up; newest first
    is_watched: bool  # a supervisor or crawl checks the jobs, so nothing here is stale
    checked_at: Time | None  # when what all jobs need was last checked; None: never


async def list_alerts(backends: Backends, settings: Settings) -> AlertPage:
    """Return the alerts of open jobs, of the parts they share, and of each spider's latest job if it
    ended lately. Raises ``StorageError``.
    """
    shared, now = backends.requests.shared, backends.clock.now()
    listed = await backends.book.list_jobs()
    jobs = [await refresh_job(backends, job) for job in listed if job.state not in OVER]
    ended = select_ended(listed, now)
    roster = await read_view(backends)
    place = await read_place_alerts(backends, jobs, roster)
    profiles = await read_profiles_of(backends, (*jobs, *ended))
    rosters = await read_views(backends, jobs, roster)
    views = [
        (job, await read_current_alerts(backends, job, rosters.view_of(job), profiles))
        for job in (*jobs, *ended)
    ]
    found = [place, *(view for _, view in views)]
    names = list_places(backends, (*jobs, *ended), is_fleet=roster is not None)
    names += [name for name in await load_left_news(shared) if name not in names]
    notices = [one for name in names for one in list_notices(await load_notices(shared, name))]
    notices.sort(key=lambda one: (one.settled_at is None, one.settled_at or one.at), reverse=True)
    page = AlertPage(
        at=now,
        say=("", ""),
        alerts=tuple(order_troubles(one for view in found for one in view.troubles)),
        acknowledged=tuple(order_troubles(one for view in found for one in view.acknowledged)),
        targets=tuple(
            _describe_target(name, one, [notice for notice in notices if notice.target == name])
            for name, one in settings.alerts.targets.items()
        ),
        notices=tuple(notices[:NOTICES]),
        is_watched=place.is_known,
        checked_at=place.checked_at or None,
    )
    running = [view for job, view in views if job.is_running]
    return replace(page, say=_say_page(page, running, sum(one.waiting for one in page.targets)))


def _say_page(page: AlertPage, running: Sequence[AlertView], waiting: int) -> tuple[str, str]:
    need_you = sum(one.severity is Severity.NEEDS_YOU for one in page.alerts)
    facts = AlertFacts(
        need_you=need_you,
        others=len(page.alerts) - need_you,
        acknowledged=len(page.acknowledged),
        running=len(running),
        unchecked=sum(not view.is_known for view in running),
        is_place_checked=page.is_watched,
        checked_at=page.checked_at,
        targets=len(page.targets),
        refusing=tuple(one.name for one in page.targets if one.error),
        waiting=waiting,
    )
    said = describe_alerts(facts, formatter_at(page.at))
    return said.answer, said.reason


def _describe_target(name: str, target: AlertTargetSettings, notices: Sequence[NoticeStatus]) -> TargetStatus:
    waiting = [one for one in notices if one.state == "waiting"]
    return TargetStatus(
        name=name,
        kind=target.kind,
        severities=target.severities,
        waiting=len(waiting),
        sent_at=max((one.settled_at or 0.0 for one in notices if one.state == "sent"), default=None),
        error=next((one.error for one in waiting if one.error), ""),
    )


def list_notices(memory: NoticeMemory) -> Iterator[NoticeStatus]:
    """The notifications of one place: those that wait, and those that were sent or given up lately."""
    for one in memory.waiting:
        yield _describe_notice(one.notice, one.target, one.tries, one.error, next_at=one.next_at)
    for done in memory.settled:
        yield _describe_notice(done.notice, done.target, done.tries, done.error, settled_at=done.at)


def _describe_notice(
    notice: AlertNotice,
    target: str,
    tries: int,
    error: str,
    *,
    next_at: float | None = None,
    settled_at: float | None = None,
) -> NoticeStatus:
    return NoticeStatus(
        target=target,
        state="waiting" if settled_at is None else "failed" if error else "sent",
        change=notice.change.value,
        alert=notice.alert,
        job=notice.job,
        text=notice.headline,
        at=notice.at,
        settled_at=settled_at,
        next_at=max(next_at, notice.at) if next_at is not None else None,
        tries=tries,
        error=error,
    )
