"""The parts of a fleet at its servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gossamer.core.errors import SettingError
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.fetch.trusted_hosts import SharedTrust
from gossamer.policy import urls
from gossamer.targets.discovery import Target
from gossamer.wiring.assemble import Wired
from gossamer.wiring.backends import Desk
from gossamer.wiring.redis import RedisRequests


def roster_of(desk: Desk) -> RedisRequests:
    """The part of a desk that a fleet needs. Raises ``SettingError`` for a frontier in a file."""
    if not isinstance(desk.requests, RedisRequests):
        raise SettingError("a fleet keeps its requests in Redis: set frontier.url to redis://HOST/0")
    return desk.requests


async def named_seeds(desk: Desk, wired: Wired, target: Target, job: Job) -> AsyncIterator[Request]:
    """The spider's first requests; every worker knows of their hosts before one can be leased."""
    trust = SharedTrust(desk.requests.shared, job)
    known: set[str] = set()
    async for request in wired.seeds(target.spider):
        host = urls.hostname(request.url)
        if host not in known:
            await trust.name(host)
            known.add(host)
        yield request
