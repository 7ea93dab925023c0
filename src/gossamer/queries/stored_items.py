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
    """Iterate over the items of a job in the order of their first storage, also while a crawl runs. ::

        async for item in gossamer.items("shop", changed_since="shop-3"):
            print(item.type, item.data["price"], item.url)

    ``job`` is a job's id, or a name for its latest job. ``changed_since`` selects items that are new or
    changed since a time (a ``datetime``, seconds since the epoch, or text as on the command line) or since
    the end of another job, by the time of their pages. ``type`` selects items of one type. ``data`` is the
    data directory (default: the project's). Memory does not grow with the number of items. Raises
    :class:`~gossamer.core.errors.UnknownJobError`, ``UsageError`` and ``StorageError``.
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
