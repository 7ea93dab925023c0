"""Bounds of the HTTP fetcher, in one frozen record."""

from __future__ import annotations

from math import inf

from msgspec.structs import replace

from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.fetch.http.tls import TlsMode

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
ACCEPT_ENCODING = "gzip, deflate, br, zstd"

REDIRECT_BODY_BYTES = 64 * 1024
"""Bytes read of a redirect's body; it is not needed, and a redirect does not fail because of its body."""

REDIRECT_BODY_S = 1.0
"""Seconds for a redirect's body; a slower one costs only the connection."""


MAX_HEAD_BYTES = 256 * 1024
"""The longest header, as in browsers (Chromium: 256 KiB)."""


class FileLimits(Record, frozen=True, kw_only=True):
    """Bounds of bodies that go to a file while they come."""

    folder: str  # where they are meanwhile
    max_bytes: int = 1024**3  # of the file, and of its bytes on the wire
    body_s: float = 3600.0  # the whole body
    types: tuple[str, ...] = ()  # the media types that are wanted; none: all


class ExchangeLimits(Record, frozen=True, kw_only=True):
    """Bounds of one exchange: those of :class:`HttpOptions`, or of a request that has its own."""

    headers_s: float
    idle_s: float
    body_s: float
    max_body_bytes: int
    until: float = inf  # by the loop: nothing takes longer than until then


class HttpOptions(Record, frozen=True, kw_only=True):
    """Bounds and manners of the HTTP fetcher."""

    user_agent: str = "gossamer"
    headers: dict[str, str] = {}  # sent with every request; a request's own headers go first
    says_referer: bool = False  # requests name the page that led to them
    authorizations: dict[str, str] = {}  # by origin: sent there instead of an Authorization in ``headers``
    accept_language: str = "en,*;q=0.5"
    connect_s: float = 10.0  # name look-up, connection and TLS handshake
    headers_s: float = 30.0  # from there to the end of the response's header
    idle_s: float = 20.0  # without a byte of the body
    body_s: float = 120.0  # the whole body
    max_body_bytes: int = 32 * 1024 * 1024  # decoded; what came over the wire may not be more either
    large_bodies_bytes: int = 96 * 1024 * 1024  # all large bodies in flight together (see ``memory_budget``)
    max_head_bytes: int = MAX_HEAD_BYTES  # the whole header, in lines of any number and length
    keepalive_s: float = 30.0  # how long an idle connection is kept for its host
    dns_cache_s: int = 300
    dns_threads: int = 32
    insecure_hosts: frozenset[str] = frozenset()  # certificates of these hosts are not checked
    tls: TlsMode = "modern"
    keeps_exchanges: bool = False  # whether results carry what went over the wire, within the same bounds
    files: FileLimits | None = None  # of bodies kept as files; None: no files
    local_pause_s: float = 1.0  # before a failure of this machine (no more open files) is passed on
    max_cookie_jars: int = 10_000  # one per session and registrable domain; the oldest are forgotten


def limits_of(options: HttpOptions) -> ExchangeLimits:
    """Return the bounds of requests that have none of their own."""
    return ExchangeLimits(
        headers_s=options.headers_s,
        idle_s=options.idle_s,
        body_s=options.body_s,
        max_body_bytes=options.max_body_bytes,
    )


def own_limits_of(request: Request, usual: ExchangeLimits, start: float) -> ExchangeLimits:
    """Return the bounds of a request whose fetch began at ``start`` (by the loop).

    A timeout of its own bounds all of it together, and may be longer than the settings allow for a part.
    """
    if request.timeout is request.max_size is None:
        return usual
    most = request.max_size or usual.max_body_bytes
    if request.timeout is None:
        return replace(usual, max_body_bytes=most)
    all_s = request.timeout
    return ExchangeLimits(
        headers_s=all_s, idle_s=all_s, body_s=all_s, max_body_bytes=most, until=start + all_s
    )
