"""Results of attempts: verdicts, fetched pages, items, rows of the ledger."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import msgspec

from gossamer.core.browsing import CapturedResponse, PageFailure
from gossamer.core.drops import DropSample
from gossamer.core.errors import LedgerReason
from gossamer.core.files import SavedFile
from gossamer.core.freshness import KnownPage
from gossamer.core.hosts import HostSignal
from gossamer.core.media_type import extract_type
from gossamer.core.record import Fingerprint, Record, Time
from gossamer.core.requests import (
    Entry,
    Lease,
    Request,
    RequestPreview,
)

# --------------------------------------------------------------------------- results


class Verdict(StrEnum):
    """The result of an attempt. The ledger stores the value."""

    SUCCESS = "success"  # the page was fetched, and its callback ran
    REDIRECT = "redirect"  # the target becomes a request of its own
    SKIPPED = "skipped"  # settled for a reason that will not change: robots, out of scope, gone
    RETRY = "retry"  # it failed and is tried again later
    REROUTED = "rerouted"  # it waits for another kind of worker, or behind everything else, at no cost
    DEAD = "dead"  # given up: a dead letter
    EXPIRED = "expired"  # the worker never came back


class StatusWish(IntEnum):
    """Whether a callback is to see an answer with an error."""

    NEVER = 0
    AT_ONCE = 1
    AT_LAST = 2  # once the request has been tried as often as it may be


TRUNCATED = "truncated"
"""The flag of a body whose Content-Encoding has no end: what could be decoded of it is there."""
NOT_READ = "not_read"
"""The flag of an answer that is neither HTML nor text, and at which the callback did not look."""
JAVASCRIPT_SHELL = "javascript_shell"
"""The flag of a page that is empty until its scripts have run, and that was fetched without running them."""
DEFERRED = "deferred"
"""The flag of a page that was fetched, and whose callback another worker runs."""
EXTRACTED = "extracted"
"""The flag of an attempt that fetched nothing: it ran the callback of a page that was deferred."""


class Outcome(Record, frozen=True, kw_only=True):
    """The decision about one lease, applied with its outlinks in one atomic step."""

    lease: Lease
    verdict: Verdict  # SUCCESS, REDIRECT, SKIPPED, RETRY, REROUTED or DEAD
    reason: str = ""  # a ``Fault`` value, or free text for people
    due_at: float = 0.0  # RETRY: not before
    charged: bool = True  # RETRY: whether it counts against ``max_retries``, else against ``max_throttled``
    is_excused: bool = False  # RETRY: it counts against neither: it was not the page's fault
    lane: str = ""  # REROUTED: the lane in which it waits from now on; it counts against neither of the two
    priority: int | None = None  # REROUTED: from now on; None: it stays as it was
    is_page: bool = False  # a response for the spider: counts against the page budgets
    signal: HostSignal = HostSignal()
    outlinks: tuple[Entry, ...] = ()


class Attempt(Record, frozen=True, kw_only=True):
    """One row of the ledger: one attempt at one request."""

    at: Time  # when the attempt began
    url: str  # in its canonical form, as fetched
    fingerprint: Fingerprint  # identifies the request
    verdict: Verdict  # how it ended
    reason: str = ""  # a ``Fault`` value if it is not a success
    detail: str = ""  # for people: the exception, the traceback of a callback; never a secret
    attempt: int = 1  # the number of the attempt, from 1
    status: int = 0  # the HTTP status; 0: no response
    size_bytes: int = 0  # of the decoded body
    elapsed_ms: float = 0.0  # until the body had arrived
    worker: str = ""  # the worker that made it
    rung: str = ""  # how it was fetched: ``http``; empty when no host was asked
    depth: int = 0  # hops from a seed
    via: str = ""  # the page that led here
    method: str = "GET"  # the request's method
    flags: tuple[str, ...] = ()  # what fetching and parsing found out about the page: ``truncated`` ...
    request: RequestPreview | None = None  # what distinguishes it from others to its URL; None: nothing
    proxy: str = ""  # the proxy that it was fetched through, without credentials; empty: none
    session: str = ""  # whose cookies it was sent with: the request's session, or the identity that took it
    cost: float = 0.0  # the charge for the fetch, in the currency of the paid service
    wire_bytes: int = 0  # of the body as it came, before it was decoded
    address: str = ""  # the IP address that answered; empty: not known, as through a proxy

    def as_stale(self) -> Attempt:
        """The row when its lease was lost before it was settled: the fetch did happen."""
        return msgspec.structs.replace(self, reason=LedgerReason.STALE.value)


class AttemptFilter(Record, frozen=True, kw_only=True):
    """Which attempts of a job; an empty filter means all of them."""

    urls: tuple[str, ...] = ()  # spellings of one URL, any of which fits
    host: str = ""  # a politeness key: ``host`` or ``host:port``
    status: int | None = None  # 0: no response
    statuses: tuple[int, int] | None = None  # from one status on and below another
    worker: str = ""  # by its name
    verdict: str = ""
    reason: str = ""
    method: str = ""
    flag: str = ""  # one of the page's
    rung: str = ""  # whole, or without its kind of proxy
    proxy: str = ""  # by its name
    fingerprint: int | None = None  # of the request
    since: float | None = None  # begun then or later
    until: float | None = None  # begun before


class NumberedAttempt(Attempt, frozen=True, kw_only=True):
    """A row of the ledger with its place in it."""

    id: int  # ascends with the time at which rows were written


class AttemptRows(Record, frozen=True, kw_only=True):
    """A part of a ledger, newest first."""

    attempts: tuple[NumberedAttempt, ...] = ()
    next_before: int | None = None  # where the next part begins (before this id); None: this is the last part


EVERY_ATTEMPT = AttemptFilter()


PLAIN_TYPE = "item"
"""The type of items that are plain dicts: it declares no fields."""


class ItemRecord(Record, frozen=True, kw_only=True):
    """An item that passed the pipeline, ready to be stored."""

    type: str  # the class name, or ``item`` for plain dicts
    key: str  # what identifies it within ``(spider, type)``
    data: bytes  # canonical JSON (UTF-8, fields in their order)
    hash: int  # of ``data``, signed 64 bits
    url: str = ""  # the page it was found on
    files: tuple[str, ...] = ()  # the URLs of files that it names; not stored: they become requests


class PageRecord(Record, frozen=True, kw_only=True):
    """A page that was parsed."""

    url: str
    fingerprint: int
    status: int
    content_type: str = ""
    title: str = ""
    depth: int = 0
    size_bytes: int = 0
    at: float = 0.0
    items: int = 0  # found on it and kept


class VisitResult(Record, frozen=True, kw_only=True):
    """Everything a worker brings back from one lease; committed as a whole or not at all."""

    outcome: Outcome
    attempts: tuple[Attempt, ...] = ()
    items: tuple[ItemRecord, ...] = ()
    page: PageRecord | None = None
    dropped: dict[str, int] = {}  # things not taken, by reason: ``item:price``, ``link:scheme``
    samples: tuple[DropSample, ...] = ()  # some of the items among them
    expected: dict[str, int] = {}  # how many of something the page announces, by ``policy.goals``' keys
    stats: dict[str, int] = {}  # the spider's own counts, by the counters of ``policy.spider_stats``
    known: tuple[KnownPage, ...] = ()  # new records of the page and of the pages it links to
    stop: str = ""  # why the callback ends the job; empty: it does not


class RawExchange(Record, frozen=True, kw_only=True, gc=False):
    """The bytes on the wire for one response, with credentials: cookies and Authorization, as sent."""

    request_header: bytes  # as sent, with the empty line at its end; empty: it is not to be kept
    response_header: bytes  # as received, with the informational responses before it
    body: bytes  # as received: with its Content-Encoding, without the framing of chunks

    def __repr__(self) -> str:
        sizes = (len(self.request_header), len(self.response_header), len(self.body))
        return "<RawExchange of {:,} + {:,} + {:,} bytes>".format(*sizes)


class FetchResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A response as a fetcher returns it; redirects are not followed."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case, in order, repeated ones kept
    body: bytes  # content-decoded
    started_at: float
    latency_s: float  # start to end of the header
    elapsed_s: float  # start to end of the body
    rung: str  # the way it was fetched, as in the ledger
    wire_bytes: int = 0  # of the body as it came
    flags: tuple[str, ...] = ()  # ``truncated`` and the like
    address: str = ""  # the connected IP address of the host; empty through a proxy, which looks it up itself
    proxy: str = ""  # the proxy that it came through, without credentials
    cost: float = 0.0  # the charge of a paid service
    browser_s: float = 0.0  # how long a tab of a browser was held for it
    raw: RawExchange | None = None  # the bytes on the wire, if the fetcher keeps them
    captured: tuple[CapturedResponse, ...] = ()  # the page's own requests that ``Browsing`` captures
    pdf: bytes = b""  # the page as it is printed, where an action asked for it
    screenshot: bytes = b""  # the page as a PNG, where one was asked for, or where something failed on it
    failure: PageFailure | None = None  # the page loaded, but a step on it failed
    archived: str = ""  # its place in the archive; empty: it is in none
    held_s: float = 0.0  # how long hooks had the request before its host was asked
    saved: SavedFile | None = None  # the body in a file, where it was asked for so; ``body`` has none

    @property
    def size_bytes(self) -> int:
        """The size of the whole body."""
        return len(self.body) if self.saved is None else self.saved.size_bytes

    @property
    def content_type(self) -> str:
        """The Content-Type as sent; of several values the last valid one, as browsers take it."""
        found = None
        for name, value in self.headers:
            if name == "content-type":
                if found is not None or "," in value:
                    return extract_type(tuple(text for key, text in self.headers if key == name))
                found = value
        return found or ""

    def header(self, name: str, default: str = "") -> str:
        """The first header of that (lower-case) name."""
        for key, value in self.headers:
            if key == name:
                return value
        return default


class RobotsDecision(Record, frozen=True, kw_only=True):
    """The decision of a robots gate about one request.

    A decision with a ``signal`` returns the lease with it; the host's next turn decides again.
    robots.txt was fetched just now (the turn is used up), another worker is fetching it, or its crawl-delay
    was read from shared state and the frontier may not know it yet (the turn is not used).
    """

    allowed: bool
    reason: str = ""  # a ``Fault`` value when not allowed
    detail: str = ""  # for people
    signal: HostSignal | None = None
    retry_at: float | None = None  # unreachable: ask again then
    is_answered: bool = False  # unreachable: an error was the answer, so the host is there
    is_final: bool = False  # unreachable for so long, and never read before, that the page is given up


class PageReading(NamedTuple):
    """The text of a page that people read."""

    heading: str  # its title with its first headings
    text: str  # all of it, the headings among it


class ExtractResult(Record, frozen=True, kw_only=True):
    """The results of a callback for one response."""

    items: tuple[Any, ...] = ()
    requests: tuple[Request, ...] = ()
    dropped: dict[str, int] = {}  # links not followed, by reason
    fault: str = ""  # a ``Fault`` value when the page is not a success
    error: str = ""  # for people: a traceback, or the missing part
    is_parsed: bool = True  # False: neither HTML nor anything a callback made something of
    refresh_to: str = ""  # a meta refresh that is a redirect: the target, as written
    title: str = ""
    content_type: str = ""
    flags: tuple[str, ...] = ()  # what parsing says of the page: ``parse_truncated`` and the like
    samples: tuple[DropSample, ...] = ()  # some of the items that the pipeline has dropped
    response: Any = None  # the callback's response, for the pipeline; ``None``: none
    read_text: Callable[[], PageReading] | None = None  # as people read it; ``None``: it has no text
    expected: dict[str, int] = {}  # how many of something the page announces, by ``policy.goals``' keys
    stop: str = ""  # why the callback ends the job; empty: it does not
