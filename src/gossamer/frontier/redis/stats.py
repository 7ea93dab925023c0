"""The numbers of a job from those of its shards. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import JobState

_COUNTED = ("pending", "delayed", "leased", "done", "dead", "pages", "duplicates", "too_deep", "hosts")


def stats_of(rows: Sequence[Any]) -> FrontierStats:
    """The sums of what the script ``stats`` says of each shard."""
    counts = [sum(numbers) for numbers in zip(*(row[4:13] for row in rows), strict=True)]
    return FrontierStats(
        state=JobState(rows[0][0].decode()),
        next_at=earliest_time(float(row[1]) if row[1] else None for row in rows),
        budget_spent=any(row[2] for row in rows),
        seeded=all(row[3] for row in rows),
        **dict(zip(_COUNTED, counts, strict=True)),
    )


def may_be_over(stats: FrontierStats) -> bool:
    """Whether somebody would end the job by this reading."""
    is_stuck = stats.state is JobState.RUNNING and not stats.leased and stats.next_at is None
    return stats.waiting == 0 or is_stuck


def earliest_time(times: Iterable[float | None]) -> float | None:
    """The first of some times, those left out that are not known."""
    return min((time for time in times if time is not None), default=None)
