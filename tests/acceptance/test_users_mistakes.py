"""Ten kinds of mistakes in users' code at every place where it is called: nothing is missing in silence.

Each crawl has a page whose code is right and one whose code is not. Whatever that does: the crawl ends as
finished, the right page is whole, and of the other one either everything is stored, or it is a dead letter
with the reason; then the exit code says so.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer import Request, Spider, crawl
from gossamer.callbacks.watchdog import Watchdog
from gossamer.core.exits import ExitCode, exit_of
from gossamer.crawl.result import CrawlResult
from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from gossamer.wiring import extractors as wiring
from kit.programs import rows

LARGE = 65 * 2**20
TOLD = threading.Event()


def site_of(path: str, headers: Mapping[str, str]) -> SiteResponse:
    if path == "/robots.txt" or path.startswith("/gone"):
        return SiteResponse(404)
    return SiteResponse(200, f"<title>{path}</title><p>{path}</p>".encode())


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_in_thread(site_of) as served:
        yield served


@pytest.fixture(autouse=True)
def quick_watchdog(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that neither returns nor waits cannot be ended: it is named, and here it ends after that."""
    TOLD.clear()

    class Telling(Watchdog):
        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            super().__init__(loop, held_s=0.05)

        def _report_hold(self, held_s: float) -> None:
            super()._report_hold(held_s)
            TOLD.set()

    monkeypatch.setattr(wiring, "Watchdog", Telling)


class Text(str):
    """As the strings of BeautifulSoup and lxml."""


def cycle() -> Any:
    value: dict[str, Any] = {}
    value["a"] = value["b"] = value
    return value


def raises() -> Any:
    raise RuntimeError("wrong")


def exits() -> Any:
    sys.exit(0)


def closes() -> Any:
    raise GeneratorExit


def cancels() -> Any:
    raise asyncio.CancelledError


def holds_the_loop() -> Any:
    assert TOLD.wait(20)
    return "in the end"


GIVES: dict[str, Callable[[], Any]] = {
    "raise": raises,
    "exit": exits,
    "closed early": closes,
    "cancelled": cancels,
    "junk": object,
    "subclass": lambda: Text("x"),
    "cycle": cycle,
    "surrogate": lambda: "half \ud83d",
    "large": lambda: "x" * LARGE,
    "hang": holds_the_loop,
}
"""What a mistake does, or the value it puts where a good one should be."""
STORED = {"subclass": "x", "surrogate": "half \ufffd"}
"""What is no mistake any more, and how it is stored."""


class Base(Spider):
    settings = {"delay": 0.0, "per_host": 8, "max_retries": 0, "parse.callback_timeout": 0.3}
    kind = ""

    async def start(self) -> AsyncIterator[Request]:
        for name in ("good", "bad"):
            yield Request(f"{self.root}/{name}", callback=self.parse, cb_kwargs={"name": name})

    root = ""

    def parse(self, response: Any, name: str) -> Any:
        yield {"page": name}


class InStep(Base):
    name = "step"

    async def process_item(self, item: Any, spider: Any) -> Any:
        if item["page"] == "good":
            return item
        if self.kind == "hang":
            await asyncio.Event().wait()
        if self.kind == "junk":
            return GIVES["junk"]()
        return {**item, "value": GIVES[self.kind]()}


class InSyncStep(Base):
    name = "sync-step"

    def process_item(self, item: Any, spider: Any) -> Any:
        return item if item["page"] == "good" else {**item, "value": GIVES[self.kind]()}


class InCallback(Base):
    name = "callback"

    async def parse(self, response: Any, name: str) -> AsyncIterator[Any]:
        yield {"page": name}
        if name == "good":
            return
        if self.kind == "hang":
            await asyncio.Event().wait()
        value = GIVES[self.kind]()
        if self.kind == "junk":
            yield value
            return
        yield response.follow("/more", self.parse_more, meta={"value": value})

    def parse_more(self, response: Any) -> Any:
        return {"page": "bad", "value": response.meta["value"]}


class InSyncCallback(InCallback):
    name = "sync-callback"

    def parse(self, response: Any, name: str) -> Iterator[Any]:  # type: ignore[override]
        yield {"page": name}
        if name == "bad":
            yield response.follow("/more", self.parse_more, cb_kwargs={"value": GIVES[self.kind]()})

    def parse_more(self, response: Any, value: Any = "") -> Any:
        return {"page": "bad", "value": value}


class InErrback(Base):
    name = "errback"

    async def start(self) -> AsyncIterator[Request]:
        yield Request(f"{self.root}/good", callback=self.parse, cb_kwargs={"name": "good"})
        yield Request(f"{self.root}/gone/bad", errback=self.failed)

    async def failed(self, failure: Any) -> AsyncIterator[Any]:
        yield {"page": "bad"}
        if self.kind == "hang":
            await asyncio.Event().wait()
        yield {"page": "bad", "value": GIVES[self.kind]()}


class Crooked(dict[str, Any]):
    """An item that does what it does when somebody looks into it."""

    kind = ""

    def items(self) -> Any:
        return {"page": "bad", "value": GIVES[self.kind]()}.items()


class InValue(Base):
    name = "value"

    def parse(self, response: Any, name: str) -> Any:
        if name == "good":
            return {"page": name}
        if self.kind in ("raise", "exit", "closed early", "cancelled", "hang"):
            item = Crooked(page="bad")
            item.kind = self.kind
            return item
        return {"page": "bad", "value": GIVES[self.kind]()}


