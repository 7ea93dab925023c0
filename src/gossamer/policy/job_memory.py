"""The memory of a watched job, and of the place of all jobs, between checks. Pure.

All of it may be lost: rates are known again after seconds, and alerts after their waiting times.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.record import Record, Time
from gossamer.core.shifts import JobSample
from gossamer.policy.alert_readings import JobLook, PlaceLook
from gossamer.policy.alerts import AlertState
from gossamer.policy.drift import LEAST_COMPARED, DriftFinding
from gossamer.policy.host_sums import HostSums
from gossamer.policy.job_samples import LATELY_S, add_sample, rate_of
from gossamer.policy.pace_limit import LimitState
from gossamer.policy.time_left import TimeEstimate

ITEMS_EVERY_S = 60.0
"""How often the items are looked at, at most."""
ITEMS_GROWN = 1.02
"""... if their number has grown by this factor since the last check."""


class JobMemory(Record, frozen=True, kw_only=True):
    """The memory of one job."""

    at: Time = 0.0  # of the latest look; 0: there was none
    due_at: Time = 0.0  # when the next check is overdue, so that the job counts as unwatched
    samples: tuple[JobSample, ...] = ()
    pace: LimitState = LimitState()
    left: TimeEstimate = TimeEstimate()  # how long it still takes
    hosts: HostSums = HostSums()
    attempted_at: Time = 0.0  # when its attempts last grew
    item_pages: int = 0  # its pages when its items last grew
    findings: tuple[DriftFinding, ...] = ()  # what of its items is worse than usual
    items_at: Time = 0.0  # when those were last looked at
    items_then: int = 0  # how many there were
    judged_end: Time | None = None  # the end of its latest run, once that was looked at
    alerts: tuple[AlertState, ...] = ()

    def is_fresh(self, now: float) -> bool:
        """Whether the next look is not overdue."""
        return now < self.due_at

    def left_at(self, now: float) -> TimeEstimate:
        """Return the time left of the job; unknown if it is not watched."""
        return self.left.seen_at(now) if self.is_fresh(now) else TimeEstimate()

    def pages_per_s_at(self, now: float) -> float | None:
        """Its pages per second in the last minutes; ``None``: not known."""
        return rate_of(self.samples, "pages", LATELY_S) if self.is_fresh(now) else None


class PlaceMemory(Record, frozen=True, kw_only=True):
    """The memory of the parts that all jobs need."""

    at: Time = 0.0
    due_at: Time = 0.0  # when the next check is overdue, so that the job counts as unwatched
    look: PlaceLook = PlaceLook(at=0.0)
    ends_until: Time = 0.0  # jobs that had ended by then were looked at; 0: none yet
    alerts: tuple[AlertState, ...] = ()

    def is_fresh(self, now: float) -> bool:
        """Whether the next look is not overdue."""
        return now < self.due_at


def wants_items(memory: JobMemory, now: float) -> bool:
    """Whether the items are worth another look: now and then, if there are more of them."""
    number = _count_items(memory)
    has_grown = number > memory.items_then * ITEMS_GROWN and number >= LEAST_COMPARED
    return has_grown and now - memory.items_at >= ITEMS_EVERY_S


def remember_findings(memory: JobMemory, findings: Sequence[DriftFinding], now: float) -> JobMemory:
    """The memory after a look at the items."""
    return replace(memory, findings=tuple(findings), items_at=now, items_then=_count_items(memory))


def _count_items(memory: JobMemory) -> int:
    return memory.samples[-1].items if memory.samples else 0


def remember_sample(memory: JobMemory, sample: JobSample) -> JobMemory:
    """The memory with the counts of one more look."""
    before = memory.samples[-1] if memory.samples else None
    has_tried = before is None or sample.attempts > before.attempts
    has_found = sample.items > before.items if before else sample.items > 0
    return replace(
        memory,
        at=sample.at,
        samples=add_sample(memory.samples, sample),
        attempted_at=sample.at if has_tried else memory.attempted_at,
        item_pages=sample.pages if has_found else min(memory.item_pages, sample.pages),
    )


def fill_look(look: JobLook, memory: JobMemory) -> JobLook:
    """Complete a check with remembered facts."""
    return replace(
        look,
        samples=memory.samples,
        attempted_at=memory.attempted_at,
        item_pages=memory.item_pages,
        findings=memory.findings,
    )
