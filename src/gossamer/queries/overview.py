"""All jobs at one time: is anything wrong, and does everything move?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from gossamer.config.settings import Settings
from gossamer.core.lifecycle import OVER
from gossamer.core.record import Record, Time
from gossamer.core.shifts import RosterView
from gossamer.core.text import format_count
from gossamer.observe.sentences import formatter_at
from gossamer.observe.units import format_duration, format_rate
from gossamer.policy.alerts_on import AlertView
from gossamer.policy.goals import ListingGoal, read_goals
from gossamer.policy.job_life import shown_state
from gossamer.policy.job_memory import PlaceMemory
from gossamer.policy.pace_limit import PaceLimit
from gossamer.policy.sentences.overview import OverviewFacts, describe_overview
from gossamer.policy.sentences.words import SURPLUS
from gossamer.policy.time_left import TimeEstimate
from gossamer.policy.troubles import SHOWN, Severity, Trouble, order_troubles
from gossamer.queries.fleet_troubles import WorkerCounts, count_workers, troubles_of_place
from gossamer.queries.last_hour import HourCounts, add_hours, read_last_hour
from gossamer.queries.observed_jobs import (
    ObservedJob,
    is_job_held_up,
    left_text,
    note_on_state,
    troubles_of,
)
from gossamer.queries.seen_jobs import AT_ONCE, OPEN, PlaceView, look_at_jobs
from gossamer.wiring.alerts_on import read_place_alerts
from gossamer.wiring.backends import Backends

UNKNOWN = "\u2013"
"""The sign for an unknown number."""
GOALS = 5
"""Announced numbers that a row has, in the order of their words."""


class JobRow(Record, frozen=True, kw_only=True):
    """One job in a listing, with how it does. Rates are per second."""

    job: str  # its id
    target: str
    state: str  # running, paused, finished, cancelled; ``unfinished``: it ended with work left
    state_note: str  # for people: since when it does not run, and why
    finish_reason: str
    created_at: Time
    finished_at: Time | None
    pages: int
    items: int
    done: int | None  # None: its requests are forgotten, or cannot be read
    waiting: int  # all that is not done: pending, delayed and leased
    pending: int
    delayed: int
    leased: int
    dead: int
    pages_per_s: float | None  # None: not known
    allowed_per_s: float | None  # None: not known yet
    limit: str  # what decides the pace; "": nothing that is known does
    left_s: float | None  # the middle of the range, by factors; None: not known
    left_least_s: float | None
    left_most_s: float | None
    left_text: str  # the range, or why that is not known; "": there is nothing to say
    goals: tuple[ListingGoal, ...]  # how many of something the site announces, and how many there are
    max_pages: int | None
    hosts_held: int
    failed_share: float | None  # of the attempts of the last hour
    spark: tuple[float, ...]  # pages per second in each minute of the last hour
    trouble: str  # the worst, in a sentence; "": none
    trouble_kind: str  # dead, held or info, as its mark
    is_fresh: bool  # it has just begun


class VitalView(Record, frozen=True, kw_only=True):
    """One number of everything that runs, and its last hour."""

    name: str
    text: str
    more: str
    values: tuple[float, ...]


class RailCounts(Record, frozen=True, kw_only=True):
    """Counts beside the dashboard's navigation."""

    needs: int  # jobs that need a person
    workers: WorkerCounts | None  # None: no fleet
    proxies_dead: int


class Overview(Record, frozen=True, kw_only=True):
    """All jobs at one time."""

    at: Time
    say: tuple[str, str]
    troubles: tuple[Trouble, ...]  # the worst
    more_troubles: int
    open: int  # jobs that run, are paused, or ended with work left
    ended: int
    jobs: tuple[JobRow, ...]
    next_cursor: str | None  # where the next part begins (after this job); None: this is the last part
    vitals: tuple[VitalView, ...]
    rail: RailCounts


MARKS = {Severity.NEEDS_YOU: "dead", Severity.TAKES_CARE: "held", Severity.KNOW: "info"}


async def read_overview(
    backends: Backends, settings: Settings, *, show: str = OPEN, cursor: str = "", limit: int = 50
) -> Overview:
    """All jobs of a place; those listed are open, or ended, at most ``limit``."""
    seen = await look_at_jobs(backends, settings, show=show, cursor=cursor, limit=limit)
    return await show_overview(backends, seen)


