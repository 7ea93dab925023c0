"""The frontier in Redis: one crawl on any number of machines.

Guarantee: every call is one atomic step of a script on each shard, and takes the server's time; a call that
fails has changed nothing, or (over several shards, or more requests than one call takes) has at most
added links before their page was settled, which is then done again. The layout is in ``lua/library.lua``.
A host is on one shard, so its politeness is exact; ``lease`` asks every shard whose turns come first.

``add`` (of an outcome that is uncertain: the server went away), ``settle``, ``extend``, ``release`` and
``stats`` are repeated over a short break of the server; then links that were added count as
duplicates, and leases that were settled as lost. A server that was restarted, or replaced by its replica,
may have lost its last second: the first ``lease`` or ``add`` that meets it does nothing and raises, so that
nobody goes by what was accepted before.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import ceil
from typing import Any

import msgspec

from gossamer.core.clock import Clock
from gossamer.core.dedup import GENERATIONS, Dedup, DedupReport, buckets_for
from gossamer.core.errors import StorageError, UsageError
from gossamer.core.hosts import HostSignal, Rules
from gossamer.core.jobs import Added, Change, DeadFilter, DeadLetter, Found, FrontierStats, HostReport
from gossamer.core.lifecycle import JobState
from gossamer.core.position import Place
from gossamer.core.requests import Entry, Grant, Lease
from gossamer.core.results import Outcome
from gossamer.drivers.redis.server import RedisServer
from gossamer.frontier.redis import admin as desk
from gossamer.frontier.redis.dedup import dedup_report
from gossamer.frontier.redis.losses import Lives, redo_lost
from gossamer.frontier.redis.shard import Shard, script_of
from gossamer.frontier.redis.shares import by_shard, chunks, even_shares, first_shares, shard_of
from gossamer.frontier.redis.wire import (
    batch_of,
    held_by,
    leases_of,
    packed_outcome,
    packed_release,
    raw,
    text_bytes,
)
from gossamer.frontier.transitions import ROUND, job_state_after, state_after


class RedisFrontier:
    """An ``OwnedFrontier`` and ``FrontierDesk`` over a Redis.

    ``create`` makes a job's requests a place once; ``rules``, ``shards``, ``dedup``, ``seen_ttl_s`` and
    ``expected`` are those of a new job, and one that exists keeps its own. ``owner`` is who leases, for
    ``recover``. ``tag`` is the job's name in keys (default: ``job_id``). ``seed`` seeds the jitter of
    back-offs. Without ``uses_server_time`` the clock is asked. What ``fence`` raises, ``lease`` does.
    """

    def __init__(
        self,
        server: RedisServer,
        job_id: str,
        rules: Rules,
        clock: Clock,
        *,
        tag: str = "",
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
        self._tag = tag or job_id
        self._rules = rules
        self._clock = None if uses_server_time else clock
        self._owner = text_bytes(owner)[:255]
        self._new = (shards, dedup, seen_ttl_s, expected)
        self._random = random.Random(seed)  # noqa: S311 - spreads back-offs, guards nothing
        self._jitters: deque[float] = deque()  # drawn, and not used by the call they were drawn for
        self._fence = fence
        self._lives: dict[int, bytes] = {}  # by shard: which life of its server was met
        self._opened: tuple[Shard, ...] = ()

    def __repr__(self) -> str:
        return f"<RedisFrontier {self._job} in {self._server!r}>"

    # ----------------------------------------------------------------- its place

    async def create(self) -> None:
        """Make the job's structures; one that has them keeps them. Raises :class:`UsageError`."""
        shards, dedup, seen_ttl_s, expected = self._new
        (first,) = self._all(1)
        if await first.ask("EXISTS", "meta"):
            return
        _check_budget(self._rules, shards)
        fields = {
            "state": JobState.RUNNING.value,
            "rules": _packed_rules(self._rules),
            "lane_names": msgspec.msgpack.encode(["http"]),
            "shards": shards,
            "dedup": dedup,
            "buckets": buckets_for(dedup, ceil(expected / shards)),
        }
        if seen_ttl_s is not None:
            fields["generation_s"] = f"{seen_ttl_s / GENERATIONS:.17g}"
        flat = [part for field in fields.items() for part in field]
        # The first shard last: it is the one that is asked how many there are.
        for shard in reversed(self._all(shards)):
            await self._server.run(script_of("create"), shard.key, *flat, repeat=True)

    def _all(self, of: int) -> tuple[Shard, ...]:
        return tuple(
            Shard(self._server, self._job, index, of, self._clock, tag=self._tag) for index in range(of)
        )

    async def _shards(self) -> tuple[Shard, ...]:
        if not self._opened:
            (first,) = self._all(1)
            (of,) = await first.meta("shards")
            shards = self._all(int(of))
            for shard in shards:
                await desk.place_hosts(shard)  # what a change of the rules that was cut short has left
            self._opened = shards
        return self._opened

    async def is_there(self) -> bool:
        """Whether there is anything of the job, be it what a ``forget`` that was cut short has left."""
        return await self._shards_left() > 0

    async def _shards_left(self) -> int:
        (first,) = self._all(1)
        for key in ("meta", "going"):
            if (found := await first.ask("HGET", key, "shards")) is not None:
                return int(found)
        return 0

    async def forget(self) -> None:
        """Delete everything of the job, its marker first. What was cut short goes on the next time."""
        (first,) = self._all(1)
        self._opened = ()
        if of := await self._shards_left():
            await first.ask("HSET", "going", "shards", of)
            for shard in self._all(of):
                await desk.forget(shard)
            await first.ask("UNLINK", "going")

    # ----------------------------------------------------------------- the port

    async def add(self, entries: Sequence[Entry]) -> Added:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        return await self._add(await self._shards(), entries)

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Grant:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        self._fence()
        shards = await self._shards()
        wanted, left = await first_shares(shards, lane, limit), limit
        leases: list[Lease] = []
        expired: list[Lease] = []
        next_times: dict[Shard, float | None] = {}
        while wanted:
            got = await asyncio.gather(
                *(self._lease(shard, lane, share, ttl_s) for shard, share in wanted.items())
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
        return Grant(leases=tuple(leases), next_at=_earliest(next_times.values()), expired=tuple(expired))

    async def _lease(self, shard: Shard, lane: str, limit: int, ttl_s: float) -> Grant:
        known = self._lives.get(shard.index, b"")
        asked = (raw(text_bytes(lane)), limit, ttl_s, raw(self._owner), raw(known))
        _, next_at, expired, leases, life = await shard.run("lease", *asked)
        self._meet(shard, known, life)
        return Grant(
            leases=tuple(leases_of(leases, shard.index, shard.of)),
            next_at=float(next_at) if next_at else None,
            expired=tuple(leases_of(expired, shard.index, shard.of)),
        )

    def _meet(self, shard: Shard, known: bytes, life: bytes) -> None:
        """Raise, once, when a shard's server is in another life than before: the call has done nothing."""
        if known and life and known != life:
            self._lives.clear()
            raise StorageError(
                f"Redis at {self._server.where} was restarted, or another one took its place, and may have "
                "lost the last second: what this process remembers of it no longer counts. "
                "A fleet goes on by itself, a crawl by the same command"
            )
        if life:
            self._lives[shard.index] = life

    async def settle(self, outcomes: Sequence[Outcome]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        for outcome in outcomes:
            state_after(outcome.verdict)  # refuses before anything has changed
        shards = await self._shards()
        answers = [False] * len(outcomes)
        for shard, ours in by_shard(shards, outcomes, lambda outcome: outcome.lease.entry.host).items():
            for chunk in chunks(ours, lambda item: 1 + len(item[1].outlinks)):
                found = await self._settle(shards, shard, [outcome for _, outcome in chunk])
                for (position, _), accepted in zip(chunk, found, strict=True):
                    answers[position] = accepted
        return answers

    async def _settle(self, shards: Sequence[Shard], shard: Shard, outcomes: list[Outcome]) -> list[bool]:
        links = [outcome.outlinks for outcome in outcomes]
        added: list[Any] = []
        if len(shards) > 1 or len(links[0]) >= ROUND:
            now, since, lives = asyncio.get_running_loop().time, asyncio.get_running_loop().time(), Lives()
            links = await self._add_ahead(shards, shard, outcomes, lives)
            added = [now() - since, *(value for index, life in lives for value in (index, raw(life)))]
        flat: list[Any] = []
        for outcome, ours in zip(outcomes, links, strict=True):
            flat += packed_outcome(outcome, shard.token(outcome.lease), len(ours))
        batch = batch_of(entry for ours in links for entry in ours)
        jitters = self._draw(len(outcomes))
        answers, used = await shard.run("settle", flat, jitters, batch, added, repeat=True)
        self._jitters.extendleft(reversed(jitters[used:]))
        return [bool(answer) for answer in answers]

    async def _add_ahead(
        self, shards: Sequence[Shard], shard: Shard, outcomes: list[Outcome], lives: Lives
    ) -> list[tuple[Entry, ...]]:
        """Add what does not fit into the call that settles: links of other shards, and those past its size.

        Only while the lease is in force. What is left to be added with each outcome; ``lives`` takes in
        where the others went.
        """
        held = await self._extend(shard, [outcome.lease for outcome in outcomes], None)
        elsewhere: list[Entry] = []
        here: list[tuple[Entry, ...]] = []
        for outcome, is_held in zip(outcomes, held, strict=True):
            own: list[Entry] = []
            for entry in outcome.outlinks if is_held else ():
                (own if shard_of(shards, entry.host) is shard else elsewhere).append(entry)
            early, late = own[: -ROUND + 1], own[-ROUND + 1 :]
            lease = outcome.lease
            for chunk in chunks(early):
                guard = (shard.token(lease), held_by(lease))
                if answer := await shard.run("add", batch_of(chunk), *guard, False, repeat=True):
                    lives.add((shard.index, answer[3]))
            here.append(tuple(late))
        await self._add(shards, elsewhere, lives)
        return here

    async def extend(self, leases: Sequence[Lease], ttl_s: float) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        answers = [False] * len(leases)
        for shard, ours in by_shard(await self._shards(), leases, _host).items():
            for chunk in chunks(ours):
                found = await self._extend(shard, [lease for _, lease in chunk], ttl_s)
                for (position, _), held in zip(chunk, found, strict=True):
                    answers[position] = held
        return answers

    async def _extend(self, shard: Shard, leases: Sequence[Lease], ttl_s: float | None) -> list[bool]:
        tokens = [shard.token(lease) for lease in leases]
        fingerprints = [held_by(lease) for lease in leases]
        found = await shard.run(
            "extend", tokens, fingerprints, False if ttl_s is None else ttl_s, repeat=True
        )
        return [bool(held) for held in found]

    async def release(self, leases: Sequence[Lease], signals: Sequence[HostSignal]) -> None:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        pairs = list(zip(leases, signals, strict=True))
        for shard, ours in by_shard(await self._shards(), pairs, lambda pair: _host(pair[0])).items():
            for chunk in chunks(ours):
                flat: list[Any] = []
                for _, (lease, signal) in chunk:
                    flat += packed_release(lease, signal, shard.token(lease))
                jitters = self._draw(len(chunk))
                used = await shard.run("release", flat, jitters, repeat=True)
                self._jitters.extendleft(reversed(jitters[used:]))

    async def control(self, change: Change, rules: Rules | None = None) -> tuple[Lease, ...]:
        """See :class:`~gossamer.ports.frontier.Frontier`."""
        shards = await self._shards()
        if rules is not None:
            _check_budget(rules, len(shards))
        state = False if change is Change.RECOVER else job_state_after(change, JobState.RUNNING).value
        packed = False if rules is None else raw(_packed_rules(rules))
        for shard in shards:
            # What was accepted in an earlier life may be lost: by that, nobody may call the job finished.
            known = self._lives.get(shard.index, b"") if change is Change.FINISH else b""
            placing, life = await shard.run("control", state, packed, raw(known))
            self._meet(shard, known, life)
            if placing:
                await desk.place_hosts(shard)
        if change is not Change.RECOVER:
            return ()
        await self.redo_lost()
        return await self._recover(shards, None)

    async def finish_seeding(self) -> None:
        """See :class:`~gossamer.fleet.parts.FleetFrontier`."""
        for shard in await self._shards():
            known = self._lives.get(shard.index, b"")
            self._meet(shard, known, await shard.run("seeded", raw(known), repeat=True))

    async def redo_lost(self) -> int:
        """See :class:`~gossamer.fleet.parts.FleetFrontier`."""
        return await redo_lost(await self._shards())

    async def recover(self, owner: str) -> tuple[Lease, ...]:
        """See :class:`~gossamer.ports.frontier.OwnedFrontier`."""
        return await self._recover(await self._shards(), text_bytes(owner)[:255])

    async def _recover(self, shards: Sequence[Shard], owner: bytes | None) -> tuple[Lease, ...]:
        taken: list[Lease] = []
        for shard in shards:
            for tokens in chunks(await desk.tokens_of(shard, owner)):
                shown = await shard.run("take_back", tokens)
                taken += leases_of(shown, shard.index, shard.of)
        return tuple(sorted(taken, key=lambda lease: (lease.deadline, lease.token)))

    async def stats(self) -> FrontierStats:
        """See :class:`~gossamer.ports.frontier.Frontier`.

        Several shards are read one after the other. What says that a job may be over is read until two
        readings agree; then there was a moment at which it was so, since their counters only rise.
        """
        shards = await self._shards()
        rows: list[Any] = []
        while True:
            before, rows = rows, [await shard.run("stats", repeat=True) for shard in shards]
            stats = _stats_of(rows)
            if len(shards) == 1 or not _may_be_over(stats):
                return stats
            if [row[4:] for row in before] == [row[4:] for row in rows]:
                return stats

    def _draw(self, count: int) -> list[float]:
        """As many jitters as one call may need, those first that another has left."""
        return [self._jitters.popleft() if self._jitters else self._random.random() for _ in range(count)]

    async def _add(
        self, shards: Sequence[Shard], entries: Sequence[Entry], lives: Lives | None = None
    ) -> Added:
        counts = [0, 0, 0]
        for shard, ours in by_shard(shards, entries, lambda entry: entry.host).items():
            for chunk in chunks(ours):
                batch = batch_of(entry for _, entry in chunk)
                known = self._lives.get(shard.index, b"")
                *answer, life = await shard.run("add", batch, False, False, raw(known), repeat=True)
                self._meet(shard, known, life)
                if lives is not None:
                    lives.add((shard.index, life))
                counts = [one + other for one, other in zip(counts, answer, strict=True)]
        return Added(accepted=counts[0], duplicates=counts[1], too_deep=counts[2])

    # ----------------------------------------------------------------- the desk

    async def known(self, entries: Sequence[Entry]) -> list[bool]:
        """See :class:`~gossamer.ports.frontier.FrontierDesk`."""
        answers = [False] * len(entries)
        for shard, ours in by_shard(await self._shards(), entries, lambda entry: entry.host).items():
            for chunk in chunks(ours):
                found = await desk.known(shard, [entry.fingerprint for _, entry in chunk])
                for (position, _), is_known in zip(chunk, found, strict=True):
                    answers[position] = is_known
        return answers

    async def find(self, fingerprint: int) -> Found | None:
        """See :class:`~gossamer.ports.frontier.FrontierDesk`. Searches all that waits: for people."""
        return await desk.find(await self._shards(), fingerprint)

    async def place(self, fingerprint: int) -> tuple[Rules, Place]:
        """The rules in force, and where a request stands. Searches all that waits: for people."""
        return await desk.place(await self._shards(), fingerprint)

    async def hosts(self, limit: int) -> list[HostReport]:
        """See :class:`~gossamer.ports.frontier.FrontierDesk`."""
        return await desk.hosts(await self._shards(), limit)

    async def dead(self, which: DeadFilter, limit: int = 1000) -> list[DeadLetter]:
        """See :class:`~gossamer.ports.frontier.FrontierDesk`."""
        return await desk.dead(await self._shards(), which, limit)

    async def revive(self, which: DeadFilter) -> int:
        """See :class:`~gossamer.ports.frontier.FrontierDesk`."""
        return await desk.judge(await self._shards(), "revive", which)

    async def drop(self, which: DeadFilter) -> int:
        """See :class:`~gossamer.ports.frontier.FrontierDesk`."""
        return await desk.judge(await self._shards(), "drop", which)

    async def dedup_report(self) -> DedupReport:
        """How URLs are known again, and how often a new one is taken for a known one."""
        return await dedup_report(await self._shards())


_COUNTED = ("pending", "delayed", "leased", "done", "dead", "pages", "duplicates", "too_deep", "hosts")


def _stats_of(rows: Sequence[Any]) -> FrontierStats:
    counts = [sum(numbers) for numbers in zip(*(row[4:13] for row in rows), strict=True)]
    return FrontierStats(
        state=JobState(rows[0][0].decode()),
        next_at=_earliest(float(row[1]) if row[1] else None for row in rows),
        budget_spent=any(row[2] for row in rows),
        seeded=all(row[3] for row in rows),
        **dict(zip(_COUNTED, counts, strict=True)),
    )


def _may_be_over(stats: FrontierStats) -> bool:
    """Whether somebody would end the job by this reading."""
    is_stuck = stats.state is JobState.RUNNING and not stats.leased and stats.next_at is None
    return stats.waiting == 0 or is_stuck


def _host(lease: Lease) -> str:
    return lease.entry.host


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((time for time in times if time is not None), default=None)


def _packed_rules(rules: Rules) -> bytes:
    """All fields, so that the scripts know no defaults."""
    return msgspec.msgpack.encode({name: getattr(rules, name) for name in rules.__struct_fields__})


def _check_budget(rules: Rules, shards: int) -> None:
    if rules.max_pages is not None and shards > 1:
        raise UsageError(
            f"max_pages needs one place that counts, and this frontier has {shards} shards; "
            "set frontier.shards = 1, or leave max_pages out"
        )
