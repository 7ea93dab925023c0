"""From a response to items and requests."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.core.routes import Block


class Extractor(Protocol):
    """Turns a response into items and requests by running the spider.

    Guarantee: failures of a page or a callback become the ``fault`` of the result, which keeps everything
    found before; only the end of the program and of the task propagate.
    """

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """Run the request's callback. Never raises for failures of the page or the callback."""
        ...

    async def give_up(
        self, request: Request, fault: str, detail: str, fetched: FetchResult | None = None
    ) -> ExtractResult | None:
        """Run the request's errback when the request is given up or will not be fetched.

        ``fetched`` is the response that caused this, if any. Return ``None`` if the request has no errback.
        Never raises for failures of the errback.
        """
        ...

    async def find_block(self, request: Request, fetched: FetchResult) -> Block | None:
        """Return the block that the spider's ``is_blocked`` sees in a response, or ``None``.

        Raises :class:`~gossamer.core.errors.FetchError` for failures of the spider's code.
        """
        ...

    def wants_status(self, request: Request, status: int) -> int:
        """Return whether the spider handles this status itself (``handle_httpstatus_list``)."""
        ...