async def show_overview(backends: Backends, seen: PlaceView) -> Overview:
    """Return the overview in rows, sentences and numbers."""
    view, place, known = seen.view, seen.place, seen.known
    hours = await _read_hours(backends, [one for one in seen.close if one.is_running])
    rows = [make_row(known[job.id], hours.get(job.id)) for job in seen.part]
    alerts = await read_place_alerts(backends, seen.open, view)
    troubles = _all_troubles([known[job.id] for job in seen.open], alerts, view)
    jobs = len(seen.open) + len(seen.ended)
    is_open = bool(seen.part) and seen.part[0].state not in OVER
    return Overview(
        at=backends.clock.now(),
        say=_say(seen.running, troubles, jobs, backends.clock.now(), place),
        troubles=tuple(troubles[:SHOWN]),
        more_troubles=max(len(troubles) - SHOWN, 0),
        open=len(seen.open),
        ended=len(seen.ended),
        jobs=tuple(sorted(rows, key=_urgency) if is_open else rows),
        next_cursor=seen.next_cursor,
        vitals=tuple(_vitals(seen.running, hours, place, view)),
        rail=RailCounts(
            needs=len(_needy(troubles)),
            workers=count_workers(view) if view else None,
            proxies_dead=sum(pool.proxies - pool.usable for pool in place.look.pools),
        ),
    )


def _urgency(row: JobRow) -> tuple[int, float]:
    """Order jobs: those that need a person first, then by remaining work."""
    rank = {"dead": 0, "held": 1}.get(row.trouble_kind, 2)
    return rank, row.left_s if row.left_s is not None else float("inf")


# --------------------------------------------------------------------------- reading


async def _read_hours(backends: Backends, running: Sequence[ObservedJob]) -> dict[str, HourCounts]:
    in_turn = asyncio.Semaphore(AT_ONCE)

    async def read(one: ObservedJob) -> HourCounts:
        async with in_turn:
            return await read_last_hour(backends, one.job, one.at)

    found = await asyncio.gather(*map(read, running))
    return {one.job.id: hour for one, hour in zip(running, found, strict=True)}


# --------------------------------------------------------------------------- rows and sentences


def make_row(known: ObservedJob, hour: HourCounts | None) -> JobRow:
    """A job as it is listed."""
    job, stats = known.job, known.stats
    worst = next(iter(troubles_of(known)), None)
    return JobRow(
        job=job.id,
        target=job.target,
        state=shown_state(job),
        state_note=note_on_state(known),
        finish_reason=job.end_reason.value if job.end_reason else "",
        created_at=job.created_at,
        finished_at=job.finished_at,
        pages=known.totals.pages,
        items=known.totals.items,
        done=stats.done if stats else None,
        waiting=stats.waiting if stats else 0,
        pending=stats.pending if stats else 0,
        delayed=stats.delayed if stats else 0,
        leased=stats.leased if stats else 0,
        dead=stats.dead if stats else 0,
        pages_per_s=None if known.pages_per_s is None else round(known.pages_per_s, 3),
        allowed_per_s=known.hosts.allowed_per_s if known.is_running else None,
        limit=(known.limit or "") if known.is_running else "",
        left_s=known.left.seconds,
        left_least_s=known.left.least_s,
        left_most_s=known.left.most_s,
        left_text=left_text(known),
        goals=read_goals(known.totals)[:GOALS],
        max_pages=known.rules.max_pages,
        hosts_held=known.hosts.held_hosts if known.is_running else 0,
        failed_share=hour.failed_share() if hour else None,
        spark=hour.rates("pages") if hour else (),
        trouble=worst.text if worst else "",
        trouble_kind=MARKS[worst.severity] if worst else "",
        is_fresh=known.is_running and not known.totals.attempts,
    )


def _all_troubles(jobs: Sequence[ObservedJob], alerts: AlertView, view: RosterView | None) -> list[Trouble]:
    at = max((one.at for one in jobs), default=alerts.checked_at)
    found = [trouble for one in jobs for trouble in troubles_of(one)]
    return order_troubles([*troubles_of_place(alerts, view, jobs, at), *found])


def _needy(troubles: Sequence[Trouble]) -> set[str]:
    """The jobs that need a person."""
    return {one.job for one in troubles if one.severity is Severity.NEEDS_YOU and one.job}


