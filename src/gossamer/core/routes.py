"""How one request is fetched: by which rung, through which proxy, as whom."""

from __future__ import annotations

from enum import StrEnum
from hashlib import blake2b

from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, VisitResult
from gossamer.core.rungs import way_of


class Proxy(Record, frozen=True, kw_only=True):
    """One proxy. Its password is in no text that is made of it."""

    scheme: str  # ``http``, ``https`` or ``socks5``: how the proxy itself is spoken to
    host: str
    port: int
    user: str = ""
    password: str = ""
    provider: str = ""  # who sells it
    kind: str = ""  # ``datacenter``, ``residential``, ``mobile``; empty: unknown
    country: str = ""  # ISO 3166-1, two letters in lower case; empty: unknown
    number: int = 1  # among those that differ in their password alone

    @property
    def name(self) -> str:
        """The name for the ledger, logs and metrics, without credentials.

        Providers sell many proxies at one address that differ by user, shown as a digest of eight digits, or
        by password, shown as a running number, since a digest would help to guess it.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        mark = f"#{blake2b(self.user.encode(), digest_size=4).hexdigest()}" if self.user else ""
        mark += f".{self.number}" if self.number > 1 else ""
        return f"{self.scheme}://{host}:{self.port}{mark}"

    def __repr__(self) -> str:
        return f"<Proxy {self.name}>"

    __str__ = __repr__


class Route(Record, frozen=True, kw_only=True):
    """The way to fetch one request. A fetcher uses the parts that it supports."""

    rung: str = "http"  # the rung of the ladder: a way to fetch, and ``+kind`` where it names a kind of proxy
    proxy: Proxy | None = None  # None: straight from here
    session: str | None = None  # whose cookies are sent and kept; None: the request's own session
    profile: str = ""  # the browser that the rung pretends to be, as ``chrome``; empty: the settings' own

    @property
    def way(self) -> str:
        """The way to fetch, without the kind of proxy: ``http``, ``impersonate``, ``browser``, ..."""
        return way_of(self.rung)

    def session_for(self, request: Request) -> str:
        """Whose cookies a request is sent with."""
        return request.session if self.session is None else self.session


DIRECT = Route()
"""By plain HTTP, straight from here."""


class Detour(Record, frozen=True, kw_only=True):
    """Why a request is not fetched now, by this worker: at no cost, it waits for a lane or for a time."""

    lane: str = ""  # it waits for a worker of this lane
    wait_s: float | None = None  # its host is asked again after so long
    why: str = ""  # for people
    is_last: bool = False  # it waits in its own lane, behind everything else
    is_own: bool = False  # only this request waits, since others of its host go another way
    refusals: int = 0  # so often in a row the host has refused every proxy that works; 0: one may be welcome
    refused: int = 0  # proxies that rest because the host refuses them


class BlockKind(StrEnum):
    """The evidence that a page is a refusal. The ledger stores the value."""

    STATUS = "status"  # a status that refuses, without any mark
    CLOUDFLARE = "cloudflare"
    AKAMAI = "akamai"
    DATADOME = "datadome"
    HUMAN = "human"  # formerly PerimeterX
    IMPERVA = "imperva"  # Incapsula
    AWS_WAF = "aws_waf"
    KASADA = "kasada"
    CAPTCHA = "captcha"  # one of no known vendor
    WORDS = "words"  # a small page that says it
    MISSING = "missing"  # an element that the spider requires is not there
    LOG_IN = "log_in"  # a redirect to a page where one logs in
    CHALLENGE = "challenge"  # a redirect to a page that tests visitors
    SHELL = "shell"  # a page that is empty until its scripts have run
    SPIDER = "spider"  # the spider's own ``is_blocked``


class Block(Record, frozen=True, kw_only=True):
    """That a page refuses us, and how we know."""

    kind: BlockKind
    detail: str = ""  # for people: the mark that was found
    is_certain: bool = True  # False: pages for everybody look like this too, so one alone proves nothing


class RouteReport(Record, frozen=True, kw_only=True):
    """The result of one route."""

    request: Request
    host: str  # the politeness key
    route: Route
    result: VisitResult  # what would become of the request
    fetched: FetchResult | None = None  # None: no answer
    block: Block | None = None  # None: nothing refuses us
    is_probe: bool = False  # its host was silent before, and was asked for another page


class Advice(Record, frozen=True, kw_only=True):
    """That a request is to be tried again at no charge, since another route is worth it."""

    due_at: float = 0.0  # not before
    lane: str = ""  # by a worker of this lane; empty: of this one
    detail: str = ""  # for people: the decision and its reason
