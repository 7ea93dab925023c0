"""The shards of one job: made once, opened when first needed, deleted together."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import msgspec

from gossamer.core.dedup import GENERATIONS, Dedup, buckets_for
from gossamer.core.errors import UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.lifecycle import JobCommand, next_job_state
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis import admin
from gossamer.frontier.redis.shard import RedisShard, script_of
from gossamer.ports.clock import Clock


class NewShardOptions(NamedTuple):
    """How the shards of a new job are made; a job that exists keeps its own."""

    shards: int
    dedup: Dedup
    seen_ttl_s: float | None
    expected: int  # URLs that may come to be known


class ShardPool:
    """The shards of one job."""

    def __init__(
        self,
        server: RedisServer,
        job: str,
        clock: Clock | None,
        *,
        tag: str,
        paces: str,
        new: NewShardOptions,
    ) -> None:
        self._server = server
        self._job = job
        self._clock = clock
        self._tag = tag or job
        self._paces = paces
        self._new = new
        self._opened: tuple[RedisShard, ...] = ()

    async def create_shards(self, rules: FrontierRules) -> None:
        """Make the job's structures; one that has them keeps them. Raises :class:`UsageError`."""
        new = self._new
        (first,) = self._make_shards(1)
        if await first.run_command("EXISTS", "meta"):
            return
        check_budget(rules, new.shards)
        fields = {
            "state": next_job_state(None, JobCommand.CREATE).value,
            "rules": packed_rules(rules),
            "lane_names": msgspec.msgpack.encode(["http"]),
            "shards": new.shards,
            "dedup": new.dedup,
            "buckets": buckets_for(new.dedup, ceil(new.expected / new.shards)),
        }
        if new.seen_ttl_s is not None:
            fields["generation_s"] = f"{new.seen_ttl_s / GENERATIONS:.17g}"
        flat = [part for field in fields.items() for part in field]
        # The first shard last: it is the one that is asked how many there are.
        for shard in reversed(self._make_shards(new.shards)):
            await self._server.run_script(script_of("create"), shard.key, *flat, repeat=True)

    def _make_shards(self, of: int) -> tuple[RedisShard, ...]:
        return tuple(
            RedisShard(self._server, self._job, index, of, self._clock, tag=self._tag, paces=self._paces)
            for index in range(of)
        )

    async def open_shards(self) -> tuple[RedisShard, ...]:
        """Return all shards of the job, in order. Raises ``LostRequestsError`` when there are none."""
        if not self._opened:
            (first,) = self._make_shards(1)
            (of,) = await first.read_meta("shards")
            shards = self._make_shards(int(of))
            for shard in shards:
                await admin.place_hosts(shard)  # the rest of an interrupted change of the rules
            self._opened = shards
        return self._opened

    async def count_shards(self) -> int:
        """Return how many shards there are, those included that a deletion which was cut short has left."""
        (first,) = self._make_shards(1)
        for key in ("meta", "going"):
            if (found := await first.run_command("HGET", key, "shards")) is not None:
                return int(found)
        return 0

    async def delete_shards(self) -> None:
        """Delete everything of the job, its marker first. An interrupted deletion continues the next time."""
        (first,) = self._make_shards(1)
        self._opened = ()
        if of := await self.count_shards():
            await first.run_command("HSET", "going", "shards", of)
            for shard in self._make_shards(of):
                await admin.delete_shard(shard)
            await first.run_command("UNLINK", "going")


def packed_rules(rules: FrontierRules) -> bytes:
    """Return all fields, so that the scripts know no defaults."""
    return msgspec.msgpack.encode({name: getattr(rules, name) for name in rules.__struct_fields__})


def check_budget(rules: FrontierRules, shards: int) -> None:
    """Refuse a page budget that cannot be counted exactly. Raises :class:`UsageError`."""
    if rules.max_pages is not None and shards > 1:
        raise UsageError(
            f"max_pages needs a frontier with one shard, which counts the pages, and this one has {shards}; "
            "set frontier.shards = 1, or leave max_pages out"
        )
