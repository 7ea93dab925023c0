"""The numbers of a job from those of its shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gossamer.core.jobs import DueCounts, FrontierStats, earliest_time
from gossamer.core.lifecycle import JobState
from gossamer.frontier.redis.shard import RedisShard

_COUNTED = ("pending", "delayed", "leased", "done", "dead", "pages", "duplicates", "too_deep", "hosts")


async def read_many_stats(shards: Mapping[str, RedisShard]) -> dict[str, FrontierStats]:
    """The counts of jobs that have one shard, by the names of these; others, and failures, are left out."""
    commands = [
        command
        for shard in shards.values()
        for command in (("HGET", shard.key_of("meta"), "shards"), shard.script_command("stats"))
    ]
    server = next(iter(shards.values())).server
    answers = await server.run_together(commands)
    pairs = zip(shards, answers[::2], answers[1::2], strict=True)
    return {name: stats_of([row]) for name, of, row in pairs if of == b"1" and isinstance(row, list)}


def stats_of(rows: Sequence[Any]) -> FrontierStats:
    """Return the sums of the shards' answers to the script ``stats``."""
    counts = [sum(numbers) for numbers in zip(*(row[5:14] for row in rows), strict=True)]
    by_lane: dict[str, float] = {}
    for row in rows:
        for name, time in zip(row[2][::2], row[2][1::2], strict=True):
            lane, at = name.decode(), float(time)
            by_lane[lane] = min(at, by_lane.get(lane, at))
    return FrontierStats(
        state=JobState(rows[0][0].decode()),
        deadline=earliest_time(float(row[1]) if row[1] else None for row in rows),
        next_by_lane=by_lane,
        budget_spent=any(row[3] for row in rows),
        seeded=all(row[4] for row in rows),
        **dict(zip(_COUNTED, counts, strict=True)),
    )


def due_of(rows: Iterable[Sequence[Any]]) -> list[DueCounts]:
    """Return the sums of the shards' lanes from the script ``due``."""
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
    """Whether a job may be declared over by this reading."""
    is_stuck = stats.state is JobState.RUNNING and not stats.leased and stats.next_at is None
    return stats.waiting == 0 or is_stuck
