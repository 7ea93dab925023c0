"""Counters over time in memory: the readable reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from gossamer.core.jobs import Job
from gossamer.core.series import (
    ATTEMPTS,
    BUCKET_S,
    COVERED,
    EVERYBODY,
    GAUGE,
    HOUR_S,
    HourlyKind,
    HourlyRow,
    SeriesStep,
)
from gossamer.store.counters import BatchCounts
from gossamer.store.series import bucket_of, fold_limits, hours_between, steps_of, worst_of

Place = tuple[int, int, str]  # seconds of the bucket, when it begins, name


class MemorySeries:
    """A ``Series`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._series: defaultdict[str, dict[Place, int]] = defaultdict(dict)  # by job
        self._hourly: defaultdict[str, Counter[tuple[str, int, str, str]]] = defaultdict(Counter)

    def add_counts(self, job: Job, changes: BatchCounts) -> None:
        """Add what a batch changes over time."""
        for at, name, value in changes.series_rows():
            self._add(job.id, (BUCKET_S, at, name), value)
        for *whose, value in changes.hourly_rows():
            self._hourly[job.id][tuple(whose)] += value  # type: ignore[index]

    def _add(self, job: str, place: Place, value: int) -> None:
        self._series[job][place] = self._series[job].get(place, 0) + value

    async def set_gauges(self, job: Job, at: float, gauges: Mapping[str, int]) -> None:
        """See :class:`~gossamer.ports.series.Series`."""
        for name, value in gauges.items():
            self._series[job.id][BUCKET_S, bucket_of(at), f"{GAUGE}{name}"] = value

    async def read_steps(self, job: Job, since: int, until: int, step_s: int) -> list[SeriesStep]:
        """See :class:`~gossamer.ports.series.Series`."""
        sums: Counter[tuple[int, str]] = Counter()
        numbers: Counter[tuple[int, str]] = Counter()
        fine: set[int] = set()
        for (bucket_s, at, name), value in self._series[job.id].items():
            if since <= at < until:
                step = at // step_s * step_s
                sums[step, name] += value
                numbers[step, name] += 1
                fine |= {at} if bucket_s == BUCKET_S else set()
        covered = Counter(at // step_s * step_s for at in fine)
        rows = [(at, name, value, numbers[at, name]) for (at, name), value in sums.items()]
        return steps_of(rows, {at: number * BUCKET_S for at, number in covered.items()})

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
        for job, counted in self._series.items():
            old = {
                place: value for place, value in counted.items() if place[0] == BUCKET_S and place[1] < fine
            }
            for at in {at for _, at, _ in old}:
                place = (HOUR_S, at // HOUR_S * HOUR_S, COVERED)
                counted[place] = min(HOUR_S, counted.get(place, 0) + BUCKET_S)
            gauges: defaultdict[Place, list[int]] = defaultdict(list)
            for (_, at, name), value in old.items():
                place = (HOUR_S, at // HOUR_S * HOUR_S, name)
                if name.startswith(GAUGE):
                    gauges[place].append(value)
                else:
                    self._add(job, place, value)
            for place, values in gauges.items():
                counted.setdefault(place, round(sum(values) / len(values)))
            for key in old:
                del counted[key]
        for hourly in self._hourly.values():
            for whose in [key for key in hourly if key[0] != HourlyKind.REASON and key[1] < named and key[2]]:
                del hourly[whose]

    def _rows(self, job: Job, kind: HourlyKind, since: int, until: int | None = None) -> list[HourlyRow]:
        hours = None if until is None else set(hours_between(since, until))
        return [
            HourlyRow(hour=hour, who=who, label=label, value=value)
            for (of, hour, who, label), value in self._hourly[job.id].items()
            if of == kind and hour >= since and value and (hours is None or hour in hours)
        ]
