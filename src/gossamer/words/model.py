"""The records that cross boundaries: frozen, one sentence per field, the unit in the name.

Times are seconds since the epoch (UTC) as ``float``; durations end in ``_s``, sizes in ``_bytes``.
``Request`` is what users write and what a frontier stores; an :class:`Entry` is a request that was
admitted (canonical, fingerprinted, placed); a :class:`Lease` is an entry handed out; a
:class:`Harvest` is everything a worker brings back from one lease.
"""

from __future__ import annotations

from enum import StrEnum
from operator import attrgetter
from typing import Any

import msgspec

from gossamer.words.errors import Remark
from gossamer.words.lifecycle import JobState, State
from gossamer.words.storable import (
    as_stored,
    callback_name,
    check_absolute,
    check_size,
    fitting,
    headers_as_stored,
)

BANDS = 9
"""Priority bands of a frontier: band 0 is served first."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every record."""


# --------------------------------------------------------------------------- requests


_KINDS: dict[str, type] = {
    **dict.fromkeys(("url", "method", "lane", "session", "via"), str),
    **dict.fromkeys(("headers", "meta", "cb_kwargs"), dict),
    **dict.fromkeys(("priority", "depth"), int),
    "body": bytes,
    "dont_filter": bool,
}
"""What the fields of a request must be: a stored request of other types could not be read again."""
_FIELDS, _TYPES = attrgetter(*_KINDS), tuple(_KINDS.values())


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to fetch, and what to do with the answer.

    ``callback`` and ``errback`` take a method of the spider or its name and are stored by name.
    ``meta`` and ``cb_kwargs`` must be JSON-able. ``priority`` is Scrapy's: higher goes first, 0 is
    normal, and -4..4 are told apart (more is clamped). ``lane`` is the kind of worker it needs.
    """

    url: str
    callback: Any = None
    method: str = "GET"
    headers: dict[str, str] = {}
    body: bytes = b""
    meta: dict[str, Any] = {}
    cb_kwargs: dict[str, Any] = {}
    priority: int = 0
    dont_filter: bool = False
    errback: Any = None
    lane: str = "http"
    session: str = ""  # requests of one session share cookies
    depth: int = 0  # hops from a seed; set by the engine
    via: str = ""  # the page that led here; set by the engine
    redirects: tuple[str, ...] = ()  # the URLs that redirected here, oldest first; set by the engine

    def __post_init__(self) -> None:
        force = msgspec.structs.force_setattr
        if self.callback is not None and type(self.callback) is not str:
            force(self, "callback", callback_name(self.callback, "callback"))
        if self.errback is not None and type(self.errback) is not str:
            force(self, "errback", callback_name(self.errback, "errback"))
        if tuple(map(type, _FIELDS(self))) != _TYPES:
            for name, kind in _KINDS.items():
                force(self, name, fitting(name, getattr(self, name), kind))
        if not self.url.startswith(("http://", "https://")):
            check_absolute(self.url)
        if self.method != "GET":
            force(self, "method", self.method.upper())
        if self.body or self.headers or self.meta or self.cb_kwargs:
            self.validate()

    def validate(self) -> None:
        """Make headers, ``meta`` and ``cb_kwargs`` the request's own, in the form in which they are stored.

        Raises :class:`UsageError` for what cannot be stored.
        """
        if self.body:
            check_size("body", len(self.body))
        become = msgspec.structs.force_setattr
        if self.headers:
            become(self, "headers", headers_as_stored(self.headers))
        if self.meta:
            become(self, "meta", as_stored(self.meta, "meta"))
        if self.cb_kwargs:
            become(self, "cb_kwargs", as_stored(self.cb_kwargs, "cb_kwargs"))

    def replace(self, **changes: Any) -> Request:
        """The same request with some fields changed."""
        return msgspec.structs.replace(self, **changes)

    @property
    def band(self) -> int:
        """The priority band, 0 (first) to ``BANDS - 1``."""
        return min(max(BANDS // 2 - self.priority, 0), BANDS - 1)


class Entry(Record, frozen=True, kw_only=True):
    """An admitted request: what a frontier stores."""

    request: Request
    fingerprint: int  # signed 64 bits, keyed per job; equal means "the same page"
    host: str  # the politeness key: ``host`` or ``host:port``
    due_at: float = 0.0  # not before this time; 0 means at once
    unreadable: str = ""  # why what was stored cannot be read; ``request`` then only stands for it


class Lease(Record, frozen=True, kw_only=True):
    """An entry handed to one worker until a deadline."""

    entry: Entry
    token: int  # never handed out twice; settling with a stale token changes nothing
    granted_at: float
    start_by: float  # later than this, give it back instead: the host's next turn may have come
    deadline: float
    attempt: int  # 1 for the first time it is handed out and started
    failures: int = 0  # earlier attempts that were charged to the request
    throttled: int = 0  # earlier attempts the host answered with "later"
    expiries: int = 0  # earlier leases that no worker came back from
    host_down: bool = False  # the host has been in trouble for too long: settle as DEAD without trying
    host_answered: bool = False  # the host has answered something before
    host_pause_s: float = 0.0  # longest pause of the host if this fails too: with any, this is a probe
    host_silent: bool = False  # those are without any answer; refusals are answers
    is_suspect: bool = False  # that trouble may be of single pages: fewer than two witnesses have met it


class Grant(Record, frozen=True, kw_only=True):
    """The answer to ``Frontier.lease``.

    No leases means "nothing is due now", not "finished"; ``next_at`` says when to ask again at the
    latest (``None``: nothing waits for a time; ask after the next settle or add).
    """

    leases: tuple[Lease, ...] = ()
    next_at: float | None = None
    expired: tuple[Lease, ...] = ()  # leases found past their deadline and taken back by this call


# --------------------------------------------------------------------------- hosts and rules


class Rules(Record, frozen=True, kw_only=True):
    """What a job asks of its frontier; frozen into the job when it is opened, changeable by ``control``."""

    delay_s: float | None = None  # None: follow the host's response time
    min_delay_s: float = 0.1  # bounds of the adaptive delay
    max_delay_s: float = 30.0
    initial_delay_s: float = 0.2  # adaptive delay before anything is known of the host
    per_host: int = 1  # requests in flight per host
    crawl_delay_cap_s: float = 30.0
    retry_after_cap_s: float = 3600.0
    backoff_base_s: float = 1.0  # first back-off of a failing request or host
    backoff_cap_s: float = 300.0
    max_retries: int = 3  # failures charged to a request before it is given up
    max_throttled: int = 20  # "later" answers to one request before it is given up
    max_expiries: int = 10  # workers that one request may take down before it is given up
    host_patience_s: float = 21_600.0  # how long a host that has answered before may be in trouble
    max_silences: int = 8  # incidents in a row after which a host that has never answered is given up
    max_pages: int | None = None  # pages of the job (responses parsed)
    max_pages_per_host: int | None = None
    max_depth: int | None = None


class HostState(Record, frozen=True, kw_only=True):
    """What a frontier knows of one host; changed only by ``policy.politeness``."""

    next_at: float = 0.0  # the next allowed start (the theoretical arrival time of GCRA, ITU-T I.371)
    delay_s: float = 0.0  # the delay in force now
    in_flight: int = 0
    crawl_delay_s: float | None = None  # from robots.txt, capped
    incidents: int = 0  # consecutive troubles of the host; 0 when it is well
    silences: int = 0  # consecutive incidents in which the host did not answer at all; 0 when it refuses
    incident_at: float = 0.0  # when the last one began: failures started before it belong to it
    pages: int = 0  # pages of this host that count against its budget
    last_at: float = 0.0  # the latest start that is known to have been made
    hold_until: float = 0.0  # no start before this, whatever turns are given back
    answered_at: float = 0.0  # when its latest answer was settled; 0: it has never answered
    troubled_since: float = 0.0  # since when there was no answer but refusals; 0 when it is well
    troubled_by: int = 0  # the mark of the one request that has met this trouble; 0: several, 1: no witness
    pace_s: float = 0.0  # seconds between two starts while it throttles, if that is more than the delay
    limit_s: float = 0.0  # the spacing at which it throttled last


class SignalKind(StrEnum):
    """What a lease's end says of its host."""

    UNUSED = "unused"  # no request was started: the turn is given back
    OK = "ok"
    FAULT = "fault"  # an answer that is no success: never makes the delay shorter
    THROTTLED = "throttled"  # 429, 502, 503, 504: the host asks for time, or has more to do than it can
    UNREACHABLE = "unreachable"  # no answer: DNS, connect, timeout


