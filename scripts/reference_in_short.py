"""Tables of the first sentences about a job and about all jobs: each situation with an example."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from meanings import meanings, table
from msgspec.structs import replace

from gossamer.core.jobs import DueCounts
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.policy.pace_limit import DelayReason, PaceLimit
from gossamer.policy.sentences.job_facts import JobSituation, ObservedJobFacts, find_situation
from gossamer.policy.sentences.jobs import describe_situation
from gossamer.policy.sentences.overview import (
    OverviewFacts,
    OverviewSituation,
    describe_overview,
    find_overview,
)
from gossamer.policy.sentences.words import SentenceFormatter
from gossamer.policy.troubles import TroubleKind, make_trouble

NOW = 1_800_000_000.0
SHOW = SentenceFormatter(
    span=lambda seconds: f"{seconds:.0f} s",
    time=lambda at: f"14:{20 + (at - NOW) / 60:.0f} UTC",
    rate=lambda rate: f"{rate:g}/s",
    size=lambda count: f"{count:.0f} B",
)
JOB = ObservedJobFacts(
    id="shop-1",
    state=JobState.RUNNING,
    now=NOW,
    created_at=NOW - 600,
    is_fleet=True,
    attempts=900,
    answered=880,
    pages=800,
    items=700,
    waiting=120,
    hosts=1,
    slots=4,
)
STALLED = make_trouble(TroubleKind.STALLED, "shop-1", "shop-1 stands still.", since=NOW, job="shop-1")
ENDED = {"is_at_work": False}
OVER = {"state": JobState.FINISHED, "waiting": 0}
NO_LEADER = {"has_supervisor": False}
HELD = {"limit": PaceLimit.HELD, "held_until": NOW + 120}

EXAMPLES: Mapping[JobSituation, dict[str, Any]] = {
    JobSituation.PAUSED: {"state": JobState.PAUSED},
    JobSituation.CANCELLED: {"state": JobState.CANCELLED},
    JobSituation.NO_PAGE: {**OVER, "pages": 0, "answered": 0, "dead": 1},
    JobSituation.ALL_DROPPED: {**OVER, "items": 0, "dropped": {"Product.price: not a number": 700}},
    JobSituation.LOSSES: {**OVER, "dead": 12},
    JobSituation.FINISHED: OVER,
    JobSituation.UNREADABLE: {"unreadable": "Redis at queue:6379 does not answer in time"},
    JobSituation.BUDGET_SPENT: {**ENDED, "end_reason": FinishReason.MAX_PAGES, "max_pages": 800},
    JobSituation.TIME_SPENT: {**ENDED, "end_reason": FinishReason.MAX_TIME},
    JobSituation.ONLY_SKIPPED: {**ENDED, "end_reason": FinishReason.SKIPPED},
    JobSituation.ENDED_BY_SPIDER: {
        **ENDED, "end_reason": FinishReason.STOPPED, "end_error": "the log-in failed",
    },
    JobSituation.FAILED: {**ENDED, "end_reason": FinishReason.ERROR, "end_error": "the disk is full"},
    JobSituation.START_FAILED: {
        **ENDED, "end_reason": FinishReason.NOT_BEGUN, "end_error": "start() raised ValueError", "waiting": 0,
    },
    JobSituation.INTERRUPTED: {**ENDED, "end_reason": FinishReason.INTERRUPTED},
    JobSituation.STOPPED: {**ENDED, "end_reason": FinishReason.SIGNAL},
    JobSituation.UNWRITABLE: {"unwritable": "Redis at queue:6379 is a replica, which takes no changes"},
    JobSituation.AWAY: {"away": "PostgreSQL"},
    JobSituation.JUST_BEGUN: {"created_at": NOW - 1},
    JobSituation.NO_PROCESS: {"is_fleet": False, "is_at_work": False},
    JobSituation.LEADER_CHANGES: {**NO_LEADER, "led_s_ago": 12.0},
    JobSituation.NO_SUPERVISOR: NO_LEADER,
    JobSituation.NO_WORKER: {"has_workers": False},
    JobSituation.REFUSED: {"refusing": 2, "refusal": "the spider is another version here"},
    JobSituation.NO_LANE: {"unserved": (DueCounts(lane="browser", requests=8),), "due": 8},
    JobSituation.SKIPPED: {**HELD, "held": {DelayReason.SKIPPED: 1}, "held_until": None},
    JobSituation.CLOSED: {
        **HELD, "held": {DelayReason.BACKOFF: 1},
        "closed": "a.example is closed until 14:22 UTC: its robots.txt gives server: status 500",
    },
    JobSituation.ASKED_FOR_TIME: {**HELD, "held": {DelayReason.RETRY_AFTER: 1}},
    JobSituation.REFUSES: {**HELD, "held": {DelayReason.BACKOFF: 1}},
    JobSituation.SILENT: {**HELD, "held": {DelayReason.DOWN: 1}},
    JobSituation.ON_HOLD: {**HELD, "held": {DelayReason.HOLD: 1}},
    JobSituation.LEFT_ALONE: {**HELD, "held": {DelayReason.DOWN: 1, DelayReason.BACKOFF: 2}, "hosts": 3},
    JobSituation.STALLED: {"needs": (STALLED,)},
    JobSituation.NOT_BEGUN: {"attempts": 0, "answered": 0, "pages": 0, "items": 0},
    JobSituation.STORE_SLOW: {"limit": PaceLimit.STORE, "store": "PostgreSQL", "store_lag_s": 6.0},
    JobSituation.SLOTS_BUSY: {"limit": PaceLimit.WORKERS},
    JobSituation.CONCURRENCY: {"limit": PaceLimit.WORKERS, "is_fleet": False},
    JobSituation.NOT_DUE: {"limit": PaceLimit.NOTHING_DUE, "next_at": NOW + 120},
    JobSituation.THROTTLED: {"limit": PaceLimit.POLITENESS, "slowed": 1},
    JobSituation.POLITENESS: {"limit": PaceLimit.POLITENESS},
    JobSituation.UNDER_WAY: {},
}  # fmt: skip
"""The differences of each situation's facts from those of a healthy job."""

