"""The parts of a fleet at its servers."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gossamer.core.errors import SettingError
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.fetch.trusted_hosts import TrustedHosts
from gossamer.policy import urls
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.assemble import CrawlParts
from gossamer.wiring.backends import Backends
from gossamer.wiring.redis import RedisFrontierBackend


def roster_of(desk: Backends) -> RedisFrontierBackend:
    """The part of a desk that a fleet needs. Raises ``SettingError`` for a frontier in a file."""
    if not isinstance(desk.requests, RedisFrontierBackend):
        raise SettingError("a fleet keeps its requests in Redis: set frontier.url to redis://HOST/0")
    return desk.requests


async def named_seeds(
    desk: Backends, wired: CrawlParts, target: CrawlTarget, job: Job
) -> AsyncIterator[Request]:
    """The spider's first requests; every worker knows of their hosts before one can be leased."""
    trust = TrustedHosts(desk.requests.shared, job)
    known: set[str] = set()
    async for request in wired.seeds_of(target.spider):
        host = urls.hostname_of(request.url)
        if host not in known:
            await trust.trust_host(host)
            known.add(host)
        yield request
