"""What is recorded of a job when a person steers it, a run of it ends, or its process is gone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.errors import TransitionError
from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.policy.job_life import (
    change_job_record,
    end_run,
    fail_run,
    finish_reason_of,
    mark_interrupted,
)

JOB = Job(id="shop-1", name="shop", target="shop.py", created_at=1.0)


@pytest.mark.parametrize(
    ("command", "state", "at", "reason"),
    [
        (JobCommand.PAUSE, JobState.PAUSED, None, FinishReason.PAUSED),
        (JobCommand.RESUME, JobState.RUNNING, None, None),
        (JobCommand.CANCEL, JobState.CANCELLED, 7.0, FinishReason.CANCELLED),
    ],
)
def test_a_command_brings_its_state_its_end_and_its_reason(command, state, at, reason):
    ended = replace(JOB, finished_at=5.0, end_reason=FinishReason.ERROR, end_error="no disk")
    changed = change_job_record(ended, command, 7.0)
    assert (changed.state, changed.finished_at, changed.end_reason, changed.end_error) == (
        state,
        at,
        reason,
        "",
    )


def test_a_cancelled_job_is_not_steered():
    for command in (JobCommand.PAUSE, JobCommand.RESUME):
        with pytest.raises(TransitionError, match=f"cancelled cannot take the command {command}"):
            change_job_record(replace(JOB, state=JobState.CANCELLED), command, 7.0)


def test_a_run_that_ends_leaves_its_reason_and_the_state_of_the_frontier():
    done = end_run(JOB, FinishReason.FINISHED, JobState.RUNNING, 9.0)
    assert (done.state, done.finished_at, done.end_reason) == (JobState.FINISHED, 9.0, FinishReason.FINISHED)
    paused = end_run(JOB, FinishReason.PAUSED, JobState.PAUSED, None)
    assert (paused.state, paused.is_unfinished, paused.end_reason) == (
        JobState.PAUSED,
        True,
        FinishReason.PAUSED,
    )
    broken = end_run(JOB, FinishReason.ERROR, JobState.RUNNING, 9.0, error="no disk")
    assert (broken.state, broken.is_running, broken.end_text) == (JobState.RUNNING, False, "error: no disk")


def test_a_process_that_was_killed_is_interrupted():
    assert mark_interrupted(JOB).end_text == "interrupted"


def test_which_reasons_are_early():
    asked = {"finished", "max_pages", "max_time", "max_items", "skipped", "stopped"}
    assert {reason for reason in FinishReason if not reason.is_early} == asked


@pytest.mark.parametrize(
    ("stats", "said", "reason"),
    [
        ({"pending": 1, "deadline": 1.0}, {}, None),
        ({"pending": 1, "deadline": 1.0}, {"stopping": True}, FinishReason.SIGNAL),
        ({"state": JobState.PAUSED}, {}, FinishReason.PAUSED),
        ({"state": JobState.CANCELLED}, {}, FinishReason.CANCELLED),
        ({}, {}, FinishReason.FINISHED),
        ({}, {"seeding": True}, None),
        ({"pending": 1, "deadline": 1.0, "budget_spent": True}, {}, FinishReason.MAX_PAGES),
        ({"pending": 1, "deadline": 1.0, "budget_spent": True, "leased": 1}, {}, None),
        ({"pending": 1}, {}, FinishReason.MAX_PAGES),
        ({"pending": 1}, {"skipped_s": 599.0}, None),
        ({"pending": 1}, {"skipped_s": 600.0}, FinishReason.SKIPPED),
        ({"pending": 1}, {"skipped_s": 9.0, "elapsed_s": 9.0, "max_time_s": 9.0}, FinishReason.MAX_TIME),
        ({"pending": 1, "state": JobState.PAUSED}, {"skipped_s": 600.0}, FinishReason.PAUSED),
        ({"pending": 1, "deadline": 1.0}, {"asked": FinishReason.BUDGET}, FinishReason.BUDGET),
        ({}, {"asked": FinishReason.BUDGET}, FinishReason.FINISHED),
        ({"pending": 1, "deadline": 1.0}, {"elapsed_s": 9.0, "max_time_s": 9.0}, FinishReason.MAX_TIME),
    ],
)
def test_why_a_run_is_over(stats, said, reason):
    now = {"elapsed_s": 0.0, "max_time_s": None, "stopping": False, "seeding": False}
    assert (
        finish_reason_of(FrontierStats(**{"state": JobState.RUNNING, **stats}), **{**now, **said}) is reason
    )


@pytest.mark.parametrize(
    ("stats", "is_watched", "reason"),
    [
        ({}, True, FinishReason.NOT_BEGUN),
        ({}, False, FinishReason.ERROR),  # a schedule began it, and nobody has read its error
        ({"pending": 1}, True, FinishReason.ERROR),
        ({"done": 1}, True, FinishReason.ERROR),
        ({"dead": 1}, True, FinishReason.ERROR),
        (None, True, FinishReason.ERROR),
    ],
)
def test_a_crawl_that_fails_before_it_has_a_request_has_not_begun(stats, is_watched, reason):
    """Bug it would catch: an alert that "needs you" for a slip that was shown to its author at once."""
    known = None if stats is None else FrontierStats(state=JobState.RUNNING, **stats)
    ended = fail_run(JOB, known, 9.0, "boom", is_watched=is_watched)
    assert (ended.state, ended.end_reason, ended.end_error, ended.finished_at) == (
        JobState.RUNNING,
        reason,
        "boom",
        9.0,
    )
