"""An extractor around another one: it passes everything on except the methods that a subclass overrides."""

from __future__ import annotations

from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.core.routes import Block
from gossamer.ports.extractor import Extractor


class PassingExtractor:
    """Port ``Extractor``: whatever the inner one says."""

    def __init__(self, extractor: Extractor) -> None:
        self._extractor = extractor

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return await self._extractor.extract(request, fetched)

    async def give_up(
        self, request: Request, fault: str, detail: str, fetched: FetchResult | None = None
    ) -> ExtractResult | None:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return await self._extractor.give_up(request, fault, detail, fetched)

    async def find_block(self, request: Request, fetched: FetchResult) -> Block | None:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return await self._extractor.find_block(request, fetched)

    def wants_status(self, request: Request, status: int) -> int:
        """See :class:`~gossamer.ports.extractor.Extractor`."""
        return self._extractor.wants_status(request, status)
