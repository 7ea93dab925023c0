"""The parts of a test site: answers, an access log, a limit of requests per second.

A site is a function from path and headers to an answer. :func:`gossamer.testing.site.serve` serves it on
loopback; :class:`gossamer.testing.site.SiteFetcher` serves it without a socket, in virtual time.
"""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from gossamer.ports.clock import Clock
from gossamer.runtime.clock import SystemClock

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class SiteResponse:
    """One response of a site that a test serves."""

    status: int = 200  # HTTP status
    body: bytes = b""  # the body
    content_type: str = HTML  # value of Content-Type; empty: the header is not sent
    headers: tuple[tuple[str, str], ...] = ()  # further headers
    delay_s: float = 0.0  # seconds to wait before the response
    fail: Literal["", "reset", "close", "half", "stall"] = ""
    """Failure instead: reset or close the connection, send half of the body, or never answer."""


App = Callable[[str, Mapping[str, str]], SiteResponse]
"""``app(path, headers)``: the requested path with its query; names of headers in lower case."""


def compress_answers(app: App) -> App:
    """Return the same site with compressed answers for clients that accept them, as on most sites."""

    def answer(path: str, headers: Mapping[str, str]) -> SiteResponse:
        plain = app(path, headers)
        if not plain.body or "gzip" not in headers.get("accept-encoding", ""):
            return plain
        more = (("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
        return replace(plain, body=gzip.compress(plain.body, 1, mtime=0), headers=(*plain.headers, *more))

    return answer


@dataclass(frozen=True, slots=True)
class Hit:
    """One request that reached a site."""

    at: float  # by the site's clock, when the header was complete
    path: str  # with its query
    status: int  # 0: misbehaved instead of answering
    host: str = ""
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)


class AccessLog:
    """Every request of a site, in the order of their arrival."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.peak: Counter[str] = Counter()  # most requests at the same time, by host
        self._now: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.hits)} hits, at once {dict(self.peak)}>"

    def begin_hit(self, hit: Hit) -> None:
        """Record the arrival of a request."""
        self.hits.append(hit)
        self._now[hit.host] += 1
        self.peak[hit.host] = max(self.peak[hit.host], self._now[hit.host])

    def end_hit(self, host: str) -> None:
        """Record the end of its answer or connection."""
        self._now[host] -= 1

    def count_paths(self) -> Counter[str]:
        """Count the requests of each path."""
        return Counter(hit.path for hit in self.hits)

    def start_gaps(self, host: str | None = None) -> list[float]:
        """Return the seconds between the starts of successive requests, at one host or at all together."""
        return [after.at - before.at for before, after in pairwise(self._hits_of(host))]

    def _hits_of(self, host: str | None) -> list[Hit]:
        return sorted((hit for hit in self.hits if host in (None, hit.host)), key=lambda hit: hit.at)


class RateLimit:
    """A site that answers 429 with ``Retry-After`` to requests beyond ``per_second`` at one host.

    ``every`` also answers each n-th request with 429. ``seen`` has the time of every request and whether it
    was refused. The limit counts a host's accepted requests of the last second.
    """

    def __init__(
        self,
        app: App,
        per_second: float = 5,
        *,
        every: int = 0,
        retry_after_s: int = 1,
        clock: Clock | None = None,
    ) -> None:
        self.seen: list[tuple[float, bool]] = []
        self._app = app
        self._per_second = per_second
        self._every = every
        self._retry_after_s = retry_after_s
        self._clock = clock or SystemClock()
        self._recent: defaultdict[str, deque[float]] = defaultdict(deque)

    @property
    def refused_count(self) -> int:
        """Requests answered by 429."""
        return sum(refused for _, refused in self.seen)

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        """Answer by the site inside, or with 429."""
        now = self._clock.now()
        recent = self._recent[headers.get("host", "")]
        # Float rounding must not fail a client that keeps the exact distance.
        while recent and recent[0] <= now - 1 + 1e-6:
            recent.popleft()
        thrown_in = self._every > 0 and (len(self.seen) + 1) % self._every == 0
        refuse = thrown_in or len(recent) >= self._per_second
        self.seen.append((now, refuse))
        if refuse:
            wait = (("Retry-After", str(self._retry_after_s)),)
            return SiteResponse(429, b"slow down\n", "text/plain", headers=wait)
        recent.append(now)
        return self._app(path, headers)