def _say(
    running: Sequence[ObservedJob],
    troubles: Sequence[Trouble],
    jobs: int,
    now: float,
    place: PlaceMemory,
) -> tuple[str, str]:
    needy = _needy(troubles)
    calm = [one for one in running if one.job.id not in needy]
    held_up = sum(is_job_held_up(one) for one in calm)
    allowed = [one.hosts.allowed_per_s for one in running if one.hosts.allowed_per_s is not None]
    first = min(
        (one for one in running if one.left.is_known), key=lambda one: one.left.most_s or 0, default=None
    )
    short = [one for one in running if one.limit is PaceLimit.WORKERS]
    paces = [one.pages_per_s for one in running if one.pages_per_s is not None]
    facts = OverviewFacts(
        jobs=jobs,
        running=len(running),
        need_you=len(needy),
        held_up=held_up,
        well=len(calm) - held_up,
        place=tuple(one for one in troubles if one.severity is Severity.NEEDS_YOU and not one.job),
        unchecked_s=now - place.at if running and place.at and not place.is_fresh(now) else None,
        pages_per_s=sum(paces) if paces else None,
        allowed_per_s=sum(allowed) if allowed and not any(one.is_pace_hidden for one in running) else None,
        short_job=short[0].job.id if short else "",
        next_job=first.job.id if first else "",
        next_left=first.left if first else TimeEstimate(),
    )
    said = describe_overview(facts, formatter_at(now))
    return said.answer, said.reason


def _vitals(
    running: Sequence[ObservedJob],
    hours: Mapping[str, HourCounts],
    place: PlaceMemory,
    view: RosterView | None,
) -> list[VitalView]:
    """``hours`` are those of the jobs that were looked at closely: of others less is known."""
    if not running:
        return []
    counted = [one for one in running if one.job.id in hours]
    hour = add_hours(hours[one.job.id] for one in counted)
    is_all = len(counted) == len(running)
    of_jobs = "" if is_all else f" of {format_count(len(counted), 'job')}"
    is_hidden = any(one.is_pace_hidden for one in running)
    allowed = 0.0 if is_hidden else sum(one.hosts.allowed_per_s or 0.0 for one in running)
    share, p95 = hour.failed_share(), hour.percentile_s(0.95, 5)
    pages = sum(one.pages_per_s or 0.0 for one in running)
    leased = sum(one.stats.leased for one in counted if one.stats)
    unit = "request" if leased == 1 else "requests"
    found = [
        VitalView(
            name="pages",
            text=format_rate(pages),
            more=_describe_allowed(pages, allowed),
            values=hour.rates("pages") if is_all else (),
        ),
        VitalView(
            name="in_flight", text=f"{leased:,}", more=f"{unit}{of_jobs}", values=hour.means("now:leased")
        ),
        VitalView(
            name="failed",
            text=UNKNOWN if share is None else format_share(share),
            more=f"of attempts{of_jobs}",
            values=hour.failed_shares(),
        ),
        VitalView(
            name="p95",
            text=UNKNOWN if p95 is None else format_span(p95),
            more=of_jobs.strip(),
            values=hour.percentiles_s(0.95),
        ),
    ]
    return [*found, *_place_vitals(place, view)]


def _place_vitals(place: PlaceMemory, view: RosterView | None) -> list[VitalView]:
    found = []
    if view is not None:
        counts = count_workers(view)
        text = f"{counts.at_work:,} of {counts.all:,}"
        found.append(VitalView(name="workers", text=text, more="at work", values=()))
    if place.look.at:
        found.append(
            VitalView(
                name="store_lag",
                text=format_span(place.look.store_lag_s),
                more=f"of {place.look.store}",
                values=(),
            )
        )
    return found


def _describe_allowed(pages: float, allowed: float) -> str:
    """Describe the allowed rate beside the pace, which may exceed it just after a reduction."""
    if not allowed:
        return ""
    rate = format_rate(allowed)
    return f"{rate} allowed now" if pages > allowed * SURPLUS else f"of {rate} allowed"


def format_share(share: float) -> str:
    """``98%``, ``3.1%``; a share that is not whole is never said to be."""
    if 0 < share < 0.0005:
        return "< 0.1%"
    if 0.9995 <= share < 1:
        return "99.9%"
    return f"{share:.0%}" if share >= 0.995 or share == 0 else f"{share:.1%}"


def format_span(seconds: float) -> str:
    """``412 ms``, or with the units of longer times."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else format_duration(seconds)
