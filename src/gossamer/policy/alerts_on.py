"""Which alerts are on, by one rule for the list, a job's status, the dashboard and the metrics. Pure.

The remembered state counts until the next check is overdue. From then on the state is unknown, and no alert
is shown. An alert about a run ends with the run; only alerts that stay true are shown for a job that does not
run. One that a person has acknowledged is on no longer, until it has ended and begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER, FinishReason
from gossamer.core.record import Record, Time
from gossamer.core.shifts import RosterView
from gossamer.core.text import format_count
from gossamer.policy.alert_readings import describe_failure, is_reported, kind_of_finding
from gossamer.policy.alerts import AlertKey, AlertRules, AlertState
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.job_profile import JobProfile
from gossamer.policy.sentences.job_facts import has_led_lately
from gossamer.policy.sentences.quality import describe_finding
from gossamer.policy.sentences.words import SentenceFormatter
from gossamer.policy.troubles import Severity, Trouble, TroubleKind, make_trouble, order_troubles

LASTING = frozenset({TroubleKind.TRAP})
"""Remembered alerts that stay true of a job whose run has ended."""
FOUND_S = 7 * 86_400.0
"""For so long after the end of a job, what its items lack is an alert."""


ENDED_JOBS = 50
"""Jobs that are over of which alerts are listed."""


class AlertView(Record, frozen=True, kw_only=True):
    """The alerts that are on for a job, or for what all jobs need."""

    troubles: tuple[Trouble, ...] = ()  # the worst first
    acknowledged: tuple[Trouble, ...] = ()  # current, and acknowledged by a person
    is_known: bool = True  # False: the next check is overdue, or there was none yet
    checked_at: Time = 0.0  # by the latest check; 0: there was none

    @property
    def need_you(self) -> tuple[Trouble, ...]:
        """Those that a person has to mend: with any of these on, nothing may be called well."""
        return tuple(one for one in self.troubles if one.severity is Severity.NEEDS_YOU)

    def acknowledge(self, known: Mapping[str, float]) -> AlertView:
        """The same where these were acknowledged: by their ids, with the time at which that was."""
        aside = tuple(one for one in self.troubles if one.since <= known.get(one.id, 0.0))
        return replace(
            self,
            troubles=tuple(one for one in self.troubles if one not in aside),
            acknowledged=(*self.acknowledged, *aside),
        )


def alerts_of_job(
    job: Job,
    memory: JobMemory,
    now: float,
    show: SentenceFormatter,
    *,
    profile: JobProfile | None = None,
    rules: AlertRules | None = None,
) -> AlertView:
    """The alerts that are on for a job; ``profile`` is that of its items, when its run has ended."""
    is_fresh = memory.is_fresh(now)
    if job.is_running:
        on = _collect(memory.alerts if is_fresh else ())
        return AlertView(troubles=on, is_known=is_fresh, checked_at=memory.at)
    lasting = {*LASTING, TroubleKind.UNREADABLE} if is_fresh and job.is_unfinished else LASTING
    states = [state for state in memory.alerts if state.kind in lasting]
    ended = _read_end(job, now) if job.end_reason is not None else ()
    if profile is not None and (job.finished_at or now) > now - FOUND_S:
        began = {state.key: state.bad_since for state in memory.alerts if state.bad_since < profile.at}
        ended = (*ended, *_read_findings(job, profile, rules or AlertRules(), show, began))
    return AlertView(troubles=_collect(states, ended), checked_at=memory.at)


def alerts_of_place(
    memories: Sequence[PlaceMemory], now: float, *, view: RosterView | None = None, running: int = 0
) -> AlertView:
    """Return the alerts about parts that all jobs need, of a fleet (with its roster ``view``) or of crawls.

    ``running`` is the number of the fleet's running jobs. A missing leader is an alert itself, as nothing is
    checked.
    """
    fresh = [memory for memory in memories if memory.is_fresh(now)]
    over = {TroubleKind.NO_SUPERVISOR} if view is not None and view.leader else set()
    states = [state for memory in fresh for state in memory.alerts if state.kind not in over]
    led_at = max((memory.at for memory in memories if memory.look.is_fleet), default=0.0)
    return AlertView(
        troubles=_collect(states, _find_missing_leader(view, running, now, led_at)),
        is_known=bool(fresh),
        checked_at=max((memory.at for memory in memories), default=0.0),
    )


def _collect(states: Iterable[AlertState], more: Iterable[Trouble] = ()) -> tuple[Trouble, ...]:
    """Return each alert once, the worst first; a remembered alert replaces one found now."""
    found = {(one.kind, one.job, one.who): one for one in more}
    found |= {state.key: state.as_trouble() for state in states if state.is_active}
    return tuple(order_troubles(found.values()))


def _read_end(job: Job, now: float) -> tuple[Trouble, ...]:
    """That a job ended with an error, until it runs again or is cancelled."""
    if job.end_reason is not FinishReason.ERROR or job.state in OVER:
        return ()
    text, since = describe_failure(job.id, job.end_error), job.finished_at or now
    return (make_trouble(TroubleKind.FAILED, job.id, text, since=since, job=job.id, is_alert=True),)


def _read_findings(
    job: Job,
    profile: JobProfile,
    rules: AlertRules,
    show: SentenceFormatter,
    began: Mapping[AlertKey, float],
) -> Iterator[Trouble]:
    """Yield the findings about all items of a job.

    ``began`` has the beginnings of alerts that the job had while it ran. They are the same alerts, so an
    acknowledged one stays acknowledged.
    """
    for one in profile.losses:
        kind, who = kind_of_finding(one), one.field or job.id
        if is_reported(kind, rules):
            text = describe_finding(one, job.id, show)
            since = began.get((kind, job.id, who), one.since or profile.at)
            yield make_trouble(kind, who, text, since=since, job=job.id, is_over=True, is_alert=True)


def _find_missing_leader(view: RosterView | None, running: int, now: float, led_at: float) -> list[Trouble]:
    """Return the alert that jobs of the fleet run without a supervisor, which could not report it itself.

    A supervisor that led a moment ago may lead again soon.
    """
    if view is None or view.leader or not running or has_led_lately(now - led_at):
        return []
    jobs = f"{format_count(running, 'job')} {'runs' if running == 1 else 'run'}"
    text = f"No supervisor leads the fleet, and {jobs}."
    return [make_trouble(TroubleKind.NO_SUPERVISOR, "fleet", text, since=now)]


def select_ended(listed: Iterable[Job], now: float) -> list[Job]:
    """Return the jobs that are over and whose alerts count: the latest job of each spider, for a few days.

    ``listed`` are all jobs, the newest first.
    """
    latest: dict[str, Job] = {}
    for job in listed:
        latest.setdefault(job.name, job)
    ended = [job for job in latest.values() if job.state in OVER]
    return [job for job in ended if (job.finished_at or now) > now - FOUND_S][:ENDED_JOBS]
