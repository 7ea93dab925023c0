"""Samples of a job's last hour: recent ones close together, older ones farther apart.

Pure. Counters of samples only grow, except the queue length and dead letters, which a person may retry.
"""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.shifts import JobSample

LEAST_S = 5.0
"""Less than this says nothing about a rate."""
LATELY_S = 120.0
"""All samples of so long are kept."""
APART_S = 60.0
"""... and of the time before, one in so long."""
KEPT_S = 3600.0
"""Samples are kept for so long."""


def add_sample(samples: Sequence[JobSample], new: JobSample) -> tuple[JobSample, ...]:
    """The samples with one more, without those that are no longer needed; oldest first."""
    known = [sample for sample in samples if sample.at < new.at]
    first = sum(sample.at <= new.at - KEPT_S for sample in known) - 1  # the last one that is old enough
    kept: list[JobSample] = []
    for number, sample in enumerate(known[max(first, 0) :]):
        is_late = sample.at > new.at - LATELY_S
        if number == 0 or is_late or sample.at - kept[-1].at >= APART_S:
            kept.append(sample)
    return (*kept, new)


def sample_before(samples: Sequence[JobSample], at: float) -> JobSample | None:
    """The latest sample that is not later than ``at``; the oldest, where all are."""
    before = [sample for sample in samples if sample.at <= at]
    return before[-1] if before else (samples[0] if samples else None)


def rate_of(samples: Sequence[JobSample], counter: str, over_s: float) -> float | None:
    """How fast a counter grew in the last ``over_s`` seconds, per second; ``None``: too early to say."""
    first = sample_before(samples, samples[-1].at - over_s) if samples else None
    if first is None or samples[-1].at - first.at < LEAST_S:
        return None
    grown: float = getattr(samples[-1], counter) - getattr(first, counter)
    return max(grown, 0.0) / (samples[-1].at - first.at)


def growth_of(samples: Sequence[JobSample], counter: str, over_s: float) -> int:
    """By how much a counter grew in the last ``over_s`` seconds, as far as they are known."""
    first = sample_before(samples, samples[-1].at - over_s) if samples else None
    return 0 if first is None else int(getattr(samples[-1], counter) - getattr(first, counter))


def mean_latency_s(samples: Sequence[JobSample], over_s: float) -> float | None:
    """Return the mean response time of the last ``over_s`` seconds; ``None`` without an answer."""
    first = sample_before(samples, samples[-1].at - over_s) if samples else None
    answers = samples[-1].answers - first.answers if first else 0
    return (samples[-1].latency_sum_s - first.latency_sum_s) / answers if first and answers > 0 else None


def covered_s(samples: Sequence[JobSample]) -> float:
    """The seconds between the first and the last sample."""
    return samples[-1].at - samples[0].at if samples else 0.0


def lately(samples: Sequence[JobSample]) -> list[JobSample]:
    """Return the samples that the shown pace is computed from."""
    return [sample for sample in samples if sample.at >= samples[-1].at - LATELY_S]
