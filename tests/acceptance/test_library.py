"""Gossamer as a library: items back in Python, a crawl that is stopped, its events, two crawls at once."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import gossamer
from gossamer import (
    Item,
    JobBusy,
    JobFinishedEvent,
    NoticeEvent,
    PageDoneEvent,
    Spider,
    UsageError,
    crawl,
    key,
    start_crawl,
)
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import Site, serve
from kit.hostile.inside import QUICK, SILENT

PAGES = 200


class Product(Item):
    sku: str = key()
    price: Decimal
    note: str | None = None


@dataclasses.dataclass
class Review:
    stars: int
    length: int = dataclasses.field(init=False, default=3)


class Catalogue(Spider):
    name = "catalogue"
    site = ""

    async def start(self) -> Any:
        yield gossamer.Request(f"{self.site}/0")

    def parse(self, response: Any) -> Any:
        number = int(response.url.rpartition("/")[2])
        yield Product(sku=f"p{number}", price=Decimal(number) / 4)
        yield Review(stars=number % 5)
        yield {"plain": number}
        yield from response.follow_all(response.links())


def catalogue_app(path: str, headers: Any) -> SiteResponse:
    number = int(path[1:])
    after = f'<a href="/{number + 1}">next</a>' if number + 1 < PAGES else ""
    return SiteResponse(body=f"<h1>{number}</h1>{after}".encode(), delay_s=0.002)


def options(site: Site, data: Path, **more: Any) -> dict[str, Any]:
    return {"arguments": {"site": site.url}, "sinks": SILENT, "data": str(data), **QUICK, **more}


async def test_the_items_of_a_crawl_come_back_as_the_spider_gave_them(tmp_path: Path) -> None:
    async with serve(catalogue_app) as site:
        result = await crawl(Catalogue, **options(site, tmp_path, max_pages=5))
    assert result.items == 5 + 5 + 5
    found = [item async for item in result.items()]
    assert found[:3] == [Product(sku="p0", price=Decimal(0)), Review(stars=0), {"plain": 0}]
    assert [type(item) for item in found] == [Product, Review, dict] * 5
    assert [product.price async for product in result.items(Product)] == [Decimal(n) / 4 for n in range(5)]
    assert [item async for item in result.items("Product")] == [item async for item in result.items(Product)]
    assert [item["plain"] async for item in result.items("item")] == [*range(5)]
    stored = [item async for item in result.stored_items("Product")]
    assert [(item.key, item.data["price"], item.url) for item in stored][:2] == [
        ("p0", "0", f"{site.url}/0"),
        ("p1", "0.25", f"{site.url}/1"),
    ]
    assert stored == [item async for item in gossamer.items(result.job, data=str(tmp_path), type="Product")]
    assert result.as_json()["items"] == 15


async def test_an_item_that_its_class_no_longer_takes_is_an_error_that_names_it(tmp_path: Path) -> None:
    class Thing(Item):
        size: int

    class Things(Catalogue):
        name = "things"

        def parse(self, response: Any) -> Any:
            yield Thing(size=3)

    Things.Thing = Thing  # type: ignore[attr-defined]
    async with serve(catalogue_app) as site:
        result = await crawl(Things, **options(site, tmp_path))
    assert [thing.size async for thing in result.items(Thing)] == [3]

    class Changed(Item):
        weight: int

    Changed.__name__ = "Thing"
    Things.Thing = Changed  # type: ignore[attr-defined]
    again = await crawl(Things, **options(site, tmp_path))
    with pytest.raises(UsageError, match=r"the item Thing '.*' of http.* cannot be made a .*Changed again"):
        [item async for item in again.items()]
    assert [item.data async for item in again.stored_items()] == [{"size": 3}]


async def test_a_program_stops_a_crawl_by_what_it_sees_and_continues_it(tmp_path: Path) -> None:
    async with serve(catalogue_app) as site:
        async with start_crawl(Catalogue, **options(site, tmp_path)) as crawling:
            pages = 0
            async for event in crawling.events():
                pages += isinstance(event, PageDoneEvent)
                if pages == 10:
                    crawling.stop()
            assert isinstance(event, JobFinishedEvent)
        result = await crawling.wait()
        assert (result.finish_reason, crawling.is_over) == ("signal", True)
        assert 10 <= result.pages < PAGES
        assert (await crawling.read_totals()).pages == result.pages == pages
        rest = await crawl(Catalogue, **options(site, tmp_path))
    assert (rest.job, rest.finish_reason, rest.pages) == (result.job, "finished", PAGES)
    assert len({hit.path for hit in site.hits}) == PAGES


async def test_a_crawl_is_stopped_from_another_thread(tmp_path: Path) -> None:
    async with serve(catalogue_app) as site:
        crawling = await start_crawl(Catalogue, **options(site, tmp_path))
        async for event in crawling.events():
            if isinstance(event, PageDoneEvent):
                break
        thread = threading.Thread(target=crawling.stop)
        thread.start()
        result = await crawling.wait()
        thread.join()
    assert result.finish_reason == "signal"
    crawling.stop()  # of one that is over: nothing


async def test_a_body_that_raises_ends_the_crawl_at_once_and_loses_nothing(tmp_path: Path) -> None:
    async with serve(catalogue_app) as site:
        started = []

        async def fail_at_a_page() -> None:
            async with start_crawl(Catalogue, **options(site, tmp_path)) as crawling:
                started.append(crawling)
                async for event in crawling.events():
                    if isinstance(event, PageDoneEvent):
                        raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail_at_a_page()
        assert started[0].is_over
        result = await crawl(Catalogue, **options(site, tmp_path))
    assert (result.finish_reason, result.pages) == ("finished", PAGES)


async def test_whoever_waits_may_be_cancelled_and_the_crawl_goes_on(tmp_path: Path) -> None:
    async with serve(catalogue_app) as site:
        crawling = await start_crawl(Catalogue, **options(site, tmp_path, max_pages=30))
        waiting = asyncio.create_task(crawling.wait())
        await anext(crawling.events())
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await crawling.wait()).pages == 30


async def test_a_slow_reader_of_events_is_told_how_many_it_missed(tmp_path: Path) -> None:
    async with serve(catalogue_app) as site:
        crawling = await start_crawl(Catalogue, **options(site, tmp_path, max_pages=50))
        slow, quick = crawling.events(limit=5), crawling.events()
        every = [event async for event in quick]  # while nobody reads the other stream
        await crawling.wait()
        notice, *rest = [event async for event in slow]
    assert isinstance(notice, NoticeEvent)
    assert (
        notice.text == f"{len(every) - 5} events dropped: the program reads them more slowly than they come"
    )
    assert rest == every[-5:]
    assert [event async for event in crawling.events()] == [], "what comes after the end"
    with pytest.raises(UsageError, match=r"events\(limit=0\)"):
        crawling.events(limit=0)


async def test_two_crawls_run_in_one_process(tmp_path: Path) -> None:
    class Other(Catalogue):
        name = "other"

    async with serve(catalogue_app) as one, serve(catalogue_app) as two:
        results = await asyncio.gather(
            crawl(Catalogue, **options(one, tmp_path, max_pages=40)),
            crawl(Other, **options(two, tmp_path, max_pages=40)),
        )
    assert [(result.finish_reason, result.pages) for result in results] == [("max_pages", 40)] * 2
    assert [result.job for result in results] == ["catalogue-1", "other-1"]
    for site, result in zip((one, two), results, strict=True):
        urls = {item.url async for item in result.stored_items("Product")}
        assert urls == {f"{site.url}/{number}" for number in range(40)}


async def test_the_same_crawl_twice_at_once_is_refused_with_an_error_to_catch(tmp_path: Path) -> None:
    async with serve(catalogue_app) as site:
        crawling = await start_crawl(Catalogue, **options(site, tmp_path))
        with pytest.raises(JobBusy, match="is being worked on by process"):
            await start_crawl(Catalogue, **options(site, tmp_path))
        crawling.stop()
        await crawling.wait()


def test_every_error_of_the_package_is_caught_by_its_root() -> None:
    errors = [getattr(gossamer, name) for name in gossamer.__all__ if name.endswith("Error")]
    assert len(errors) >= 12
    assert all(issubclass(error, gossamer.GossamerError) for error in errors)
