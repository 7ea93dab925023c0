"""A fetcher that writes every answer to an archive."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec.structs import replace

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.ports.archive_writer import ArchiveWriter
from gossamer.ports.fetcher import Fetcher


class ArchivingFetcher:
    """A fetcher whose answers are in the archive before their results are committed.

    With ``says_places``, an answer is returned once it is in the archive, with its place. robots.txt is
    skipped unless ``keeps_robots``. A failed write raises ``StorageError``, so no result is committed
    without its page.
    """

    def __init__(
        self,
        fetcher: Fetcher,
        writer: ArchiveWriter,
        *,
        keeps_robots: bool = False,
        says_places: bool = False,
    ) -> None:
        self._fetcher = fetcher
        self._writer = writer
        self._keeps_robots = keeps_robots
        self._says_places = says_places
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`. Also raises ``StorageError``."""
        fetched = await self._fetcher.fetch(request, route)
        is_kept = fetched.saved is None and (self._keeps_robots or not _is_robots(request.url))
        if is_kept and self._says_places:
            place = await self._writer.write_exchange(request, fetched)
            return replace(fetched, archived=place, raw=None)
        if is_kept:  # a body in a file has a place of its own
            self._writer.queue_exchange(request, fetched)
        return replace(fetched, archived="", raw=None)

    async def close(self) -> None:
        """Release connections. The caller closes the archive."""
        await self._fetcher.close()


def _is_robots(url: str) -> bool:
    return "/robots.txt" in url and urlsplit(url).path == "/robots.txt"
