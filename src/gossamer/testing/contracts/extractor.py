"""The contract of an extractor, as named checks.

Use, for an extractor of your own::

    @asynccontextmanager
    async def make(clock):
        yield ExtractorSubject(lambda spider: MyExtractor(spider))

    await check_extractor(make)                      # all of them, or one by one from EXTRACTOR_CHECKS
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from gossamer.core.errors import FetchError
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.ports.extractor import Extractor
from gossamer.spiders.failure import Failure
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["EXTRACTOR_CHECKS", "ExtractorSubject", "check_extractor"]

URL = "http://a.example/1"
PAGE = b"<title>One</title><a href=/2>two</a>"


class _CheckSpider(Spider):
    name = "check"
    handle_httpstatus_list = (404,)

    def __init__(self) -> None:
        super().__init__()
        self.waiting = asyncio.Event()

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url, "title": response.css("title::text").get()}
        yield response.follow("/2", callback=self.with_arguments)
        yield {"last": True}

    def with_arguments(self, response: Response, number: int, name: str = "") -> Any:
        return {"number": number, "name": name}

    async def as_coroutine(self, response: Response) -> list[dict[str, int]]:
        await asyncio.sleep(0)
        return [{"n": 1}, {"n": 2}]

    async def as_generator(self, response: Response) -> AsyncIterator[dict[str, int]]:
        yield {"n": 1}
        await asyncio.sleep(0)
        yield {"n": 2}

    def nothing(self, response: Response) -> None:
        return None

    def raises(self, response: Response) -> Iterator[Any]:
        yield {"before": 1}
        raise LookupError("no such thing")

    def exits(self, response: Response) -> Iterator[Any]:
        yield {"before": 1}
        sys.exit(3)

    async def times_out(self, response: Response) -> AsyncIterator[Any]:
        yield {"before": 1}
        raise TimeoutError

    async def waits(self, response: Response) -> None:
        self.waiting.set()
        await asyncio.Event().wait()

    def looks(self, response: Response) -> Any:
        return [{"text": (response.css("*::text").getall() if response.is_html else response.text)[:3]}]

    def on_error(self, failure: Failure) -> Any:
        return {"failed": failure.request.url, "fault": failure.fault}

    def fails_again(self, failure: Failure) -> Any:
        raise LookupError("in the errback")


@dataclass
class ExtractorSubject:
    """A function that makes an extractor for a spider."""

    build: Callable[[Spider], Extractor]

    async def extract(
        self, callback: str = "", fetched: FetchResult | None = None, **fields: Any
    ) -> ExtractResult:
        """Return the result of a callback of the spider for a page."""
        request = Request(URL, callback=callback, **fields)
        return await self.build(_CheckSpider()).extract(request, fetched or fetch_result())


def fetch_result(body: bytes = PAGE, content_type: str = "text/html", status: int = 200) -> FetchResult:
    """A response."""
    return FetchResult(
        url=URL,
        status=status,
        headers=(("content-type", content_type),),
        body=body,
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="http",
    )


EXTRACTOR_CHECKS: ContractSuite[ExtractorSubject] = ContractSuite()
"""The checks by name."""


async def check_extractor(make: Make[ExtractorSubject]) -> None:
    """Run every check on a fresh extractor each. Raises ``AssertionError`` for a broken promise."""
    await EXTRACTOR_CHECKS.run(make)


@EXTRACTOR_CHECKS.register
async def items_and_requests_are_told_apart(s: ExtractorSubject) -> None:
    """Each in the order of the callback, which is ``parse`` unless the request names another."""
    found = await s.extract()
    assert_equal(found.items, ({"url": URL, "title": "One"}, {"last": True}), "items in order")
    assert_equal([request.url for request in found.requests], ["http://a.example/2"], "and requests")
    assert_equal((found.fault, found.is_parsed, found.title), ("", True, "One"), "the page is a success")


@EXTRACTOR_CHECKS.register
async def callbacks_get_their_arguments(s: ExtractorSubject) -> None:
    """``cb_kwargs`` of the request."""
    found = await s.extract("with_arguments", cb_kwargs={"number": 7, "name": "x"})
    assert_equal(found.items, ({"number": 7, "name": "x"},), "as keyword arguments")
    lacking = await s.extract("with_arguments")
    assert_equal(lacking.fault, "callback", "one that is missing is the callback's fault")


@EXTRACTOR_CHECKS.register
async def callbacks_may_be_of_any_kind(s: ExtractorSubject) -> None:
    """Functions, generators, coroutines, asynchronous generators; and they may give nothing."""
    for callback in ("as_coroutine", "as_generator"):
        assert_equal((await s.extract(callback)).items, ({"n": 1}, {"n": 2}), callback)
    empty = await s.extract("nothing")
    assert_equal((empty.items, empty.requests, empty.fault), ((), (), ""), "nothing is nothing")


@EXTRACTOR_CHECKS.register
async def what_a_callback_raises_is_a_fault_of_its_page(s: ExtractorSubject) -> None:
    """Its earlier results are kept, and the error names the place."""
    for callback in ("raises", "exits", "times_out"):
        found = await s.extract(callback)
        assert_equal((found.fault, found.items), ("callback", ({"before": 1},)), callback)
        assert_holds(callback in found.error, f"the error names {callback}: {found.error}")
    missing = await s.extract("not_there")
    assert_equal(missing.fault, "callback", "a callback that is not there")
    assert_holds("not_there" in missing.error, "the error names it")


@EXTRACTOR_CHECKS.register
async def no_page_makes_it_raise(s: ExtractorSubject) -> None:
    """Whatever the body and whatever its header calls it."""
    bodies = (
        b"", b"\x00" * 1000, bytes(range(256)) * 10, b"<" * 5000, b"<div>" * 5000, b"\xff\xfe<\x00p\x00",
        b"<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", b"{", b"\xef\xbb\xbf<p>\xed\xa0",
    )  # fmt: skip
    kinds = (
        "text/html",
        "text/xml",
        "text/plain; charset=nonsense",
        "application/json",
        "image/png",
        "",
        ";;=",
    )
    for body in bodies:
        for kind in kinds:
            found = await s.extract("looks", fetch_result(body, kind))
            what = f"{body[:20]!r} as {kind!r}"
            assert_holds(found.fault in ("", "callback", "parse_timeout"), f"{what}: {found.fault}")


@EXTRACTOR_CHECKS.register
async def the_end_of_the_task_is_not_a_fault(s: ExtractorSubject) -> None:
    """A worker that must stop does not wait for a callback."""
    spider = _CheckSpider()
    task = asyncio.create_task(s.build(spider).extract(Request(URL, callback="waits"), fetch_result()))
    await spider.waiting.wait()
    task.cancel()
    (ended,) = await asyncio.gather(task, return_exceptions=True)
    assert_holds(isinstance(ended, asyncio.CancelledError), f"it is cancelled, found {ended!r}")


@EXTRACTOR_CHECKS.register
async def errbacks_are_run_when_there_is_one(s: ExtractorSubject) -> None:
    """With the request and its fault; ``None`` says that there was none."""
    extractor = s.build(_CheckSpider())
    assert_equal(await extractor.give_up(Request(URL), "connect", "refused"), None, "no errback")
    found = await extractor.give_up(Request(URL, errback="on_error"), "connect", "refused")
    assert found is not None, "an errback gives a result"
    assert_equal(found.items, ({"failed": URL, "fault": "connect"},), "the results of the errback")
    failed = await extractor.give_up(Request(URL, errback="fails_again"), "connect", "refused")
    assert failed is not None, "an errback that fails gives a result"
    assert_equal(failed.fault, "callback", "with a fault")


@EXTRACTOR_CHECKS.register
async def a_spider_says_which_statuses_it_handles(s: ExtractorSubject) -> None:
    """For all its requests, or with ``meta`` for one."""
    extractor = s.build(_CheckSpider())
    assert_equal([extractor.wants_status(Request(URL), n) for n in (404, 500)], [True, False], "the spider")
    one = Request(URL, meta={"handle_httpstatus_list": [500]})
    assert_equal([extractor.wants_status(one, n) for n in (404, 500)], [False, True], "the request before it")
    every = Request(URL, meta={"handle_httpstatus_all": True})
    assert_holds(extractor.wants_status(every, 599), "or every status")


class _JudgingSpider(_CheckSpider):
    """One that knows pages which refuse it."""

    def is_blocked(self, response: Response) -> bool | str:
        if response.status == 418:
            raise LookupError("in is_blocked")
        return "no teapots" if response.css("title::text").get() == "Refused" else response.status == 403


@EXTRACTOR_CHECKS.register
async def a_spider_may_judge_what_refuses_it(s: ExtractorSubject) -> None:
    """Pages and errors; what its code raises is its fault, with the place where it happened."""
    assert_equal(await s.build(_CheckSpider()).find_block(Request(URL), fetch_result()), None, "none does")
    extractor = s.build(_JudgingSpider())
    assert_equal(await extractor.find_block(Request(URL), fetch_result()), None, "a good page")
    refused = await extractor.find_block(Request(URL), fetch_result(b"<title>Refused</title>"))
    assert refused is not None, "a page that refuses"
    assert_equal(
        (refused.kind, refused.detail, refused.is_certain), ("spider", "no teapots", True), "its words"
    )
    assert_holds(await extractor.find_block(Request(URL), fetch_result(status=403)), "an error")
    try:
        await extractor.find_block(Request(URL), fetch_result(status=418))
    except FetchError as error:
        assert_equal(error.fault, "callback", "its exception is its fault")
        assert_holds("is_blocked" in error.detail, f"the detail says where: {error.detail}")
    else:
        raise AssertionError("what is_blocked raises must not be lost")


@EXTRACTOR_CHECKS.register
async def pages_do_not_mix(s: ExtractorSubject) -> None:
    """However many are worked on at the same time."""
    extractor = s.build(_CheckSpider())
    requests = [Request(f"{URL}{n}", callback="with_arguments", cb_kwargs={"number": n}) for n in range(20)]
    found = await asyncio.gather(*(extractor.extract(request, fetch_result()) for request in requests))
    assert_equal([one.items[0]["number"] for one in found], list(range(20)), "each gives its own")
