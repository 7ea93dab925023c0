"""``DOWNLOADER_MIDDLEWARES`` of one's own as a hook: they see requests and answers where Scrapy's would.

Orders are those of Scrapy. An answer that Scrapy would follow as a redirect (600), or ask for again (550), is
not shown to middlewares of lower orders: there they never see it. robots.txt passes ``process_request``
alone, and what that answers is not taken: a middleware that knows pages only closes no site.
"""

from __future__ import annotations

import inspect
from base64 import b64decode
from binascii import Error as Base64Error
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

from scrapy.downloadermiddlewares.retry import RetryMiddleware
from scrapy.exceptions import IgnoreRequest as ScrapyIgnoreRequest
from scrapy.http import Request as ScrapyRequest
from scrapy.http import Response as ScrapyResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.deprecate import argument_is_required

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.deferreds import await_any
from gossamer.adapters.scrapy.exchanges import Exchange, begin_exchange, find_exchange
from gossamer.adapters.scrapy.failures import make_failure
from gossamer.adapters.scrapy.local_files import PLACES, REFUSED, is_local, read_local, refuse_local
from gossamer.adapters.scrapy.middlewares import RETRIES, OrderedMiddleware, has_built_in, open_middlewares
from gossamer.adapters.scrapy.page_methods import PLAYWRIGHT
from gossamer.adapters.scrapy.references import LostReferenceError
from gossamer.adapters.scrapy.requests import (
    EXTRAS,
    RequestMapper,
    RequestOrigin,
    headers_of,
    identity_of,
)
from gossamer.adapters.scrapy.responses import make_response, to_response
from gossamer.adapters.scrapy.statuses import REDIRECTS, StatusRules
from gossamer.core.errors import IgnoreRequest
from gossamer.core.hooks import Replacement
from gossamer.core.requests import Request
from gossamer.policy.sent_requests import FIXED
from gossamer.spiders.failure import Failure
from gossamer.spiders.response import Response

SETTING = "DOWNLOADER_MIDDLEWARES"
_EVERY, _RETRY, _REDIRECT = float("-inf"), 550.0, 600.0
"""Orders: from which on middlewares see an answer."""
_RETRIED = frozenset({408, 425, 429})
"""Statuses below 500 that are tried again anyway."""
_MOST_TRIED = 10_000
_PROXY_KEY = b"Proxy-Authorization"
Method = tuple[float, Callable[..., Any], bool]
"""A method of a middleware: its order, and whether it takes the spider."""


def downloader_hooks(crawler: AdaptedCrawler, mapper: RequestMapper, statuses: StatusRules) -> list[Any]:
    """Return the hooks of an adapted spider. Raises ``UsageError``."""
    made = open_middlewares(crawler, SETTING)
    middlewares = SimpleNamespace(middlewares=tuple(one.thing for one in made))
    crawler.adapted_engine.downloader = SimpleNamespace(middleware=middlewares)
    if (retries := _other_retries(crawler)) is not None:
        made.append(OrderedMiddleware(_RETRY, retries))
        made.sort(key=lambda one: one.order)
    return [DownloaderHook(crawler, mapper, statuses, made)] if made else [PlainHook(crawler, mapper)]


def _other_retries(crawler: AdaptedCrawler) -> RetryMiddleware | None:
    """Return Scrapy's own retries of statuses that Gossamer does not retry, or ``None``."""
    settings = crawler.settings
    codes = {int(code) for code in settings.getlist("RETRY_HTTP_CODES")}
    codes = {code for code in codes if code < 500 and code not in _RETRIED}
    if not codes or not settings.getbool("RETRY_ENABLED") or not has_built_in(settings, SETTING, RETRIES):
        return None
    retries = RetryMiddleware.from_crawler(crawler)
    retries.retry_http_codes, retries.exceptions_to_retry = codes, ()
    return retries