async def run(spider: type[Base], kind: str, site: Site, data: Path) -> CrawlResult:
    steps = [spider] if hasattr(spider, "process_item") else []
    made = type(spider.__name__, (spider,), {"kind": kind, "root": site.url, "pipelines": steps})
    if steps:
        made.pipelines = [made]
    return await crawl(made, data=str(data))


@pytest.mark.parametrize("kind", list(GIVES))
@pytest.mark.parametrize(
    "spider", [InStep, InSyncStep, InCallback, InSyncCallback, InErrback, InValue], ids=lambda s: s.name
)
async def test_nothing_is_missing_in_silence(
    spider: type[Base], kind: str, site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    result = await run(spider, kind, site, tmp_path)
    assert result.finish_reason == "finished"
    items = [json.loads(row[0]) for row in rows(tmp_path, "SELECT data FROM item")]
    dead = rows(tmp_path, "SELECT url, reason, detail FROM attempt WHERE verdict = 'dead'")
    assert {"page": "good"} in items
    is_sync_hang = kind == "hang" and spider in (InSyncStep, InSyncCallback, InValue)
    if kind in STORED or is_sync_hang:
        expected = STORED.get(kind, "in the end")
        assert expected in [item.get("value") for item in items]
        assert (dead, result.dead) == ([], 0)
        assert exit_of(result.ending, strict=True) is ExitCode.OK
        assert "has held up everything else" in caplog.text or not is_sync_hang
        return
    ((url, reason, detail),) = dead
    assert url.endswith("/bad")
    assert reason in ("pipeline", "callback", "callback_timeout")
    assert detail
    assert result.dead == 1
    assert exit_of(result.ending, strict=True) is ExitCode.DEAD_LETTERS
    if spider in (InCallback, InSyncCallback, InErrback):  # what was given before the mistake is kept
        assert {"page": "bad"} in items
    pages = [row[0] for row in rows(tmp_path, "SELECT url FROM page")]
    if reason == "pipeline":  # what takes too long may pass, so that nothing of the page is kept
        assert any(url.endswith("/bad") for url in pages) is (kind != "hang")
        assert exit_of(result.ending) is ExitCode.DEAD_LETTERS


@pytest.mark.parametrize("spider", [InStep, InCallback, InErrback, InValue], ids=lambda s: s.name)
async def test_a_crawl_of_nothing_but_the_mistake_has_failed(
    spider: type[Base], site: Site, tmp_path: Path
) -> None:
    async def start(self: Base) -> AsyncIterator[Request]:
        async for request in spider.start(self):
            if "bad" in request.url:
                yield request

    alone = type("Alone", (spider,), {"start": start})
    result = await run(alone, "raise", site, tmp_path)
    assert exit_of(result.ending) is ExitCode.DEAD_LETTERS


class Carrying(Base):
    """A page's values go along to the next page, which adds what no request could carry."""

    name = "carrying"

    async def start(self) -> AsyncIterator[Request]:
        half = {"page": "first"}
        meta = {"half": half}
        for name in ("first", "second"):
            half["page"] = name
            yield Request(f"{self.root}/{name}", self.parse, meta=meta, cb_kwargs={"item": half})

    def parse(self, response: Any, item: Any) -> Any:
        meta = {"half": item}
        yield Request(f"{response.url}/more", self.parse_more, meta=meta, cb_kwargs={"item": item})
        meta["junk"] = item["junk"] = object()
        response.request.meta["junk"] = response.request.cb_kwargs["item"]["junk"] = object()

    def parse_more(self, response: Any, item: Any) -> Any:
        item["price"] = Decimal("1.50")
        response.meta["half"]["junk"] = object()
        yield item


async def test_what_a_request_was_made_with_may_be_used_again(site: Site, tmp_path: Path) -> None:
    result = await run(Carrying, "", site, tmp_path)
    items = [json.loads(row[0]) for row in rows(tmp_path, "SELECT data FROM item ORDER BY data")]
    assert items == [{"page": "first", "price": "1.50"}, {"page": "second", "price": "1.50"}]
    assert (result.finish_reason, result.dead, result.attempts) == ("finished", 0, 4)


@pytest.mark.parametrize("field", ["meta", "cb_kwargs", "headers"])
async def test_a_first_request_is_what_it_was_when_it_was_yielded(
    field: str, site: Site, tmp_path: Path
) -> None:
    class Spoiling(Base):
        name = "spoiling"

        async def start(self) -> AsyncIterator[Request]:
            given = {"name": "good"}
            request = Request(f"{self.root}/good", self.parse, cb_kwargs=given, meta=given, headers=given)
            yield request
            getattr(request, field)["junk"] = object()

    result = await run(Spoiling, "", site, tmp_path)
    assert (result.finish_reason, result.items, result.dead) == ("finished", 1, 0)


@pytest.mark.parametrize("field", ["meta", "cb_kwargs", "headers"])
async def test_a_request_that_is_spoilt_after_it_was_yielded_costs_its_page(
    field: str, site: Site, tmp_path: Path
) -> None:
    class Spoiling(Base):
        name = "spoiling"

        def parse(self, response: Any, name: str) -> Any:
            request = Request(f"{response.url}/next", self.parse, cb_kwargs={"name": name})
            if name == "bad":
                yield request
                getattr(request, field)["junk"] = object()
            yield {"page": name}

    result = await run(Spoiling, "", site, tmp_path)
    ((url, reason, detail),) = rows(
        tmp_path, "SELECT url, reason, detail FROM attempt WHERE verdict = 'dead'"
    )
    assert (url, reason) == (f"{site.url}/bad", "callback")
    assert "junk" in detail
    assert (result.finish_reason, result.dead, result.items) == ("finished", 1, 1)
