"""A spider of Scrapy's as one of ours: what it begins with, where it may go, what keeps it in one process."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
import scrapy
from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.settings import Settings

from gossamer.adapters.scrapy.aliases import install_aliases
from gossamer.adapters.scrapy.items import AdaptedItem
from gossamer.adapters.scrapy.spider import NO_DOMAIN, AdaptedSpider, adapt_spider
from gossamer.core.requests import Request
from gossamer.testing.clock import LoopClock, run_virtual

URL = "http://a.example/"


def adapted(kind: type[scrapy.Spider], **arguments: Any) -> AdaptedSpider:
    install_aliases()
    return adapt_spider(kind, Settings())(**arguments)


async def urls_of(spider: AdaptedSpider) -> list[str]:
    return [request.url async for request in spider.start()]


class Plain(scrapy.Spider):
    name = "plain"
    start_urls = [URL]
    user_agent = "plain (+mail)"
    download_delay = 3


class Older(Plain):
    def start_requests(self) -> Any:
        yield scrapy.Request(URL + "older")
        yield from super().start_requests()  # type: ignore[misc]


class Both(Older):
    async def start(self) -> Any:
        yield scrapy.Request(URL + "newer")


class Again(Both):
    def start_requests(self) -> Any:
        return [scrapy.Request(URL + "again")]


class Made(Plain):
    def make_requests_from_url(self, url: str) -> scrapy.Request:
        return scrapy.Request(url + "made")


@pytest.mark.parametrize(
    ("kind", "urls"),
    [
        (Plain, [URL]),
        (Older, [URL + "older", URL]),
        (Both, [URL + "newer"]),
        (Again, [URL + "again"]),
        (Made, [URL + "made"]),
    ],
)
async def test_the_nearest_class_says_what_it_begins_with(kind: type[scrapy.Spider], urls: list[str]) -> None:
    assert await urls_of(adapted(kind)) == urls


async def test_an_error_keeps_what_was_begun_with_before(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Plain):
        def start_requests(self) -> Any:
            yield scrapy.Request(URL)
            raise LookupError("no more")

    assert await urls_of(adapted(Broken)) == [URL]
    assert "the start of the spider 'plain' failed after 1 requests" in caplog.text
    assert "LookupError: no more" in caplog.text

    class Useless(Plain):
        def start_requests(self) -> Any:
            raise LookupError("none")

    with pytest.raises(LookupError):
        await urls_of(adapted(Useless))


async def test_starting_again_asks_for_the_same(caplog: pytest.LogCaptureFixture) -> None:
    class Twice(Plain):
        start_urls = [URL, URL]

    first, second = [[request async for request in adapted(Twice).start()] for _ in range(2)]
    assert first == second
    assert len({request.unique_key for request in first}) == 2, "start URLs pass the filter"
    assert all(request.is_anywhere for request in first)


def test_attributes_that_are_settings() -> None:
    assert adapted(Plain).settings["user_agent"] == "plain (+mail)"
    assert adapted(Plain).settings["delay"] == 3.0


@pytest.mark.parametrize(
    ("given", "domains"),
    [
        (["a.example", "B.example"], ("a.example", "B.example")),
        (["https://a.example/", "a.example"], ("a.example",)),
        (["https://a.example/"], (NO_DOMAIN,)),
        (["a.example:8000"], (NO_DOMAIN,)),
        ("a.example", (NO_DOMAIN,)),
        (None, ()),
    ],
)
def test_domains_are_those_that_fit_in_scrapy(given: Any, domains: tuple[str, ...]) -> None:
    class Bound(Plain):
        allowed_domains = given

    assert adapted(Bound).allowed_domains == domains


def test_arguments_are_attributes_unless_init_takes_them() -> None:
    class Own(Plain):
        def __init__(self, pages: str = "1", *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.pages = int(pages)

    spider: Any = adapted(Own, pages="5", tag="x").adapted
    assert (spider.pages, spider.tag, spider.crawler.spider is spider) == (5, "x", True)
    assert spider.crawler.stats.get_value("nothing") is None


class WithLambda(Plain):
    def parse(self, response: Any) -> Any:
        yield scrapy.Request(URL, callback=lambda found: None)


def test_a_lambda_in_the_source_keeps_a_spider_in_one_process() -> None:
    said = adapted(WithLambda).find_binding()
    assert said.startswith("the callback of a request in line ")
    assert said.endswith("is a lambda")


@pytest.mark.parametrize("name", ["gossamer", "root"])
def test_a_spider_may_have_the_name_of_a_logger_that_is_there(name: str) -> None:
    named = type("Named", (Plain,), {"name": name})
    spider = adapted(named)
    parents, logger = [], spider.adapted.logger.logger
    while logger is not None and len(parents) < 5:
        parents.append(logger)
        logger = logger.parent
    assert parents[-1] is logging.getLogger(), "the ways of messages end"


class Unproxied:
    """A middleware that takes a proxy away again, as those do that try without one."""

    def process_request(self, request: Any, spider: Any) -> None:
        request.meta.pop("proxy", None)


async def test_a_middleware_may_take_the_proxy_of_a_request_away() -> None:
    class Direct(Plain):
        custom_settings = {"DOWNLOADER_MIDDLEWARES": {Unproxied: 1}}

    (hook,) = adapted(Direct).hooks
    sent = await hook.on_request(Request(URL, meta={"proxy": "http://127.0.0.1:9", "n": 1}))
    assert sent is not None
    assert sent.meta == {"n": 1}


async def test_items_of_the_start_have_keys_that_stay() -> None:
    class Items(Plain):
        async def start(self) -> Any:
            yield {"a": 1}
            yield scrapy.Request(URL)
            yield {"a": 1}

    first, second = [[output async for output in adapted(Items).start()] for _ in range(2)]
    assert [output.key for output in first if isinstance(output, AdaptedItem)] == ["start#1", "start#2"]
    assert [output.key for output in second if isinstance(output, AdaptedItem)] == ["start#1", "start#2"]
    assert first[1].url == URL


async def test_a_crawl_that_is_kept_open_ends_when_the_engine_is_told_to() -> None:
    spider = adapted(Plain)
    told: list[str] = []

    def stay() -> None:
        told.append("stay")
        raise DontCloseSpider

    def close() -> None:
        told.append("close")
        spider.crawler.adapted_engine.close_spider(spider.adapted, "idle for too long")

    spider.crawler.signals.connect(stay, signals.spider_idle, weak=False)
    spider.crawler.signals.connect(close, signals.spider_idle, weak=False)
    async with asyncio.timeout(2):
        assert [request async for request in spider.on_idle()] == []
    assert sorted(told) == ["close", "stay"]


async def test_what_the_engine_cannot_do_says_so() -> None:
    spider = adapted(Plain)
    with pytest.raises(AttributeError, match="Gossamer has no engine of Scrapy's"):
        _ = spider.crawler.engine.slot
    assert isinstance(await anext(spider.start()), Request)


class Limited(scrapy.Spider):
    name = "limited"
    start_urls = [URL]
    custom_settings = {"CLOSESPIDER_PAGECOUNT_NO_ITEM": 2, "CLOSESPIDER_TIMEOUT_NO_ITEM": 60}


@pytest.mark.parametrize("is_shared", [False, True])
def test_limits_without_an_item_end_no_crawl_that_other_processes_work_on(is_shared: bool) -> None:
    """Bug it would catch: the others find items all the time, and one that finds none ends the job."""

    async def main(_: LoopClock) -> tuple[str, str]:
        spider = adapted(Limited)
        if is_shared:
            spider.share_work()
        tell, engine = spider.crawler.signals.send_catch_log, spider.crawler.adapted_engine
        tell(signals.spider_opened, spider=spider.adapted)
        for _ in range(2):
            tell(signals.response_received, response=None, request=None, spider=spider.adapted)
        await asyncio.sleep(0)
        pages, engine.close_reason = spider.find_end(), ""
        await asyncio.sleep(70.0)
        tell(signals.spider_closed, spider=spider.adapted)
        return pages, spider.find_end()

    assert run_virtual(main) == (
        ("", "") if is_shared else ("closespider_pagecount_no_item", "closespider_timeout_no_item")
    )


def test_limits_without_an_item_are_named() -> None:
    assert adapted(Limited).unshared_settings == (
        "CLOSESPIDER_TIMEOUT_NO_ITEM",
        "CLOSESPIDER_PAGECOUNT_NO_ITEM",
    )
    assert adapted(Plain).unshared_settings == ()
