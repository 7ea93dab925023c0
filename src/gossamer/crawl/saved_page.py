"""Replaces fetching by a page from a file; no request is sent."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, RobotsDecision
from gossamer.core.routes import DIRECT, Route
from gossamer.spiders.saved_response import read_page
from gossamer.wiring.preview import PreviewParts


class SavedPageFetcher:
    """Ports ``Fetcher`` and ``RobotsGate``: gives one page, whatever is asked for, and allows it."""

    touches_network = False

    def __init__(self, page: FetchResult) -> None:
        self._page = page

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        return self._page

    async def check_request(self, request: Request, route: Route = DIRECT) -> RobotsDecision:
        """See :class:`~gossamer.ports.robots_gate.RobotsGate`."""
        return RobotsDecision(allowed=True)

    def crawl_delay_for(self, url: str) -> None:
        """See :class:`~gossamer.ports.robots_gate.RobotsGate`."""

    async def close(self) -> None:
        """Nothing."""


def find_file(target: str) -> Path | None:
    """Return the file that a person means by an argument; ``None``: it is a URL."""
    path = Path(target).expanduser()
    return path if "://" not in target and path.is_file() else None


def load_page(path: Path, url: str) -> FetchResult:
    """Read the page of a file, with its address, if it is known. Raises ``UsageError``."""
    try:
        return read_page(path, url)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def with_saved_page(parts: PreviewParts, page: FetchResult) -> PreviewParts:
    """Return the parts with that page from the file as the only one; no session logs in."""
    saved = SavedPageFetcher(page)
    return replace(parts, visit=replace(parts.visit, fetcher=saved, robots=saved, login=None))
