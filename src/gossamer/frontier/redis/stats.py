"""The numbers of a job from those of its shards. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gossamer.core.jobs import DueCounts, FrontierStats
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


def due_of(rows: Iterable[Sequence[Any]]) -> list[DueCounts]:
    """The sums of what the script ``due`` says of each shard's lanes."""
    found: dict[str, DueCounts] = {}
    for name, requests, since, has_more in rows:
        lane = name.decode()
        known = found.get(lane, DueCounts(lane=lane, requests=0))
        found[lane] = DueCounts(
            lane=lane,
            requests=known.requests + requests,
            since=earliest_time((known.since, float(since) if since else None)),
            has_more=known.has_more or bool(has_more),
        )
    return [found[lane] for lane in sorted(found)]


def may_be_over(stats: FrontierStats) -> bool:
    """Whether somebody would end the job by this reading."""
    is_stuck = stats.state is JobState.RUNNING and not stats.leased and stats.next_at is None
    return stats.waiting == 0 or is_stuck


def earliest_time(times: Iterable[float | None]) -> float | None:
    """The first of some times, those left out that are not known."""
    return min((time for time in times if time is not None), default=None)