class HostSignal(Record, frozen=True, kw_only=True):
    """What a worker learnt of a host by one lease."""

    kind: SignalKind = SignalKind.UNUSED
    started_at: float = 0.0  # when the last request to the host was really started
    latency_s: float | None = None  # start to end of the response's header
    retry_after_s: float | None = None
    crawl_delay_s: float | None = None  # a robots.txt that was just read asks for this
    robots_read: bool = False  # a robots.txt was just read: ``crawl_delay_s`` is the news, None included


# --------------------------------------------------------------------------- results


class Verdict(StrEnum):
    """How an attempt ended. The value is what the ledger stores."""

    SUCCESS = "success"  # the page was had, and its callback ran
    REDIRECT = "redirect"  # the target is a request of its own
    SKIPPED = "skipped"  # will not change: robots, out of scope, gone
    RETRY = "retry"  # it failed, and is tried again later
    DEAD = "dead"  # given up: a dead letter
    EXPIRED = "expired"  # the worker never came back


class Outcome(Record, frozen=True, kw_only=True):
    """What is to become of one lease. Applied with its outlinks in one atomic step."""

    lease: Lease
    verdict: Verdict  # SUCCESS, REDIRECT, SKIPPED, RETRY or DEAD
    reason: str = ""  # a ``Fault`` value, or free text for people
    due_at: float = 0.0  # RETRY: not before
    charged: bool = True  # RETRY: whether it counts against ``max_retries``, else against ``max_throttled``
    is_excused: bool = False  # RETRY: it counts against neither: the host or this machine was in trouble
    is_page: bool = False  # a response for the spider: counts against the page budgets
    signal: HostSignal = HostSignal()
    outlinks: tuple[Entry, ...] = ()