class PlainHook:
    """Handles local files, ``meta["proxy"]`` and ``Proxy-Authorization`` without middlewares."""

    def __init__(self, crawler: AdaptedCrawler, mapper: RequestMapper) -> None:
        self._mapper = mapper
        self._most = crawler.settings.getint("DOWNLOAD_MAXSIZE")

    def on_request(self, request: Request) -> Request | Awaitable[Response] | None:
        """Credentials for a proxy go to the proxy alone."""
        if request.url.startswith(PLACES):
            _check_place(request)
            return self._read_local(request)
        name = next((name for name in request.headers if name.lower() == "proxy-authorization"), None)
        if name is None or "proxy" not in request.meta:
            return None
        headers = dict(request.headers)
        credentials = headers.pop(name)
        proxy = with_credentials(request.meta["proxy"], credentials)
        return request.replace(headers=headers, meta={**request.meta, "proxy": proxy})

    async def _read_local(self, request: Request) -> Response:
        if _is_robots(request):
            return to_response(request, ScrapyResponse(request.url, 404))
        exchange = begin_exchange(request, self._mapper.to_scrapy(request, is_taken=False))
        try:
            exchange.response = await _answer_local(request, exchange.request, self._most)
        except Exception as error:
            exchange.error = error
            raise
        return to_response(request, exchange.response)


def _check_place(request: Request) -> None:
    """Raise ``IgnoreRequest`` unless the request is for a local file, or for robots.txt.

    A page cannot lead there: after a redirect, only the first URL of the request is the spider's own.
    """
    extras = request.meta.get(EXTRAS) or {}
    is_first = len(request.redirects) == extras.get("replaced", 0)
    if not (_is_robots(request) or (is_first and is_local(extras.get("url", "")))):
        raise IgnoreRequest(
            "a page has led to the place of a local file, which is for the spider's own requests"
        )


async def _answer_local(asked: Request, request: ScrapyRequest, most: int) -> ScrapyResponse:
    """Return the response for a local file. Read errors are passed on."""
    if asked.meta[EXTRAS].get(REFUSED):
        raise refuse_local(request)
    return await read_local(request, most)


