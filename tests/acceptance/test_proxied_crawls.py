"""Whole crawls through proxies, of which some are dead and some are refused: nothing fails, and nobody is
asked without a proxy."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest

from gossamer import Spider, crawl
from gossamer.core.errors import Fault
from gossamer.core.events import PageDoneEvent
from gossamer.core.results import Verdict
from gossamer.testing.site import SiteResponse, serve
from kit.fake_proxy import FakeProxy, Forwarding, hang, hang_up, say
from kit.recording_sink import RecordingSink

PAGES = 40
REFUSAL = (
    b"HTTP/1.1 403 Forbidden\r\ncf-mitigated: challenge\r\nserver: cloudflare\r\nContent-Length: 0\r\n\r\n"
)


def site(path, headers):
    if path == "/robots.txt":
        return SiteResponse(404, b"")
    links = "".join(f"<a href='/{n}'>{n}</a>" for n in range(PAGES)) if path == "/" else "a page"
    return SiteResponse(200, f"<html><body><p>{links}</p></body></html>".encode())


def linked_spider(url):
    class Proxied(Spider):
        name = "proxied"
        start_urls = [url + "/"]

        def parse(self, response):
            yield from response.follow_all(css="a")

    return Proxied


async def test_dead_and_refused_proxies_cost_no_page(tmp_path):
    sink, works = RecordingSink(), Forwarding()
    async with (
        serve(site) as served,
        FakeProxy(hang_up) as dead,
        FakeProxy(say(*[REFUSAL] * 1000)) as refused,
        FakeProxy(works) as well,
    ):
        urls = [f"http://me:hunter2@127.0.0.1:{one.port}" for one in (dead, refused, well)]
        result = await crawl(
            linked_spider(served.url),
            sinks=[sink],
            data=str(tmp_path),
            delay=0,
            per_host=4,
            **{"proxies.urls": urls},
        )
        assert (result.dead, result.pages) == (0, PAGES + 1)
        assert len(works.heads) == len(served.log.hits), "nobody was asked but through the proxy"
    rows = [event.attempt for event in sink.events if isinstance(event, PageDoneEvent)]
    dead_name, refused_name, well_name = (f"http://127.0.0.1:{one.port}" for one in (dead, refused, well))
    verdicts = Counter((row.proxy.partition("#")[0], row.verdict, row.reason) for row in rows)
    assert verdicts.pop((well_name, Verdict.SUCCESS, "")) == PAGES + 1
    assert set(verdicts) <= {
        ("", Verdict.RETRY, Fault.PROXY),  # it was asked for robots.txt
        (dead_name, Verdict.RETRY, Fault.PROXY),
        (refused_name, Verdict.RETRY, Fault.BLOCKED),
    }
    assert sum(verdicts.values()) <= 12, "they were left alone"
    assert "hunter2" not in str(rows)


FAILURES = {
    "plain": b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n",
    "signed": b"HTTP/1.1 502 Bad Gateway\r\nX-Webshare-Reason: no_exit\r\nContent-Length: 0\r\n\r\n",
    "status": b"HTTP/1.1 500 Oops\r\nProxy-Status: p.example; error=proxy_internal_error\r\n"
    b"Content-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize(
    ("failure", "rung"), [*((failure, "http") for failure in FAILURES), ("plain", "impersonate")]
)
async def test_errors_of_a_proxy_are_not_those_of_the_host(tmp_path, failure, rung):
    """A bug it would catch: the host waits for a minute since one of two proxies is out of order."""
    sink, works = RecordingSink(), Forwarding()
    async with (
        serve(site) as served,
        FakeProxy(say(*[FAILURES[failure]] * 1000)) as broken,
        FakeProxy(works) as well,
    ):
        spider = linked_spider(served.url)
        urls = [f"http://127.0.0.1:{one.port}" for one in (broken, well)]
        async with asyncio.timeout(20):
            result = await crawl(
                spider,
                sinks=[sink],
                data=str(tmp_path),
                **{"delay": 0, "per_host": 4, "fetch": rung, "proxies.urls": urls},
            )
    assert (result.dead, result.pages) == (0, PAGES + 1)
    assert broken.connections <= 10, "it is left alone"
    rows = [event.attempt for event in sink.events if isinstance(event, PageDoneEvent)]
    assert {row.reason for row in rows} <= {"", Fault.PROXY_ANSWER, Fault.PROXY}
    assert not any(row.proxy == urls[1] and row.reason for row in rows)


@pytest.mark.parametrize("proxies", [1, 2])
async def test_errors_that_come_through_every_proxy_are_the_hosts(tmp_path, proxies):
    """A bug it would catch: a page that is out of order is asked for again and again, at no charge."""

    def with_bad_pages(path, headers):
        return SiteResponse(500, b"oops") if path in ("/3", "/4") else site(path, headers)

    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serve(with_bad_pages))
        working = [await stack.enter_async_context(FakeProxy(Forwarding())) for _ in range(proxies)]
        urls = [f"http://127.0.0.1:{one.port}" for one in working]
        async with asyncio.timeout(20):
            result = await crawl(
                linked_spider(served.url),
                data=str(tmp_path),
                **{"delay": 0, "per_host": 4, "max_retries": 1, "retry_backoff": 0.01, "proxies.urls": urls},
            )
    assert (result.dead, result.pages) == (2, PAGES - 1)
    paths = Counter(hit.path for hit in served.log.hits)
    assert paths["/3"] == paths["/4"] == 1 + proxies, "each is tried through another one at no charge, if any"


@pytest.mark.parametrize(
    ("broken", "rotation"), [(4, "round_robin"), (1, "sticky"), (9, "round_robin"), (9, "sticky")]
)
async def test_a_list_that_is_mostly_out_of_order_costs_no_page(tmp_path, broken, rotation):
    """A bug it would catch: proxies that are out of order agree on robots.txt, and nothing is fetched."""
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serve(site))
        some = [FakeProxy(say(*[FAILURES["plain"]] * 1000)) for _ in range(broken)]
        every = [await stack.enter_async_context(one) for one in (*some, FakeProxy(Forwarding()))]
        urls = [f"http://127.0.0.1:{one.port}" for one in every]
        options = {"delay": 0, "per_host": 4, "proxies.urls": urls, "proxies.rotation": rotation}
        async with asyncio.timeout(20):
            result = await crawl(linked_spider(served.url), data=str(tmp_path), **options)
    assert (result.dead, result.pages) == (0, PAGES + 1)


async def test_a_list_of_which_most_hang_costs_no_page(tmp_path):
    """A bug it would catch: each page finds out anew which proxies never answer, one after the other."""
    async with AsyncExitStack() as stack:
        served = await stack.enter_async_context(serve(site))
        every = [FakeProxy(hang) for _ in range(5)] + [FakeProxy(Forwarding())]
        urls = [f"http://127.0.0.1:{(await stack.enter_async_context(one)).port}" for one in every]
        options = {"delay": 0, "per_host": 1, "proxies.urls": urls}
        options |= {"http.headers_timeout": 0.4, "proxies.failure_quarantine": {"other": 0.4}}
        async with asyncio.timeout(8):
            result = await crawl(linked_spider(served.url), data=str(tmp_path), **options)
    assert (result.dead, result.pages) == (0, PAGES + 1)