ALL = OverviewFacts(jobs=9, running=7, well=7, pages_per_s=20.0)
PLACE = make_trouble(TroubleKind.AWAY, "PostgreSQL", "PostgreSQL does not answer.", since=NOW)
OVERVIEWS: Mapping[OverviewSituation, dict[str, Any]] = {
    OverviewSituation.PLACE: {"place": (PLACE,)},
    OverviewSituation.EMPTY: {"jobs": 0, "running": 0, "well": 0},
    OverviewSituation.NEEDS_YOU: {"need_you": 2, "held_up": 1, "well": 4},
    OverviewSituation.IDLE: {"running": 0, "well": 0},
    OverviewSituation.HELD_UP: {"held_up": 2, "well": 5},
    OverviewSituation.WELL: {},
}


def example_of(situation: JobSituation) -> ObservedJobFacts:
    """Return facts that lead to this situation. Raises ``LookupError`` if they lead to another one."""
    facts = replace(JOB, **EXAMPLES[situation])
    if find_situation(facts) is not situation:
        raise LookupError(f"the example of {situation} in scripts/reference_in_short.py is another situation")
    return facts


def overview_of(situation: OverviewSituation) -> OverviewFacts:
    """Return facts that lead to this situation of all jobs. Raises ``LookupError`` otherwise."""
    facts = replace(ALL, **OVERVIEWS[situation])
    if find_overview(facts) is not situation:
        raise LookupError(f"the example of {situation} in scripts/reference_in_short.py is another situation")
    return facts


def job_sentences() -> str:
    """Return a table of the situations of a job, in the order of their checks."""
    return _sentences(
        JobSituation, {one: describe_situation(example_of(one), one, SHOW).answer for one in JobSituation}
    )


def overview_sentences() -> str:
    """Return a table of the situations of all jobs, in the order of their checks."""
    found = {one: describe_overview(overview_of(one), SHOW).answer for one in OverviewSituation}
    return _sentences(OverviewSituation, found)


def _sentences(kind: type[Enum], answers: Mapping[Any, str]) -> str:
    said = meanings(kind)
    return table(
        ("situation", "an example of its sentence"), [(said[one.name], answers[one]) for one in kind]
    )