class DownloaderHook:
    """The middlewares of one's own, in their order."""

    def __init__(
        self,
        crawler: AdaptedCrawler,
        mapper: RequestMapper,
        statuses: StatusRules,
        middlewares: list[Any],
    ) -> None:
        settings = crawler.settings
        self._spider = crawler.spider
        self._mapper = mapper
        self._statuses = statuses
        self._requests = _methods_of(middlewares, "process_request")
        self._responses = _methods_of(middlewares, "process_response")[::-1]
        self._exceptions = _methods_of(middlewares, "process_exception")[::-1]
        self._most = settings.getint("DOWNLOAD_MAXSIZE")
        self._retries = 0
        if settings.getbool("RETRY_ENABLED") and has_built_in(settings, SETTING, RETRIES):
            self._retries = settings.getint("RETRY_TIMES")
        self._retried_statuses = {int(code) for code in settings.getlist("RETRY_HTTP_CODES")}
        self._tries: OrderedDict[str, int] = OrderedDict()

    async def on_request(self, request: Request) -> Request | Response | Replacement | None:
        """Call each ``process_request``; pass an exception to ``process_exception``."""
        exchange = self._open_exchange(request)
        if exchange is None:
            return None
        made = exchange.request
        is_robots = _is_robots(request)
        is_here = request.url.startswith(PLACES)
        if is_here:
            _check_place(request)
        if is_robots and is_here:
            return to_response(request, ScrapyResponse(request.url, 404))
        if is_robots:
            made.callback = NO_CALLBACK
            made.meta["dont_obey_robotstxt"] = True
        before = headers_of(made)
        try:
            answer = await self._pass_request(made)
            if answer is None and is_here:
                answer = await _answer_local(request, made, self._most)
        except Exception as error:
            if is_robots:
                return None
            answer = await self._pass_exception(error, exchange, _EVERY)
            if answer is None:
                raise _as_ours(error, exchange) from error
        if answer is None and made.meta.get(PLAYWRIGHT) and request.browser is None and not is_robots:
            answer = made  # it now needs a browser, which this worker may lack
        if answer is None or is_robots:
            return self._as_sent(request, made, before)
        return self._take_answer(request, exchange, answer)

    async def on_response(self, response: Response) -> Response | Replacement | None:
        """Call ``process_response`` of those that would see this answer in Scrapy."""
        asked = response.request
        exchange = find_exchange(asked) or self._open_exchange(asked)
        if exchange is None or _is_robots(asked):
            return None
        given = exchange.response
        if given is None:
            given = make_response(response, exchange.request)
            exchange.is_noted = True
        elif given.request is None:
            given.request = exchange.request
        answer: Any = given
        shown_from = self._shown_from(asked, exchange.request, given)
        for order, call, takes_spider in self._responses:
            if order < shown_from:
                break
            more = {"spider": self._spider} if takes_spider else {}
            try:
                answer = await _take_result(call(request=exchange.request, response=answer, **more))
            except Exception as error:
                raise _as_ours(error, exchange) from error
            if isinstance(answer, ScrapyRequest):
                break
            if not isinstance(answer, ScrapyResponse):
                raise _wrong_answer(call, answer)
        if answer is given and exchange.response is None:
            exchange.response = given
            return None
        return self._take_answer(asked, exchange, answer, page=given)

    async def on_error(self, request: Request, failure: Failure) -> Response | Replacement | None:
        """Call ``process_exception`` with the exception that Scrapy would have raised."""
        exchange = find_exchange(request) or self._open_exchange(request)
        if exchange is None or _is_robots(request):
            return None
        error: Any = make_failure(failure, exchange.request, None).value
        shown_from = _RETRY if self._is_tried_again(request, exchange.request) else _EVERY
        answer = await self._pass_exception(error, exchange, shown_from)
        return None if answer is None else self._take_answer(request, exchange, answer)

    def _open_exchange(self, asked: Request) -> Exchange | None:
        """Open an exchange; ``None`` if the request's objects are lost, as its callback will report."""
        try:
            made = self._mapper.to_scrapy(asked, is_taken=False)
        except LostReferenceError:
            return None
        if asked.depth:
            made.meta["depth"] = asked.depth
        return begin_exchange(asked, made)

    # ------------------------------------------------------------------ the chains

    async def _pass_request(self, made: ScrapyRequest) -> ScrapyRequest | ScrapyResponse | None:
        for _, call, takes_spider in self._requests:
            more = {"spider": self._spider} if takes_spider else {}
            answer = await _take_result(call(request=made, **more))
            if answer is not None:
                return _check_answer(call, answer)
        return None

    async def _pass_exception(
        self, error: Exception, exchange: Exchange, shown_from: float
    ) -> ScrapyRequest | ScrapyResponse | None:
        """Return the replacement of an exception, or ``None``. Errors of middlewares are passed on."""
        for order, call, takes_spider in self._exceptions:
            if order < shown_from:
                break
            more = {"spider": self._spider} if takes_spider else {}
            try:
                answer = await _take_result(call(request=exchange.request, exception=error, **more))
            except Exception as raised:
                if raised is error:
                    break
                raise _as_ours(raised, exchange) from raised
            if answer is not None:
                return _check_answer(call, answer)
        return None

    def _take_answer(
        self,
        asked: Request,
        exchange: Exchange,
        answer: ScrapyRequest | ScrapyResponse,
        page: ScrapyResponse | None = None,
    ) -> Response | Replacement:
        if isinstance(answer, ScrapyRequest):
            self._mapper.take_held(asked)
            made = self._mapper.to_request(answer, RequestOrigin(identity_of(asked), page))
            extras = {**made.meta.get(EXTRAS, {}), "replaced": len(asked.redirects) + 1}
            return Replacement(made.replace(meta={**made.meta, EXTRAS: extras}))
        exchange.response = answer
        return to_response(asked, answer)

    def _as_sent(self, request: Request, made: ScrapyRequest, before: dict[str, str]) -> Request | None:
        """Return our request with the middlewares' changes, or ``None`` if nothing that is sent has
        changed."""
        changes: dict[str, Any] = {}
        authorization = made.headers.pop(_PROXY_KEY, None) if "proxy" in made.meta else None
        headers = headers_of(made)
        if headers != before:
            changes["headers"] = headers
        if made.method != request.method:
            changes["method"] = made.method
        if made.body != request.body:
            changes["body"] = made.body
        if self._mapper.options is not None:
            options = self._mapper.options.read_options(made)
            changes |= {name: value for name, value in options.items() if name not in FIXED}
        if "proxy" in made.meta:
            proxy = made.meta["proxy"]
            if authorization:
                proxy = with_credentials(proxy, authorization[-1].decode("latin-1"))
            changes["meta"] = {**request.meta, "proxy": proxy}
        elif "proxy" in request.meta:
            changes["meta"] = {name: value for name, value in request.meta.items() if name != "proxy"}
        return request.replace(**changes) if changes else None

    # ------------------------------------------------------------------ who sees what

    def _shown_from(self, asked: Request, made: ScrapyRequest, response: ScrapyResponse) -> float:
        status = response.status
        if status in REDIRECTS:
            follows = b"Location" in response.headers and not self._statuses.wants_status(asked, status)
            return _REDIRECT if follows else _EVERY
        if status in self._retried_statuses and self._is_tried_again(asked, made):
            return _RETRY
        return _EVERY

    def _is_tried_again(self, asked: Request, made: ScrapyRequest) -> bool:
        """Return whether a failed request is retried; count its tries."""
        if made.meta.get("dont_retry"):
            return False
        identity = identity_of(asked)
        tries = self._tries.pop(identity, 0) + 1
        if tries > made.meta.get("max_retry_times", self._retries):
            return False
        self._tries[identity] = tries
        if len(self._tries) > _MOST_TRIED:
            self._tries.popitem(last=False)
        return True


