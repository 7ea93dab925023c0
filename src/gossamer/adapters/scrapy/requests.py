"""Convert requests from Scrapy's to those of the frontier, and back for ``response.request``.

Values that only Scrapy knows are stored in ``meta`` under :data:`EXTRAS`. Requests that Scrapy would not
filter have a key of their own, made of their page and their content: a page repeated after a crash requests
them once, and they hide no other request to their URL.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import urldefrag

from scrapy import Request as ScrapyRequest
from scrapy import Spider
from scrapy.http import Headers
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import Settings
from w3lib.url import canonicalize_url

from gossamer.adapters.scrapy.local_files import REFUSED, is_allowed, is_local, place_of
from gossamer.adapters.scrapy.options import RequestOptions
from gossamer.adapters.scrapy.references import HeldObjects, LostReferenceError, ReferenceTable
from gossamer.adapters.scrapy.storage import NotStorableError, from_stored, is_plain, to_stored
from gossamer.core.errors import UsageError
from gossamer.core.requests import Request
from gossamer.policy.urls import canonicalise_request, canonicalise_url

EXTRAS = "scrapy"
"""The key in ``meta`` for values that only Scrapy knows."""
DEFAULT_CALLBACK = "_parse"
"""Scrapy's callback of a request without one."""
OF_THE_ENGINE = frozenset({"depth", "download_latency", "download_slot", EXTRAS})
"""Names in ``meta`` that every request gets itself; they are not passed on."""


_NO_CALLBACK = "NO_CALLBACK"
_REFRESH = "meta refresh"


class RequestOrigin:
    """The origin of requests: the start of a spider, or one page. It counts identical ones."""

    def __init__(self, identity: str, page: Any = None) -> None:
        """``page``: the response that a callback has made requests of; ``None``: no page led to them."""
        self._identity = identity
        self.page = page
        self._seen: dict[tuple[str, str, bytes], int] = {}

    def make_key(self, request: ScrapyRequest) -> str:
        """Return a key for a request from here that bypasses the filter."""
        asked = (request.method, request.url, request.body)
        count = self._seen[asked] = self._seen.get(asked, 0) + 1
        return f"scrapy:{digest_of(self._identity, *asked[:2], str(count), body=request.body)}"


class _Extras(NamedTuple):
    """The additional values of a stored request, while they are collected."""

    said: dict[str, Any]
    meta: dict[str, Any]
    cb_kwargs: dict[str, Any]
    live: dict[str, Any]  # the objects that are held: fields of ``HeldObjects``

    def split_values(self, name: str, values: Mapping[Any, Any], plain: dict[str, Any]) -> None:
        """Put plain values into ``plain``; others are held here, and stored as far as possible."""
        others = {}
        for key, value in values.items():
            if key in OF_THE_ENGINE and name == "meta":
                continue
            if is_plain(value) and type(key) is str:
                plain[key] = value
            else:
                others[key] = value
        if others:
            self.live[name] = others
            self.said[name], lost = _store_values(others)
            self.miss(*(f"{name}[{key!r}] ({type(others[key]).__name__})" for key in lost))

    def miss(self, *what: str) -> None:
        """Note what no file can hold."""
        if what:
            self.said.setdefault("held", []).extend(what)


