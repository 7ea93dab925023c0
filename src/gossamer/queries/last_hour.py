"""Counts of jobs per minute of the last hour, for sparklines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.series import SeriesStep
from gossamer.policy.latencies import percentile_s
from gossamer.wiring.backends import Backends

STEP_S = 60
STEPS = 60
LATENCY = "lat:"


class HourCounts(Record, frozen=True, kw_only=True):
    """Counts of the last hour; each list has a value for each minute, oldest first."""

    counts: tuple[dict[str, int], ...] = ({},) * STEPS

    def rates(self, name: str) -> tuple[float, ...]:
        """How much a counter grew, per second."""
        return tuple(round(minute.get(name, 0) / STEP_S, 3) for minute in self.counts)

    def failed_shares(self) -> tuple[float, ...]:
        """The share of the attempts that failed; 0 where there was none."""
        return tuple(_share(minute) for minute in self.counts)

    def percentiles_s(self, share: float) -> tuple[float, ...]:
        """The time within which this share of the answers came; 0 where there was none."""
        return tuple(round(percentile_s(_latencies(minute), share) or 0.0, 4) for minute in self.counts)

    def failed_share(self) -> float | None:
        """The share of all attempts of the hour that failed; ``None``: there was none."""
        whole = self._sum()
        return _share(whole) if whole.get("attempts") else None

    def percentile_s(self, share: float, minutes: int = STEPS) -> float | None:
        """The same over the last minutes together."""
        return percentile_s(_latencies(self._sum(minutes)), share)

    def means(self, gauge: str) -> tuple[float, ...]:
        """How high a gauge stood."""
        return tuple(float(minute.get(gauge, 0)) for minute in self.counts)

    def _sum(self, minutes: int = STEPS) -> dict[str, int]:
        whole: Counter[str] = Counter()
        for minute in self.counts[-minutes:]:
            whole.update(minute)
        return whole


def _share(counts: dict[str, int]) -> float:
    attempts = counts.get("attempts", 0)
    return round(counts.get("failed", 0) / attempts, 4) if attempts else 0.0


def _latencies(counts: dict[str, int]) -> dict[str, int]:
    return {name.removeprefix(LATENCY): n for name, n in counts.items() if name.startswith(LATENCY)}


async def read_last_hour(backends: Backends, job: Job, now: float) -> HourCounts:
    """The last sixty whole minutes of a job, the present one included."""
    until = (int(now) // STEP_S + 1) * STEP_S
    since = until - STEPS * STEP_S
    steps = await backends.series.read_steps(job, since, until, STEP_S)
    return HourCounts(counts=tuple(_place_steps(steps, since)))


def _place_steps(steps: Iterable[SeriesStep], since: int) -> Sequence[dict[str, int]]:
    counts: list[dict[str, int]] = [{} for _ in range(STEPS)]
    for step in steps:
        counts[(int(step.at) - since) // STEP_S] = step.values
    return counts


def add_hours(hours: Iterable[HourCounts]) -> HourCounts:
    """Several jobs together."""
    sums: list[Counter[str]] = [Counter() for _ in range(STEPS)]
    for hour in hours:
        for whole, minute in zip(sums, hour.counts, strict=True):
            whole.update(minute)
    return HourCounts(counts=tuple(dict(whole) for whole in sums))
