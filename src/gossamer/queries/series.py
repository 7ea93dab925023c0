"""A job's course over time: rates, response times and queue length, as lines of a chart."""

from __future__ import annotations

from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time
from gossamer.core.series import ALLOWED, GAUGE, ChartRange, SeriesStep
from gossamer.policy.chart_range import ChartPlan, plan_chart
from gossamer.policy.latencies import percentile_s
from gossamer.queries.job_view import view_change
from gossamer.wiring.backends import Backends

RATES = {
    "pages": "pages",
    "attempts": "attempts",
    "failed": "failed",
    "items": "items",
    "bytes": "bytes",
    "2xx": "class:2",
    "3xx": "class:3",
    "4xx": "class:4",
    "5xx": "class:5",
    "none": "class:0",
}
"""Lines that say how much of a counter came in a second."""
PERCENTILES = {"p50": 0.5, "p95": 0.95}
GAUGES = ("pending", "delayed", "leased", "dead", "due")
WAITING = ("pending", "delayed", "leased")
LATENCY = "lat:"
MOST_GAPS = MOST_MARKS = 50
GAP_TEXT = "no data: no process was at work"
DIGITS = 4
"""Digits of a value that count."""


class SeriesGap(Record, frozen=True, kw_only=True):
    """A time in which nothing was noted."""

    since: Time
    until: Time
    text: str  # why


class SeriesMark(Record, frozen=True, kw_only=True):
    """Something that was done to the job at one time."""

    at: Time
    kind: str  # ``person``
    text: str


class SeriesView(Record, frozen=True, kw_only=True):
    """Lines over one axis of time. Each has a value for each step, oldest first; ``None`` is a gap."""

    at: Time  # when it was asked
    since: Time  # when the first step begins
    until: Time  # when the last one ends
    step_s: int
    series: dict[
        str, tuple[float | None, ...]
    ]  # rates per second; p50 and p95 in seconds; queue length in requests
    gaps: tuple[SeriesGap, ...] = ()  # the longest ones
    marks: tuple[SeriesMark, ...] = ()  # what people did, the latest 50


async def read_series(backends: Backends, job: Job, range_: ChartRange) -> SeriesView:
    """The lines of a job, with at most 180 points each; those that have no value anywhere are left out."""
    now = backends.clock.now()
    plan = plan_chart(range_, job.created_at, job.finished_at, now)
    found = await backends.series.read_steps(job, plan.since, plan.until, plan.step_s)
    by_time = {int(step.at): step for step in found}
    steps = [by_time.get(at) for at in range(plan.since, plan.until, plan.step_s)]
    lines = {name: tuple(_rate_of(step, counter, plan) for step in steps) for name, counter in RATES.items()}
    lines |= {
        name: tuple(_percentile_of(step, share) for step in steps) for name, share in PERCENTILES.items()
    }
    lines |= {name: tuple(_gauge_of(step, (name,)) for step in steps) for name in GAUGES}
    lines["allowed"] = tuple(_allowed_of(step) for step in steps)
    lines["waiting"] = tuple(_gauge_of(step, WAITING) for step in steps)
    return SeriesView(
        at=now,
        since=plan.since,
        until=plan.until,
        step_s=plan.step_s,
        series={name: line for name, line in lines.items() if any(value is not None for value in line)},
        gaps=_gaps_of([step is None for step in steps], plan),
        marks=await _find_marks(backends, job, plan, now),
    )


def _rate_of(step: SeriesStep | None, counter: str, plan: ChartPlan) -> float | None:
    """Return the rate per second while a process was at work."""
    if step is None:
        return None
    seconds = max(1.0, min(step.covered_s, plan.overlap_s(step.at)))
    return _round(step.values.get(counter, 0) / seconds)


def _percentile_of(step: SeriesStep | None, share: float) -> float | None:
    if step is None:
        return None
    counts = {name.removeprefix(LATENCY): n for name, n in step.values.items() if name.startswith(LATENCY)}
    found = percentile_s(counts, share)
    return None if found is None else _round(found)


def _gauge_of(step: SeriesStep | None, names: tuple[str, ...]) -> float | None:
    values = [] if step is None else [step.values.get(f"{GAUGE}{name}") for name in names]
    return sum(value for value in values if value is not None) if any(v is not None for v in values) else None


def _allowed_of(step: SeriesStep | None) -> float | None:
    """Return the rate that the hosts allowed, in requests per second."""
    value = None if step is None else step.values.get(f"{GAUGE}{ALLOWED}")
    return None if value is None else _round(value / 1000)


async def _find_marks(backends: Backends, job: Job, plan: ChartPlan, now: float) -> tuple[SeriesMark, ...]:
    """Return people's actions on the job in that time, oldest first."""
    actions = await backends.actions.list_actions(MOST_MARKS, job=job.id)
    changes = [view_change(one, now) for one in actions if not one.is_refused]
    found = [change for change in changes if plan.since <= change.at < plan.until]
    return tuple(
        SeriesMark(at=change.at, kind="person", text=f"{change.what}, {change.who}") for change in found[::-1]
    )


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _gaps_of(is_missing: list[bool], plan: ChartPlan) -> tuple[SeriesGap, ...]:
    """Where steps without a note follow each other."""
    gaps: list[SeriesGap] = []
    begun: int | None = None
    for at, missing in zip(range(plan.since, plan.until + 1, plan.step_s), [*is_missing, False], strict=True):
        if missing and begun is None:
            begun = at
        elif not missing and begun is not None:
            gaps.append(SeriesGap(since=begun, until=at, text=GAP_TEXT))
            begun = None
    longest = sorted(gaps, key=lambda gap: gap.since - gap.until)[:MOST_GAPS]
    return tuple(sorted(longest, key=lambda gap: gap.since))
