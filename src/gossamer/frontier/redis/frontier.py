"""The frontier in Redis: one crawl on any number of machines.

Guarantee: every call is one atomic step of a script on each shard, and takes the server's time; a call that
fails has changed nothing, or (over several shards, or more requests than one call takes) has at most
added links before their page was settled, which is then done again. The layout is in ``lua/library.lua``.
A host is on one shard, so its politeness is exact; ``lease`` asks every shard whose turns come first.

``add`` (of an outcome that is uncertain: the server went away), ``settle``, ``extend``, ``release`` and
``stats`` are repeated over a short break of the server; then links that were added count as
duplicates, and leases that were settled as lost. A server that was restarted, or replaced by its replica,
may have lost its last second: the first ``lease`` or ``add`` that meets it does nothing and raises, so that
no caller relies on requests accepted before.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from gossamer.core.dedup import Dedup, DedupReport
from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules, HostOrder, HostSignal, HostState
from gossamer.core.jobs import (
    AddResult,
    DueCounts,
    FrontierStats,
    HostReport,
    KnownRequest,
    earliest_time,
)
from gossamer.core.lifecycle import JobCommand, JobState, next_job_state
from gossamer.core.requests import Entry, Grant, Lease
from gossamer.core.results import Outcome
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis import admin, steering
from gossamer.frontier.redis.dedup import dedup_report
from gossamer.frontier.redis.letter_admin import RedisLetters
from gossamer.frontier.redis.losses import Lives, redo_lost
from gossamer.frontier.redis.search import find_request, raise_requests
from gossamer.frontier.redis.shard import RedisShard
from gossamer.frontier.redis.shard_pool import NewShardOptions, ShardPool, check_budget, packed_rules
from gossamer.frontier.redis.shares import by_shard, even_shares, first_shares, shard_of, split_chunks
from gossamer.frontier.redis.stats import may_be_over, stats_of
from gossamer.frontier.redis.wire import (
    batch_of,
    held_by,
    leases_of,
    packed_outcome,
    packed_release,
    raw_bytes,
    text_bytes,
)
from gossamer.frontier.transitions import ROUND, job_moves_of, state_after
from gossamer.ports.clock import Clock


class RedisFrontier(RedisLetters):
    """An ``OwnedFrontier`` and ``FrontierAdmin`` over a Redis.

    ``create`` makes the place for a job's requests once; ``rules``, ``shards``, ``dedup``, ``seen_ttl_s`` and
    ``expected`` apply to a new job only. ``owner`` names the holder of leases, for ``recover``. ``tag`` is
    the job's name in keys (default: ``job_id``). Jobs with the same ``paces`` share the pace of their hosts,
    except in a cluster. ``seed`` seeds the jitter of back-offs. Without ``uses_server_time`` the clock is
    used. Errors that ``fence`` raises are raised by ``lease``.
    """

    def __init__(
        self,
        server: RedisServer,
        job_id: str,
        rules: FrontierRules,
        clock: Clock,
        *,
        tag: str = "",
        paces: str = "",
        owner: str = "",
        shards: int = 1,
        dedup: Dedup = "exact",
        seen_ttl_s: float | None = None,
        expected: int = 1_000_000,
        uses_server_time: bool = True,
        seed: int | None = None,
        fence: Callable[[], None] = lambda: None,
    ) -> None:
        self._server = server
        self._job = job_id
        self._rules = rules
        self._clock = None if uses_server_time else clock
        self._owner = text_bytes(owner)[:255]
        self._pool = ShardPool(
            server,
            job_id,
            self._clock,
            tag=tag,
            paces="" if server.is_cluster else paces,
            new=NewShardOptions(shards, dedup, seen_ttl_s, expected),
        )
        self._random = random.Random(seed)  # noqa: S311 - spreads back-offs, guards nothing
        self._seeds = random.Random(seed)  # noqa: S311 - delays are drawn by them
        self._jitters: deque[float] = deque()  # drawn, and not used by the call they were drawn for
        self._fence = fence
        self._lives: dict[int, bytes] = {}  # by shard: which life of its server was met

    def __repr__(self) -> str:
        return f"<RedisFrontier {self._job} in {self._server!r}>"

    # ----------------------------------------------------------------- its place

    async def create_shards(self) -> None:
        """Make the job's structures; one that has them keeps them. Raises :class:`UsageError`."""
        await self._pool.create_shards(self._rules)

    async def _open_shards(self) -> tuple[RedisShard, ...]:
        return await self._pool.open_shards()

    async def is_there(self) -> bool:
        """Whether anything of the job exists, even the rest of an interrupted deletion."""
        return await self._pool.count_shards() > 0

    async def delete_requests(self) -> None:
        """Delete everything of the job, its marker first. An interrupted deletion continues the next time."""
        await self._pool.delete_shards()

    # ----------------------------------------------------------------- the port

    async def add(self, entries: Sequence[Entry]) -> AddResult:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return await self._add_entries(await self._open_shards(), entries)

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Grant:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        self._fence()
        shards = await self._open_shards()
        wanted, left = await first_shares(shards, lane, limit), limit
        leases: list[Lease] = []
        expired: list[Lease] = []
        next_times: dict[RedisShard, float | None] = {}
        while wanted:
            got = await asyncio.gather(
                *(self._lease_share(shard, lane, share, ttl_s) for shard, share in wanted.items())
            )
            generous = []  # who gave all that it was asked for may have more
            for grant, (shard, share) in zip(got, wanted.items(), strict=True):
                leases += grant.leases
                expired += grant.expired
                next_times[shard] = grant.next_at
                if 0 < share == len(grant.leases):
                    generous.append(shard)
            left = limit - len(leases)
            wanted = even_shares(generous, left)
        if len(shards) > 1:
            leases.sort(key=lambda lease: lease.entry.request.band)
        return Grant(leases=tuple(leases), next_at=earliest_time(next_times.values()), expired=tuple(expired))

    async def _lease_share(self, shard: RedisShard, lane: str, limit: int, ttl_s: float) -> Grant:
        known = self._lives.get(shard.index, b"")
        asked = (
            raw_bytes(text_bytes(lane)),
            limit,
            ttl_s,
            raw_bytes(self._owner),
            raw_bytes(known),
            self._seeds.random(),
        )
        _, next_at, expired, leases, life = await shard.run_script("lease", *asked)
        self._check_life(shard, known, life)
        return Grant(
            leases=tuple(leases_of(leases, shard.index, shard.of)),
            next_at=float(next_at) if next_at else None,
            expired=tuple(leases_of(expired, shard.index, shard.of)),
        )

    def _check_life(self, shard: RedisShard, known: bytes, life: bytes) -> None:
        """Raise, once, when a shard's server is in another life than before: the call has done nothing."""
        if known and life and known != life:
            self._lives.clear()
            raise StorageError(
                f"Redis at {self._server.where} was restarted, or another one took its place, and may have "
                "lost the last second, so what this process remembers about it no longer counts. "
                "A fleet continues by itself, a crawl with the same command"
            )
        if life:
            self._lives[shard.index] = life

    async def settle(self, outcomes: Sequence[Outcome]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        for outcome in outcomes:
            state_after(outcome)  # refuses before anything has changed
        shards = await self._open_shards()
        answers = [False] * len(outcomes)
        for shard, ours in by_shard(shards, outcomes, lambda outcome: outcome.lease.entry.host).items():
            for chunk in split_chunks(ours, lambda item: 1 + len(item[1].outlinks)):
                found = await self._settle_chunk(shards, shard, [outcome for _, outcome in chunk])
                for (position, _), accepted in zip(chunk, found, strict=True):
                    answers[position] = accepted
        return answers

    async def _settle_chunk(
        self, shards: Sequence[RedisShard], shard: RedisShard, outcomes: list[Outcome]
    ) -> list[bool]:
        links = [outcome.outlinks for outcome in outcomes]
        added: list[Any] = []
        if len(shards) > 1 or len(links[0]) >= ROUND:
            now, since, lives = asyncio.get_running_loop().time, asyncio.get_running_loop().time(), Lives()
            links = await self._add_ahead(shards, shard, outcomes, lives)
            added = [now() - since, *(value for index, life in lives for value in (index, raw_bytes(life)))]
        flat: list[Any] = []
        for outcome, ours in zip(outcomes, links, strict=True):
            flat += packed_outcome(outcome, shard.token_of(outcome.lease), len(ours))
        batch = batch_of(entry for ours in links for entry in ours)
        jitters = self._draw_jitters(len(outcomes))
        answers, used = await shard.run_script("settle", flat, jitters, batch, added, repeat=True)
        self._jitters.extendleft(reversed(jitters[used:]))
        return [bool(answer) for answer in answers]

    async def _add_ahead(
        self, shards: Sequence[RedisShard], shard: RedisShard, outcomes: list[Outcome], lives: Lives
    ) -> list[tuple[Entry, ...]]:
        """Add the links that do not fit into the settling call: those of other shards, and those past its
        size.

        Only while the lease is in force. Returns the links still to add with each outcome; ``lives`` collects
        the shards' lives that took the others.
        """
        held = await self._extend_chunk(shard, [outcome.lease for outcome in outcomes], None)
        elsewhere: list[Entry] = []
        here: list[tuple[Entry, ...]] = []
        for outcome, is_held in zip(outcomes, held, strict=True):
            own: list[Entry] = []
            for entry in outcome.outlinks if is_held else ():
                (own if shard_of(shards, entry.host) is shard else elsewhere).append(entry)
            early, late = own[: -ROUND + 1], own[-ROUND + 1 :]
            lease = outcome.lease
            for chunk in split_chunks(early):
                guard = (shard.token_of(lease), held_by(lease))
                if answer := await shard.run_script("add", batch_of(chunk), *guard, False, repeat=True):
                    lives.add((shard.index, answer[3]))
            here.append(tuple(late))
        await self._add_entries(shards, elsewhere, lives)
        return here

    async def extend(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        answers = [False] * len(leases)
        for shard, ours in by_shard(await self._open_shards(), leases, _host_of).items():
            for chunk in split_chunks(ours):
                found = await self._extend_chunk(shard, [lease for _, lease in chunk], ttl_s)
                for (position, _), held in zip(chunk, found, strict=True):
                    answers[position] = held
        return answers

    async def _extend_chunk(
        self, shard: RedisShard, leases: Sequence[Lease], ttl_s: float | None
    ) -> list[bool]:
        tokens = [shard.token_of(lease) for lease in leases]
        fingerprints = [held_by(lease) for lease in leases]
        found = await shard.run_script(
            "extend", tokens, fingerprints, False if ttl_s is None else ttl_s, repeat=True
        )
        return [bool(held) for held in found]

    async def release(self, leases: Sequence[Lease], signals: Sequence[HostSignal]) -> None:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        pairs = list(zip(leases, signals, strict=True))
        for shard, ours in by_shard(await self._open_shards(), pairs, lambda pair: _host_of(pair[0])).items():
            for chunk in split_chunks(ours):
                flat: list[Any] = []
                for _, (lease, signal) in chunk:
                    flat += packed_release(lease, signal, shard.token_of(lease))
                jitters = self._draw_jitters(len(chunk))
                used = await shard.run_script("release", flat, jitters, repeat=True)
                self._jitters.extendleft(reversed(jitters[used:]))

    async def apply_change(self, change: JobCommand, rules: FrontierRules | None = None) -> tuple[Lease, ...]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        shards = await self._open_shards()
        if rules is not None:
            check_budget(rules, len(shards))
        moves, state = job_moves_of(change), ""
        packed = False if rules is None else raw_bytes(packed_rules(rules))
        for shard in shards:  # the first one decides, the others follow it
            # Requests accepted in an earlier life may be lost: then the job must not count as finished.
            known = self._lives.get(shard.index, b"") if change is JobCommand.FINISH else b""
            placing, life, before, after = await shard.run_script(
                "control", {} if state else moves, state, packed, raw_bytes(known)
            )
            self._check_life(shard, known, life)
            state = after.decode() or next_job_state(JobState(before.decode()), change).value
            if placing:
                await admin.place_hosts(shard)
        if change is not JobCommand.RECOVER:
            return ()
        await self.redo_lost()
        return await admin.recover_leases(shards, None)

    async def finish_seeding(self) -> None:
        """See :class:`~gossamer.ports.fleet_frontier.FleetFrontier`."""
        for shard in await self._open_shards():
            known = self._lives.get(shard.index, b"")
            self._check_life(shard, known, await shard.run_script("seeded", raw_bytes(known), repeat=True))

    async def redo_lost(self) -> int:
        """See :class:`~gossamer.ports.fleet_frontier.FleetFrontier`."""
        return await redo_lost(await self._open_shards())

    async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
        """See :class:`~gossamer.ports.owned_frontier.OwnedFrontier`."""
        return await admin.recover_leases(await self._open_shards(), text_bytes(owner)[:255])

    async def read_stats(self) -> FrontierStats:
        """See :class:`~gossamer.ports.frontier.Frontier`.

        Several shards are read one after the other. The figures that decide whether a job may be over are
        read until two readings agree; since their counters only rise, there was a moment at which they held.
        """
        shards = await self._open_shards()
        rows: list[Any] = []
        while True:
            before, rows = rows, [await shard.run_script("stats", repeat=True) for shard in shards]
            stats = stats_of(rows)
            if len(shards) == 1 or not may_be_over(stats):
                return stats
            if [row[4:] for row in before] == [row[4:] for row in rows]:
                return stats

    def _draw_jitters(self, count: int) -> list[float]:
        """As many jitters as one call may need, those first that another has left."""
        return [self._jitters.popleft() if self._jitters else self._random.random() for _ in range(count)]

    async def _add_entries(
        self, shards: Sequence[RedisShard], entries: Sequence[Entry], lives: Lives | None = None
    ) -> AddResult:
        counts = [0, 0, 0]
        for shard, ours in by_shard(shards, entries, lambda entry: entry.host).items():
            for chunk in split_chunks(ours):
                batch = batch_of(entry for _, entry in chunk)
                known = self._lives.get(shard.index, b"")
                *answer, life = await shard.run_script(
                    "add", batch, False, False, raw_bytes(known), repeat=True
                )
                self._check_life(shard, known, life)
                if lives is not None:
                    lives.add((shard.index, life))
                counts = [one + other for one, other in zip(counts, answer, strict=True)]
        return AddResult(accepted=counts[0], duplicates=counts[1], too_deep=counts[2])

    # ----------------------------------------------------------------- for people and commands

    async def are_known(self, entries: Sequence[Entry]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        answers = [False] * len(entries)
        for shard, ours in by_shard(await self._open_shards(), entries, lambda entry: entry.host).items():
            for chunk in split_chunks(ours):
                found = await admin.are_known(shard, [entry.fingerprint for _, entry in chunk])
                for (position, _), is_known in zip(chunk, found, strict=True):
                    answers[position] = is_known
        return answers

    async def find_request(
        self, fingerprint: int, host: str, *, tried_at: float = 0.0
    ) -> KnownRequest | None:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`. Searches the host's waiting requests."""
        return await find_request(shard_of(await self._open_shards(), host), fingerprint, host, tried_at)

    async def raise_requests(self, entries: Sequence[Entry]) -> int:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        raised = 0
        for shard, ours in by_shard(await self._open_shards(), entries, lambda entry: entry.host).items():
            raised += await raise_requests(shard, [entry for _, entry in ours])
        return raised

    async def read_rules(self) -> FrontierRules:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        return await steering.read_rules(await self._open_shards())

    async def change_rules(self, rules: FrontierRules, *, expected: FrontierRules) -> bool:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        return await steering.change_rules(await self._open_shards(), rules, expected)

    async def find_host(self, host: str) -> HostReport | None:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        return await steering.find_host(shard_of(await self._open_shards(), host), host)

    async def steer_host(self, host: str, order: HostOrder) -> HostState | None:
        """See :class:`~gossamer.ports.steered_frontier.SteeredFrontier`."""
        return await steering.steer_host(shard_of(await self._open_shards(), host), host, order)

    async def busiest_hosts(self, limit: int) -> list[HostReport]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await admin.busiest_hosts(await self._open_shards(), limit)

    async def count_due(self) -> list[DueCounts]:
        """See :class:`~gossamer.ports.frontier_admin.FrontierAdmin`."""
        return await admin.count_due(await self._open_shards())

    async def dedup_report(self) -> DedupReport:
        """Return how URLs are known again, and how often a new one is taken for a known one."""
        return await dedup_report(await self._open_shards())


def _host_of(lease: Lease) -> str:
    return lease.entry.host
