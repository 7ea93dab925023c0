"""Adapt a Scrapy spider to Gossamer, which treats it like any other spider.

Item pipelines are steps of :attr:`AdaptedSpider.pipelines` and get ``item.item`` of an
:class:`~gossamer.adapters.scrapy.items.AdaptedItem`; middlewares are hooks of the spider; extensions and
signals belong to ``crawler`` (:mod:`gossamer.adapters.scrapy.crawler`).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

from scrapy import Spider as ScrapySpider
from scrapy.exceptions import CloseSpider
from scrapy.settings import Settings

from gossamer.adapters.scrapy.binding import find_binding
from gossamer.adapters.scrapy.callbacks import TELL_ONLY, CallbackRunner, outputs_of
from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.download_signals import download_signals
from gossamer.adapters.scrapy.downloader_middlewares import SETTING as DOWNLOADER_SETTING
from gossamer.adapters.scrapy.downloader_middlewares import downloader_hooks
from gossamer.adapters.scrapy.downloads import DownloadRunner, FetchPage
from gossamer.adapters.scrapy.exchanges import find_exchange
from gossamer.adapters.scrapy.extensions import limits_of_items, open_extensions
from gossamer.adapters.scrapy.lifecycle import close_crawl
from gossamer.adapters.scrapy.middlewares import RETRIES, has_built_in
from gossamer.adapters.scrapy.options import RequestOptions
from gossamer.adapters.scrapy.page_methods import SCRIPT, list_methods, perform_methods
from gossamer.adapters.scrapy.pipelines import AdaptedPipeline
from gossamer.adapters.scrapy.reactor import follow_loop
from gossamer.adapters.scrapy.removed import first_requests
from gossamer.adapters.scrapy.requests import DEFAULT_CALLBACK, RequestMapper, RequestOrigin
from gossamer.adapters.scrapy.responses import make_response
from gossamer.adapters.scrapy.sent_headers import SentHeaders
from gossamer.adapters.scrapy.settings import make_settings
from gossamer.adapters.scrapy.statistics import StatisticsSink
from gossamer.core.requests import Request
from gossamer.policy.urls import parse_origin
from gossamer.spiders.failure import Failure
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider

log = logging.getLogger("gossamer.crawl")
IDLE_S = 5.0
"""Seconds between the idle signals of a crawl that code keeps open, as in Scrapy."""
_START = "start"
"""The identity of output that belongs to no page."""

NO_DOMAIN = "none.invalid"
"""Stands for ``allowed_domains`` without a domain: only requests that bypass the filter are sent."""


class AdaptedSpider(Spider):
    """The base of adapted spiders; :func:`adapt_spider` makes one for each class of Scrapy's."""

    scrapy_class: ClassVar[type[ScrapySpider]]
    source_file: ClassVar[str | None] = None
    reads_pages: ClassVar[bool] = False
    follows_loops: ClassVar[bool] = False
    _base_settings: ClassVar[Settings]
    _base_arguments: ClassVar[Mapping[str, Any]]

    def __init__(self, **arguments: Any) -> None:
        self.crawler = AdaptedCrawler(self.scrapy_class, self._base_settings, self.stats)
        self.adapted = spider = self.crawler.make_spider({**self._base_arguments, **arguments})
        self.name = str(spider.name)
        for name in (self.name, self.scrapy_class.__module__.partition(".")[0]):
            _put_below_ours(logging.getLogger(name))
        self.start_urls = list(getattr(spider, "start_urls", None) or ())
        self.allowed_domains = _named_domains(spider)
        self.settings = make_settings(self.crawler.settings, self.name)
        self.export_fields = self.crawler.settings.getdictorlist("FEED_EXPORT_FIELDS")
        open_extensions(self.crawler)
        options = RequestOptions(spider, self.crawler.settings)
        mapper = RequestMapper(
            spider,
            options=options,
            choose_errback=lambda: TELL_ONLY if self.crawler.hears_responses else None,
            **_filter_options(self.crawler),
        )
        self._mapper = mapper
        self.crawler.adapted_engine.downloads = DownloadRunner(mapper)
        self._runner = CallbackRunner(self.crawler, spider, mapper, SentHeaders(self.settings))
        self.pipelines = (AdaptedPipeline(self.crawler),)
        self._hooks = [
            *downloader_hooks(self.crawler, mapper, self._runner.statuses),
            *download_signals(self.crawler, mapper),
        ]
        if not has_built_in(self.crawler.settings, DOWNLOADER_SETTING, RETRIES):
            self.settings = {**self.settings, "max_retries": 0}
        self._is_idle = False
        self.sinks = (StatisticsSink(self.crawler),)

    @property
    def hooks(self) -> list[Any]:  # type: ignore[override]
        """Hooks for requests and answers."""
        return self._hooks

    @property
    def feeds(self) -> list[Any]:  # type: ignore[override]
        """Feeds to write at the end of a run."""
        return self.crawler.feeds

    @property
    def logger(self) -> logging.Logger:
        """The logger of the adapted spider."""
        return logging.getLogger(self.name)

    def find_callback(self, name: str) -> Callable[..., Any]:
        """Return a caller of the spider's method, or of a callback that is held for a request by its name."""
        return partial(self._call, name)

    def _call(self, name: str, given: Response | Failure, /, **_: Any) -> Any:
        """Run a callback or an errback; ``cb_kwargs`` stand in the request."""
        follow_loop()
        if isinstance(given, Failure):
            return self._runner.run_errback(name, given)
        method = DEFAULT_CALLBACK if given.request.callback is None else name
        return self._runner.run_callback(method, given)

    async def start(self) -> AsyncIterator[Any]:
        """Yield the first requests and items, by ``start()`` or the older ``start_requests()``."""
        follow_loop()
        first = self._first_outputs()
        if self._runner.middlewares is not None:
            first = self._runner.middlewares.process_first(first)
        outputs = self._runner.map_outputs(_START)
        try:
            async for output in first:
                if (made := outputs.to_ours(output)) is not None:
                    yield made
        except CloseSpider as error:
            self.crawler.adapted_engine.close_spider(reason=error.reason or "cancelled")

    async def on_idle(self) -> AsyncIterator[Request]:
        """Yield the requests that code gave the engine, before or after the signal that the spider is
        idle."""
        engine = self.crawler.adapted_engine
        self._is_idle = not engine.close_reason
        requests = engine.take_requests()
        while not requests and not engine.close_reason and engine.tell_idle():
            requests = engine.take_requests()
            if not requests and not engine.close_reason:
                await asyncio.sleep(IDLE_S)
        origin = RequestOrigin(f"engine {uuid4().hex}")
        for request in requests or engine.take_requests():
            self._is_idle = False
            if self.crawler.schedule_request(request):
                yield self._mapper.to_request(request, origin)

    def find_end(self) -> str:
        """Return the reason that code gave to end the crawl; empty if nothing was left to do anyway."""
        return "" if self._is_idle else self.crawler.adapted_engine.close_reason

    async def _first_outputs(self) -> AsyncIterator[Any]:
        """Yield the first outputs; after an error, those before it still count, as in Scrapy."""
        count = 0
        try:
            async for output in outputs_of(_begin_spider(self.adapted)):
                count += 1
                yield output
        except CloseSpider:
            raise
        except Exception:
            if not count:
                raise
            log.exception("the start of the spider %r failed after %d requests", self.name, count)

    async def closed(self, reason: str) -> None:
        """Call the adapted spider's ``closed``, and all listeners that Scrapy would call."""
        await close_crawl(self.crawler, reason)

    def has_callback(self, name: str) -> bool:
        """Return whether the adapted spider has the callback."""
        return callable(getattr(self.adapted, name, None))

    def console_names(self, response: Any) -> dict[str, Any]:
        """Scrapy's own objects."""
        request = self._mapper.to_scrapy(response.request)
        made = make_response(response, request)
        return {"response": made, "request": request, "spider": self.adapted}

    def find_binding(self) -> str:
        """Return the first callback that no other process would find."""
        return find_binding(self.scrapy_class)

    def take_fetcher(self, fetch: FetchPage) -> None:
        """Set the fetcher of ``crawler.engine.download()``."""
        downloads = self.crawler.adapted_engine.downloads
        assert downloads is not None, "it was made with the spider"
        downloads.fetch = fetch

    def take_url_rule(self, canonicalise: Callable[[Request], str | None]) -> None:
        """Take over the job's rule for fragments of URLs."""
        self._mapper.canonicalise = canonicalise

    def share_work(self) -> None:
        """Refuse, from now on, yielded requests that need objects of this process."""
        self._mapper.is_shared = self.crawler.is_shared = True

    @property
    def unshared_settings(self) -> tuple[str, ...]:
        """The Scrapy settings that count the items of one process."""
        return limits_of_items(self.crawler.settings)

    def keep_no_state(self) -> None:
        """Read ``spider.state`` without writing it."""
        self.crawler.keeps_state = False

    def find_script(self, name: str, request: Request) -> Any:
        """Return a function for a request's page methods, under a name that no spider's method has."""
        return partial(self._perform_methods, request) if name == SCRIPT else None

    async def _perform_methods(self, request: Request, page: Any) -> None:
        exchange = find_exchange(request)
        meta = self._mapper.hold_meta(request) if exchange is None else exchange.request.meta
        await perform_methods(page, list_methods(meta))

    def wants_status(self, request: Request, status: int) -> int:
        """Decide by Scrapy's rules."""
        exchange = find_exchange(request)
        return self._runner.statuses.find_wish(
            request, status, None if exchange is None else exchange.request.meta
        )

    def selects(self, callback: str) -> bool:
        """Nothing with selectors of ours."""
        return False


