"""The ``crawler`` of Scrapy's code: Scrapy's own object, over an engine of Gossamer's.

Everything that is built from a crawler (item pipelines, middlewares, extensions) gets this object in
``from_crawler``. ``settings``, ``stats``, ``signals``, ``spider``, ``spidercls``, ``addons``,
``logformatter`` and ``request_fingerprinter`` are real, and ready before the spider is made, as in older
Scrapy. ``engine`` is an :class:`AdaptedEngine`; ``extensions`` exist once they are set.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, DontCloseSpider, IgnoreRequest
from scrapy.http import Request, Response
from scrapy.settings import SETTINGS_PRIORITIES, Settings
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from gossamer.adapters.scrapy.collectors import make_collector_type
from gossamer.adapters.scrapy.downloads import DownloadRunner
from gossamer.adapters.scrapy.duplicates import ProjectFilter
from gossamer.adapters.scrapy.signals import AdaptedSignals
from gossamer.core.errors import UsageError
from gossamer.spiders.stats import SpiderStats

if TYPE_CHECKING:
    from scrapy.core.engine import ExecutionEngine


_ATTRIBUTES = {
    "download_delay": "DOWNLOAD_DELAY",
    "download_maxsize": "DOWNLOAD_MAXSIZE",
    "download_timeout": "DOWNLOAD_TIMEOUT",
    "max_concurrent_requests": "CONCURRENT_REQUESTS_PER_DOMAIN",
    "user_agent": "USER_AGENT",
}
"""Attributes of spiders that say what settings of these names say."""


class AdaptedEngine:
    """The ``crawler.engine`` of Scrapy's code.

    Gossamer's worker replaces Scrapy's engine. The supported calls are methods here; all others raise
    ``AttributeError`` with the reason.
    """

    def __init__(self, crawler: AdaptedCrawler) -> None:
        self.crawler = crawler
        self.settings = crawler.settings
        self.signals = crawler.signals
        nothing = SimpleNamespace(middlewares=())
        self.scraper = SimpleNamespace(itemproc=nothing, spidermw=nothing)
        """Holds the item pipelines, once they are open, and the spider middlewares."""
        self.downloader = SimpleNamespace(middleware=nothing)
        """Holds the downloader middlewares."""
        self._requests: list[Request] = []
        self.downloads: DownloadRunner | None = None
        self.close_reason = ""
        """The reason that code has given to end the crawl; it is checked every half second."""

    @property
    def spider(self) -> Spider | None:
        """The spider."""
        return self.crawler.spider

    def crawl(self, request: Request, spider: Spider | None = None) -> None:
        """Ask for one more request: with the next page that is done, or once nothing else is left to do."""
        self._requests.append(request)

    async def download_async(self, request: Request) -> Response:
        """Return the response to a request now, without a callback. Download errors are passed on."""
        if self.downloads is None:
            raise UsageError("crawler.engine.download() is there once the spider is made")
        return await self.downloads.download(request)

    def download(self, request: Request, spider: Spider | None = None) -> Deferred[Response]:
        """Return the response as a ``Deferred``."""
        return deferred_from_coro(self.download_async(request))

    def take_requests(self) -> list[Request]:
        """Return the requests since the last call."""
        taken, self._requests = self._requests, []
        return taken

    def tell_idle(self) -> bool:
        """Send ``spider_idle``; return whether a listener wants the crawl to stay open."""
        expected = (DontCloseSpider, CloseSpider)
        answers = self.signals.send_catch_log(signals.spider_idle, spider=self.spider, dont_log=expected)
        raised = [answer.value for _, answer in answers if isinstance(answer, Failure)]
        if any(isinstance(error, DontCloseSpider) for error in raised):
            return True
        for error in raised:
            if isinstance(error, CloseSpider):
                self.close_spider(reason=error.reason)
        return False

    def close_spider(self, spider: Spider | None = None, reason: str = "cancelled") -> None:
        """End the crawl: requests in flight finish, and no new one begins."""
        self.close_reason = self.close_reason or reason

    async def close_spider_async(self, *, reason: str = "cancelled") -> None:
        """Call :meth:`close_spider`."""
        self.close_spider(reason=reason)

    def stop(self) -> None:
        """Close the spider with Scrapy's default reason."""
        self.close_spider(reason="shutdown")

    async def stop_async(self) -> None:
        """Call :meth:`stop`."""
        self.stop()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"crawler.engine.{name}: Gossamer has no engine of Scrapy's; callbacks yield requests, "
            "and `gossamer pause` and `gossamer status` do the rest"
        )


