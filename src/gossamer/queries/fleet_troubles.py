"""Counts of workers, and problems of the parts that all jobs need."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.record import Record
from gossamer.core.shifts import RosterView
from gossamer.core.text import format_count
from gossamer.policy.alert_readings import describe_absence, describe_refusing
from gossamer.policy.alerts_on import AlertView
from gossamer.policy.sentences.job_facts import JobSituation, find_situation
from gossamer.policy.sentences.words import short_name
from gossamer.policy.troubles import Trouble, TroubleKind, make_trouble, order_troubles
from gossamer.queries.observed_jobs import ObservedJob, facts_of, troubles_of
from gossamer.watch.job_look import refusers_of

MOST_SILENT = 5
"""Silent workers that are named one by one."""


class WorkerCounts(Record, frozen=True, kw_only=True):
    """The workers of a fleet in numbers."""

    all: int
    at_work: int  # there, with a shift
    silent: int  # their beats stay away


def count_workers(view: RosterView) -> WorkerCounts:
    """The workers of a fleet in numbers."""
    busy = {shift.worker for shift in view.shifts if shift.worker}
    silent = sum(worker.is_silent(view.at) for worker in view.workers)
    at_work = sum(worker.id in busy and not worker.is_silent(view.at) for worker in view.workers)
    return WorkerCounts(all=len(view.workers), at_work=at_work, silent=silent)


def troubles_of_place(
    alerts: AlertView, view: RosterView | None, jobs: Sequence[ObservedJob], at: float
) -> list[Trouble]:
    """Return problems of the parts that all jobs need, from alerts and the roster.

    A server that refuses changes makes the roster's workers unknown.
    """
    some_can = [one.job.id for one in jobs if one.is_running and one.workers and not one.workers.refusing]
    refusing = {item for one in jobs for item in one.place.look.refusing.items()}
    found = [
        make_trouble(TroubleKind.AWAY, service, describe_refusing(service, why), since=at)
        for service, why in sorted(refusing)
    ]
    if view is not None and not found:
        found = _roster_troubles(view, some_can, at)
    told = {trouble.id for trouble in (*alerts.troubles, *alerts.acknowledged)}
    shown = [one for one in alerts.troubles if not refusing or one.kind is not TroubleKind.NO_SUPERVISOR]
    return [*shown, *(one for one in found if one.id not in told)]


def troubles_alone(known: ObservedJob) -> list[Trouble]:
    """Return the problems of one job and of the parts it needs, for a view of this job alone."""
    look, at = known.place.look, known.at
    match find_situation(facts_of(known)):
        case JobSituation.UNWRITABLE:
            texts = {service: describe_refusing(service, why) for service, why in look.refusing.items()}
        case JobSituation.AWAY:
            texts = {service: describe_absence(service, why) for service, why in look.away.items()}
        case JobSituation.NO_SUPERVISOR:
            text = "No supervisor leads the fleet: no new shift begins."
            missing = make_trouble(TroubleKind.NO_SUPERVISOR, "fleet", text, since=at)
            return order_troubles([missing, *troubles_of(known)])
        case _:
            return troubles_of(known)
    found = [make_trouble(TroubleKind.AWAY, service, text, since=at) for service, text in texts.items()]
    return order_troubles([*found, *troubles_of(known)])


def _roster_troubles(view: RosterView, some_can: Sequence[str], at: float) -> list[Trouble]:
    """``some_can``: the jobs that run, but for those that no worker can do, which is their own trouble."""
    found: list[Trouble] = []
    silent = [worker for worker in view.workers if worker.is_silent(view.at)]
    for worker in sorted(silent, key=lambda worker: -worker.beat_at)[:MOST_SILENT]:
        text = f"{short_name(worker.id)} is silent. Its shifts go to other workers; nothing is lost."
        since = at - (view.at - worker.beat_at)
        found.append(make_trouble(TroubleKind.SILENT_WORKER, worker.id, text, since=since))
    for health in view.standings:
        refusers = refusers_of(view, health) if health.job in some_can else ()
        if refusers:
            workers = format_count(len(refusers), "worker")
            text = f"{workers} cannot do {health.job}: {short_name(health.detail, 160)}."
            since = at - (view.at - health.at)
            found.append(make_trouble(TroubleKind.REFUSED, health.job, text, since=since, job=health.job))
    return found
