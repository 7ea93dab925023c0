"""The look at a crawl's items at its end, loaded when there are pages: a crawl without any does without."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError
from gossamer.core.jobs import Job, JobTotals
from gossamer.core.notes import CrawlNote
from gossamer.wiring.assemble import CrawlParts

if TYPE_CHECKING:
    from gossamer.policy.job_profile import JobProfile

log = logging.getLogger("gossamer.crawl")

LOOK_S = 10.0
"""How long the look may take, in seconds; it takes a fraction of one where the store answers."""


async def look_at_items(
    settings: Settings, wired: CrawlParts, job: Job, totals: JobTotals, spider: type
) -> list[CrawlNote]:
    """Return notes on items of an ended job that are worse than usual, and store the job's profile.

    ``totals`` are those of the job at its end, and the items are those of ``spider``. Raises nothing: a
    failed check is logged, and does not affect the crawl.
    """
    look = import_module("gossamer.watch.item_quality")
    try:
        async with asyncio.timeout(LOOK_S):
            parts = import_module("gossamer.wiring.quality").quality_parts_of(settings, wired.backends)
            declared_kinds = import_module("gossamer.items.declared").declared_kinds
            parts = replace(parts, declare=lambda _, types: declared_kinds(spider, types))
            profile: JobProfile = await look.keep_profile(parts, job, totals)
        if profile.findings and wired.archive is not None:
            with contextlib.suppress(OperatorError):  # it is tried again, and told, when the crawl is closed
                await wired.archive.close()  # a page is found at once in a file that is finished
            profile = await look.place_findings(parts, job, profile)
    except (OperatorError, TimeoutError) as error:
        log.warning("the items could not be looked at (%s); they are stored", error or "it took too long")
        return []
    except Exception:
        log.exception("the items could not be looked at; they are stored")
        return []
    if not profile.findings:
        return []
    show = import_module("gossamer.observe.sentences").formatter_at(wired.backends.clock.now())
    note_findings = import_module("gossamer.policy.sentences.quality").note_findings
    return list(note_findings(profile.findings, job.id, show))
