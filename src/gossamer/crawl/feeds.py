"""Writes the feeds of a spider from its job's items, at the end of each run.

An item that continues a file is written once, over all runs of the job, even if one of them is killed.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

from gossamer.config.settings import Settings
from gossamer.core.jobs import Job
from gossamer.export.new_items import NewItemReader
from gossamer.export.records import ExportRecordFile
from gossamer.ports.store import Store
from gossamer.runtime.user_code import ends_task, traceback_text
from gossamer.spiders.spider import Spider

log = logging.getLogger("gossamer.crawl")


async def write_feeds(spider: Spider, settings: Settings, store: Store, job: Job) -> list[str]:
    """Write all feeds; return one text for each that failed."""
    failures = []
    for feed in spider.feeds:
        record = ExportRecordFile(Path(settings.data), feed.path, is_kept=not settings.memory)
        known = record.known_ranges(job) if feed.can_grow else ()
        reader = NewItemReader(store.read_items(job), known)

        note_file = partial(_note_file, record, job, reader, feed.can_grow)
        try:
            await feed.write_items(reader.new_items(), note_file, is_continued=bool(known))
        except BaseException as error:
            if ends_task(error):
                raise
            failure = (
                f"in the feed {feed.name} (its items are in the store):\n{traceback_text(error, __file__)}"
            )
            log.error("%s", failure.rstrip())  # noqa: TRY400 - with the traceback of the feed's code alone
            failures.append(failure)
        else:
            record.note_items(job, reader.seen, is_grown=feed.can_grow)
    return failures


def _note_file(record: ExportRecordFile, job: Job, reader: NewItemReader, is_grown: bool, part: Path) -> None:
    record.note_replacement(part, job, reader.seen, is_grown=is_grown)
