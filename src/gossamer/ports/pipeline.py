"""From what a spider yields to the record that is stored."""

from __future__ import annotations

from typing import Any, Protocol

from gossamer.core.results import ItemRecord


class Pipeline(Protocol):
    """Cleans, validates and keys items.

    Guarantee: equal items give equal records (type, key, data and hash), in every process, so that an item
    that is seen twice is stored once.
    """

    async def process(self, item: Any, url: str, page: Any = None) -> ItemRecord:
        """The record to store of an item that was found at a URL.

        ``page`` is the response that the callback was given, for steps that look at it again; ``None``: there
        was none, as in an errback. It is not kept after the call.
        Raises :class:`~gossamer.core.errors.DropItem` with the reason for an item that is not wanted,
        :class:`~gossamer.core.errors.UnstorableItemError` for one that cannot be stored, and
        :class:`~gossamer.core.errors.PipelineError` when users' code fails: then nothing of the page is
        stored, and it is tried again.
        """
        ...
