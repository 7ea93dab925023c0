"""Read the facts about a URL in a job from frontier, store and shared state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.errors import LedgerReason, OperatorError
from gossamer.core.jobs import FrontierStats, Job, KnownRequest
from gossamer.core.lifecycle import RequestState
from gossamer.core.position import QueuePosition
from gossamer.core.requests import Request
from gossamer.core.results import DEFERRED, Attempt, AttemptFilter, Verdict
from gossamer.policy import urls
from gossamer.policy.deferral import extraction_host, twin_of
from gossamer.policy.freshness import is_partial
from gossamer.policy.request_preview import preview_of
from gossamer.queries.budgets import find_spent_budget
from gossamer.queries.drops import find_drops
from gossamer.queries.explain.chain import read_chain
from gossamer.queries.explain.facts import UrlFacts
from gossamer.queries.explain.job_scope import JobScope
from gossamer.queries.freshness import find_known
from gossamer.queries.traps import find_trap
from gossamer.wiring.backends import Backends
from gossamer.wiring.robots import robots_deny

ROWS = 1000
"""Attempts of a URL that are looked at, of all requests to it."""
TRIES = 20
"""Maximum number of attempts shown for a request."""
OTHERS = 20
"""Maximum number of other requests to the URL shown."""
ITEMS = 20
"""Maximum number of the page's items shown."""
SETTLED = {Verdict.SUCCESS, Verdict.REDIRECT, Verdict.SKIPPED}
DONE = KnownRequest(state=RequestState.DONE)


async def read_facts(backends: Backends, job: Job, scope: JobScope, request: Request) -> UrlFacts:
    """Everything that is known of a request to a URL, and of other requests to it."""
    facts = await _read_job(backends, job, scope, request)
    entry = scope.entry_for(request, job.key)
    if entry is None:
        return facts
    url = entry.request.url
    found = await backends.items.find_items(job, url, ITEMS)
    facts = replace(
        facts,
        canonical=url,
        is_denied=scope.obeys_robots and await robots_deny(backends, url),
        items=found.total,
        drops=await find_drops(backends.ledger, job, url),
        ladder=await backends.find_ladder(urls.host_key(url)),
        known=await find_known(backends, job, entry.request),
    )
    spelt = urls.canonicalise_url(request.url, urls.UrlOptions(drop_parameters=()))
    latest = await backends.ledger.find_attempts(job, ROWS, AttemptFilter(urls=tuple({url, spelt or url})))
    tries = _by_request(latest)
    own = tries.pop(entry.fingerprint, [])
    if len(latest) == ROWS and len(own) < TRIES:
        which = AttemptFilter(urls=(url,), fingerprint=entry.fingerprint)
        own = await backends.ledger.find_attempts(job, TRIES, which)
    known = await _with_request(backends, facts, entry.fingerprint, own)
    if known.found is None and not own:  # no page; but it may be a file that a page names
        twin = urls.file_twin_of(entry.fingerprint)
        file = await _with_request(backends, facts, twin, tries.get(twin, []))
        if file.found is not None:
            known, own = file, tries.pop(twin, [])
    via = await read_chain(backends.ledger, job, url, known.found, own)
    known = replace(
        known,
        trap=await find_trap(backends, job, url, via[-2].url if len(via) > 1 else ""),
        budget=await find_spent_budget(backends, job, url),
        found_items=found.items,
        via=via,
        **await _find_archived(backends, job, entry.request),
    )
    others = [
        await _with_request(backends, _of_other(facts, rows[0]), fingerprint, rows, is_other=True)
        for fingerprint, rows in list(tries.items())[:OTHERS]
    ]
    has_more = len(tries) > OTHERS or len(latest) == ROWS
    return replace(known, others=tuple(others), has_more_others=has_more)


async def _find_archived(backends: Backends, job: Job, request: Request) -> dict[str, str]:
    """Where the archive has the latest answer, or why it could not be asked."""
    try:
        archived = await backends.find_archived(job, request)
    except OperatorError as error:  # a broken archive must not hide the other facts
        return {"archive_trouble": str(error)}
    return {"archived": "" if archived is None else archived.location.text}


async def _read_job(backends: Backends, job: Job, scope: JobScope, request: Request) -> UrlFacts:
    """Return the facts about the job as a whole."""
    stats = await backends.read_stats(job)
    holder = await backends.at_work(job)
    totals = await backends.store.read_totals(job)
    rules = await backends.read_rules(job)
    left_out = DropKind.LINK.select_from(totals.dropped)
    return UrlFacts(
        url=request.url,
        now=backends.clock.now(),
        method=request.method,
        request=preview_of(request),
        scoping=scope.scope_facts_for(request.url, job.key),
        job=job,
        stats=stats or FrontierStats(state=job.state),
        is_forgotten=stats is None,
        rules=rules,
        is_at_work=holder is not None,
        process=holder or "",
        left_out=left_out,
        is_recrawl=is_partial(totals),
    )


def _by_request(latest: Sequence[Attempt]) -> dict[int, list[Attempt]]:
    """Attempts by request; the request that was tried last comes first."""
    found: dict[int, list[Attempt]] = {}
    for tried in latest:
        found.setdefault(tried.fingerprint, []).append(tried)
    return found


def _of_other(facts: UrlFacts, tried: Attempt) -> UrlFacts:
    """The same of another request, so far as it is the same."""
    return replace(
        facts, url=tried.url, canonical=tried.url, method=tried.method, request=tried.request, drops=()
    )


async def _with_request(
    backends: Backends, facts: UrlFacts, fingerprint: int, tries: list[Attempt], *, is_other: bool = False
) -> UrlFacts:
    """Return the facts about one request from frontier, ledger and store."""
    job = facts.job
    page = await backends.ledger.find_page(job, fingerprint)
    has_ended = tries[0].verdict in SETTLED if tries else page is not None
    found: KnownRequest | None
    if facts.is_forgotten:
        found = DONE if tries or page else None
    elif is_other and has_ended:  # the store has the answer, so nothing is searched
        found = DONE
    else:
        frontier, tried_at = backends.open_frontier(job), tries[0].at if tries else 0.0
        found = await frontier.find_request(fingerprint, urls.host_key(facts.canonical), tried_at=tried_at)
        if found and found.beyond and has_ended:
            found = DONE
        if any(DEFERRED in row.flags for row in tries):
            host = extraction_host(urls.host_key(facts.canonical))
            reading = await frontier.find_request(twin_of(fingerprint), host, tried_at=tried_at)
            found = found if reading is None or reading.beyond else reading
    place = found.place if found else QueuePosition()
    more: dict[str, Any] = {}
    if tries and tries[0].reason == LedgerReason.KNOWN_TARGET:
        at_target = AttemptFilter(urls=(tries[0].detail,))
        more["target"] = next(iter(await backends.ledger.find_attempts(job, 1, at_target)), None)
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
