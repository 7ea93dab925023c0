"""A fetcher that calls sites without a socket, on any clock: whole crawls in virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Route
from gossamer.ports.clock import Clock
from gossamer.testing.answers import AccessLog, App, Hit, SiteResponse

FAULTS = {
    "reset": Fault.CONNECT,
    "close": Fault.CONNECT,
    "half": Fault.INCOMPLETE,
    "stall": Fault.TIMEOUT_HEADERS,
}


class SiteFetcher:
    """A :class:`~gossamer.ports.fetcher.Fetcher` over one site, or several by ``host`` or ``host:port``.

    Each answer takes ``latency_s`` seconds of ``clock`` and its own ``delay_s``; a stalled answer takes
    ``timeout_s``. An unknown host fails with ``Fault.DNS``. ``log`` is the access log.
    """

    rung = "http"
    touches_network = True

    def __init__(
        self,
        sites: App | Mapping[str, App],
        clock: Clock,
        *,
        latency_s: float = 0.05,
        timeout_s: float = 20.0,
        user_agent: str = "gossamer-test",
    ) -> None:
        self.log = AccessLog()
        self._sites = sites
        self._clock = clock
        self._latency_s = latency_s
        self._timeout_s = timeout_s
        self._user_agent = user_agent

    @property
    def hits(self) -> list[Hit]:
        """Every request with its time."""
        return self.log.hits

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """Return one response. Raises :class:`FetchError` for a misbehaving or unknown site."""
        url = urlsplit(request.url)
        app = self._sites.get(url.netloc) if isinstance(self._sites, Mapping) else self._sites
        if app is None:
            raise FetchError(Fault.DNS, url.netloc, rung=self.rung)
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
        headers = {"host": url.netloc, "user-agent": self._user_agent}
        headers |= {name.lower(): value for name, value in request.headers.items()}
        started_at = self._clock.now()
        answer = app(path, headers)
        status = 0 if answer.fail else answer.status
        self.log.begin_hit(Hit(started_at, path, status, url.netloc, request.method, headers))
        try:
            await self._clock.sleep(self._duration_of(answer))
        finally:
            self.log.end_hit(url.netloc)
        if answer.fail:
            detail = f"{url.netloc} is set to {answer.fail}"
            raise FetchError(FAULTS[answer.fail], detail, rung=self.rung)
        return self._make_result(request, answer, started_at)

    def _duration_of(self, answer: SiteResponse) -> float:
        return self._timeout_s if answer.fail == "stall" else self._latency_s + answer.delay_s

    def _make_result(self, request: Request, answer: SiteResponse, started_at: float) -> FetchResult:
        headers = [(name.lower(), value) for name, value in answer.headers]
        if answer.content_type:
            headers.append(("content-type", answer.content_type))
        elapsed_s = self._clock.now() - started_at
        return FetchResult(
            url=request.url,
            status=answer.status,
            headers=tuple(headers),
            body=b"" if request.method == "HEAD" else answer.body,
            started_at=started_at,
            latency_s=elapsed_s,
            elapsed_s=elapsed_s,
            rung=self.rung,
            wire_bytes=len(answer.body),
        )

    async def close(self) -> None:
        """No-op."""
