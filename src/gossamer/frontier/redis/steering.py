"""Changing how a job is crawled while it runs: its rules, which each shard has, and its hosts."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostState
from gossamer.core.jobs import HostReport
from gossamer.frontier.redis import admin
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.shard_pool import check_budget, packed_rules
from gossamer.frontier.redis.wire import raw_bytes, text_bytes

_rules = msgspec.msgpack.Decoder(FrontierRules)


async def read_rules(shards: Sequence[RedisShard]) -> FrontierRules:
    """Return the rules in force, which the first shard says."""
    (packed,) = await shards[0].read_meta("rules")
    return _rules.decode(packed)


async def change_rules(shards: Sequence[RedisShard], rules: FrontierRules, expected: FrontierRules) -> bool:
    """Put other rules in force, if the ``expected`` ones are: the first shard decides, the others follow."""
    check_budget(rules, len(shards))
    (former,) = await shards[0].read_meta("rules")
    if _rules.decode(former) != expected:
        return False
    for shard in shards:
        guard = raw_bytes(former) if shard is shards[0] else False
        placing = await shard.run_script("rules", raw_bytes(packed_rules(rules)), guard)
        if placing < 0:
            return False
        if placing:
            await admin.place_hosts(shard)
    return True


async def find_host(shard: RedisShard, host: str) -> HostReport | None:
    """Return a host of this shard by its name."""
    key = await shard.run_command("HGET", "names", text_bytes(host))
    if key is None:
        return None
    row = await admin.read_host(shard, key)
    (state,) = await admin.merge_paces(shard, [row])
    return HostReport(host=row.name, state=state, pending=row.pending_count)


async def steer_host(shard: RedisShard, host: str, order: HostOrder) -> HostState | None:
    """Carry out a person's order; the host as it was before."""
    value = order.until if order.command is HostCommand.HOLD else order.delay_s
    said = (raw_bytes(text_bytes(host)), order.command.value, False if value is None else value)
    before = await find_host(shard, host)
    return before.state if before is not None and await shard.run_script("steer", *said) else None
