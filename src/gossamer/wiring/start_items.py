"""Items that the start of a spider gives: no page brings them, so they are stored by themselves, at once."""

from __future__ import annotations

import logging

from gossamer.core.foreign import ForeignItem
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import ExtractResult, Outcome, Verdict, VisitResult
from gossamer.engine.page_results import keep_items
from gossamer.engine.parts import EngineParts
from gossamer.ports.pipeline import Pipeline

log = logging.getLogger("gossamer.crawl")
_NO_PAGE = "http://none.invalid/"
"""The URL of results without a request: it is neither fetched nor stored."""


async def store_start_item(item: ForeignItem, parts: EngineParts, pipeline: Pipeline) -> None:
    """Store an item that does not come from a page; repeated ones, as after a kill, are stored once.

    Items that the pipeline drops are counted, and items that cannot be stored are logged. Raises
    ``StorageError``, and ``PipelineError`` for a step that fails.
    """
    dropped: dict[str, int] = {}
    records, told = await keep_items(pipeline, ExtractResult(items=(item,)), "", dropped)
    if told.fault:
        log.error("an item that the start of a spider gave is not stored: %s", told.error)
    nobody = Entry(request=Request(_NO_PAGE), fingerprint=0, host="")
    now = parts.clock.now()
    lease = Lease(entry=nobody, token=0, granted_at=now, start_by=now, deadline=now, attempt=1)
    outcome = Outcome(lease=lease, verdict=Verdict.SKIPPED)
    await parts.store.write(parts.job, [VisitResult(outcome=outcome, items=records, dropped=dropped)])