def adapt_spider(
    spider_class: type[ScrapySpider], settings: Settings, arguments: Mapping[str, Any] | None = None
) -> type[AdaptedSpider]:
    """Return the adapted class of a spider, with the settings of its project and given arguments."""
    try:
        file = inspect.getsourcefile(spider_class)
    except TypeError:
        file = None
    made: type[AdaptedSpider] = type(
        spider_class.__name__,
        (AdaptedSpider,),
        {
            "__doc__": spider_class.__doc__,
            "__module__": spider_class.__module__,
            "__qualname__": spider_class.__qualname__,
            "name": getattr(spider_class, "name", None) or "",
            "scrapy_class": spider_class,
            "source_file": file,
            "allowed_domains": tuple(getattr(spider_class, "allowed_domains", None) or ()),
            "_base_settings": settings,
            "_base_arguments": arguments or {},
        },
    )
    return made


def with_options(spider_class: type[AdaptedSpider], options: Mapping[str, Any]) -> type[AdaptedSpider]:
    """Return the class with Scrapy settings from the command line."""
    settings = spider_class._base_settings.copy()
    settings.setdict(dict(options), priority="cmdline")
    return adapt_spider(spider_class.scrapy_class, settings, spider_class._base_arguments)


def _put_below_ours(logger: logging.Logger) -> None:
    """Let a logger of users' code be as loud as the crawl; a spider may be named like ours, or ``root``."""
    ours = logging.getLogger("gossamer")
    if logger not in (ours, ours.parent):
        logger.parent = ours


