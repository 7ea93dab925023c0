"""The items of a crawl for Python: ``async for item in gossamer.items("shop")``."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import datetime

from gossamer.config.command_settings import settings_of
from gossamer.core.jobs import StoredItem
from gossamer.queries.exports import ItemChoice, find_change_time
from gossamer.queries.jobs import find_job
from gossamer.wiring.open import open_store


async def read_items(
    job: str,
    *,
    changed_since: datetime | float | str | None = None,
    type: str = "",  # noqa: A002 - the word that users know
    data: str | None = None,
) -> AsyncIterator[StoredItem]:
    """Iterate over the stored items of a job, in the order in which they were first stored.

    It works during a crawl, and in constant memory.

    Args:
        job: the id of the job, or its name for the latest job of that name.
        changed_since: only new and changed items since a ``datetime``, a time in seconds since the epoch, a
            time as on the command line, or the end of another job, given by its id.
        type: only items of this type; empty: all.
        data: the data directory; ``None``: that of the project.

    Raises ``UnknownJobError``, ``UsageError`` and ``StorageError``.
    """
    keeping = await open_store(settings_of(data), create=False)
    try:
        if isinstance(changed_since, str):
            changed_since = await find_change_time(keeping, changed_since, time.time())
        elif isinstance(changed_since, datetime):
            changed_since = changed_since.timestamp()
        choice = ItemChoice(type=type, changed_since=changed_since)
        async for item in choice.read_items(keeping, await find_job(keeping, job)):
            yield item
    finally:
        await keeping.close()
