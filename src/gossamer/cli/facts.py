"""What is known of a URL in a job, collected for ``explain``: asks frontier, store and what is remembered."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gossamer.core.errors import LedgerReason, UsageError
from gossamer.core.jobs import FrontierStats, KnownRequest
from gossamer.core.lifecycle import RequestState
from gossamer.core.requests import Request
from gossamer.core.results import Attempt
from gossamer.policy import urls
from gossamer.policy.request_preview import preview_of
from gossamer.queries.explain import UrlFacts
from gossamer.queries.jobs import NAMED, find_job

if TYPE_CHECKING:
    from gossamer.core.jobs import Job
    from gossamer.core.requests import Entry
    from gossamer.queries.job_scope import JobScope, JobScopeCache
    from gossamer.wiring.backends import Backends

JOBS = 100
"""Jobs that are asked when none is named: the newest."""
ROWS = 1000
"""Attempts of a URL that are looked at, of all requests to it."""
TRIES = 20
"""Attempts of one request that are told."""
OTHERS = 20
"""Other requests to the URL that are told."""


async def choose_job(
    desk: Backends, lenses: JobScopeCache, wanted: Sequence[Request], name: str | None
) -> tuple[Job, Request]:
    """The job that was named, or the newest that knows one of the requests, or its URL, or the newest.

    Where only a spider was named, its jobs are meant.
    """
    jobs = (await desk.book.list_jobs())[:JOBS] if name is None else [await find_job(desk, name)]
    if not jobs:
        raise UsageError("there is no job yet; `gossamer crawl` starts one")
    if name is None and lenses.spider is not None:
        ids = ", ".join(job.id for job in jobs[:NAMED])
        jobs = [job for job in jobs if lenses.scope_of(job).spider is not None]
        if not jobs:
            raise UsageError(f"no job is of --spider {lenses.spider}; the newest are: {ids}")
    for knows in (_knows_request, _knows_url):
        for job in jobs:
            lens = lenses.scope_of(job, strict=name is not None)
            for request in wanted:
                entry = lens.entry_for(request, job.key)
                if entry is not None and await knows(desk, job, entry):
                    return job, request
    scheme = jobs[0].target.partition("://")[0]
    meant = (request for request in wanted if request.url.startswith(f"{scheme}://"))
    return jobs[0], next(meant, wanted[0])


async def _knows_request(desk: Backends, job: Job, entry: Entry) -> bool:
    """By its requests or, when those are forgotten, by its pages."""
    if await desk.read_stats(job) is None:
        return await desk.ledger.find_page(job, entry.fingerprint) is not None
    return await desk.open_frontier(job).find_request(entry.fingerprint) is not None


async def _knows_url(desk: Backends, job: Job, entry: Entry) -> bool:
    """By the ledger: another request to the URL was tried."""
    return bool(await desk.ledger.find_attempts(job, 1, urls_=(entry.request.url,)))


async def facts_of(desk: Backends, job: Job, lens: JobScope, request: Request) -> UrlFacts:
    """Everything that is known of a request to a URL, and of other requests to it."""
    entry = lens.entry_for(request, job.key)
    stats = await desk.read_stats(job)
    holder = await desk.at_work(job)
    tally = await desk.store.read_totals(job)
    rules, _ = await desk.find_position(job, 0)
    left_out = {
        name.removeprefix("link:"): count for name, count in tally.dropped.items() if name.startswith("link:")
    }
    facts = UrlFacts(
        url=request.url,
        now=time.time(),
        method=request.method,
        request=preview_of(request),
        scoping=lens.scope_facts_for(request.url, job.key),
        job=job,
        stats=stats or FrontierStats(state=job.state),
        is_forgotten=stats is None,
        rules=rules,
        is_at_work=holder is not None,
        process=holder or "",
        left_out=left_out,
    )
    if entry is None:
        return facts
    url = entry.request.url
    is_denied = await desk.robots_deny(url) if lens.obeys_robots else False
    facts = replace(facts, canonical=url, is_denied=is_denied, items=await desk.ledger.items_on(job, url))
    own = await desk.ledger.find_attempts(job, TRIES, urls_=(url,), fingerprint=entry.fingerprint)
    known = await _with_request(desk, facts, entry.fingerprint, own)
    spelt = urls.canonicalise_url(request.url, urls.UrlOptions(drop_parameters=()))
    latest = await desk.ledger.find_attempts(job, ROWS, urls_=tuple({url, spelt or url}))
    tries = _by_request(latest)
    tries.pop(entry.fingerprint, None)
    others = [
        await _with_request(desk, _of_other(facts, rows[0]), fingerprint, rows)
        for fingerprint, rows in list(tries.items())[:OTHERS]
    ]
    is_more = len(tries) > OTHERS or len(latest) == ROWS
    return replace(known, others=tuple(others), has_more_others=is_more)


def _by_request(latest: Sequence[Attempt]) -> dict[int, list[Attempt]]:
    """Attempts by request; the request that was tried last comes first."""
    found: dict[int, list[Attempt]] = {}
    for tried in latest:
        found.setdefault(tried.fingerprint, []).append(tried)
    return found


def _of_other(facts: UrlFacts, tried: Attempt) -> UrlFacts:
    """The same of another request, so far as it is the same."""
    return replace(facts, url=tried.url, canonical=tried.url, method=tried.method, request=tried.request)


async def _with_request(desk: Backends, facts: UrlFacts, fingerprint: int, tries: list[Attempt]) -> UrlFacts:
    """What frontier, ledger and store have of one request."""
    job = facts.job
    page = await desk.ledger.find_page(job, fingerprint)
    _, place = await desk.find_position(job, fingerprint)
    found: KnownRequest | None = None
    if not facts.is_forgotten:
        found = await desk.open_frontier(job).find_request(fingerprint)
    elif tries or page:
        found = KnownRequest(state=RequestState.DONE)
    more: dict[str, Any] = {}
    if tries and tries[0].reason == LedgerReason.KNOWN_TARGET:
        more["target"] = next(iter(await desk.store.latest_attempts(job, tries[0].detail, 1)), None)
    return replace(
        facts,
        fingerprint=fingerprint,
        found=found,
        attempts=tuple(tries[:TRIES]),
        page=page,
        since=place.granted_at if found and found.state is RequestState.LEASED else place.died_at,
        deadline=place.deadline,
        ahead=place.ahead,
        letter=place.number,
        **more,
    )
