"""A fetcher that answers from a cache of earlier fetches, for work on a spider."""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from gossamer.core.errors import ArchiveDamagedError, BlobMissingError
from gossamer.core.hooks import HOOK_RUNG
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.core.rungs import way_of
from gossamer.policy.blocks import BlockRules, find_block
from gossamer.policy.faults import FAULTS, FaultKind
from gossamer.policy.retry import fault_of_status
from gossamer.ports.archive_reader import ArchiveReader
from gossamer.ports.archive_writer import ArchiveWriter
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher

CACHE_JOB = "pages"
"""Name for all jobs in the archive that serves as the cache."""

DATED_S = 1.0
"""Seconds by which an archive's time may be off: it dates entries by whole seconds."""


class CachedFetcher:
    """A fetcher that answers with another crawl's page if it is not too old, and stores its own answers.

    It stores answers to plain GET requests that would be the same again: pages, redirects and missing
    pages. It stores no refusals and no failures, and nothing for a request with headers or a session of its
    own. Answers of plain HTTP do not serve a browser. ``max_age_s`` is the limit of their age in seconds,
    ``None`` for any age; ``began_at`` is the start of this crawl. An answer of this crawl that sets cookies
    is fetched again, since its process may have been killed before it stored them.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        reader: ArchiveReader,
        writer: ArchiveWriter,
        clock: Clock,
        *,
        max_age_s: float | None = None,
        began_at: float = inf,
        blocks: BlockRules | None = None,
    ) -> None:
        self._fetcher = fetcher
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._max_age_s = max_age_s
        self._began_at = began_at
        self._blocks = blocks or BlockRules()
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`. Also raises ``StorageError``."""
        is_plain = request.browser is None and request.saves is None and not request.headers
        is_plain = is_plain and not (
            request.auth or request.cookies or request.omit_headers or request.session
        )
        if request.method != "GET" or request.body or not is_plain:
            return await self._fetcher.fetch(request, route)
        known = await self._find_page(request.url, route)
        if known is not None:
            return known
        fetched = await self._fetcher.fetch(request, route)
        if self._is_worth_keeping(fetched):
            await self._writer.write_exchange(request, fetched)
        return fetched

    async def _find_page(self, url: str, route: Route) -> FetchResult | None:
        entry = await self._reader.find_page(CACHE_JOB, url)
        if entry is None or way_of(entry.rung) == DIRECT.way != route.way:
            return None
        if self._max_age_s is not None and self._clock.now() - entry.at > self._max_age_s:
            return None
        try:
            page = await self._reader.read_page(entry.location.text)
        except (ArchiveDamagedError, BlobMissingError):  # deleted meanwhile: it is fetched again
            return None
        if entry.at + DATED_S > self._began_at and page.fetched.header("set-cookie"):
            return None
        return replace(page.fetched, archived="")  # a job's own archive has another place for it

    def _is_worth_keeping(self, fetched: FetchResult) -> bool:
        if fetched.rung == HOOK_RUNG or TRUNCATED in fetched.flags:  # not from a server, or only a part
            return False
        fault = fault_of_status(fetched.status)
        if fault is not None and FAULTS[fault].kind is not FaultKind.SETTLED:
            return False
        return fetched.failure is None and find_block(fetched, self._blocks) is None

    async def close(self) -> None:
        """Let go of connections, and finish the files of the cache."""
        try:
            await self._fetcher.close()
        finally:
            await self._writer.close()
