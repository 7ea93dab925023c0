"""Builds the records of a parsed page's items, and the entries of its requests."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.drops import KEY_LENGTH, DropKind, DropSample
from gossamer.core.errors import DropItem, Fault, PipelineError, UnstorableItemError, UsageError
from gossamer.core.files import Saving
from gossamer.core.requests import Entry, Request
from gossamer.core.results import ExtractResult, FetchResult, ItemRecord
from gossamer.engine.drop_samples import DropCollector
from gossamer.engine.parts import VisitParts
from gossamer.policy.credentials import has_credentials
from gossamer.ports.pipeline import Pipeline

ADMITTED_AT_ONCE = 5000
"""Requests of a page that are admitted without a pause: some 50 ms."""
MAX_FILES = 50_000
"""Files that the items of one page may name: as many as a callback may ask for by itself."""


async def admit_links(
    parts: VisitParts, request: Request, fetched: FetchResult, result: ExtractResult, dropped: dict[str, int]
) -> tuple[Entry, ...]:
    """Return the entries of a page's requests; other pages run between thousands of them.

    Refusals are counted into ``dropped``.
    """
    requests = result.requests
    is_html = bool(requests) and "html" in result.content_type
    if is_html and parts.admission.traps.is_copy(request.url, request.via, fetched.body):
        dropped[DropKind.LINK.key_of("trap_same_body")] = len(requests)
        return ()
    entries: tuple[Entry, ...] = ()
    for start in range(0, len(requests), ADMITTED_AT_ONCE):
        if start:
            await parts.clock.sleep(0)
        some = requests[start : start + ADMITTED_AT_ONCE]
        entries += parts.admission.admit_links(request, some, dropped)
    return entries


async def keep_items(
    pipeline: Pipeline,
    result: ExtractResult,
    url: str,
    dropped: dict[str, int],
    *,
    sampler: DropCollector | None = None,
    at: float = 0.0,
) -> tuple[tuple[ItemRecord, ...], ExtractResult]:
    """Return the records of the items, and the extraction with the fault of those that cannot be stored.

    Raises :class:`~gossamer.core.errors.PipelineError` if a step fails and may pass the next time: then
    nothing of the page is to be stored. Dropped items are counted into ``dropped``; ``sampler`` adds some of
    them as examples, of a page that was visited ``at``, to the extraction.
    """
    kept = []
    samples: tuple[DropSample, ...] = ()
    for item in result.items:
        try:
            kept.append(await pipeline.process(item, url, result.response))
        except DropItem as drop:
            key = DropKind.ITEM.key_of(str(drop))[:KEY_LENGTH]
            dropped[key] = dropped.get(key, 0) + 1
            if sampler is not None:
                reason = DropKind.ITEM.reason_of(key) or ""
                samples += sampler.take_sample(reason, drop.stage, item, url, at)
        except PipelineError as error:
            if error.may_pass:
                raise
            if not result.fault:
                result = replace(result, fault=Fault.PIPELINE, error=str(error))
        except UnstorableItemError as error:
            if not result.fault:
                told = f"an item cannot be stored: {error}"
                result = replace(result, fault=Fault.CALLBACK, error=told)
    files = tuple(dict.fromkeys(url for record in kept if record.files for url in record.files))
    if files:
        result = replace(result, requests=(*result.requests, *_request_files(files, dropped)))
    return tuple(kept), replace(result, samples=samples) if samples else result


def _request_files(urls: tuple[str, ...], dropped: dict[str, int]) -> list[Request]:
    """Return requests for files that items name; the rest is counted into ``dropped``."""
    requests = []
    if len(urls) > MAX_FILES:
        key = DropKind.LINK.key_of("too_many")
        dropped[key] = dropped.get(key, 0) + len(urls) - MAX_FILES
    for url in urls[:MAX_FILES]:
        if has_credentials(url):
            key = DropKind.LINK.key_of("credentials")
            dropped[key] = dropped.get(key, 0) + 1
            continue
        try:
            requests.append(Request(url, saves=Saving()))
        except UsageError:
            key = DropKind.LINK.key_of("bad_url")
            dropped[key] = dropped.get(key, 0) + 1
    return requests
