"""Whatever a spider's callback does, it is that page's trouble alone, and has a name."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from gossamer.callbacks.extractor import ExtractorOptions, SpiderExtractor
from gossamer.callbacks.watchdog import Watchdog
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.items import DefaultPipeline
from gossamer.ports.page_examiner import ParseInterruptError, ParseLimitError, TruncatedPage
from gossamer.spiders.response import Response
from gossamer.spiders.sitemap import SitemapSpider
from gossamer.spiders.spider import Spider
from gossamer.testing.clock import run_virtual

URL = "http://h/page"


def fetched(body: bytes = b"<p>hi</p>", content_type: str = "text/html") -> FetchResult:
    return FetchResult(
        url=URL,
        status=200,
        headers=(("content-type", content_type),),
        body=body,
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="test",
    )


class Trouble(Spider):
    name = "trouble"

    def exits(self, response: Response) -> Iterator[Any]:
        yield {"before": 1}
        sys.exit(3)

    def recurses(self, response: Response) -> Any:
        return self.recurses(response)

    def interrupted(self, response: Response) -> Any:
        raise KeyboardInterrupt

    def cancelled(self, response: Response) -> Any:
        raise asyncio.CancelledError

    def selects_wrongly(self, response: Response) -> Any:
        return response.css("a[")

    def junk(self, response: Response) -> Any:
        return 7

    def read_json(self, response: Response) -> None:
        response.json()

    def nothing(self, response: Response) -> Any:
        return None

    def endless_requests(self, response: Response) -> Iterator[Request]:
        while True:
            yield Request("http://h/x")

    def endless_items(self, response: Response) -> Iterator[dict[str, int]]:
        while True:
            yield {"a": 1}

    def endless_nothing(self, response: Response) -> Iterator[None]:
        while True:
            yield None

    async def hangs(self, response: Response) -> AsyncIterator[dict[str, int]]:
        yield {"before": 1}
        await asyncio.sleep(3600)

    async def times_out_itself(self, response: Response) -> None:
        raise TimeoutError

    def links(self, response: Response) -> Any:
        return [{"links": response.links(), "flags": response.flags}]


def extractor(isolation: Any = None, **options: Any) -> SpiderExtractor:
    spider = Trouble()
    return SpiderExtractor(lambda _: spider, ExtractorOptions(**options), isolation=isolation)


async def run(callback: str, **options: Any) -> ExtractResult:
    return await extractor(**options).extract(Request(URL, callback=callback), fetched())


@pytest.mark.parametrize("callback", ["exits", "recurses", "cancelled", "times_out_itself"])
async def test_what_a_callback_raises_is_a_fault_of_its_page(callback: str) -> None:
    result = await run(callback)
    assert result.fault == "callback"
    assert callback in result.error


async def test_a_spider_without_parse_is_told_without_a_traceback() -> None:
    extraction = await run("parse")
    assert extraction.error == "Trouble has no method 'parse', the callback of requests that name no other"


async def test_what_was_yielded_before_is_kept() -> None:
    assert (await run("exits")).items == ({"before": 1},)


async def test_the_pipeline_is_handed_what_the_callback_was_given() -> None:
    """Another object would parse the page once more; an errback has no page."""
    seen: list[Response] = []

    class Looking(Spider):
        name = "looking"

        def parse(self, response: Response) -> Iterator[Any]:
            seen.append(response)
            yield {"a": 1}

        def failed(self, failure: Any) -> Iterator[Any]:
            yield {"a": 2}

    looking = SpiderExtractor(lambda _: Looking())
    result = await looking.extract(Request(URL), fetched())
    assert result.response is seen[0]
    given_up = await looking.give_up(Request(URL, errback="failed"), "timeout", "")
    assert given_up is not None
    assert given_up.items == ({"a": 2},)
    assert given_up.response is None


async def test_an_interrupt_is_for_the_whole_crawl() -> None:
    with pytest.raises(KeyboardInterrupt):
        await run("interrupted")


async def test_junk_goes_to_the_pipeline_and_nothing_is_nothing() -> None:
    assert (await run("junk")).items == (7,)
    assert (await run("nothing")).items == ()


async def test_a_callback_without_end_is_stopped_and_counted() -> None:
    requests = await run("endless_requests", max_links=10)
    assert (len(requests.requests), requests.dropped, requests.fault) == (10, {"link:too_many": 1}, "")
    items = await run("endless_items", max_links=10)
    assert (len(items.items), items.dropped) == (10, {"item:too_many": 1})


async def test_a_callback_that_yields_nothing_for_ever_is_timed_and_lets_others_run() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    result = await run("endless_nothing", callback_timeout_s=0.2)
    task.cancel()
    assert result.fault == "callback_timeout"
    assert turns


def test_a_callback_that_waits_for_ever_is_stopped_with_what_it_gave() -> None:
    result = run_virtual(lambda _: run("hangs", callback_timeout_s=60.0))
    assert (result.fault, result.items) == ("callback_timeout", ({"before": 1},))
    assert "60 s" in result.error


async def test_a_wrong_selector_is_told_with_the_line_of_the_callback() -> None:
    result = await run("selects_wrongly")
    assert result.fault == "callback"
    first, where, *more = result.error.splitlines()
    assert first.startswith("Traceback")
    assert "selects_wrongly" in where
    assert "invalid CSS selector 'a[': expected an identifier at position 2" in more[-1]
    assert len(more) <= 3


async def test_a_wrong_selector_in_require_is_the_spiders_fault() -> None:
    demanding = type("Demanding", (Trouble,), {"require": ["a["]})()
    result = await SpiderExtractor(lambda _: demanding).extract(Request(URL), fetched())
    assert result.fault == "callback"
    assert "`require`" in result.error
    assert "invalid CSS selector 'a['" in result.error


class Judge:
    def __init__(self, verdict: TruncatedPage | Exception | None) -> None:
        self.verdict = verdict
        self.seen = 0

    async def examine(self, body: bytes, content_type: str) -> TruncatedPage | None:
        self.seen += 1
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


LARGE = b"<p>" * 200_000


async def test_a_cut_page_is_used_flagged_and_counted() -> None:
    judge = Judge(TruncatedPage(b"<a href=/left>x</a>", "UTF-8", {"depth": 9}))
    result = await extractor(judge).extract(Request(URL, callback="links"), fetched(LARGE))
    assert result.items == ({"links": ["http://h/left"], "flags": ("parse_truncated", "cut_depth")},)
    assert result.dropped == {"page:parse_truncated": 1}
    assert result.flags == ("parse_truncated", "cut_depth")


async def test_xml_that_was_cut_is_flagged_when_its_callback_has_seen_it() -> None:
    feed = fetched(b"<a>" * 300, "text/xml")
    result = await extractor().extract(Request(URL, callback="links"), feed)
    assert result.flags == ("parse_truncated", "cut_depth")
    assert result.dropped == {"page:parse_truncated": 1}


async def test_a_page_that_cannot_be_parsed_has_a_fault_of_its_own() -> None:
    result = await extractor(Judge(ParseLimitError("5 s"))).extract(Request(URL), fetched(LARGE))
    assert (result.fault, result.error, result.is_parsed) == ("parse_timeout", "5 s", False)


async def test_a_page_whose_judge_was_killed_is_not_blamed() -> None:
    result = await extractor(Judge(ParseInterruptError("killed"))).extract(Request(URL), fetched(LARGE))
    assert (result.fault, result.error, result.is_parsed) == ("parse_interrupted", "killed", False)


async def test_ordinary_pages_and_pictures_are_not_sent_anywhere() -> None:
    judge = Judge(None)
    await extractor(judge).extract(Request(URL, callback="nothing"), fetched())
    await extractor(judge).extract(Request(URL, callback="nothing"), fetched(LARGE, "image/png"))
    assert judge.seen == 0
    with pytest.raises(ValueError, match="image/png"):
        _ = Response(Request(URL), fetched(LARGE, "image/png")).page


@pytest.mark.parametrize("content_type", ["application/json", "text/plain"])
async def test_what_is_no_page_is_cut_only_for_those_who_select_from_it(content_type: str) -> None:
    judge = Judge(TruncatedPage(b"<p>", "UTF-8", {"rest": 1}))
    body = fetched(LARGE, content_type)
    result = await extractor(judge).extract(Request(URL, callback="nothing"), body)
    flags = () if content_type == "text/plain" else ("not_read",)
    assert (judge.seen, result.flags, result.dropped) == (1, flags, {f"page:{flag}": 1 for flag in flags})
    spider = type(
        "Selecting", (Spider,), {"name": "s", "parse": lambda self, response: response.css("p") and None}
    )()
    result = await SpiderExtractor(lambda _: spider, isolation=judge).extract(Request(URL), body)
    assert (result.flags, result.dropped) == (("parse_truncated", "cut_rest"), {"page:parse_truncated": 1})


@pytest.mark.parametrize(
    ("callback", "content_type", "body", "flags"),
    [
        ("nothing", "application/json", b"[]", ("not_read",)),
        ("nothing", "image/png", b"\x89PNG", ("not_read",)),
        ("nothing", "text/xml", b"<a/>", ("not_read",)),
        ("nothing", "application/json", b"", ()),
        ("nothing", "text/html", b"<p>", ()),
        ("nothing", "text/plain", b"a", ()),
        ("junk", "application/json", b"[]", ()),  # it has a fault
        ("read_json", "application/json", b"[]", ()),  # it was read, and there was nothing in it
    ],
)
async def test_an_answer_of_which_nothing_was_made_is_flagged(
    callback: str, content_type: str, body: bytes, flags: tuple[str, ...]
) -> None:
    result = await extractor().extract(Request(URL, callback=callback), fetched(body, content_type))
    assert (result.flags, result.dropped) == (flags, {f"page:{flag}": 1 for flag in flags})


@pytest.mark.slow
async def test_large_sitemaps_are_not_sent_anywhere_for_they_are_read_from_their_bytes() -> None:
    judge = Judge(ParseLimitError("5 s"))
    maps = SitemapSpider()
    locations = b"".join(b"<url><loc>http://h/%d</loc></url>" % n for n in range(90_000))
    body = b"<?xml version='1.0'?><urlset>" + locations + b"</urlset>"
    request = Request(URL, callback="parse_sitemap", cb_kwargs={"level": 1, "named_by": []})
    extractor = SpiderExtractor(lambda _: maps, ExtractorOptions(max_links=100_000), isolation=judge)
    result = await extractor.extract(request, fetched(body, "text/xml"))
    assert (result.fault, result.flags, judge.seen) == ("", (), 0)
    assert len(result.requests) == 50_000
    result = await extractor.extract(request, fetched(LARGE))
    assert (result.fault, judge.seen) == ("parse_timeout", 1)


async def test_links_are_limited_and_counted() -> None:
    body = b"".join(b"<a href=/%d>x</a>" % n for n in range(20))
    options = {"max_links": 5}
    result = await extractor(**options).extract(Request(URL, callback="links"), fetched(body))
    assert len(result.items[0]["links"]) == 5
    assert result.dropped == {"link:too_many": 15}


class Telling(Watchdog):
    """Says when it has reported."""

    def __init__(self, told: threading.Event) -> None:
        super().__init__(asyncio.get_running_loop(), held_s=0.02)
        self._told = told

    def _report_hold(self, held_s: float) -> None:
        super()._report_hold(held_s)
        self._told.set()


async def test_a_callback_that_holds_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    class Holding(Spider):
        name = "holding"

        def parse(self, response: Response) -> None:
            assert told.wait(20)

    holding = Holding()
    with Telling(told):
        await SpiderExtractor(lambda _: holding).extract(Request(URL), fetched())
    assert "the callback Holding.parse() of http://h/page has held up everything else" in caplog.text


async def test_a_callback_that_blocks_the_loop_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    class Blocking(Spider):
        name = "blocking"
        waits = time.sleep

        def parse(self, response: Response) -> Any:
            type(self).waits(0.2)
            yield {"url": response.url}

        async def parse_more(self, response: Response) -> Any:
            type(self).waits(0.2)
            yield {"url": response.url}

    blocking = Blocking()
    pages = SpiderExtractor(lambda _: blocking)
    with Watchdog(asyncio.get_running_loop(), blocked_s=0.05):
        for callback in ("parse", "parse", "parse_more"):
            await pages.extract(Request(URL, callback=callback), fetched())
            await asyncio.sleep(0.01)
    first, second = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert first.startswith("the callback Blocking.parse() of http://h/page blocked every other page for at")
    assert ": `type(self).waits(0.2)`); in an `async def`, `await asyncio.sleep(...)` waits" in first
    assert second.startswith("the callback Blocking.parse_more() of http://h/page blocked every other page")


async def test_an_errback_that_holds_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    class Holding(Spider):
        name = "holding"

        def failed(self, failure: Any) -> None:
            assert told.wait(20)

    holding = Holding()
    with Telling(told):
        await SpiderExtractor(lambda _: holding).give_up(Request(URL, errback="failed"), "timeout", "")
    assert "the callback Holding.failed() of a request given up has held up everything else" in caplog.text


async def test_a_pipeline_step_that_holds_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    told = threading.Event()

    def holding(item: Any) -> Any:
        assert told.wait(20)
        return item

    with Telling(told):
        await DefaultPipeline(steps=[holding]).process({}, URL)
    assert "the pipeline step holding on an item of http://h/page has held up everything else" in caplog.text
