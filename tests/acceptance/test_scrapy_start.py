"""What the start of a Scrapy spider gives is stored, whatever becomes of its requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.programs import run

SPIDER = """
import scrapy
from scrapy.exceptions import DropItem


class Refusing:
    def process_item(self, item, spider):
        if "refused" in item:
            raise DropItem("refused")
        return item


class Beginning(scrapy.Spider):
    name = "beginning"
    custom_settings = {"ROBOTSTXT_OBEY": False, "RETRY_ENABLED": False, "ITEM_PIPELINES": {Refusing: 1}}
    start_urls = ["http://127.0.0.1:1/"]

    async def start(self):
        yield {"a": 1}
        yield {"refused": 1}
        if self.asks == "yes":
            async for request in super().start():
                yield request
        yield {"a": 1}
        yield {"b": {2}}
"""


@pytest.mark.long
def test_items_of_the_start_are_stored_whatever_becomes_of_its_requests(tmp_path: Path) -> None:
    (tmp_path / "spider.py").write_text(SPIDER)
    for asks in ("yes", "no"):
        for fresh in (("--fresh",), ()):  # what begins again gives the same ones
            out = tmp_path / "items.jsonl"
            command = ("crawl", "spider.py", "-a", f"asks={asks}", *fresh, "-O", out.name)
            done = run(*command, cwd=tmp_path)
            assert out.is_file(), done.stderr
            items = [json.loads(line) for line in out.read_text().splitlines()]
            assert items == [{"a": 1}, {"a": 1}, {"b": [2]}], (asks, fresh, done.stderr)
            assert "Traceback" not in done.stderr


CLOSING = """
import asyncio

import scrapy
from scrapy.exceptions import CloseSpider


class Closing(scrapy.Spider):
    name = "closing"
    custom_settings = {"ROBOTSTXT_OBEY": False, "RETRY_ENABLED": False}

    async def start(self):
        if self.first == "yes":
            yield {"a": 1}
        if self.first == "late":
            await asyncio.sleep(0.8)
        raise CloseSpider("no_key")

    def closed(self, reason):
        print("closed by", reason)
"""


@pytest.mark.long
def test_a_start_that_closes_the_crawl_ends_it_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "spider.py").write_text(CLOSING)
    for first, items in (("no", 0), ("late", 0), ("yes", 1)):
        done = run("crawl", "spider.py", "-a", f"first={first}", "--json", cwd=tmp_path)
        said, _, result = done.stdout.partition("\n")
        assert said == "closed by no_key", done.stderr
        found = json.loads(result)
        assert (found["finish_reason"], found["items"]) == ("stopped: no_key", items)
        assert "Traceback" not in done.stderr
