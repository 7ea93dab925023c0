"""A made-up crawl of any size in the back ends of the settings: requests, attempts, items, dead letters.

Everything is written through the real frontier and the real store, so it is laid out as after a crawl.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from gossamer.config.settings import Settings
from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.jobs import Job
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Attempt, ItemRecord, Outcome, PageRecord, Verdict, VisitResult
from gossamer.engine.admission import Admission
from gossamer.spiders.spider import Spider
from gossamer.wiring.backends import open_backends
from gossamer.wiring.rules import admission_of

BATCH = 2000
FAILURES = (("timeout_headers", 0), ("throttled", 503), ("server", 500), ("callback", 200))
OPEN_RULES = FrontierRules(delay_s=0.0, per_host=10_000)
SPAN_S = 6 * 3600
Report = Callable[[str, int], None]
_random = random.Random(1)


async def make_crawl(settings: Settings, count: int, hosts: int, report: Report) -> Job:
    """A job that runs: ``count`` requests, attempts and items each, and a tenth as many dead letters."""
    backends = await open_backends(settings, create=True)
    try:
        job = await backends.book.create("large", "large", plan=b"")
        await backends.requests.create_frontier(job, OPEN_RULES)
        frontier = backends.requests.open_frontier(job, OPEN_RULES, owner="maker")
        admission = admission_of(settings, Spider(), job.key)
        for numbers in _batches(count):
            await frontier.add([_entry(admission, number, hosts) for number in numbers])
            report("requests", numbers[-1])
        await frontier.finish_seeding() if hasattr(frontier, "finish_seeding") else None
        for numbers in _batches(count // 10):
            leases = (await frontier.lease("http", len(numbers), 3600)).leases
            await frontier.settle([_death(lease) for lease in leases])
            report("dead letters", numbers[-1])
        now = time.time()
        for numbers in _batches(count):
            at = now - SPAN_S * (1 - numbers[0] / count)
            await backends.store.write(job, [_visit(admission, number, hosts, at) for number in numbers])
            report("attempts and items", numbers[-1])
        return job
    finally:
        await backends.close()


def _batches(count: int) -> Iterator[Sequence[int]]:
    for first in range(0, count, BATCH):
        yield range(first, min(first + BATCH, count))


def _host(number: int, hosts: int) -> str:
    """Half of all requests are of one host in ten."""
    return f"shop{(number if number % 2 else number % max(hosts // 10, 1)) % hosts:05}.example"


def url_of(number: int, hosts: int) -> str:
    """The URL of one of the requests."""
    return f"https://{_host(number, hosts)}/catalogue/category-{number % 97}/item-{number:08}.html"


def _entry(admission: Admission, number: int, hosts: int) -> Entry:
    """A request; a link on an earlier page led there."""
    via = url_of(number - hosts, hosts) if number >= hosts else ""
    request = Request(url_of(number, hosts), callback="parse_product", depth=3, via=via)
    entry = admission.admit_request(request)
    assert isinstance(entry, Entry)
    return entry


def _death(lease: Lease) -> Outcome:
    reason, _ = FAILURES[lease.token % len(FAILURES)]
    signal = HostSignal(kind=HostSignalKind.OK, started_at=lease.granted_at, latency_s=0.05)
    return Outcome(lease=lease, verdict=Verdict.DEAD, reason=reason, signal=signal)


def _visit(admission: Admission, number: int, hosts: int, at: float) -> VisitResult:
    """A page with one item; every fiftieth fails."""
    entry = _entry(admission, number, hosts)
    failed = number % 50 == 0
    reason, status = FAILURES[number // 50 % len(FAILURES)] if failed else ("", 200)
    attempt = Attempt(
        at=at + number % BATCH / BATCH,
        url=entry.request.url,
        fingerprint=entry.fingerprint,
        verdict=Verdict.RETRY if failed else Verdict.SUCCESS,
        reason=reason,
        detail="a message of some length: " + "x" * 80 if failed else "",
        status=status,
        size_bytes=20_000 + number % 40_000,
        elapsed_ms=_random.lognormvariate(4.5, 0.8),
        worker=f"worker-{number % 12}",
        rung="http",
        depth=3,
        via=entry.request.via,
    )
    lease = Lease(entry=entry, token=number + 1, granted_at=at, start_by=at + 60, deadline=at + 60, attempt=1)
    outcome = Outcome(lease=lease, verdict=attempt.verdict, reason=reason, is_page=not failed)
    if failed:
        return VisitResult(outcome=outcome, attempts=(attempt,))
    return VisitResult(
        outcome=outcome, attempts=(attempt,), items=(_item(number, attempt.url),), page=_page(attempt)
    )


def _item(number: int, url: str) -> ItemRecord:
    data = msgspec.json.encode(
        {
            "name": f"Thing {number:,}",
            "price": round(_random.uniform(1, 900), 2),
            "currency": "EUR",
            "in_stock": number % 7 > 0,
            "description": "A thing as things are. " * 8 if number % 3 else None,
            "url": url,
        }
    )
    return ItemRecord(type="Product", key=f"{number:08}", data=data, hash=number, url=url)


def _page(attempt: Attempt) -> PageRecord:
    return PageRecord(
        url=attempt.url,
        fingerprint=attempt.fingerprint,
        status=200,
        content_type="text/html",
        title="A thing",
        depth=attempt.depth,
        size_bytes=attempt.size_bytes,
        at=attempt.at,
    )
