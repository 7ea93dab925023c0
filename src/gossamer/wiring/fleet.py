"""What the workers of a fleet are given to begin with."""

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
    """The spider's first requests; every worker knows of their places before one can be leased.

    Then those of known pages that are due, whose hosts nobody has named.
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