def _begin_spider(spider: ScrapySpider) -> Any:
    """Return the spider's first requests; its most derived class that defines them decides."""
    for kind in type(spider).__mro__:
        if kind is ScrapySpider:
            break
        if "start" in vars(kind):
            return spider.start()
        if "start_requests" in vars(kind):
            return spider.start_requests()  # type: ignore[attr-defined]
        if "make_requests_from_url" in vars(kind):
            return first_requests(spider)
    return spider.start()


def _named_domains(spider: ScrapySpider) -> tuple[str, ...]:
    """Return the valid host names in ``allowed_domains``; others never match in Scrapy either."""
    given = getattr(spider, "allowed_domains", None) or ()
    if isinstance(given, str):
        log.warning(
            "allowed_domains of the spider %r is a text, not a list, so nothing is allowed by it, as in "
            "Scrapy: use [%r]",
            spider.name,
            given,
        )
        return (NO_DOMAIN,)
    entries = [str(entry) for entry in given if entry]
    domains = [entry for entry in entries if parse_origin(f"http://{entry}").hostname == entry.lower()]
    if wrong := sorted(set(entries) - set(domains)):
        log.warning(
            "allowed_domains of the spider %r has entries that are not domains, so it allows nothing, as in "
            "Scrapy: %s",
            spider.name,
            ", ".join(map(repr, wrong)),
        )
    return (*domains,) if domains or not entries else (NO_DOMAIN,)


def _filter_options(crawler: AdaptedCrawler) -> dict[str, Any]:
    """Return the project's way to identify requests, if it is not Scrapy's default."""
    duplicates = crawler.duplicates
    if not duplicates.has_keys:
        return {"filters": False}
    return {"fingerprint": duplicates.fingerprint} if duplicates.fingerprints else {}
