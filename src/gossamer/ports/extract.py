"""From a page to requests and items."""

from __future__ import annotations

from typing import Any, Protocol

from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult, ItemRecord


class Extractor(Protocol):
    """Turns a response into items and requests: the spider and everything it uses."""

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """Run the request's callback. Never raises for what the page or the callback does."""
        ...

    async def give_up(self, request: Request, fault: str, detail: str) -> ExtractResult | None:
        """Run the request's errback, if it has one, when the request is given up or will not be had."""
        ...

    def wants_status(self, request: Request, status: int) -> bool:
        """Whether the spider handles this status itself (``handle_httpstatus_list``)."""
        ...


class Pipeline(Protocol):
    """Cleans, validates and keys items."""

    async def process(self, item: Any, url: str) -> ItemRecord:
        """The record to store.

        Raises :class:`~gossamer.core.errors.DropItem` with the reason for an item that is not wanted,
        :class:`~gossamer.core.errors.UnstorableItemError` for one that cannot be stored, and
        :class:`~gossamer.core.errors.PipelineError` when users' code fails: then nothing of the page is
        stored, and it is tried again.
        """
        ...
