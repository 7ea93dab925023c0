"""Schedules: when each runs next, and how its latest runs went."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobState
from gossamer.core.record import Record, Time
from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.policy.schedule_runs import judge_run
from gossamer.policy.schedules import describe_cron, next_start
from gossamer.wiring.backends import Backends

LATEST_RUNS = 14
"""Runs of each schedule in an overview."""
RUNS, WAITS, PAUSED = "running", "waiting", "paused"
"""Names of open runs; ended ones are named by their outcomes."""


class RunReport(Record, frozen=True, kw_only=True):
    """One run of a schedule in a listing."""

    due_at: Time
    outcome: str  # running, waiting, paused; finished, stopped, failed, skipped, missed
    detail: str = ""
    job: str = ""
    started_at: Time | None = None
    ended_at: Time | None = None
    passed: int = 0  # due times before it that passed without a run of their own
    is_manual: bool = False


class ScheduleReport(Record, frozen=True, kw_only=True):
    """One schedule in a listing."""

    name: str
    cron: str
    words: str  # the cron expression in English
    zone: str
    target: str
    arguments: dict[str, str]
    options: dict[str, str]
    overlap: str
    catch_up: str
    jitter_s: float
    is_on: bool
    is_here: bool  # this place's scheduler runs it
    next_at: Time | None  # when the next run begins; None: it is off, or never
    expected_s: float | None  # how long a run takes: the median of the latest ones; None: there is none
    runs: tuple[RunReport, ...]  # the latest first


async def list_schedules(backends: Backends, now: float, *, runs: int = LATEST_RUNS) -> list[ScheduleReport]:
    """All schedules by name, each with its latest runs."""
    found = await backends.schedules.list_schedules()
    if not found:
        return []
    by_name: dict[str, list[ScheduledRun]] = {}
    for run in await backends.schedules.list_runs(runs):
        by_name.setdefault(run.schedule, []).append(run)
    place = await backends.read_place()
    return [
        await _summarise(backends, one, by_name.get(one.name, ()), now, is_here=one.place == place)
        for one in found
    ]


async def read_schedule(backends: Backends, schedule: Schedule, now: float, runs: int) -> ScheduleReport:
    """One schedule with its latest runs."""
    latest = await backends.schedules.list_runs(runs, schedule.name)
    is_here = schedule.place == await backends.read_place()
    return await _summarise(backends, schedule, latest, now, is_here=is_here)


async def _summarise(
    backends: Backends, schedule: Schedule, runs: Sequence[ScheduledRun], now: float, *, is_here: bool
) -> ScheduleReport:
    shown = tuple([await _summarise_run(backends, run, now) for run in runs])
    lasted = [run.ended_at - run.started_at for run in shown if run.started_at and run.ended_at]
    return ScheduleReport(
        name=schedule.name,
        cron=schedule.cron,
        words=describe_cron(schedule.cron),
        zone=schedule.zone,
        target=schedule.target,
        arguments=schedule.arguments,
        options=dict(schedule.options),
        overlap=schedule.overlap.value,
        catch_up=schedule.catch_up.value,
        jitter_s=schedule.jitter_s,
        is_on=schedule.is_on,
        is_here=is_here,
        next_at=next_start(schedule, now),
        expected_s=median(lasted) if lasted else None,
        runs=shown,
    )


async def _summarise_run(backends: Backends, run: ScheduledRun, now: float) -> RunReport:
    """Summarise a run's present state: its end may not be recorded if no scheduler was running."""
    outcome, detail, ended_at, job = str(run.outcome or ""), run.detail, run.ended_at, run.job
    if run.is_open:
        found = await backends.book.find_by_key(run.key_bytes) if run.started_at is not None else None
        job = found.id if found else job
        outcome = _name_open(run, found)
        if found is not None and not found.is_unfinished:
            decision = judge_run(run, found, is_at_work=True, is_first_look=False, now=now)
            if decision.outcome is not None:
                outcome, detail, ended_at = str(decision.outcome), decision.detail, decision.ended_at
    return RunReport(
        due_at=run.due_at,
        outcome=outcome,
        detail=detail,
        job=job,
        started_at=run.started_at,
        ended_at=ended_at,
        passed=run.passed,
        is_manual=run.is_manual,
    )


def _name_open(run: ScheduledRun, job: Job | None) -> str:
    if run.started_at is None or (job is None and run.detail):  # why it could not begin yet
        return WAITS
    if job is None or job.is_running:
        return RUNS
    return PAUSED if job.state is JobState.PAUSED else WAITS  # for a scheduler that resumes it
