"""Counters over time in memory: the readable reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from gossamer.core.jobs import Job
from gossamer.core.series import (
    ATTEMPTS,
    BUCKET_S,
    COUNTERS,
    EVERYBODY,
    HOUR_S,
    HourlyKind,
    HourlyRow,
    SeriesStep,
)
from gossamer.policy.chart_range import fold_limits
from gossamer.store.counters import BatchCounts
from gossamer.store.series import bucket_of, hours_between, steps_of, worst_of

COVERED = "covered"
"""Among the counters of a bucket, the seconds in which anything was noted."""

_NAMED = (HourlyKind.HOST, HourlyKind.PROXY)
"""Whose counts are forgotten after a time."""

Place = tuple[int, int]  # seconds of the bucket, when it begins


class MemorySeries:
    """A ``Series`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._series: defaultdict[str, dict[Place, Counter[str]]] = defaultdict(dict)  # by job
        self._gauges: defaultdict[str, dict[Place, dict[str, int]]] = defaultdict(dict)
        self._hourly: defaultdict[str, Counter[tuple[str, int, str, str]]] = defaultdict(Counter)

    def add_counts(self, job: Job, changes: BatchCounts) -> None:
        """Add a batch's counts over time."""
        for at, *counts in changes.series_rows():
            counted = self._cover(job, at)
            counted.update(dict(zip(COUNTERS, counts, strict=True)))
        for kind, hour, who, label, value in changes.hourly_rows():
            self._hourly[job.id][kind, hour, who, label] += value

    def _cover(self, job: Job, at: int) -> Counter[str]:
        return self._series[job.id].setdefault((BUCKET_S, at), Counter({COVERED: BUCKET_S}))

    async def set_gauges(self, job: Job, at: float, gauges: Mapping[str, int]) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        bucket = bucket_of(at)
        self._cover(job, bucket)
        self._gauges[job.id].setdefault((BUCKET_S, bucket), {}).update(gauges)

    async def read_steps(self, job: Job, since: int, until: int, step_s: int) -> list[SeriesStep]:
        """See :class:`~gossamer.ports.series.Series`."""
        sums: defaultdict[int, Counter[str]] = defaultdict(Counter)
        for (_, at), counts in self._series[job.id].items():
            if since <= at < until:
                sums[at // step_s * step_s].update(counts)
        found: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        for (_, at), gauges in self._gauges[job.id].items():
            if since <= at < until:
                for name, value in gauges.items():
                    found[at // step_s * step_s, name].append(value)
        counted = [(at, counts[COVERED], *(counts[name] for name in COUNTERS)) for at, counts in sums.items()]
        return steps_of(counted, [(at, name, _mean_of(values)) for (at, name), values in found.items()])

    async def read_hours(
        self, job: Job, kind: HourlyKind, since: int, until: int, who: Collection[str]
    ) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        return [row for row in self._rows(job, kind, since, until) if row.who in who]

    async def list_reasons(self, job: Job, since: int) -> list[HourlyRow]:
        """See :class:`~gossamer.ports.series.Series`."""
        return self._rows(job, HourlyKind.REASON, since)

    async def rank_failures(
        self, job: Job, kind: HourlyKind, since: int, until: int, limit: int
    ) -> list[str]:
        """See :class:`~gossamer.ports.series.Series`."""
        found = self._rows(job, kind, since, until)
        named = [row for row in found if row.who != EVERYBODY and row.label != ATTEMPTS]
        return worst_of([(row.who, row.value) for row in named], limit)

    async def count_hosts(self, job: Job, reason: str, since: int, limit: int) -> int:
        """See :class:`~gossamer.ports.series.Series`."""
        rows = self._rows(job, HourlyKind.HOST, since)
        found = [row.who for row in rows if row.who != EVERYBODY and row.label == reason]
        return len(set(found[:limit]))

    async def fold_buckets(self, now: float) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        fine, named = fold_limits(now)
        for counted in self._series.values():
            for place in _old_places(counted, fine):
                hour = counted.setdefault((HOUR_S, place[1] // HOUR_S * HOUR_S), Counter())
                hour.update(counted.pop(place))
                hour[COVERED] = min(HOUR_S, hour[COVERED])
        for noted in self._gauges.values():
            folded: defaultdict[Place, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
            for place in _old_places(noted, fine):
                for name, value in noted.pop(place).items():
                    folded[HOUR_S, place[1] // HOUR_S * HOUR_S][name].append(value)
            for place, gauges in folded.items():
                noted.setdefault(place, {name: round(_mean_of(values)) for name, values in gauges.items()})
        for hourly in self._hourly.values():
            for whose in [key for key in hourly if key[0] in _NAMED and key[1] < named and key[2]]:
                del hourly[whose]

    def _rows(self, job: Job, kind: HourlyKind, since: int, until: int | None = None) -> list[HourlyRow]:
        hours = None if until is None else set(hours_between(since, until))
        return [
            HourlyRow(hour=hour, who=who, label=label, value=value)
            for (of, hour, who, label), value in self._hourly[job.id].items()
            if of == kind and hour >= since and value and (hours is None or hour in hours)
        ]


def _old_places(places: Iterable[Place], before: int) -> list[Place]:
    return [place for place in places if place[0] == BUCKET_S and place[1] < before]


def _mean_of(values: list[int]) -> float:
    return sum(values) / len(values)