class AdaptedCrawler(Crawler):
    """The crawler of one adapted spider. It never runs by itself, and installs no reactor."""

    def __init__(self, spidercls: type[Spider], settings: Settings, told: SpiderStats | None = None) -> None:
        """``told`` is the statistics for counts of the project's code."""
        super().__init__(spidercls, settings)
        self.signals: AdaptedSignals = AdaptedSignals(self)
        self._counted: dict[str, int] = {}
        self.feeds: list[Any] = []
        """Feeds to write at the end of a run."""
        self.keeps_state = True
        """Whether ``spider.state`` is written as well: not in a replay."""
        self.is_shared = False
        """Whether other processes also work on the crawl."""
        self.item_types: dict[str, Any] = {}
        """Known classes of items by name; ``None`` for one that does not exist."""
        self.began_at = 0.0
        """Start of the crawl, by the monotonic clock."""
        self.settings.set("TWISTED_REACTOR_ENABLED", False, priority="cmdline")
        self.addons.load_settings(self.settings)
        self.stats = collector = make_collector_type(load_object(self.settings["STATS_CLASS"]))(self)
        collector.told = told
        self.logformatter = build_from_crawler(load_object(self.settings["LOG_FORMATTER"]), self)
        fingerprinter = load_object(self.settings["REQUEST_FINGERPRINTER_CLASS"])
        self.request_fingerprinter = build_from_crawler(fingerprinter, self)
        engine: Any = AdaptedEngine(self)
        self.engine = engine

    @property
    def adapted_engine(self) -> AdaptedEngine:
        """The engine, by its own type."""
        engine: Any = self.engine
        assert isinstance(engine, AdaptedEngine), "the engine is never replaced"
        return engine

    @property
    def open_spider(self) -> Spider:
        """The spider, which must exist."""
        assert self.spider is not None, "it is made with the crawler"
        return self.spider

    def make_spider(self, arguments: Mapping[str, Any]) -> Spider:
        """Make the spider as Scrapy does. Errors of its code are passed on."""
        self.spider = self._create_spider(**arguments)
        for name, setting in _ATTRIBUTES.items():
            value = getattr(self.spider, name, None)
            if (
                value is not None
                and (self.settings.getpriority(setting) or 0) < SETTINGS_PRIORITIES["spider"]
            ):
                self.settings.set(setting, value, priority="spider")
        self.settings.freeze()
        self.duplicates = ProjectFilter(self)
        return self.spider

    def count(self, name: str, count: int = 1) -> None:
        """Add to a statistic; the collector receives it when it is next read."""
        self._counted[name] = self._counted.get(name, 0) + count

    def take_counts(self) -> dict[str, int]:
        """Return the counts since the last call, for the collector."""
        taken, self._counted = self._counted, {}
        return taken

    def schedule_request(self, request: Request) -> bool:
        """Send ``request_scheduled``; whether neither its hearers nor the project's filter refuse it."""
        if not self.signals.is_heard(signals.request_scheduled):
            return self.duplicates.is_wanted(request)
        answers = self.signals.send_catch_log(
            signals.request_scheduled, request=request, spider=self.spider, dont_log=IgnoreRequest
        )
        if any(isinstance(getattr(answer, "value", None), IgnoreRequest) for _, answer in answers):
            return False
        return self.duplicates.is_wanted(request)

    def stop(self) -> Any:
        """End the crawl."""
        self.adapted_engine.stop()

    async def stop_async(self) -> None:
        """End the crawl."""
        self.adapted_engine.stop()

    @property
    def hears_responses(self) -> bool:
        """Whether ``response_received`` has a listener."""
        return self.signals.is_heard(signals.response_received)

    def tell_response(self, response: Response) -> None:
        """Send ``response_received``."""
        if self.hears_responses:
            self.signals.send_catch_log(
                signals.response_received, response=response, request=response.request, spider=self.spider
            )

    def tell_failure(self, error: Exception, found: Any) -> None:
        """Count the failure of a callback or an errback, and send the signal."""
        self.count("spider_exceptions/count")
        self.count(f"spider_exceptions/{type(error).__name__}")
        if self.signals.is_heard(signals.spider_error):
            failure = Failure(error)  # type: ignore[no-untyped-call]
            self.signals.send_catch_log(
                signals.spider_error, failure=failure, response=found, spider=self.spider
            )

    def _create_engine(self) -> ExecutionEngine:
        raise UsageError(
            "a spider that Gossamer runs cannot start Scrapy's engine: "
            "`await gossamer.crawl(Spider)` runs one"
        )
