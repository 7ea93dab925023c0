"""Run a project's ``SPIDER_MIDDLEWARES`` around callbacks, also those of older Scrapy.

Methods for ordinary iterables get all output of a callback at once; ``process_start_requests`` serves as
``process_start``. Scrapy's own middleware for HTTP errors has its place among them.
"""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable
from inspect import isasyncgenfunction
from typing import Any

from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.spidermiddlewares.httperror import HttpErrorMiddleware
from scrapy.utils.deprecate import argument_is_required

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.middlewares import (
    HTTP_ERRORS,
    OrderedMiddleware,
    has_built_in,
    open_middlewares,
)

SETTING = "SPIDER_MIDDLEWARES"
_HTTP_ERROR_ORDER = 50
Output = Callable[..., AsyncIterator[Any]]


def open_spider_middlewares(crawler: AdaptedCrawler) -> AdaptedSpiderMiddlewares | None:
    """Return the middlewares of an adapted spider, or ``None`` without any. Raises ``UsageError``."""
    made = open_middlewares(crawler, SETTING)
    if not made:
        return None
    if has_built_in(crawler.settings, SETTING, HTTP_ERRORS):
        made.append(OrderedMiddleware(_HTTP_ERROR_ORDER, HttpErrorMiddleware.from_crawler(crawler)))
        made.sort(key=lambda one: one.order)
    with warnings.catch_warnings():  # old code is what this is for
        warnings.simplefilter("ignore", ScrapyDeprecationWarning)
        return AdaptedSpiderMiddlewares(*(one.thing for one in made), crawler=crawler)


class AdaptedSpiderMiddlewares(SpiderMiddlewareManager):
    """Scrapy's manager, which takes what older versions of it took."""

    def _add_middleware(self, mw: Any) -> None:
        super()._add_middleware(mw)
        if not hasattr(mw, "process_start") and hasattr(mw, "process_start_requests"):
            self.methods["process_start"].appendleft(self._adapt_start(mw.process_start_requests))

    def _adapt_start(self, method: Callable[..., Any]) -> Output:
        """Return a ``process_start`` for a method that takes the requests as an ordinary iterable."""
        takes_spider = argument_is_required(method, "spider")

        async def process_start(start: AsyncIterator[Any]) -> AsyncIterator[Any]:
            requests = iter([request async for request in start])
            for request in method(requests, self._spider) if takes_spider else method(requests):
                yield request

        return process_start

    async def process_first(self, first: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield a spider's first requests and items, after ``process_start`` of all middlewares."""
        async for output in await self._process_chain("process_start", first):
            yield output

    @staticmethod
    def _get_process_spider_output(mw: Any) -> Callable[..., Any] | None:
        method = getattr(mw, "process_spider_output", None)
        if method is None or isasyncgenfunction(method) or hasattr(mw, "process_spider_output_async"):
            return SpiderMiddlewareManager._get_process_spider_output(mw)
        return _adapt_output(method)


def _adapt_output(method: Callable[..., Any]) -> Output:
    """Return an asynchronous generator for a method that takes and gives ordinary iterables."""
    if argument_is_required(method, "spider"):

        async def with_spider(response: Any, result: Any, spider: Any) -> AsyncIterator[Any]:
            for output in method(response=response, result=[one async for one in result], spider=spider):
                yield output

        with_spider.__qualname__ = getattr(method, "__qualname__", with_spider.__qualname__)
        return with_spider

    async def without_spider(response: Any, result: Any) -> AsyncIterator[Any]:
        for output in method(response=response, result=[one async for one in result]):
            yield output

    return without_spider
