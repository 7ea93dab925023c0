"""From a response to items and requests."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.core.routes import Block


class Extractor(Protocol):
    """Turns a response into items and requests: the spider and everything it uses.

    Guarantee: what a page or a callback does wrong is a ``fault`` of its result, together with what was
    found before; only the end of the program and of the task pass through.
    """

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """Run the request's callback. Never raises for what the page or the callback does."""
        ...

    async def give_up(
        self, request: Request, fault: str, detail: str, fetched: FetchResult | None = None
    ) -> ExtractResult | None:
        """Run the request's errback when the request is given up or will not be fetched.

        ``fetched`` is the answer for which it is given up, if there was one.
        ``None``: the request has no errback. Never raises for what the errback does.
        """
        ...

    async def find_block(self, request: Request, fetched: FetchResult) -> Block | None:
        """That a response refuses us, by the spider's own judgement (``is_blocked``); ``None``: it has none.

        Raises :class:`~gossamer.core.errors.FetchError` for what the spider's code does wrong.
        """
        ...

    def wants_status(self, request: Request, status: int) -> int:
        """Whether the spider handles this status itself (``handle_httpstatus_list``): a ``StatusWish``."""
        ...
