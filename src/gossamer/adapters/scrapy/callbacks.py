"""Run the callbacks and errbacks of Scrapy's spiders: pass Scrapy's objects, convert the results to ours."""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from scrapy import Request as ScrapyRequest
from scrapy import Spider
from scrapy.exceptions import CloseSpider
from scrapy.http import Response as ScrapyResponse
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure as TwistedFailure

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.deferreds import await_any, iterate_any
from gossamer.adapters.scrapy.exchanges import Exchange, find_exchange
from gossamer.adapters.scrapy.failures import fail_with, make_failure
from gossamer.adapters.scrapy.items import AdaptedItem, is_output
from gossamer.adapters.scrapy.requests import (
    RequestMapper,
    RequestOrigin,
    digest_of,
    identity_of,
)
from gossamer.adapters.scrapy.responses import make_response, note_download
from gossamer.adapters.scrapy.sent_headers import SentHeaders
from gossamer.adapters.scrapy.spider_middlewares import open_spider_middlewares
from gossamer.adapters.scrapy.statuses import StatusRules
from gossamer.core.errors import Fault
from gossamer.core.requests import Request
from gossamer.spiders.failure import Failure
from gossamer.spiders.response import Response

log = logging.getLogger("gossamer.crawl")
Stop = Callable[[str], None]
TELL_ONLY = "_tell_response"
"""The errback of requests without one, while ``response_received`` has a listener."""
_OF_HOOKS = frozenset({Fault.HOOK, Fault.IGNORED})
TURN_S = 0.05
"""Seconds after which a callback that yields lets others run."""
MAX_IDENTITY = 400
"""Characters of a request's identity in the keys of its items; a longer one is a digest."""


class CallbackRunner:
    """Runs the callbacks and errbacks of one spider's requests."""

    def __init__(
        self, crawler: AdaptedCrawler, spider: Spider, mapper: RequestMapper, sent: SentHeaders
    ) -> None:
        self._crawler = crawler
        self._sent = sent
        self._spider = spider
        self._mapper = mapper
        self.statuses = StatusRules(spider, crawler.settings)
        self.middlewares = open_spider_middlewares(crawler)
        if self.middlewares is not None:
            crawler.adapted_engine.scraper.spidermw = self.middlewares

    def run_callback(self, name: str, response: Response) -> Any:
        """Return the output of a page's callback: an iterator of our requests and items, or an async one."""
        request, made = self._make_response(response)
        self._sent.add_to(request, response.request)
        self._crawler.tell_response(made)
        return self._run_page(name, request, made, response)

    def map_outputs(self, identity: str) -> OutputMapper:
        """Return a converter for output that belongs to no page."""
        return OutputMapper(self._mapper, self._crawler, identity, _stop_later, None)

    def _run_page(self, name: str, request: ScrapyRequest, made: ScrapyResponse, response: Response) -> Any:
        if self.middlewares is not None:
            return self._run_within(made, response.request, response.stop)
        refused = self.statuses.refuse_response(made)
        if refused is None:
            call = request.callback or getattr(self._spider, name)
            return self._run(lambda: call(made, **request.cb_kwargs), response.request, response.stop, made)
        errback = request.errback
        if errback is None:
            log.info("Ignoring response %r: HTTP status code is not handled or not allowed", made)
            return ()
        return self._run(lambda: errback(fail_with(refused, request)), response.request, response.stop, made)

    def run_errback(self, name: str, failure: Failure) -> Any:
        """Return the output of an errback for a failed request."""
        exchange = find_exchange(failure.request)
        made: ScrapyResponse | None = None
        stop = _stop_later
        if failure.response is not None:
            stop = failure.response.stop
            request, made = self._make_response(failure.response)
            self._crawler.tell_response(made)
        else:
            request = self._take_request(failure.request, exchange)
        if name == TELL_ONLY:
            return ()
        call = request.errback or getattr(self._spider, name)
        if self.middlewares is not None and made is not None and not 200 <= made.status < 300:
            return self._run_within(made, failure.request, stop)
        own = exchange.error if exchange is not None and failure.fault in _OF_HOOKS else None
        told = make_failure(failure, request, made) if own is None else fail_with(own, request)
        return self._run(lambda: call(told), failure.request, stop, told if made is None else made)

    def _make_response(self, response: Response) -> tuple[ScrapyRequest, ScrapyResponse]:
        """Return a response and its request, as middlewares have changed them."""
        exchange = find_exchange(response.request)
        if exchange is None or exchange.response is None:
            request = self._take_request(response.request, exchange)
            return request, make_response(response, request)
        self._mapper.take_held(response.request)
        made = exchange.response
        if made.request is None:
            made.request = exchange.request
        if not exchange.is_noted:
            exchange.is_noted = True
            note_download(made.request, response)
        return made.request, made

    def _take_request(self, asked: Request, exchange: Exchange | None) -> ScrapyRequest:
        """Return the request whose callback or errback runs now, as middlewares have changed it."""
        if exchange is None:
            return self._mapper.to_scrapy(asked)
        self._mapper.take_held(asked)
        return exchange.request

    def _run_within(self, made: ScrapyResponse, asked: Request, stop: Stop) -> Any:
        """Return the output of a callback or an errback for a response, passed through spider middlewares."""
        outputs = OutputMapper(self._mapper, self._crawler, identity_of(asked), stop, made)
        return _take_waiting(self._scrape(made), outputs)

    async def _scrape(self, made: ScrapyResponse) -> AsyncIterator[Any]:
        async def call(result: ScrapyResponse | TwistedFailure, request: ScrapyRequest) -> Any:
            if isinstance(result, ScrapyResponse):
                callback = request.callback or self._spider._parse
                return outputs_of(callback(result, **request.cb_kwargs))
            error: Any = result.value
            if request.errback is None:
                raise error
            return outputs_of(request.errback(fail_with(error, request)))

        assert self.middlewares is not None, "only called with middlewares"
        assert made.request is not None, "responses are made for one"
        async for output in await self.middlewares.scrape_response_async(call, made, made.request):
            yield output

    def _run(self, call: Callable[[], Any], asked: Request, stop: Stop, found: Any) -> Any:
        """Call it and yield its output in our form; its items were found on ``found``."""
        outputs = OutputMapper(self._mapper, self._crawler, identity_of(asked), stop, found)
        try:
            returned = call()
        except CloseSpider as error:
            outputs.stop(error)
            return ()
        except Exception as error:
            outputs.fail(error)
            raise
        if inspect.isawaitable(returned) or hasattr(returned, "__aiter__"):
            return _take_waiting(returned, outputs)
        return _take_outputs(iterate_spider_output(returned), outputs)


