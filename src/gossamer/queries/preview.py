"""What a spider makes of one page, by the same steps as in a crawl, with nothing stored."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.core.errors import DropItem, Fault, PipelineError, UnstorableItemError, UsageError
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult
from gossamer.policy.retry import fault_of_status
from gossamer.queries.single_page import PageFetcher, PageVisit
from gossamer.wiring.extractors import extractor_of
from gossamer.wiring.rules import admission_of

_FAULTS = {UnstorableItemError: Fault.CALLBACK, PipelineError: Fault.PIPELINE}
_VERDICTS = {
    Fault.PIPELINE: "a pipeline step failed on an item: nothing of the page would be stored",
    Fault.CALLBACK: "an item cannot be stored; what can be would be",
}


@dataclass(frozen=True)
class ItemPreview:
    """One item: as it would be stored, or why it would not."""

    type: str
    key: str = ""
    data: bytes = b""
    dropped: str = ""  # why it would not be stored
    fault: Fault | None = None  # what it would make of its page; None when only the item is dropped


@dataclass(frozen=True)
class LinkPreview:
    """One request: as it would be admitted, or why it would not."""

    url: str
    callback: str
    priority: int
    refused: str = ""


@dataclass(frozen=True)
class PagePreview:
    """What became of a page."""

    url: str
    status: int
    spider: str
    callback: str
    verdict: str = ""  # why the callback was not run, or the page is no success; "" when all is well
    error: str = ""  # the traceback of a callback that raised
    items: Sequence[ItemPreview] = ()
    requests: Sequence[LinkPreview] = ()
    left_out: dict[str, int] = field(default_factory=dict)  # links that were not followed, by reason


def preview_page(pages: PageFetcher, url: str, callback: str | None) -> PagePreview:
    """Fetch a page and run a callback on it.

    Raises ``FetchError``; ``UsageError`` for a callback that the spider does not have.
    """
    visit = pages.visit_page(url)
    request = visit.request.replace(callback=callback)
    spider = pages.spider_for(request)
    name = callback or "parse"
    if not callable(getattr(spider, name, None)):
        raise UsageError(f"the spider {spider.name!r} has no method {name!r}")
    return pages.run_in_loop(_preview_visit(pages, PageVisit(request, visit.fetched, visit.hops), name))


async def _preview_visit(pages: PageFetcher, visit: PageVisit, callback: str) -> PagePreview:
    with ExitStack() as closing:
        extractor = extractor_of(pages.settings, pages.target, closing)
        return await _extract_page(pages, visit, callback, extractor)


async def _extract_page(
    pages: PageFetcher, visit: PageVisit, callback: str, extractor: SpiderExtractor
) -> PagePreview:
    request, fetched = visit.request, visit.fetched
    spider = pages.spider_for(request)
    seen = PagePreview(url=fetched.url, status=fetched.status, spider=spider.name, callback=callback)
    fault = fault_of_status(fetched.status)
    if fault is not None and not extractor.wants_status(request, fetched.status):
        verdict = f"{fault}: the spider gets no page with this status (handle_httpstatus_list)"
        return replace(seen, verdict=verdict)
    result = await extractor.extract(request, fetched)
    if result.refresh_to:
        return replace(seen, verdict=f"redirects to {result.refresh_to}, by a meta refresh")
    is_error = result.fault == Fault.CALLBACK
    items = await _process_items(pages, result, fetched.url)
    verdict = f"{result.fault}: {'it raised' if is_error else result.error}" if result.fault else ""
    return replace(
        seen,
        verdict=verdict or _verdict_of(items),
        error=result.error if is_error else "",
        items=items,
        requests=_admit_requests(pages, request, result),
        left_out={name.removeprefix("link:"): count for name, count in result.dropped.items()},
    )


def _verdict_of(items: Sequence[ItemPreview]) -> str:
    """Why items would make their page no success; "" when none does."""
    faults = {item.fault for item in items}
    return next((f"{fault}: {said}" for fault, said in _VERDICTS.items() if fault in faults), "")


async def _process_items(pages: PageFetcher, result: ExtractResult, url: str) -> list[ItemPreview]:
    pipelines = SpiderPipeline(pages.target.choose, timeout_s=pages.settings.parse.callback_timeout)
    found = []
    try:
        for item in result.items:
            try:
                record = await pipelines.process(item, url)
                found.append(ItemPreview(record.type, record.key, record.data))
            except (DropItem, UnstorableItemError, PipelineError) as error:
                fault = _FAULTS.get(type(error))
                found.append(ItemPreview(type(item).__name__, dropped=str(error).rstrip(), fault=fault))
    finally:
        await pipelines.close()
    return found


def _admit_requests(pages: PageFetcher, parent: Request, result: ExtractResult) -> list[LinkPreview]:
    admission = admission_of(pages.settings, pages.target.spider, b"")
    too_deep = pages.settings.max_depth is not None and parent.depth + 1 > pages.settings.max_depth
    taken: set[int] = set()
    found = []
    for request in result.requests:
        entry = admission.admit_request(request)
        if isinstance(entry, str):
            refused = entry
        elif too_deep:
            refused = "too_deep"
        else:
            is_known = entry.fingerprint in taken and not request.dont_filter
            refused = "duplicate" if is_known else ""
            taken.add(entry.fingerprint)
        url = request.url if isinstance(entry, str) else entry.request.url
        found.append(LinkPreview(url, str(request.callback or "parse"), request.priority, refused))
    return found
