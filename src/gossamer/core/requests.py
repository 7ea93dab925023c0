"""The records that cross boundaries: frozen, one sentence per field, the unit in the name.

Times are seconds since the epoch (UTC) as ``float``; durations end in ``_s``, sizes in ``_bytes``.
Users write a ``Request``; an :class:`Entry` is an admitted request (canonical, fingerprinted, placed); a
:class:`Lease` is an entry handed out to a worker; a :class:`VisitResult` has all results of one lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import force_setattr

from gossamer.core.browsing import Browsing, check_browsing
from gossamer.core.files import Saving, check_saving
from gossamer.core.record import Record
from gossamer.core.redaction import hide_userinfo
from gossamer.core.request_options import (
    OWN_OPTIONS,
    Cookies,
    encode_body,
    has_own_options,
    own_options_of,
    split_omitted,
    without_type,
)
from gossamer.core.rungs import check_rung
from gossamer.core.storable import (
    as_stored,
    callback_name,
    check_absolute,
    check_size,
    convert_field,
    headers_as_stored,
)

BANDS = 9
"""Priority bands of a frontier: band 0 is served first."""
FARTHEST = 2**52
"""The largest distinct priority, and its negative the smallest: doubles represent these ranks exactly."""


def band_of(rank: int) -> int:
    """Return the band of a rank; ranks beyond the bands are in the first or the last."""
    return rank if 0 <= rank < BANDS else 0 if rank < 0 else BANDS - 1


IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
"""Methods that may be sent twice (RFC 9110, 9.2.2)."""
LAST = -1_000_000
"""The lowest priority in use: behind everything else."""


# --------------------------------------------------------------------------- requests


_KINDS: dict[str, type] = {
    **dict.fromkeys(
        ("url", "method", "lane", "session", "fetch", "unique_key", "via", "trace", "archived"), str
    ),
    **dict.fromkeys(("headers", "meta", "cb_kwargs"), dict),
    **dict.fromkeys(("priority", "depth"), int),
    "lastmod": float,
    "body": bytes,
    "dont_filter": bool,
    "follow_rules": bool,
    "is_anywhere": bool,
}
"""Required types of a request's fields: a stored request of other types could not be read again."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request for one URL, with the callback that gets the response. Requests are immutable.

    Raises ``UsageError`` for a value that cannot be stored. Requests with the same URL, method and body are
    duplicates: a crawl makes only the first one, unless ``dont_filter`` is set.
    """

    url: str  # absolute http(s) URL
    callback: Any = None  # the method of the spider that gets the response, or its name; ``None``: ``parse``
    method: str = "GET"  # HTTP method; POST if ``json`` or ``form`` is given
    headers: dict[str, str] = {}  # headers to send; one whose value is ``None`` is not sent at all
    body: bytes = b""  # the body
    meta: dict[str, Any] = {}  # JSON values for the callback: ``response.meta``
    cb_kwargs: dict[str, Any] = {}  # keyword arguments of the callback, JSON values
    priority: int = 0  # higher goes first; across hosts, values beyond -4 and 4 count as those
    dont_filter: bool = False  # make the request even if it is a duplicate
    errback: Any = None  # the method that gets a ``Failure`` if the request fails for good, or its name
    lane: str = "http"  # kind of worker that the request needs
    session: str = ""  # name of the session; each session has cookies, and visits each page, of its own
    fetch: str = ""  # way to fetch: ``http``, ``browser``, ``auto``, ...; empty: the spider's default
    browser: Browsing | None = None  # steps of a browser on the page; sets ``fetch`` to ``browser``
    unique_key: str = ""  # replaces the URL in the search for duplicates
    is_anywhere: bool = False  # allow hosts that ``allowed_domains`` does not name
    depth: int = 0  # hops from a first request; set by the engine
    via: str = ""  # URL of the page that led here; set by the engine
    redirects: tuple[str, ...] = ()  # URLs that redirected here, oldest first; set by the engine
    redirect_statuses: tuple[int, ...] = ()  # their statuses, 0 for redirects by a page or a hook
    trace: str = ""  # the visit that led here, as a ``traceparent``; set by the engine where traces are on
    archived: str = ""  # the place of its answer in the archive; set by the engine
    is_trap_probe: bool = False  # its group is closed: is it still a trap? Set by the engine
    saves: Saving | None = None  # the answer becomes a file (``response.file``); None: a page
    lastmod: float = 0.0  # time of the latest change of the page, in seconds since the epoch; 0: unknown
    follow_rules: bool = False  # apply the spider's rules to the page, in addition to the callback
    json: Any = None  # JSON to send as the body; the attribute is then ``None``
    form: Any = None  # form values to send as the body; the attribute is then ``None``
    cookies: Cookies | None = None  # cookies to add to the session, by name, or dicts as in Scrapy
    auth: Any = None  # ``(user, password)`` or a token, for the origin of the URL; stored as a header value
    omit_headers: tuple[str, ...] | None = None  # names of headers not to send
    timeout: float | None = None  # maximum seconds from connecting to the last byte; ``None``: the settings
    max_size: int | None = None  # maximum bytes of the body; ``None``: the settings
    max_retries: int | None = None  # maximum number of retries; ``None``: the settings
    delay: float | None = None  # minimum seconds from yielding the request to sending it
    keep_fragment: bool | None = None  # the fragment of the URL counts; ``None``: as the settings say

    if TYPE_CHECKING:  # it takes more than it keeps

        def __init__(  # noqa: PLR0917
            self,
            url: str,
            callback: Callable[..., Any] | str | None = None,
            method: str = "GET",
            headers: Mapping[str, str | None] = {},
            body: bytes | str = b"",
            meta: Mapping[str, Any] = {},
            cb_kwargs: Mapping[str, Any] = {},
            priority: int = 0,
            dont_filter: bool = False,
            errback: Callable[..., Any] | str | None = None,
            lane: str = "http",
            session: str = "",
            fetch: str = "",
            browser: Browsing | None = None,
            unique_key: str = "",
            is_anywhere: bool = False,
            depth: int = 0,
            via: str = "",
            redirects: tuple[str, ...] = (),
            redirect_statuses: tuple[int, ...] = (),
            trace: str = "",
            archived: str = "",
            is_trap_probe: bool = False,
            saves: Saving | None = None,
            lastmod: float = 0.0,
            follow_rules: bool = False,
            json: Any = None,
            form: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None,
            cookies: Mapping[str, str] | Iterable[Mapping[str, Any]] | None = None,
            auth: tuple[str, str] | str | None = None,
            omit_headers: Iterable[str] | None = None,
            timeout: float | None = None,
            max_size: int | None = None,
            max_retries: int | None = None,
            delay: float | None = None,
            keep_fragment: bool | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.callback is not None and type(self.callback) is not str:
            force_setattr(self, "callback", callback_name(self.callback, "callback"))
        if self.errback is not None and type(self.errback) is not str:
            force_setattr(self, "errback", callback_name(self.errback, "errback"))
        if not _are_of_their_kinds(self):
            for name, kind in _KINDS.items():
                force_setattr(self, name, convert_field(name, getattr(self, name), kind))
        if self.json is not None or self.form is not None or has_own_options(self):
            self._settle_options()
        if not self.url.startswith(("http://", "https://")):
            check_absolute(self.url)
        if self.method != "GET":
            force_setattr(self, "method", self.method.upper())
        if self.browser is not None:
            check_browsing(self.browser, "a request's browser")
            force_setattr(self, "fetch", self.fetch or "browser")
        if self.saves is not None:
            check_saving(self.saves, self.callback, self.fetch)
            force_setattr(self, "fetch", self.fetch or "http")
        if self.fetch:
            check_rung(self.fetch)
        if self.body or self.headers or self.meta or self.cb_kwargs:
            self.validate()

    def _settle_options(self) -> None:
        """Put ``json`` or ``form`` into the body, and the other options into their stored form."""
        if self.json is not None or self.form is not None:
            self._set_fields(encode_body(self))
        self._set_fields(own_options_of({name: getattr(self, name) for name in OWN_OPTIONS}))

    def _set_fields(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            force_setattr(self, name, value)

    def __repr__(self) -> str:
        """Show method and URL only: headers, ``meta`` and body may hold secrets."""
        named = {"callback": self.callback, "method": self.method if self.method != "GET" else None}
        named |= {"headers": [*self.headers], "meta": [*self.meta], "cb_kwargs": [*self.cb_kwargs]}
        said = "".join(f" {name}={value}" for name, value in named.items() if value)
        body = f" body of {len(self.body):,} bytes" if self.body else ""
        return f"<Request {hide_userinfo(self.url)}{said}{body}>"

    def validate(self) -> None:
        """Make headers, ``meta`` and ``cb_kwargs`` the request's own, in the form in which they are stored.

        Raises :class:`UsageError` for what cannot be stored.
        """
        if self.body:
            check_size("body", len(self.body))
        if self.headers:
            if None in self.headers.values():
                self._set_fields(split_omitted(self.headers, self.omit_headers))
            force_setattr(self, "headers", headers_as_stored(self.headers))
        if self.meta:
            force_setattr(self, "meta", as_stored(self.meta, "meta"))
        if self.cb_kwargs:
            force_setattr(self, "cb_kwargs", as_stored(self.cb_kwargs, "cb_kwargs"))

    def replace(self, **changes: Any) -> Request:
        """Return a copy with ``changes``, which are arguments of the constructor."""
        if "json" in changes or "form" in changes:
            changes = {"body": b"", "headers": without_type(self.headers), **changes}
        return msgspec.structs.replace(self, **changes)

    @property
    def rank(self) -> int:
        """Where it goes among those of its host: the lowest first. Those of a band are the band's number."""
        rank = BANDS // 2 - self.priority
        return rank if -FARTHEST <= rank <= FARTHEST else min(max(rank, -FARTHEST), FARTHEST)

    @property
    def band(self) -> int:
        """The priority band, 0 (first) to ``BANDS - 1``: where it goes among those of all hosts."""
        return band_of(self.rank)


