"""The fitness of servers and disks for a crawl: descriptions and necessary changes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.core.record import Record
from gossamer.core.text import format_count
from gossamer.policy.sentences.words import SentenceFormatter

PROCESS_CONNECTIONS = 4
"""Connections to PostgreSQL that one process of Gossamer keeps at most."""
LITTLE_DISK, NO_DISK = 2_000_000_000, 100_000_000


class FitnessReport(NamedTuple):
    """The description of a part, and the change that it needs (empty: none)."""

    found: str
    advice: str = ""


class RedisFacts(Record, frozen=True):
    """Facts that a Redis reports about itself."""

    version: str
    role: str = "master"
    replicas: int = 0
    used_bytes: int = 0
    max_bytes: int = 0  # 0: it has no limit
    policy: str = "noeviction"
    is_durable: bool = True


def judge_redis(servers: Sequence[RedisFacts], full_share: float, show: SentenceFormatter) -> FitnessReport:
    """The primaries of one Redis or cluster; ``full_share`` of its memory is nearly all."""
    fullest = max(servers, key=lambda one: one.used_bytes / one.max_bytes if one.max_bytes else 0.0)
    replicas = sum(one.replicas for one in servers)
    role = "a primary" if len(servers) == 1 else f"{len(servers)} primaries of a cluster"
    if servers[0].role != "master":
        role = f"a {servers[0].role}"
    followed = f"with {format_count(replicas, 'replica')}" if replicas else "without replicas"
    memory = f"{show.size(fullest.used_bytes)} used"
    memory += f" of a maxmemory of {show.size(fullest.max_bytes)}" if fullest.max_bytes else ", no maxmemory"
    return FitnessReport(
        f"Redis {servers[0].version}, {role} {followed}, {memory}",
        _advise_redis(servers, fullest, full_share),
    )


def _advise_redis(servers: Sequence[RedisFacts], fullest: RedisFacts, full_share: float) -> str:
    if dropping := [one.policy for one in servers if one.policy != "noeviction"]:
        return (
            f"it drops keys when it is full (maxmemory-policy {dropping[0]}), and with them requests: "
            "redis-cli CONFIG SET maxmemory-policy noeviction"
        )
    if not all(one.is_durable for one in servers):
        return "it loses its data when it stops (no append-only file): redis-cli CONFIG SET appendonly yes"
    share = fullest.used_bytes / fullest.max_bytes if fullest.max_bytes else 0.0
    if full_share and share >= full_share:
        return f"it uses {share:.0%} of its maxmemory; give it more (CONFIG SET maxmemory SIZE)"
    return ""


class PostgresFacts(Record, frozen=True):
    """Facts that a PostgreSQL reports about itself and the connected user."""

    version: str
    used: int = 0  # connections
    ours: int = 0  # of these, those of Gossamer
    most: int = 0  # for ordinary users
    time: float = 0.0
    is_read_only: bool = False  # a standby, or a user for reading
    lacks: str = ""  # the right that the user lacks


def judge_postgres(facts: PostgresFacts, processes: int) -> FitnessReport:
    """``processes`` of Gossamer are to work with it, those that are connected already included."""
    found = f"PostgreSQL {facts.version}, {facts.used} of {facts.most} connections in use"
    needed, left = processes * PROCESS_CONNECTIONS, facts.most - facts.used + facts.ours
    if needed <= left:
        return FitnessReport(found)
    return FitnessReport(
        found,
        f"{format_count(processes, 'process', 'processes')} of Gossamer may need {needed} connections, and "
        f"{left} are left for them: raise max_connections, or run fewer processes",
    )


class DiskState(NamedTuple):
    """Whether there is room on a disk: enough, little, or too little to begin."""

    is_enough: bool
    is_usable: bool


def judge_disk(free_bytes: int) -> DiskState:
    """The free space where a crawl writes."""
    return DiskState(free_bytes >= LITTLE_DISK, free_bytes >= NO_DISK)