class OutputMapper:
    """Converts one page's output to our form."""

    def __init__(
        self, mapper: RequestMapper, crawler: AdaptedCrawler, identity: str, stop: Stop, found: Any
    ) -> None:
        self._mapper = mapper
        self._crawler = crawler
        self._stop = stop
        self._found = found
        self._identity = identity if len(identity) <= MAX_IDENTITY else digest_of(identity)
        self._origin = RequestOrigin(identity, found)
        self._items = 0

    def to_ours(self, output: Any) -> Any:
        """Convert a request or an item; ``None`` for anything else."""
        if isinstance(output, ScrapyRequest):
            is_wanted = self._crawler.schedule_request(output)
            return self._mapper.to_request(output, self._origin) if is_wanted else None
        if is_output(output):
            self._items += 1
            return AdaptedItem(output, f"{self._identity}#{self._items}", self._found)
        if output is not None:
            log.error("a spider must yield requests, items or None, got %s", type(output).__name__)
        return None

    def stop(self, error: CloseSpider) -> None:
        """End the crawl at the callback's request."""
        engine = self._crawler.adapted_engine
        engine.close_spider(reason=error.reason or "cancelled")
        self._stop(engine.close_reason)

    def fail(self, error: Exception) -> None:
        """Report a failed callback to its listeners."""
        self._crawler.tell_failure(error, self._found)

    def finish(self) -> Iterator[Any]:
        """Finish a callback: obey a stop of the engine, and return the requests that code gave it."""
        engine = self._crawler.adapted_engine
        if engine.close_reason:
            self._stop(engine.close_reason)
        return map(self.to_ours, engine.take_requests())


def _take_outputs(given: Iterable[Any], outputs: OutputMapper) -> Iterator[Any]:
    try:
        for output in given:
            yield outputs.to_ours(output)
    except CloseSpider as error:
        outputs.stop(error)
    except Exception as error:
        outputs.fail(error)
        raise
    yield from outputs.finish()


async def _take_waiting(given: Any, outputs: OutputMapper) -> AsyncIterator[Any]:
    try:
        async for output in outputs_of(given):
            yield outputs.to_ours(output)
    except CloseSpider as error:
        outputs.stop(error)
    except Exception as error:
        outputs.fail(error)
        raise
    for request in outputs.finish():
        yield request


async def outputs_of(given: Any) -> AsyncIterator[Any]:
    """Yield the output of a callback that is asynchronous, or takes long."""
    if inspect.isawaitable(given):
        given = await await_any(given)
    if hasattr(given, "__aiter__"):
        async for output in iterate_any(given):
            yield output
    else:
        turn = time.monotonic()
        for output in iterate_spider_output(given):
            yield output
            if time.monotonic() - turn > TURN_S:  # a middleware that collects all output blocks the loop
                await asyncio.sleep(0)
                turn = time.monotonic()


def _stop_later(reason: str) -> None:
    """Stop without a response to carry the order: the supervisor of the crawl polls the spider."""