def _are_of_their_kinds(request: Request) -> bool:
    """Whether every field is what ``_KINDS`` says; written out, since every request pays for it."""
    return (
        type(request.url)
        is type(request.method)
        is type(request.lane)
        is type(request.session)
        is type(request.fetch)
        is type(request.unique_key)
        is type(request.via)
        is type(request.trace)
        is type(request.archived)
        is str
        and type(request.headers) is type(request.meta) is type(request.cb_kwargs) is dict
        and type(request.priority) is type(request.depth) is int
        and type(request.lastmod) is float
        and type(request.body) is bytes
        and type(request.dont_filter) is type(request.follow_rules) is type(request.is_anywhere) is bool
    )


class Entry(Record, frozen=True, kw_only=True):
    """An admitted request, as a frontier stores it."""

    request: Request
    fingerprint: int  # signed 64 bits, keyed per job; equal means "the same page"
    host: str  # the politeness key: ``host`` or ``host:port``
    due_at: float = 0.0  # not before this time; 0 means at once
    unreadable: str = ""  # why the stored request cannot be read; ``request`` is then a placeholder
    lastmod: float = 0.0  # when its page changed, as the page that led here says; no frontier keeps it


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
    host_pause_s: float = 0.0  # longest pause of the host if this fails, unless the host names a time
    is_probe: bool = False  # the host is in trouble
    host_silent: bool = False  # those are without any answer; refusals are answers
    is_suspect: bool = False  # that trouble may be of single pages: fewer than two witnesses have met it
    blames_pages: bool = False  # the host answers other requests: a further failure counts against the page
    host_unheard: bool = False  # no page of the host has come in this job so far
    asks_known: bool = False  # a URL that the host has answered is requested in its place, if there is one


class Grant(Record, frozen=True, kw_only=True):
    """The answer to ``Frontier.lease``.

    No leases means "nothing is due now", not "finished"; ``next_at`` says when to ask again at the
    latest (``None``: nothing waits for a time; ask after the next settle or add).
    """

    leases: tuple[Lease, ...] = ()
    next_at: float | None = None
    expired: tuple[Lease, ...] = ()  # leases found past their deadline and taken back by this call


class RequestPreview(Record, frozen=True, kw_only=True):
    """The ledger's preview of a request: bounded, without secrets."""

    callback: str = ""  # "" is the default, ``parse``
    headers: tuple[str, ...] = ()  # the names of its headers
    body: str = ""  # how the body begins
    body_bytes: int = 0  # the size of the whole body
    cb_kwargs: dict[str, Any] = {}  # long values are cut, and are then strings
    meta: tuple[str, ...] = ()  # the names in ``meta``
    redirected_by: str = ""  # the URL whose redirect led here
    options: tuple[str, ...] = ()  # other options, without secrets: ``timeout 5``, ``auth``
