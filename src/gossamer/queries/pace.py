"""How a job of the fleet comes on: what its supervisor noted of it."""

from __future__ import annotations

from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.record import Record
from gossamer.core.shifts import JobSample
from gossamer.core.text import format_count
from gossamer.observe.units import format_duration, format_rate
from gossamer.policy.eta import estimate_time_left
from gossamer.policy.job_samples import lately
from gossamer.watch.memories import load_job_memory
from gossamer.wiring.backends import Backends


class JobPace(Record, frozen=True, kw_only=True):
    """What is known of a job's progress."""

    working: int = 0  # shifts at work
    pages_per_s: float | None = None
    left_s: float | None = None  # until it is done, at this pace
    note: str = ""  # why that is not known, or what it is until
    trouble: str = ""  # the latest

    def to_line(self) -> str:
        """The same in a few words."""
        parts = [format_rate(self.pages_per_s)] if self.pages_per_s is not None else []
        parts += [format_count(self.working, "shift")]
        parts += [f"ETA {format_duration(self.left_s)}"] if self.left_s is not None else []
        parts += [self.trouble] if self.trouble else []
        return "; ".join(parts)


class JobProgress(Record, frozen=True, kw_only=True):
    """How far a job is."""

    stats: FrontierStats
    pace: JobPace


async def read_progress(backends: Backends, job: Job) -> JobProgress:
    """How far a job is. Raises ``LostRequestsError`` when its requests are gone."""
    stats = await backends.open_frontier(job).read_stats()
    return JobProgress(stats=stats, pace=await estimate_pace(backends, job))


async def estimate_pace(backends: Backends, job: Job) -> JobPace:
    """How a job comes on: as its fleet's supervisor noted, or the crawl itself while it runs."""
    if backends.requests.fleet is None:
        return await estimate_own_pace(backends, job)
    view = await backends.requests.fleet.roster.read_roster(history=True)
    samples = view.samples.get(job.id, ())
    rules = await backends.read_rules(job)
    watched = await _read_watched(backends, job)
    is_troubled = bool(samples and samples[-1].trouble)
    found = estimate_time_left(samples if is_troubled else watched or samples, max_pages=rules.max_pages)
    troubles = [s.detail for s in view.standings if s.job == job.id and s.detail]
    troubles += [samples[-1].trouble] if samples and samples[-1].trouble else []
    trouble = troubles[-1] if troubles else ""
    return JobPace(
        working=sum(shift.job == job.id and bool(shift.worker) for shift in view.shifts),
        pages_per_s=found.pages_per_s if samples or watched else None,
        left_s=found.seconds,
        note=found.reason if found.reason != trouble else "",
        trouble=trouble,
    )


async def estimate_own_pace(backends: Backends, job: Job) -> JobPace:
    """Of a crawl of one machine, by what it remembers of itself."""
    samples = await _read_watched(backends, job)
    if not samples:
        return JobPace()
    rules = await backends.read_rules(job)
    found = estimate_time_left(samples, max_pages=rules.max_pages)
    return JobPace(pages_per_s=found.pages_per_s, left_s=found.seconds, note=found.reason)


async def _read_watched(backends: Backends, job: Job) -> list[JobSample]:
    """What whoever watches the job noted of it lately: also of what its site announces."""
    memory = await load_job_memory(backends.requests.shared, job)
    return lately(memory.samples) if memory.is_fresh(backends.clock.now()) else []