class RequestMapper:
    """Both ways for the requests of one spider."""

    def __init__(
        self,
        spider: Spider,
        *,
        options: RequestOptions | None = None,
        fingerprint: Callable[[ScrapyRequest], bytes] | None = None,
        filters: bool = True,
        choose_errback: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``fingerprint`` is the project's own, if any; ``filters``: whether duplicates are filtered.

        ``choose_errback`` names the errback of a request without one.
        """
        self._spider = spider
        self.options = options
        self._fingerprint = fingerprint
        self._filters = filters
        self._choose_errback = choose_errback
        self._has_own_parse = type(spider)._parse is not Spider._parse
        self.references = ReferenceTable()
        self.canonicalise: Callable[[Request], str | None] = canonicalise_request
        """The job's canonical form of URLs: with fragments, if its settings keep them."""
        self.is_shared = False
        """Whether other processes take requests, which could not use objects held here."""
        self.most_redirects = getattr(spider, "settings", Settings()).getint("REDIRECT_MAX_TIMES")

    def to_request(self, given: ScrapyRequest, origin: RequestOrigin) -> Request:
        """Return the request for the frontier; values that it cannot store are kept here."""
        extras = _Extras({}, {}, {}, {})
        options = {} if self.options is None else self.options.read_options(given)
        url = given.url
        keeps_fragment = "#" in url and "#" in (self.canonicalise(Request(url, **options)) or "")
        key = self._make_key(given, origin, keeps_fragment=keeps_fragment)
        if is_local(url) and (given.errback is not None or is_allowed(url, origin.page)):
            url, options["max_retries"] = place_of(url), 0
            if not is_allowed(given.url, origin.page):
                extras.said[REFUSED] = True
        canonical = canonicalise_url(url, keep_fragment=keeps_fragment)
        if canonical != given.url:
            extras.said["url"] = given.url
        extras.split_values("meta", given.meta, extras.meta)
        extras.split_values("cb_kwargs", given.cb_kwargs, extras.cb_kwargs)
        callback = self._name_callback(given.callback, "callback", extras)
        errback = self._name_callback(given.errback, "errback", extras) or self._choose_errback()
        if callback is None and self._has_own_parse:
            callback = DEFAULT_CALLBACK
        if extras.live:
            self._hold(extras, identify(given.method, key or canonical or url, given.body))
        if given.encoding != "utf-8":
            extras.said["encoding"] = given.encoding
        if given.flags:
            extras.said["flags"] = list(given.flags)
        if extras.said:
            extras.meta[EXTRAS] = extras.said
        if not key and "session" in options:
            key = canonical or given.url  # a page is the same whatever the cookie jar is
        return Request(
            url,
            callback,
            method=given.method,
            headers=headers_of(given),
            body=given.body,
            meta=extras.meta,
            cb_kwargs=extras.cb_kwargs,
            priority=given.priority,
            errback=errback,
            unique_key=key,
            is_anywhere=given.dont_filter or bool(given.meta.get("allow_offsite")),
            **options,
        )

    def to_plain(self, given: ScrapyRequest) -> Request:
        """Return a request to send without storing it: it has neither callbacks nor objects."""
        options = {} if self.options is None else self.options.read_options(given)
        plain = {name: value for name, value in given.meta.items() if is_plain(value)}
        return Request(
            given.url,
            method=given.method,
            headers=headers_of(given),
            body=given.body,
            meta={**plain, EXTRAS: {"url": given.url}},
            is_anywhere=True,
            **options,
        )

    def _hold(self, extras: _Extras, identity: str) -> None:
        """Keep the very objects. Raises ``UsageError`` for some that other processes would need."""
        lost = extras.said.get("held")
        if lost and self.is_shared:
            raise UsageError(
                f"{', '.join(lost)} of a request is known to this process alone, and others work on the "
                "crawl as well: use a method of the spider as the callback, and plain values, or crawl with "
                "one process"
            )
        extras.said["id"] = identity
        self.references.hold(identity, HeldObjects(**extras.live), is_stored=not lost)

    def _make_key(self, given: ScrapyRequest, origin: RequestOrigin, *, keeps_fragment: bool) -> str:
        """Return the key of a request, if it is not just our form of its URL."""
        if given.dont_filter or not self._filters:
            return origin.make_key(given)
        if self._fingerprint is not None:
            return f"scrapy:{self._fingerprint(given).hex()}"
        url = given.url
        if "&" not in url and "%" not in url and ";" not in url:
            return ""
        known: str = canonicalize_url(url, keep_fragments=keeps_fragment)
        return "" if known == canonicalise_url(url, keep_fragment=keeps_fragment) else known

    def _name_callback(self, call: Any, field: str, extras: _Extras) -> str | None:
        """Return the name under which a callback is found again; a callback without one is held."""
        if call is None:
            return None
        if call is NO_CALLBACK:
            return _NO_CALLBACK
        if (name := self._name_method(call)) is not None:
            return name
        extras.live[field] = call
        if isinstance(call, functools.partial) and not call.args:
            name = self._name_method(call.func)
            stored, lost = _store_values(call.keywords)
            if name is not None and not lost:
                extras.said.setdefault("partial", {})[field] = stored
                return name
        extras.miss(f"{field} ({_describe_code(call)})")
        return str(getattr(call, "__name__", "") or type(call).__name__)

    def _name_method(self, call: Any) -> str | None:
        """Return the spider's name for a method; ``None`` if it is not a method of the spider."""
        name: str = getattr(call, "__name__", "")
        is_own = bool(name) and getattr(call, "__self__", None) is self._spider
        return name if is_own and getattr(self._spider, name, None) == call else None

    # ------------------------------------------------------------------ back to Scrapy's

    def to_scrapy(self, request: Request, *, is_taken: bool = True) -> ScrapyRequest:
        """Return the request as Scrapy's code knows it, with its held objects.

        ``is_taken``: its callback or errback runs now, so its objects may be dropped soon. Raises
        :class:`LostReferenceError` if required objects are gone.
        """
        extras: dict[str, Any] = request.meta.get(EXTRAS) or {}
        held = self._find_held(extras, is_taken=is_taken) or HeldObjects()
        meta = {name: value for name, value in request.meta.items() if name != EXTRAS}
        meta |= held.meta or _read_values(extras.get("meta"))
        note_redirects(meta, request, self.most_redirects)
        cb_kwargs = {**request.cb_kwargs, **(held.cb_kwargs or _read_values(extras.get("cb_kwargs")))}
        made: ScrapyRequest = _PlainRequest(
            spell_urls(request)[-1],
            held.callback or self._find_callback(request.callback, "callback", extras),
            request.method,
            request.headers or None,
            request.body,
            meta=meta,
            encoding=extras.get("encoding", "utf-8"),
            priority=request.priority,
            dont_filter=request.is_anywhere and not meta.get("allow_offsite"),
            errback=held.errback or self._find_callback(request.errback, "errback", extras),
            flags=extras.get("flags"),
            cb_kwargs=cb_kwargs,
        )
        made.__class__ = ScrapyRequest  # so that its copies are checked as all are
        return made

    def hold_meta(self, request: Request) -> dict[str, Any]:
        """Return the ``meta`` for the callback of a request; objects in it are held for that."""
        extras = request.meta.get(EXTRAS) or {}
        made = self.to_scrapy(request, is_taken=False)
        if "id" in extras and self.references.find(extras["id"], is_taken=False) is None:
            held = {name: made.meta[name] for name in extras.get("meta") or ()}
            cb_kwargs = {name: made.cb_kwargs[name] for name in extras.get("cb_kwargs") or ()}
            self.references.hold(extras["id"], HeldObjects(meta=held, cb_kwargs=cb_kwargs), is_stored=True)
        return made.meta

    def take_held(self, request: Request) -> None:
        """Release the objects of an earlier request, whose callback runs now or never."""
        extras = request.meta.get(EXTRAS)
        if extras and "id" in extras:
            self.references.find(extras["id"])

    def _find_held(self, extras: Mapping[str, Any], *, is_taken: bool) -> HeldObjects | None:
        if "id" not in extras:
            return None
        held = self.references.find(extras["id"], is_taken=is_taken)
        if held is None and (lost := extras.get("held")):
            raise LostReferenceError(
                f"{', '.join(lost)} of the request was held by the process that made the request, and that "
                "process has ended; objects that no file can hold are not there after a restart. "
                "Use a method of the spider as the callback, and cb_kwargs of plain values"
            )
        return held

    def _find_callback(
        self, name: str | None, field: str, extras: Mapping[str, Any]
    ) -> Callable[..., Any] | None:
        if name is None or name == DEFAULT_CALLBACK:
            return None
        if name == _NO_CALLBACK:
            return NO_CALLBACK
        found: Callable[..., Any] | None = getattr(self._spider, name, None)
        given = extras.get("partial", {}).get(field) if extras else None
        return found if given is None or found is None else functools.partial(found, **_read_values(given))


class _PlainRequest(ScrapyRequest):
    """A request whose URL was checked when it was first made: to check it takes longer than the rest."""

    __slots__ = ()

    def _set_url(self, url: str) -> None:
        self._url = url


def identify(method: str, known_as: str, body: bytes) -> str:
    """Return the frontier's identity of a request: its key or URL, its method and its body."""
    return known_as if method == "GET" and not body else f"{method}:{digest_of(known_as, body=body)}"


def identity_of(request: Request) -> str:
    """Return the identity of a stored request, along redirects by its present URL."""
    return identify(request.method, request.unique_key or request.url, request.body)


def spell_urls(request: Request) -> list[str]:
    """Return the URL with which a request was made, and those of its redirects.

    The fragment is that of the first one, as in browsers and Scrapy (RFC 9110, 10.2.2); a significant one
    is already in the others.
    """
    given: str = (request.meta.get(EXTRAS) or {}).get("url", "")
    if not request.redirects:
        return [given or request.url]
    first, *others = *request.redirects, request.url
    _, fragment = urldefrag(given)
    return [given or first, *(f"{url}#{fragment}" if fragment and "#" not in url else url for url in others)]


def note_redirects(meta: dict[str, Any], request: Request, most: int) -> None:
    """Put into ``meta`` what Scrapy says there of the redirects that led to a request, of ``most``."""
    if not request.redirects:
        return
    # Requests that a middleware has replaced do not count as redirects.
    start = (request.meta.get(EXTRAS) or {}).get("replaced", 0)
    hops = spell_urls(request)[start:-1]
    if not hops:
        return
    reasons = [status or _REFRESH for status in request.redirect_statuses[-len(hops) :]]
    meta["redirect_urls"] = [*meta.get("redirect_urls", ()), *hops]
    meta["redirect_reasons"] = [*meta.get("redirect_reasons", ()), *reasons]
    meta["redirect_times"] = len(meta["redirect_urls"])
    meta["redirect_ttl"] = meta.get("redirect_ttl", most) - len(hops)


def url_of(request: Request) -> str:
    """Return the URL of a response to a request, as Scrapy spells it."""
    return urldefrag(spell_urls(request)[-1])[0]


def digest_of(*parts: str, body: bytes = b"") -> str:
    """Return a short digest of texts and bytes."""
    digest = blake2b(digest_size=12)
    for part in parts:
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0")
    digest.update(body)
    return digest.hexdigest()


def _store_values(values: Mapping[Any, Any]) -> tuple[Any, list[Any]]:
    """Return the JSON of values by name, and the names of those without one."""
    kept, lost = {}, []
    for name, value in values.items():
        try:
            kept[name] = value
            to_stored({name: value})
        except NotStorableError:
            del kept[name]
            lost.append(name)
    return to_stored(kept), lost


def _read_values(stored: Any) -> dict[Any, Any]:
    if stored is None:
        return {}
    try:
        values: dict[Any, Any] = from_stored(stored)
    except NotStorableError as error:
        raise LostReferenceError(f"the class {error}, of a value in the request, is not loaded") from None
    return values


def headers_of(given: ScrapyRequest) -> dict[str, str]:
    """Return the headers of a request as we have them."""
    headers: Headers = given.headers
    return plain_headers(headers) if headers else {}


def plain_headers(headers: Headers) -> dict[str, str]:
    """Headers as we have them: values of one name in one line."""
    return {
        name.decode("latin-1"): b", ".join(values).decode("latin-1")
        for name, values in dict.items(headers)
        if values
    }


def _describe_code(call: Any) -> str:
    """Return a description such as ``lambda at shop.py:12``."""
    inner = call
    while isinstance(inner, functools.partial):
        inner = inner.func
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__qualname__", type(inner).__name__)
    kind = "a partial of " if inner is not call else ""
    return f"{kind}{name}" + (f" at {code.co_filename}:{code.co_firstlineno}" if code is not None else "")
