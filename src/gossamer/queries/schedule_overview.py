"""Overview of all schedules: next runs, past runs, and the next day."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from gossamer.core.record import Record, Time
from gossamer.core.schedules import SCHEDULER_LOCK, Schedule
from gossamer.policy.schedules import due_times, start_of
from gossamer.policy.sentences.schedules import ScheduleFacts, say_schedules
from gossamer.queries.schedules import LATEST_RUNS, PAUSED, RUNS, RunReport, ScheduleReport, list_schedules
from gossamer.runtime.file_lock import lock_holder
from gossamer.wiring.backends import Backends

MOST_SHOWN = 100
"""Schedules that are shown."""
MOST_STARTS = 100
"""Beginnings of one schedule within the next day that are shown."""
MOST_BYTES, INFO_BYTES, RUN_BYTES, START_BYTES = 54_000, 480, 70, 6
"""Size limits of an answer and its parts: with many schedules, fewer runs of each are shown."""
LONGEST_TEXT = 80
DAY_S = 86_400.0


class RunSample(Record, frozen=True, kw_only=True):
    """One of the latest runs, in short."""

    due_at: Time
    outcome: str  # running, waiting, paused; finished, stopped, failed, skipped, missed
    seconds: float | None  # how long it took, or has taken so far; None: it did not begin


class ScheduleInfo(Record, frozen=True, kw_only=True):
    """One schedule, as it is shown beside others."""

    name: str
    words: str  # when it is due, in English
    cron: str
    zone: str
    target: str
    is_on: bool
    is_here: bool  # this place's scheduler runs it
    next_at: Time | None
    next_there: str  # the same on the clocks of its zone: ``Tue 11-24 06:30``; empty: never
    expected_s: float | None  # how long a run takes: the median of the latest ones
    last_job: str  # of the latest run that had one
    note: str  # what to know of its latest run
    runs: tuple[RunSample, ...]  # the latest, in the order of their due times
    starts: tuple[int, ...]  # when it begins within the next day: seconds after ``at``


class ScheduleOverview(Record, frozen=True, kw_only=True):
    """All schedules at one look."""

    at: Time
    say: tuple[str, str]
    is_watched: bool  # a scheduler is running
    schedules: tuple[ScheduleInfo, ...]
    has_more: bool  # that are not shown


async def read_schedules(backends: Backends) -> ScheduleOverview:
    """All schedules by name, in bounded number."""
    now = backends.clock.now()
    kept = (await backends.schedules.list_schedules())[: MOST_SHOWN + 1]
    by_name = {one.name: one for one in kept[:MOST_SHOWN]}
    runs, starts = _share_room(max(len(by_name), 1))
    reports = [one for one in await list_schedules(backends, now, runs=runs) if one.name in by_name]
    is_watched = await _is_watched(backends)
    said = say_schedules([_facts_of(one) for one in reports], is_watched=is_watched)
    return ScheduleOverview(
        at=now,
        say=(said.answer, said.reason),
        is_watched=is_watched,
        schedules=tuple(_info_of(one, by_name[one.name], now, starts) for one in reports),
        has_more=len(kept) > MOST_SHOWN,
    )


def _share_room(schedules: int) -> tuple[int, int]:
    """Return how many runs and start times of each schedule are shown among ``schedules``."""
    left = MOST_BYTES / schedules - INFO_BYTES
    runs, starts = int(left * 0.6 / RUN_BYTES), int(left * 0.4 / START_BYTES)
    return max(1, min(LATEST_RUNS, runs)), max(1, min(MOST_STARTS, starts))


async def _is_watched(backends: Backends) -> bool:
    """Whether a scheduler of this place is running."""
    if backends.requests.fleet is None:
        return lock_holder(Path(backends.settings.data), SCHEDULER_LOCK) != ""
    return bool((await backends.requests.fleet.roster.read_roster()).leader)


def _facts_of(one: ScheduleReport) -> ScheduleFacts:
    outcomes = tuple(run.outcome for run in one.runs)
    return ScheduleFacts(
        name=one.name,
        zone=one.zone,
        is_on=one.is_on,
        next_at=one.next_at,
        is_running=RUNS in outcomes,
        outcomes=outcomes,
    )


def _info_of(one: ScheduleReport, schedule: Schedule, now: float, starts: int) -> ScheduleInfo:
    latest = one.runs[0] if one.runs else None
    return ScheduleInfo(
        name=one.name,
        words=one.words[:LONGEST_TEXT],
        cron=one.cron[:LONGEST_TEXT],
        zone=one.zone,
        target=one.target[:LONGEST_TEXT],
        is_on=one.is_on,
        is_here=one.is_here,
        next_at=one.next_at,
        next_there=_time_there(one.next_at, one.zone),
        expected_s=one.expected_s,
        last_job=next((run.job for run in one.runs if run.job), ""),
        note="" if latest is None else _note_of(latest),
        runs=tuple(_sample_of(run, now) for run in reversed(one.runs)),
        starts=_starts_of(schedule, now, starts),
    )


def _time_there(at: float | None, zone: str) -> str:
    return "" if at is None else datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%a %m-%d %H:%M")


def _note_of(run: RunReport) -> str:
    passed = f"{run.passed} due times before it also passed" if run.passed else ""
    return "; ".join(filter(None, (run.detail, passed)))[:LONGEST_TEXT]


def _sample_of(run: RunReport, now: float) -> RunSample:
    ended_at = now if run.outcome in (RUNS, PAUSED) else run.ended_at
    has_lasted = run.started_at is not None and ended_at is not None
    seconds = round((ended_at or 0.0) - (run.started_at or 0.0), 1) if has_lasted else None
    return RunSample(due_at=run.due_at, outcome=run.outcome, seconds=seconds)


def _starts_of(schedule: Schedule, now: float, most: int) -> tuple[int, ...]:
    """Return at most ``most`` start times within the next day, in seconds from now."""
    found: list[int] = []
    dues = due_times(schedule.cron, schedule.zone, max(schedule.since, now - schedule.jitter_s))
    for due in dues if schedule.is_on else ():
        begin = start_of(schedule, due)
        if begin > now + DAY_S or len(found) == most:
            break
        if begin > now:
            found.append(round(begin - now))
    return tuple(found)