def with_credentials(proxy: Any, authorization: str) -> Any:
    """Return the URL of a proxy with the user and password of ``Proxy-Authorization``."""
    scheme, _, encoded = authorization.partition(" ")
    if scheme.lower() != "basic" or not isinstance(proxy, str) or "@" in proxy:
        return proxy
    try:
        user, _, password = b64decode(encoded).decode("latin-1").partition(":")
    except Base64Error:
        return proxy
    kind, slashes, place = proxy.partition("://")
    if not slashes:
        kind, place = "http", proxy
    return f"{kind}://{quote(user, safe='')}:{quote(password, safe='')}@{place}"


def _methods_of(middlewares: list[Any], name: str) -> list[Method]:
    found = []
    for order, thing in middlewares:
        call = getattr(thing, name, None)
        if call is not None:
            found.append((order, call, argument_is_required(call, "spider")))
    return found


def _check_answer(call: Callable[..., Any], answer: Any) -> ScrapyRequest | ScrapyResponse:
    if not isinstance(answer, ScrapyRequest | ScrapyResponse):
        raise _wrong_answer(call, answer)
    return answer


def _wrong_answer(call: Callable[..., Any], answer: Any) -> TypeError:
    name = getattr(call, "__qualname__", str(call))
    return TypeError(f"{name}() returned {type(answer).__name__}, and neither a Response nor a Request")


def _as_ours(error: Exception, exchange: Exchange) -> Exception:
    """Return an error in the form that hooks raise; the errback gets it unchanged."""
    exchange.error = error
    return IgnoreRequest(str(error)) if isinstance(error, ScrapyIgnoreRequest) else error


def _is_robots(request: Request) -> bool:
    return "/robots.txt" in request.url and urlsplit(request.url).path == "/robots.txt"


async def _take_result(value: Any) -> Any:
    return await await_any(value) if inspect.isawaitable(value) else value
