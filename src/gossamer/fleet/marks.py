"""Marks that the supervisors of a job leave for each other in shared state."""

from __future__ import annotations

from gossamer.core.jobs import Job, tag_of
from gossamer.ports.shared_state import SharedState

SPENT = "fleet-spent"
BREAK_S = 10.0
"""A longer gap between two looks counts as this long: no supervisor looked after the job meanwhile."""

KEPT_S = 10 * 365 * 86_400.0
"""The mark outlives any job; losing it lets the job's time count anew."""


async def spent_s(shared: SharedState, job: Job, now: float) -> float:
    """For how long a job has been looked after, this look included; while it is paused no time is spent."""
    value = await shared.get(SPENT, tag_of(job))
    spent, seen_at = map(float, value.split()) if value else (0.0, now)
    spent += min(max(now - seen_at, 0.0), BREAK_S)
    await shared.put(SPENT, tag_of(job), f"{spent!r} {now!r}".encode(), KEPT_S)
    return spent


async def forget_spent(shared: SharedState, job: Job) -> None:
    """The run is over; should the job be resumed, its time counts anew."""
    await shared.put(SPENT, tag_of(job), b"", KEPT_S)


async def forget_marks(shared: SharedState, job: Job) -> None:
    """The job and its requests are history."""
    await shared.put(SPENT, tag_of(job), b"", 0.0)
