"""Re-crawls: the memory of their workers, and the pages that are due."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator

import msgspec
from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.freshness import FIRST_PLACE
from gossamer.core.requests import Request
from gossamer.core.text import format_count
from gossamer.engine.page_memory import PageMemory
from gossamer.engine.parts import EngineParts
from gossamer.frontier.codec import pack_request, unpack_request
from gossamer.policy.freshness import FreshnessRules, due_before, fit_rules, prior_for, prior_of
from gossamer.spiders.pagination import STATE
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.backends import Backends

SPACE = "freshness"
"""Space of the shared state: how the pages of a spider change."""
RULES_S = 3600.0
"""Seconds for which the workers of a spider use the same rates of change."""
PART = 1000
"""Due pages that are read at a time."""

log = logging.getLogger("gossamer.crawl")


async def add_memory(
    settings: Settings, target: CrawlTarget, backends: Backends, parts: EngineParts
) -> EngineParts:
    """Return parts whose worker records known pages and, in a re-crawl, sends conditional requests."""
    recrawl = settings.freshness.recrawl
    memory = PageMemory(
        backends.known_pages,
        parts.job,
        await read_rules(settings, backends, parts.job.name),
        backends.clock,
        pack_request=pack_request,
        unpack_request=unpack_request,
        own_meta=(STATE,),
        is_watched=lambda request: target.choose(request).watches(request.callback or "parse"),
        has_callback=lambda request: _has_callback(target.choose(request), request),
        asks_conditionally=recrawl != "off",
        leaves_out=recrawl == "due",
    )
    return replace(parts, memory=memory)


def _has_callback(spider: Spider, request: Request) -> bool:
    return callable(getattr(spider, request.callback or "parse", None))


async def read_rules(settings: Settings, backends: Backends, spider: str) -> FreshnessRules:
    """Return the rules by which pages of a spider are due: from the settings, and from their changes so far.

    The changes of all pages are counted at most once an hour.
    """
    said, shared = settings.freshness, backends.requests.shared
    first = prior_for(said.first_interval)
    rules = FreshnessRules(
        min_interval_s=said.min_interval,
        max_interval_s=max(said.max_interval, said.min_interval),
        prior=first,
    )
    key = f"{spider} {said.min_interval} {said.max_interval} {said.first_interval} {said.checks_per_day}"
    stored = await shared.get(SPACE, key)
    if stored is not None:
        try:
            return msgspec.msgpack.decode(stored, type=FreshnessRules)
        except msgspec.MsgspecError:  # of another version: counted anew
            log.debug("the rates of change of %s are counted anew", spider)
    classes = await backends.known_pages.count_rates(spider)
    rules = replace(rules, prior=prior_of(classes, first))
    if said.checks_per_day is not None:
        rules = fit_rules(classes, rules, said.checks_per_day)
    if classes:
        await shared.put(SPACE, key, msgspec.msgpack.encode(rules), RULES_S)
    return rules


async def read_due(settings: Settings, backends: Backends, parts: EngineParts) -> AsyncIterator[Request]:
    """Yield the requests of a spider's pages that are due now, the first due first, without a limit.

    Pages whose callback the spider no longer has are skipped.
    """
    job, without_callback = parts.job, Counter[str]()
    before = due_before(backends.clock.now(), visits_all=settings.freshness.recrawl == "all")
    place = FIRST_PLACE
    while True:
        pages = await backends.known_pages.read_due(job.name, before, place, PART)
        for page in pages:
            if page.job == job.id:  # this job has visited the page before a break
                continue
            try:
                request = unpack_request(page.request, page.host)
            except StorageError as error:
                log.warning("%s is not visited again: %s", page.url, error)
                continue
            if parts.memory is None or parts.memory.has_callback(request):
                yield request
            else:
                without_callback[request.callback or "parse"] += 1
        if len(pages) < PART:
            break
        place = (pages[-1].due_at, pages[-1].fingerprint)
    for name, count in without_callback.items():
        log.warning(
            "%s not visited again: the spider has no callback %s any more; a crawl with --fresh and "
            "freshness.on, but without --recrawl, reads every page anew",
            format_count(count, "known page is", "known pages are"),
            name,
        )
