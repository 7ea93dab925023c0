"""How a job comes on: its pace, and the time that it still takes."""

from __future__ import annotations

from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.observe.units import format_rate
from gossamer.policy.sentences.time_left import describe_left
from gossamer.policy.time_left import TimeEstimate
from gossamer.watch.memories import load_job_memory
from gossamer.wiring.backends import Backends


class JobPace(Record, frozen=True, kw_only=True):
    """What is known of a job's progress."""

    working: int = 0  # shifts at work
    pages_per_s: float | None = None
    left: TimeEstimate = TimeEstimate()
    trouble: str = ""  # the latest

    def to_line(self) -> str:
        """The same in a few words."""
        parts = [format_rate(self.pages_per_s)] if self.pages_per_s is not None else []
        parts += [format_count(self.working, "shift"), describe_left(self.left), self.trouble]
        return "; ".join(part for part in parts if part)


class JobProgress(Record, frozen=True, kw_only=True):
    """How far a job is."""

    stats: FrontierStats
    pace: JobPace


async def read_progress(backends: Backends, job: Job) -> JobProgress:
    """How far a job is. Raises ``LostRequestsError`` when its requests are gone."""
    stats = await backends.open_frontier(job).read_stats()
    return JobProgress(stats=stats, pace=await read_pace(backends, job))


async def read_pace(backends: Backends, job: Job) -> JobPace:
    """How a job comes on: as the process that watches it noted, and its fleet."""
    memory, now = await load_job_memory(backends.requests.shared, job), backends.clock.now()
    pace = JobPace(pages_per_s=memory.pages_per_s_at(now), left=memory.left_at(now))
    if backends.requests.fleet is None or not job.is_fleet:
        return pace
    view = await backends.requests.fleet.roster.read_roster(history=True)
    samples = view.samples.get(job.id, ())
    troubles = [s.detail for s in view.standings if s.job == job.id and s.detail]
    troubles += [samples[-1].trouble] if samples and samples[-1].trouble else []
    return JobPace(
        working=sum(shift.job == job.id and bool(shift.worker) for shift in view.shifts),
        pages_per_s=pace.pages_per_s,
        left=pace.left,
        trouble=troubles[-1] if troubles else "",
    )
