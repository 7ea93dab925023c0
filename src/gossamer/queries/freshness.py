"""The freshness of a spider's known pages."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gossamer.core.errors import UsageError
from gossamer.core.freshness import FreshnessCounts, KnownPage
from gossamer.core.jobs import Job, StoredItem
from gossamer.core.record import Time
from gossamer.core.requests import Request
from gossamer.policy.freshness import known_fingerprint_of
from gossamer.ports.known_page_store import KnownPageStore
from gossamer.wiring.backends import Backends

PART = 500
"""Items whose pages are looked up at a time."""


class FreshnessReport(FreshnessCounts, frozen=True, kw_only=True):
    """The known pages of a spider, counted. Each is one of waiting, new, changed, unchanged and gone."""

    spider: str
    job: str  # the id of its latest job
    at: Time  # when they were counted


async def report_freshness(backends: Backends, job: Job) -> FreshnessReport:
    """Count the known pages of a job's spider. Raises ``UsageError`` where nothing is known of them."""
    now = backends.clock.now()
    counts = await backends.known_pages.count_pages(job.name, now)
    if not counts.known:
        raise UsageError(
            f"nothing is known of the pages of {job.name}: no crawl of it had freshness.on, which keeps that "
            f"(gossamer crawl {job.target} -s freshness.on=true), or --recrawl"
        )
    fields = {name: getattr(counts, name) for name in FreshnessCounts.__struct_fields__}
    return FreshnessReport(spider=job.name, job=job.id, at=now, **fields)


async def find_known(backends: Backends, job: Job, request: Request) -> KnownPage | None:
    """Return the known page for a request with a canonical URL."""
    fingerprint = known_fingerprint_of(request)
    return (await backends.known_pages.find_pages(job.name, [fingerprint])).get(fingerprint)


async def select_gone(
    known: KnownPageStore, spider: str, items: AsyncIterator[StoredItem]
) -> AsyncIterator[StoredItem]:
    """Those of some items whose pages are gone."""
    part: list[StoredItem] = []
    async for item in items:
        part.append(item)
        if len(part) == PART:
            for gone in await _gone_among(known, spider, part):
                yield gone
            part = []
    for gone in await _gone_among(known, spider, part):
        yield gone


async def _gone_among(known: KnownPageStore, spider: str, items: list[StoredItem]) -> list[StoredItem]:
    fingerprints = {item.url: known_fingerprint_of(Request(item.url)) for item in items if item.url}
    found = await known.find_pages(spider, set(fingerprints.values()))
    gone = {number for number, page in found.items() if page.gone_at is not None}
    return [item for item in items if fingerprints.get(item.url) in gone]
