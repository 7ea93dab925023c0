"""From a spider's item to the stored record."""

from __future__ import annotations

from typing import Any, Protocol

from gossamer.core.results import ItemRecord


class Pipeline(Protocol):
    """Cleans, validates and keys items.

    Guarantee: equal items give equal records (type, key, data and hash) in every process, so an item that is
    seen twice is stored once.
    """

    async def process(self, item: Any, url: str, page: Any = None) -> ItemRecord:
        """Return the record to store for an item that was found at a URL.

        ``page`` is the response of the callback, for steps that read it again; ``None`` without one, as in an
        errback. It is not kept after the call. Raises :class:`~gossamer.core.errors.DropItem` with the reason
        for an unwanted item, :class:`~gossamer.core.errors.UnstorableItemError` for one that cannot be
        stored, and :class:`~gossamer.core.errors.PipelineError` if user code fails: then nothing of the page
        is stored, and it is retried.
        """
        ...
