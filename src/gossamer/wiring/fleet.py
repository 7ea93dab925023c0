"""The first requests of a fleet's job."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.fetch.guard import place_of
from gossamer.fetch.trusted_hosts import TrustedHosts
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.assemble import CrawlParts
from gossamer.wiring.backends import Backends


async def named_seeds(
    backends: Backends, wired: CrawlParts, target: CrawlTarget, job: Job
) -> AsyncIterator[Request]:
    """Yield the spider's first requests, then those of known pages that are due.

    All workers trust the place of a spider's request before it can be leased. The hosts of known pages are
    not trusted.
    """
    trust = TrustedHosts(backends.requests.shared, job)
    known: set[str] = set()
    async for request in wired.seeds_of(target.spider):
        place = place_of(request.url)
        if place not in known:
            await trust.trust_place(place)
            known.add(place)
        yield request
    async for request in wired.due_requests():
        yield request
