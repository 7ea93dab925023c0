"""Decisions about a schedule's runs: start, skip and end. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo

from gossamer.core.jobs import Job
from gossamer.core.lifecycle import OVER, FinishReason, JobState
from gossamer.core.schedules import CatchUpRule, OverlapRule, RunOutcome, Schedule, ScheduledRun
from gossamer.policy.schedules import find_due, start_of

LATE_S = 120.0
"""Seconds after which a run that could not start counts as missed; supervisors take over in less."""
MOST_STARTS = 3
"""A crawl whose process is killed is started so often, counted from its beginning or its last stop."""
BEGIN_S = 15.0
"""Seconds that a crawl started by another process may take until its job exists."""


class RunStep(StrEnum):
    """The next step for an open run."""

    WAIT = "wait"
    START = "start"  # it was not started yet, or its process was killed
    CONTINUE = "continue"  # it was stopped in good order
    END = "end"


class RunDecision(NamedTuple):
    """The next step for an open run, and its outcome if it is over."""

    step: RunStep
    outcome: RunOutcome | None = None
    detail: str = ""
    ended_at: float | None = None


WAIT = RunDecision(RunStep.WAIT)
START = RunDecision(RunStep.START)
CONTINUE = RunDecision(RunStep.CONTINUE)


def plan_run(
    schedule: Schedule, open_runs: Sequence[ScheduledRun], now: float, key: str
) -> ScheduledRun | None:
    """The run that is due now, as it is to be entered; ``None``: none is. ``key`` will be its job's.

    ``open_runs`` are those of this schedule. A run that is left out has its outcome already.
    """
    due = find_due(schedule, now) if schedule.is_on else None
    if due is None:
        return None
    outcome, detail = None, ""
    if schedule.catch_up is CatchUpRule.NONE and now - start_of(schedule, due.latest) > LATE_S:
        outcome, detail = RunOutcome.MISSED, "no scheduler was running to start it"
    elif reason := find_obstacle(schedule, open_runs):
        outcome, detail = RunOutcome.SKIPPED, reason
    return ScheduledRun(
        schedule=schedule.name,
        due_at=due.latest,
        key=key,
        passed=due.total - 1,
        claimed_at=now,
        outcome=outcome,
        detail=detail,
        ended_at=None if outcome is None else now,
    )


def find_obstacle(schedule: Schedule, open_runs: Sequence[ScheduledRun]) -> str:
    """Why another run is left out, in words; empty: it is not."""
    if not open_runs:
        return ""
    if schedule.overlap is OverlapRule.SKIP:
        return f"{_name_run(schedule, open_runs[0])} was not over"
    waits = next((run for run in open_runs if run.started_at is None), None)
    return f"{_name_run(schedule, waits)} waited already" if waits else ""


def _name_run(schedule: Schedule, run: ScheduledRun) -> str:
    if run.job:
        return run.job
    return f"the run of {datetime.fromtimestamp(run.due_at, ZoneInfo(schedule.zone)):%Y-%m-%d %H:%M}"


def may_begin(run: ScheduledRun, open_runs: Sequence[ScheduledRun]) -> bool:
    """Whether no other open run of its schedule comes before one that waits."""
    others = (other for other in open_runs if other.key != run.key)
    return not any(other.started_at is not None or other.due_at < run.due_at for other in others)


def judge_run(
    run: ScheduledRun, job: Job | None, *, is_at_work: bool, is_first_look: bool, now: float
) -> RunDecision:
    """Decide about a run that was started.

    ``is_at_work``: a process works on its job, or is about to; on a fleet always true. ``is_first_look``: the
    scheduler has just begun, so a run that ended by a signal was stopped together with its predecessor.
    """
    if job is None:
        return _judge_unknown(run, is_at_work=is_at_work, now=now)
    is_stopped = job.end_reason is FinishReason.SIGNAL
    if job.state in OVER or (job.finished_at is not None and not is_stopped):
        return _end_of(job, now)
    if is_at_work or job.state is JobState.PAUSED:
        return WAIT
    if is_stopped:
        return CONTINUE if is_first_look else _end_of(job, now)
    if run.starts < MOST_STARTS:
        return START
    detail = f"its process ended {run.starts} times before the crawl did"
    return RunDecision(RunStep.END, RunOutcome.FAILED, detail, now)


def _judge_unknown(run: ScheduledRun, *, is_at_work: bool, now: float) -> RunDecision:
    """Judge a run whose job does not exist yet: its starter may have been killed before."""
    if is_at_work or now < (run.started_at or 0.0) + BEGIN_S:
        return WAIT
    if run.starts < MOST_STARTS:
        return START
    return RunDecision(
        RunStep.END, RunOutcome.FAILED, f"it was started {run.starts} times, and no job came of it", now
    )


def _end_of(job: Job, now: float) -> RunDecision:
    reason = job.end_reason
    ended_at = job.finished_at or now
    if reason is FinishReason.ERROR or reason is FinishReason.NOT_BEGUN:
        return RunDecision(RunStep.END, RunOutcome.FAILED, job.end_text, ended_at)
    is_early = job.state is JobState.CANCELLED or (reason is not None and reason.is_early)
    detail = "" if reason in (None, FinishReason.FINISHED) else job.end_text
    return RunDecision(RunStep.END, RunOutcome.STOPPED if is_early else RunOutcome.FINISHED, detail, ended_at)
