"""Which run begins, which is left out, and when one is over."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.schedules import CatchUpRule, OverlapRule, RunOutcome, Schedule, ScheduledRun
from gossamer.policy.schedule_runs import (
    BEGIN_S,
    CONTINUE,
    LATE_S,
    MOST_STARTS,
    START,
    WAIT,
    RunStep,
    judge_run,
    may_begin,
    plan_run,
)

HOUR = 3600.0
T0 = 1_700_006_400.0  # on the hour
SCHEDULE = Schedule(name="shop", cron="0 * * * *", target="shop.py", since=T0)
RUN = ScheduledRun(schedule="shop", due_at=T0, key="ab" * 16, started_at=T0, starts=1, job="shop-1")
JOB = Job(id="shop-1", name="shop", target="shop.py", created_at=T0)


def planned(now, open_runs=(), **more):
    return plan_run(replace(SCHEDULE, **more), open_runs, now, "cd" * 16)


def test_a_run_is_due_at_its_time_and_not_before():
    assert planned(T0 + HOUR - 0.001) is None
    run = planned(T0 + HOUR)
    assert run is not None
    assert (run.due_at, run.outcome, run.passed, run.is_open) == (T0 + HOUR, None, 0, True)
    assert planned(T0 + HOUR, is_on=False) is None
    assert planned(T0 + HOUR, since=T0 + HOUR) is None


def test_after_downtime_one_is_made_up_or_none():
    now = T0 + 5.5 * HOUR
    made_up = planned(now)
    assert (made_up.due_at, made_up.passed, made_up.outcome) == (T0 + 5 * HOUR, 4, None)
    missed = planned(now, catch_up=CatchUpRule.NONE)
    assert (missed.due_at, missed.outcome, missed.ended_at) == (T0 + 5 * HOUR, RunOutcome.MISSED, now)


def test_what_is_a_little_late_is_not_missed():
    on_time = planned(T0 + HOUR + LATE_S, catch_up=CatchUpRule.NONE)
    assert on_time.outcome is None
    late = planned(T0 + HOUR + LATE_S + 1.0, catch_up=CatchUpRule.NONE)
    assert late.outcome is RunOutcome.MISSED


def test_a_run_that_would_overlap_is_left_out():
    run = planned(T0 + HOUR, [RUN])
    assert (run.outcome, run.detail) == (RunOutcome.SKIPPED, "shop-1 was not over")


def test_or_waits_but_only_one_does():
    waits = planned(T0 + HOUR, [RUN], overlap=OverlapRule.QUEUE)
    assert waits.is_open
    assert not may_begin(waits, [RUN, waits])
    assert may_begin(waits, [waits])
    second = planned(T0 + 2 * HOUR, [RUN, waits], overlap=OverlapRule.QUEUE, since=T0 + HOUR)
    assert second.outcome is RunOutcome.SKIPPED
    assert second.detail == "the run of 2023-11-15 01:00 waited already"


def judged(job, run=RUN, *, at_work=False, first=False, now=T0 + 60.0):
    return judge_run(run, job, is_at_work=at_work, is_first_look=first, now=now)


def ended(reason, state=JobState.RUNNING, error=""):
    return replace(JOB, state=state, end_reason=reason, end_error=error, finished_at=T0 + 50.0)


@pytest.mark.parametrize(
    ("job", "outcome", "detail"),
    [
        (ended(FinishReason.FINISHED, JobState.FINISHED), RunOutcome.FINISHED, ""),
        (ended(FinishReason.MAX_PAGES), RunOutcome.FINISHED, "max_pages"),
        (ended(FinishReason.BUDGET), RunOutcome.STOPPED, "budget"),
        (ended(FinishReason.CANCELLED, JobState.CANCELLED), RunOutcome.STOPPED, "cancelled"),
        (ended(FinishReason.NOT_BEGUN, JobState.CANCELLED), RunOutcome.FAILED, "not begun"),
        (ended(FinishReason.ERROR, error="disk full"), RunOutcome.FAILED, "error: disk full"),
        (ended(FinishReason.SIGNAL), RunOutcome.STOPPED, "signal"),
    ],
)
def test_a_run_ends_with_its_job(job, outcome, detail):
    assert judged(job) == (RunStep.END, outcome, detail, T0 + 50.0)


def test_a_crawl_goes_on_while_somebody_works_on_it_or_it_is_paused():
    assert judged(JOB, at_work=True) == WAIT
    assert judged(replace(JOB, state=JobState.PAUSED)) == WAIT


def test_a_crawl_whose_process_was_killed_is_started_again_but_not_for_ever():
    assert judged(JOB) == START
    decision = judged(JOB, replace(RUN, starts=MOST_STARTS))
    assert (decision.step, decision.outcome) == (RunStep.END, RunOutcome.FAILED)


def test_what_was_stopped_with_the_scheduler_goes_on_with_the_next():
    assert judged(ended(FinishReason.SIGNAL), first=True) == CONTINUE
    often = replace(RUN, starts=MOST_STARTS)
    assert judged(ended(FinishReason.SIGNAL), often, first=True) == CONTINUE, "nobody has killed it"
    assert judged(ended(FinishReason.SIGNAL), first=True, at_work=True) == WAIT


def test_a_job_that_is_not_there_yet_is_waited_for_and_then_started_again():
    run = replace(RUN, job="")
    assert judged(None, run, now=T0 + BEGIN_S - 1.0) == WAIT
    assert judged(None, run, now=T0 + BEGIN_S) == START
    assert judged(None, run, now=T0 + BEGIN_S, at_work=True) == WAIT
    assert judged(None, replace(run, starts=MOST_STARTS), now=T0 + BEGIN_S).outcome is RunOutcome.FAILED