class RequestPreview(Record, frozen=True, kw_only=True):
    """What the ledger keeps of a request besides its URL: bounded, without secrets."""

    callback: str = ""  # "" is the default, ``parse``
    headers: tuple[str, ...] = ()  # the names of its headers
    body: str = ""  # how the body begins
    body_bytes: int = 0  # the size of the whole body
    cb_kwargs: dict[str, Any] = {}  # long values are cut, and are then strings
    meta: tuple[str, ...] = ()  # the names in ``meta``
    redirected_by: str = ""  # the URL whose redirect led here


class Attempt(Record, frozen=True, kw_only=True):
    """One row of the ledger: one try at fetching one request."""

    at: float  # when the try began: seconds since the epoch
    url: str  # in its canonical form, as fetched
    fingerprint: int  # of the request: what tells it from others
    verdict: Verdict  # how it ended
    reason: str = ""  # a ``Fault`` value where it is no success
    detail: str = ""  # for people: the exception, the traceback of a callback; never a secret
    attempt: int = 1  # the number of the try, from 1
    status: int = 0  # 0: no response
    size_bytes: int = 0  # decoded body
    elapsed_ms: float = 0.0  # until the body had arrived
    worker: str = ""  # which worker it was
    rung: str = ""  # how it was fetched: ``http``
    depth: int = 0  # hops from a seed
    via: str = ""  # the page that led here
    method: str = "GET"  # the request's method
    flags: tuple[str, ...] = ()  # what fetching and parsing say of the page: ``truncated`` and the like
    request: RequestPreview | None = None  # what else tells it from requests to the same URL; None: nothing

    def as_stale(self) -> Attempt:
        """The row when its lease was lost before it was settled: the fetch did happen."""
        return msgspec.structs.replace(self, reason=Remark.STALE.value)


class ItemRecord(Record, frozen=True, kw_only=True):
    """An item that passed the pipeline, ready to be stored."""

    type: str  # the class name, or ``item`` for plain dicts
    key: str  # what identifies it within ``(spider, type)``
    data: bytes  # canonical JSON (UTF-8, fields in their order)
    hash: int  # of ``data``, signed 64 bits
    url: str = ""  # the page it was found on


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


class Harvest(Record, frozen=True, kw_only=True):
    """Everything a worker brings back from one lease; committed as a whole or not at all."""

    outcome: Outcome
    attempts: tuple[Attempt, ...] = ()
    items: tuple[ItemRecord, ...] = ()
    page: PageRecord | None = None
    dropped: dict[str, int] = {}  # things not taken, by reason: ``item:price``, ``link:scheme``


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """A response as a fetcher returns it; redirects are not followed."""

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]  # names in lower case, in order, repeated ones kept
    body: bytes  # content-decoded
    started_at: float
    latency_s: float  # start to end of the header
    elapsed_s: float  # start to end of the body
    rung: str
    wire_bytes: int = 0
    flags: tuple[str, ...] = ()  # ``truncated`` and the like
    address: str = ""  # the connected IP address, where there is one

    def header(self, name: str, default: str = "") -> str:
        """The first header of that (lower-case) name."""
        for key, value in self.headers:
            if key == name:
                return value
        return default


class RobotsAnswer(Record, frozen=True, kw_only=True):
    """What a robots gate says of one request.

    An answer with a ``signal`` means: give the lease back with it, and ask again at the host's next turn.
    robots.txt was fetched just now (the turn is used up), another worker is fetching it, or its crawl-delay
    was read from shared state and the frontier may not know it yet (the turn is not used).
    """

    allowed: bool
    reason: str = ""  # a ``Fault`` value when not allowed
    detail: str = ""  # for people
    signal: HostSignal | None = None
    retry_at: float | None = None  # unreachable: ask again then


