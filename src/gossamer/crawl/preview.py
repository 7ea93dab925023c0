"""Previews a spider's results on one page, by the same steps as in a crawl, with nothing stored."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from gossamer.callbacks.passing_extractor import PassingExtractor
from gossamer.core.drops import DropKind
from gossamer.core.errors import DropItem, Fault, PipelineError, UnstorableItemError, UsageError
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult, ItemRecord
from gossamer.crawl.saved_page import with_saved_page
from gossamer.crawl.single_page import PageCommand, PageVisit, PageVisitor
from gossamer.engine.admission import Admission
from gossamer.policy.request_secrets import secret_values_of
from gossamer.policy.retry import fault_of_status
from gossamer.ports.extractor import Extractor
from gossamer.ports.pipeline import Pipeline
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.spiders.rules import FOLLOW_RULES, Rule, follows_rules, links_by_rule

_FAULTS = {UnstorableItemError: Fault.CALLBACK, PipelineError: Fault.PIPELINE}
_VERDICTS = {
    Fault.PIPELINE: "a pipeline step failed on an item; if a server is away, the page is tried again",
    Fault.CALLBACK: "an item cannot be stored; the others would be",
}

FILE = "(file)"
"""Stands for the callback of a request whose answer is kept as a file."""
_ALL_REFUSED = ("too_deep", "trap_same_body")
"""Why no link of a page is admitted."""


class ItemPreview(Record, frozen=True):
    """One item: as it would be stored, or why it would not."""

    type: str
    key: str = ""
    data: bytes = b""
    dropped: str = ""  # why it would not be stored
    fault: Fault | None = None  # the fault of its page; None when only the item is dropped


class LinkPreview(Record, frozen=True):
    """One request: as it would be admitted, or why it would not."""

    url: str
    callback: str
    priority: int
    refused: str = ""


class RulePreview(Record, frozen=True):
    """The effect of one of the spider's rules on a page."""

    rule: str  # the rule, with its criteria
    callback: str
    follow: bool  # whether the rules also apply to its pages
    links: int  # that it takes


class PagePreview(Record, frozen=True, kw_only=True):
    """The result for a page."""

    url: str
    status: int
    spider: str
    callback: str
    verdict: str = ""  # why the callback was not run, or the page is not a success; "" when all is well
    error: str = ""  # the traceback of a callback that raised
    items: Sequence[ItemPreview] = ()
    requests: Sequence[LinkPreview] = ()
    rules: Sequence[RulePreview] = ()  # where they apply to the page
    left_out: dict[str, int] = {}  # links that were not followed, by reason


class PreviewExtractor(PassingExtractor):
    """Port ``Extractor``: another one, whose last result is kept."""

    def __init__(self, extractor: Extractor) -> None:
        super().__init__(extractor)
        self._latest: tuple[FetchResult, ExtractResult] | None = None

    def result_of(self, fetched: FetchResult) -> ExtractResult | None:
        """Return the result of this response, if it was the last one that a spider received."""
        return self._latest[1] if self._latest and self._latest[0] is fetched else None

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        result = await super().extract(request, fetched)
        self._latest = fetched, result
        return result


