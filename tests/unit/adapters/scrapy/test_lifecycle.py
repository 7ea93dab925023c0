"""The beginning and the end of a crawl: whatever fails there, everybody is told, and nothing stays open."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, ClassVar

import pytest
from scrapy import Request, Spider, signals
from scrapy.settings import Settings

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.lifecycle import close_crawl, open_crawl
from gossamer.adapters.scrapy.state import FILE
from gossamer.core.errors import OperatorError, UsageError


class Shop(Spider):
    name = "shop"


class Opened:
    """A pipeline that says when it is open."""

    told: ClassVar[list[str]] = []

    def open_spider(self, spider: Any) -> None:
        self.told.append("open")

    def process_item(self, item: Any, spider: Any) -> Any:
        return item


def crawler_in(folder: Path) -> AdaptedCrawler:
    settings = Settings({"JOBDIR": str(folder), "ITEM_PIPELINES": {Opened: 1}})
    crawler = AdaptedCrawler(Shop, settings)
    crawler.make_spider({})

    async def send(signal: Any, **values: Any) -> Any:  # without a reactor
        return crawler.signals.send_catch_log(signal, **values)

    crawler.signals.send_catch_log_async = send  # type: ignore[assignment]
    return crawler


async def test_a_damaged_state_ends_the_crawl_before_anything_is_open(tmp_path: Path) -> None:
    Opened.told.clear()
    (tmp_path / FILE).write_text("{")
    with pytest.raises(UsageError, match=FILE):
        await open_crawl(crawler_in(tmp_path))
    assert Opened.told == []


async def test_a_state_that_cannot_be_kept_ends_nothing_else(tmp_path: Path) -> None:
    crawler = crawler_in(tmp_path / "job")
    crawler.spider.state = {}  # type: ignore[union-attr]
    (tmp_path / "job").write_text("a file where the folder should be")
    told: list[str] = []
    crawler.signals.connect(lambda: told.append("stopped"), signals.engine_stopped, weak=False)
    with pytest.raises(OperatorError, match="job"):
        await close_crawl(crawler, "finished")
    assert told == ["stopped"]


async def test_requests_that_came_too_late_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawler = crawler_in(tmp_path)
    crawler.adapted_engine.crawl(Request("http://a.example/"))
    with caplog.at_level(logging.WARNING):
        await close_crawl(crawler, "paused")
    assert "1 request that code gave to crawler.engine.crawl() was not sent" in caplog.text
