"""What is remembered of a watched job, and of the place of all jobs, from one look to the next. Pure.

All of it may be lost: rates are known again after seconds, and alerts after their patience.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.jobs import StoredItem
from gossamer.core.record import Record, Time
from gossamer.core.shifts import JobSample
from gossamer.policy.alert_readings import JobLook, PlaceLook
from gossamer.policy.alerts import AlertState
from gossamer.policy.drift import LEAST_ITEMS, DriftFinding, compare_fills, fill_shares, usual_fills
from gossamer.policy.host_sums import HostSums
from gossamer.policy.job_samples import LATELY_S, add_sample, rate_of
from gossamer.policy.pace_limit import LimitState
from gossamer.policy.time_left import TimeEstimate

ITEMS_EVERY_S = 60.0
"""How often the latest items are looked at."""


class JobMemory(Record, frozen=True, kw_only=True):
    """What is remembered of one job."""

    at: Time = 0.0  # of the latest look; 0: there was none
    due_at: Time = 0.0  # by then the next look has come, unless nobody watches any more
    samples: tuple[JobSample, ...] = ()
    pace: LimitState = LimitState()
    left: TimeEstimate = TimeEstimate()  # how long it still takes
    hosts: HostSums = HostSums()
    attempted_at: Time = 0.0  # when its attempts last grew
    item_pages: int = 0  # its pages when its items last grew
    usual_fills: dict[str, float] = {}  # of the fields of its items
    fields: tuple[DriftFinding, ...] = ()  # those that are emptier than usual
    items_at: Time = 0.0  # when its items were last looked at
    judged_end: Time | None = None  # the end of its latest run, once that was looked at
    alerts: tuple[AlertState, ...] = ()

    def is_fresh(self, now: float) -> bool:
        """Whether the next look is not overdue."""
        return now < self.due_at

    def left_at(self, now: float) -> TimeEstimate:
        """How long the job still takes; not known where nobody watches it."""
        return self.left.seen_at(now) if self.is_fresh(now) else TimeEstimate()

    def pages_per_s_at(self, now: float) -> float | None:
        """Its pages per second in the last minutes; ``None``: not known."""
        return rate_of(self.samples, "pages", LATELY_S) if self.is_fresh(now) else None


class PlaceMemory(Record, frozen=True, kw_only=True):
    """What is remembered of what all jobs need."""

    at: Time = 0.0
    due_at: Time = 0.0  # by then the next look has come, unless nobody watches any more
    look: PlaceLook = PlaceLook(at=0.0)
    ends_until: Time = 0.0  # jobs that had ended by then were looked at; 0: none yet
    alerts: tuple[AlertState, ...] = ()

    def is_fresh(self, now: float) -> bool:
        """Whether the next look is not overdue."""
        return now < self.due_at


def wants_items(memory: JobMemory, now: float) -> bool:
    """Whether the latest items are worth another look: now and then, if there are new ones."""
    newest = memory.samples[-1].items if memory.samples else 0
    return now - memory.items_at >= ITEMS_EVERY_S and newest >= LEAST_ITEMS


def remember_items(memory: JobMemory, items: Sequence[StoredItem], now: float) -> JobMemory:
    """The memory after a look at the latest items."""
    fills = usual_fills(memory.usual_fills, fill_shares(items))
    fields = compare_fills(memory.usual_fills, items, memory.fields)
    return replace(memory, usual_fills=fills, fields=fields, items_at=now)


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
    """A look with what is remembered."""
    return replace(
        look,
        samples=memory.samples,
        attempted_at=memory.attempted_at,
        item_pages=memory.item_pages,
        fields=memory.fields,
    )