class PreviewPipeline:
    """Port ``Pipeline``: wraps another one, and keeps the result for each item."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self.items: list[ItemPreview] = []

    async def process(self, item: Any, url: str, page: Any = None) -> ItemRecord:
        """See :class:`~gossamer.ports.pipeline.Pipeline`."""
        try:
            record = await self._pipeline.process(item, url, page)
        except (DropItem, UnstorableItemError, PipelineError) as error:
            fault = _FAULTS.get(type(error))
            self.items.append(ItemPreview(type(item).__name__, dropped=str(error).rstrip(), fault=fault))
            raise
        self.items.append(ItemPreview(record.type, record.key, record.data))
        return record


def preview_page(
    command: PageCommand,
    callback: str | None,
    tell: Callable[[str], None],
    *,
    saved: FetchResult | None = None,
) -> PagePreview:
    """Visit a page with a callback of its spider; with ``saved``, without a network.

    ``tell`` receives lines for people: redirects, and long waits. Raises ``FetchError``; ``UsageError`` if
    robots.txt does not allow the page, and for a callback that the spider does not have.
    """
    return asyncio.run(_preview_page(command, command.make_request(callback=callback), tell, saved))


async def _preview_page(
    command: PageCommand, request: Request, tell: Callable[[str], None], saved: FetchResult | None
) -> PagePreview:
    name = request.callback or "parse"
    spider = command.target.choose(request)
    if not spider.has_callback(name):
        raise UsageError(f"the spider {spider.name!r} has no method {name!r}")
    parts = await command.wire()
    parts = parts if saved is None else with_saved_page(parts, saved)
    async with parts.closing:
        extractor, pipeline = PreviewExtractor(parts.visit.extractor), PreviewPipeline(parts.visit.pipeline)
        visiting = replace(parts.visit, extractor=extractor, pipeline=pipeline)
        visit = await PageVisitor(replace(parts, visit=visiting), tell).visit_page(request)
        seen = PagePreview(
            url=visit.fetched.url,
            status=visit.fetched.status,
            spider=command.target.choose(visit.request).name,
            callback=name,
        )
        result = extractor.result_of(visit.fetched)
        if result is None:
            return replace(seen, verdict=_verdict_without_spider(visit))
        seen = replace(seen, rules=_preview_rules(spider.rules, result.response))
        return _with_results(seen, visit, result, pipeline.items, parts.visit.admission)


def _verdict_without_spider(visit: PageVisit) -> str:
    """Return why the spider did not get the page."""
    reason = visit.result.outcome.reason
    if reason == fault_of_status(visit.fetched.status):
        return f"{reason}: the spider gets no page with this status (handle_httpstatus_list)"
    return f"{reason}: {visit.result.attempts[0].detail}"


def _with_results(
    seen: PagePreview,
    visit: PageVisit,
    result: ExtractResult,
    items: Sequence[ItemPreview],
    admission: Admission,
) -> PagePreview:
    """Return the preview with the spider's results on the page."""
    is_error = result.fault == Fault.CALLBACK
    secrets = secret_values_of(visit.request)
    error = hide_secrets(result.error, secrets)
    items = [replace(item, dropped=hide_secrets(item.dropped, secrets)) for item in items]
    verdict = f"{result.fault}: {'it raised' if is_error else error}" if result.fault else ""
    outcome = visit.result.outcome
    is_kept = outcome.reason != Fault.PIPELINE or bool(outcome.outlinks or visit.result.page)
    left_out: Counter[str] = Counter()
    for name, count in result.dropped.items():
        left_out[hide_secrets(DropKind.LINK.reason_of(name) or name, secrets)] += count
    return replace(
        seen,
        verdict=verdict or _verdict_of(items),
        error=error if is_error else "",
        items=items,
        requests=_admitted_links(visit, result.requests, admission) if is_kept else (),
        left_out=dict(left_out),
    )


def _preview_rules(rules: Sequence[Rule], response: Any) -> list[RulePreview]:
    """Return the effect of each rule on a response; empty if the rules do not apply."""
    request: Request | None = getattr(response, "request", None)
    if request is None or not (follows_rules(request) or request.callback == FOLLOW_RULES):
        return []
    return [
        RulePreview(f"rules[{number}]{_options_of(rule)}", rule.callback_name, rule.follows, len(urls))
        for number, (rule, urls) in enumerate(links_by_rule(rules, response))
    ]


def _options_of(rule: Rule) -> str:
    """Return the options by which a rule chooses, as they are written."""
    options = {name: value for name, value in rule.link_options.items() if name != "deny_extensions"}
    return "".join(f" {name}={getattr(value, 'pattern', value)!r}" for name, value in options.items())


def _verdict_of(items: Sequence[ItemPreview]) -> str:
    """Return why items would make the visit of their page fail; "" if they would not."""
    faults = {item.fault for item in items}
    return next((f"{fault}: {said}" for fault, said in _VERDICTS.items() if fault in faults), "")


def _admitted_links(visit: PageVisit, requests: Sequence[Request], admission: Admission) -> list[LinkPreview]:
    """Return the requests of a page, each with the reason if the visit has refused it."""
    admitted = deque(visit.result.outcome.outlinks)
    all_refused = next(
        (reason for reason in _ALL_REFUSED if DropKind.LINK.key_of(reason) in visit.result.dropped), ""
    )
    found = []
    for request in requests:
        place, refused = admission.place_of(request), ""
        if isinstance(place, str):
            url, refused = request.url, place
        else:
            url, fingerprint, _ = place
            if admitted and admitted[0].fingerprint == fingerprint:
                admitted.popleft()
            else:
                refused = all_refused or "duplicate"
        callback = str(request.callback or "parse") if request.saves is None else FILE
        found.append(LinkPreview(url, callback, request.priority, refused))
    files = (entry.request for entry in admitted if entry.request.saves is not None)  # of items
    return [*found, *(LinkPreview(file.url, FILE, file.priority, "") for file in files)]