class Extraction(Record, frozen=True, kw_only=True):
    """What a spider made of one response."""

    items: tuple[Any, ...] = ()
    requests: tuple[Request, ...] = ()
    dropped: dict[str, int] = {}  # links not followed, by reason
    fault: str = ""  # a ``Fault`` value when the page is no success
    error: str = ""  # for people: a traceback, or what is missing
    is_parsed: bool = True  # False: neither HTML nor anything a callback made something of
    refresh_to: str = ""  # a meta refresh that is a redirect: the target, as written
    title: str = ""
    content_type: str = ""
    flags: tuple[str, ...] = ()  # what parsing says of the page: ``parse_truncated`` and the like


# --------------------------------------------------------------------------- jobs


class Added(Record, frozen=True, kw_only=True):
    """The answer to ``Frontier.add``."""

    accepted: int = 0
    duplicates: int = 0
    too_deep: int = 0


class FrontierStats(Record, frozen=True, kw_only=True):
    """A frontier's own count of its job; the five states are counted from the structures."""

    state: JobState
    pending: int = 0
    delayed: int = 0
    leased: int = 0
    done: int = 0
    dead: int = 0
    pages: int = 0
    duplicates: int = 0
    too_deep: int = 0
    hosts: int = 0
    next_at: float | None = None  # when the next waiting request may start, if one waits
    budget_spent: bool = False  # ``max_pages`` is reached
    seeded: bool = False  # ``finish_seeding`` was called, and nothing that it rests on was lost since

    @property
    def waiting(self) -> int:
        """Requests that still have to be done."""
        return self.pending + self.delayed + self.leased


class HostReport(Record, frozen=True, kw_only=True):
    """One host in a listing."""

    host: str
    state: HostState
    pending: int


class Found(Record, frozen=True, kw_only=True):
    """What a frontier knows of one fingerprint."""

    state: State
    entry: Entry | None = None  # DONE keeps only the fingerprint
    due_at: float = 0.0
    attempts: int = 0
    reason: str = ""
    host: HostState | None = None


class DeadLetter(Record, frozen=True, kw_only=True):
    """A request given up."""

    id: int
    entry: Entry
    reason: str
    attempts: int = 0
    died_at: float = 0.0


class DeadFilter(Record, frozen=True, kw_only=True):
    """Which dead letters; an empty filter means all of the job."""

    reason: str | None = None
    host: str | None = None
    older_than: float | None = None  # died before this time
    ids: tuple[int, ...] = ()


class Change(StrEnum):
    """What ``Frontier.control`` can do to its job."""

    RESUME = "resume"
    PAUSE = "pause"
    CANCEL = "cancel"
    FINISH = "finish"
    RECOVER = "recover"  # every lease is void: the caller knows that no worker holds one


class Job(Record, frozen=True, kw_only=True):
    """One crawl."""

    id: str  # ``shop-1``: unique in its store, made from the name
    name: str  # the spider's name, or the host of a URL target; whose items these are
    target: str  # what is crawled, with the spider's arguments: the same target is the same crawl
    created_at: float
    state: JobState = JobState.RUNNING
    finished_at: float | None = None
    finish_reason: str = ""  # why the last run ended; behind "error: " what the error said
    key: bytes = b""  # keys the fingerprints
    plan: bytes = b""  # how any worker puts the same crawl together; empty for a crawl of one machine

    @property
    def end_reason(self) -> str:
        """Why the last run ended, in a word; empty while it runs."""
        return self.finish_reason.partition(":")[0]

    @property
    def end_error(self) -> str:
        """What the error said that ended the last run; empty when none did."""
        return self.finish_reason.partition(": ")[2]


class Tally(Record, frozen=True, kw_only=True):
    """A job's totals, counted from the store."""

    pages: int = 0
    items: int = 0  # distinct items of this job
    attempts: int = 0
    retries: int = 0
    duplicates: int = 0  # items that this job had already
    dropped: dict[str, int] = {}
    bytes: int = 0
    by_status: dict[str, int] = {}
    by_reason: dict[str, int] = {}
    successes: int = 0  # requests that were answered and handled without a fault
    callback_pages: dict[str, int] = {}  # pages that a callback was given and did not fail on, by its name
    callback_items: dict[str, int] = {}  # items that it gave on them, dropped ones included
    callback_requests: dict[str, int] = {}  # requests that it gave on them and that were new


class StoredItem(Record, frozen=True, kw_only=True):
    """An item as the store has it."""

    type: str  # the class name, or ``item`` for plain dicts
    key: str  # what identifies it within ``(spider, type)``
    data: dict[str, Any]  # its fields
    url: str  # the page it was found on, with these values
    first_seen: float  # seconds since the epoch
    last_seen: float  # the same, of the latest page that showed it
    changed_at: float  # the same, of the latest page that showed it with other values
    id: int = 0  # its number in the store
