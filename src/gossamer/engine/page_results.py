"""What is kept of a page that a spider has read: the records of its items, the entries of its requests."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.drops import DropKind
from gossamer.core.errors import DropItem, Fault, UnstorableItemError
from gossamer.core.requests import Entry, Request
from gossamer.core.results import ExtractResult, FetchResult, ItemRecord
from gossamer.engine.parts import VisitParts
from gossamer.ports.pipeline import Pipeline

ADMITTED_AT_ONCE = 5000
"""Requests of a page that are admitted without a pause: some 50 ms."""


async def admit_links(
    parts: VisitParts, request: Request, fetched: FetchResult, result: ExtractResult, dropped: dict[str, int]
) -> tuple[Entry, ...]:
    """The entries of a page's requests; other pages go on between thousands of them.

    What is refused is counted into ``dropped``.
    """
    requests = result.requests
    is_html = bool(requests) and "html" in result.content_type
    if is_html and parts.admission.traps.is_copy(request.url, fetched.body):
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
    pipeline: Pipeline, result: ExtractResult, url: str, dropped: dict[str, int]
) -> tuple[tuple[ItemRecord, ...], ExtractResult]:
    """The records of the items, and the extraction with the fault of those that cannot be stored.

    Raises :class:`~gossamer.core.errors.PipelineError` when a step fails: then nothing of the page is to be
    stored. Items that are dropped are counted into ``dropped``.
    """
    kept = []
    for item in result.items:
        try:
            kept.append(await pipeline.process(item, url))
        except DropItem as drop:
            reason = DropKind.ITEM.key_of(str(drop))[:200]
            dropped[reason] = dropped.get(reason, 0) + 1
        except UnstorableItemError as error:
            if not result.fault:
                told = f"an item cannot be stored: {error}"
                result = replace(result, fault=Fault.CALLBACK, error=told)
    return tuple(kept), result
