"""Crawls whose requests are in Redis."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gossamer.config import Settings
from gossamer.frontier.redis import RedisFrontier
from gossamer.roster.redis import RedisRoster
from gossamer.servers.redis import RedisClock, RedisServer
from gossamer.servers.redis_errors import BROKER_RIGHTS, meaning
from gossamer.store.redis_state import RedisSharedState
from gossamer.wiring.desk import Desk
from gossamer.wiring.plan import plan_from, settings_under
from gossamer.words.errors import JobBusy, SettingError, StorageError
from gossamer.words.model import Job, Lease, Rules

LOCK_S = 15.0
"""Seconds after which a crawl whose process is gone may be taken up by another."""


class RedisRequests:
    """Requests in Redis; workers of any number of machines share them."""

    def __init__(self, settings: Settings, server: RedisServer, clock: RedisClock) -> None:
        self._settings = settings
        self.server = server
        self.clock = clock
        self.shared = RedisSharedState(server, clock)
        self.roster = RedisRoster(server, settings.cluster.fleet, clock)

    @classmethod
    async def open(cls, settings: Settings, url: str) -> RedisRequests:
        """Connect and look whether this Redis is fit. Raises ``ServiceMissing`` and ``StorageError``."""
        server = RedisServer(url, prefix=settings.redis.prefix)
        try:
            await server.check(require_durable=settings.redis.require_durable)
            return cls(settings, server, await RedisClock.of(server))
        except BaseException:
            await server.close()
            raise

    def frontier(self, job: Job, rules: Rules, *, owner: str = "") -> RedisFrontier:
        """See :class:`~gossamer.wiring.places.Requests`."""
        ours = (
            settings_under(plan_from(job.plan), self._settings).frontier
            if job.plan
            else self._settings.frontier
        )
        return RedisFrontier(
            self.server,
            job.id,
            rules,
            self.clock,
            owner=owner,
            shards=ours.shards,
            dedup=ours.dedup,
            seen_ttl_s=ours.seen_ttl,
            expected=ours.expected,
        )

    async def make(self, job: Job, rules: Rules) -> None:
        """See :class:`~gossamer.wiring.places.Requests`."""
        await self.frontier(job, rules).create()

    async def recover(self, job: Job, owner: str) -> tuple[Lease, ...]:
        """See :class:`~gossamer.wiring.places.Requests`."""
        return await self.frontier(job, Rules()).recover(owner)

    @asynccontextmanager
    async def alone(self, target: str) -> AsyncIterator[None]:
        """See :class:`~gossamer.wiring.places.Requests`."""
        lock = RedisRoster(self.server, f"crawl:{target}", self.clock)
        me = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        if await lock.lead(me, LOCK_S) is None:
            holder = (await lock.look()).leader
            raise JobBusy(
                f"{target} is being crawled by {holder}; wait for it, or stop it "
                f"(a process that was killed lets go of it after {LOCK_S:.0f} seconds)"
            )
        keeping = asyncio.create_task(_keep(lock, me))
        try:
            yield
        finally:
            keeping.cancel()
            with contextlib.suppress(StorageError):
                await lock.lead(me, 0.0)

    async def at_work(self, job: Job) -> str | None:
        """See :class:`~gossamer.wiring.places.Requests`."""
        view = await self.roster.look()
        workers = {shift.worker for shift in view.shifts if shift.job == job.id and shift.worker}
        if workers:
            return f"{len(workers)} worker{'s' * (len(workers) > 1)} of the fleet"
        return (await RedisRoster(self.server, f"crawl:{job.target}", self.clock).look()).leader or None

    async def close(self) -> None:
        """Let go of the connections."""
        await self.server.close()


def roster_of(desk: Desk) -> RedisRequests:
    """The part of a desk that a fleet needs. Raises ``SettingError`` for a frontier in a file."""
    if not isinstance(desk.requests, RedisRequests):
        raise SettingError("a fleet keeps its requests in Redis: set frontier.url to redis://HOST/0")
    return desk.requests


async def _keep(lock: RedisRoster, me: str) -> None:
    """Renew the lock while the crawl is under way; a Redis that is away is the crawl's to complain of."""
    while True:
        await asyncio.sleep(LOCK_S / 3)
        with contextlib.suppress(StorageError):
            await lock.lead(me, LOCK_S)


def broker_meaning(error: BaseException) -> str:
    """What is wrong with a Redis that carries messages, by its driver's error."""
    return meaning(error, BROKER_RIGHTS)
