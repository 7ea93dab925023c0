"""The life of a job: the end of a run, and its record. Pure.

The transitions are in :mod:`gossamer.core.lifecycle`; this module adds reason, error and time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState, next_job_state
from gossamer.core.record import Record
from gossamer.policy.undo import UNDO_S

UNFINISHED = "unfinished"
"""The displayed state of a job that ended with work left: it can be resumed."""
_REASONS = {JobCommand.PAUSE: FinishReason.PAUSED, JobCommand.CANCEL: FinishReason.CANCELLED}


class JobEnd(Record, frozen=True, kw_only=True):
    """That a run of a job is over."""

    reason: FinishReason
    detail: str = ""  # which budget is spent, or why a callback ended it


EndFinder = Callable[[FrontierStats], Awaitable[JobEnd | None]]
"""Asked at each look at a job: whether a budget besides pages and time, or a callback, ends it."""


def finish_reason_of(
    stats: FrontierStats,
    *,
    elapsed_s: float,
    max_time_s: float | None,
    stopping: bool,
    seeding: bool,
    asked: FinishReason | None = None,
    skipped_s: float | None = None,
) -> FinishReason | None:
    """Why the run is over, if it is. ``asked``: a callback ends it, or a budget besides pages and time.

    ``skipped_s``: for so long all that waits has been of hosts that a person skips, which may be taken back.
    """
    no_turn_left = stats.next_at is None  # all waiting requests belong to hosts with spent budgets
    is_spent = stats.leased == 0 and (stats.budget_spent or (no_turn_left and not seeding))
    reasons = (
        (stopping, FinishReason.SIGNAL),
        (stats.state is JobState.PAUSED, FinishReason.PAUSED),
        (stats.state is JobState.CANCELLED, FinishReason.CANCELLED),
        (stats.waiting == 0 and not seeding, FinishReason.FINISHED),
        (stats.waiting > 0 and is_spent and skipped_s is None, FinishReason.MAX_PAGES),
        (skipped_s is not None and skipped_s >= UNDO_S, FinishReason.SKIPPED),
        *(((True, asked),) if asked is not None else ()),
        (max_time_s is not None and elapsed_s >= max_time_s, FinishReason.MAX_TIME),
    )
    return next((reason for holds, reason in reasons if holds), None)


def change_job_record(job: Job, command: JobCommand, now: float) -> Job:
    """The job after a command. A pause is not an end: the job has no ``finished_at`` then."""
    return replace(
        job,
        state=next_job_state(job.state, command),
        finished_at=now if command is JobCommand.CANCEL else None,
        end_reason=_REASONS.get(command),
        end_error="",
    )


def end_run(
    job: Job, reason: FinishReason, state: JobState, ended_at: float | None, *, error: str = ""
) -> Job:
    """The job after a run of it whose frontier was in ``state``: finished, or as it was with more to do."""
    return replace(
        job,
        state=JobState.FINISHED if reason is FinishReason.FINISHED else state,
        finished_at=ended_at,
        end_reason=reason,
        end_error=error,
    )


def fail_run(job: Job, stats: FrontierStats | None, ended_at: float, error: str, *, is_watched: bool) -> Job:
    """Record that a run of a crawl ended with an error. ``stats``: its requests; ``None``: unknown.

    A crawl that never had a request has nothing to lose: its error was shown at the terminal
    (``is_watched``), and the same command starts it again.
    """
    has_none = stats is not None and not (stats.waiting or stats.done or stats.dead)
    reason = FinishReason.NOT_BEGUN if has_none and is_watched else FinishReason.ERROR
    return end_run(job, reason, JobState.RUNNING, ended_at, error=error)


def shown_state(job: Job) -> str:
    """The state of a job as it is shown: one that ended with work left is ``unfinished``."""
    return state_after(job.state, job.end_reason or "")


def state_after(state: JobState, end_reason: str) -> str:
    """The same by a state and the reason for which the last run ended; empty while it runs."""
    return UNFINISHED if state is JobState.RUNNING and end_reason else state.value


def mark_interrupted(job: Job) -> Job:
    """Mark the end of a run that is recorded as running without a process: it was killed."""
    return replace(job, end_reason=FinishReason.INTERRUPTED)
