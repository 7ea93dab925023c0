"""``kill -9`` in the middle of a crawl with Scrapy's pipelines and feeds: nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.programs import run, start
from kit.quotes_site import QuotesSite

SPIDER = """
import scrapy


class Numbered:
    def process_item(self, item, spider):
        item["length"] = len(item["text"])
        with open("seen.txt", "a") as file:
            print(item["text"], file=file)
        return item


class Quotes(scrapy.Spider):
    name = "quotes"
    custom_settings = {
        "ITEM_PIPELINES": {Numbered: 300}, "DOWNLOAD_DELAY": 0.01,
        "FEEDS": {"grown.jl": {"format": "jl"}, "whole.csv": {"format": "csv", "overwrite": True}},
    }

    def start_requests(self):
        yield scrapy.Request(self.url + "/")

    def parse(self, response):
        for quote in response.css("div.quote"):
            yield {"text": quote.css("span.text::text").get()}
        yield from response.follow_all(css="li.next a")
"""


def kill_in_the_middle(seen: Path, more: int, *arguments: str) -> None:
    """Crawl until a pipeline has seen so many more items, and kill it."""
    wanted = _lines_of(seen) + more
    process = start(*arguments, cwd=seen.parent)
    while _lines_of(seen) < wanted and process.poll() is None:
        os.sched_yield()
    process.send_signal(signal.SIGKILL)
    process.wait()


def _lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.long
def test_pipelines_and_feeds_have_each_item_after_kills(tmp_path: Path) -> None:
    (tmp_path / "spider.py").write_text(SPIDER)
    seen = tmp_path / "seen.txt"
    with serve_in_thread(QuotesSite(200)) as site:
        command = ("crawl", "spider.py", "-a", f"url={site.url}", "-s", "robots=false")
        for _ in range(3):
            kill_in_the_middle(seen, 40, *command)
        assert not (tmp_path / "grown.jl").exists(), "nobody was killed in the middle"
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert run(*command, cwd=tmp_path).returncode == 0
    truth = {str(quote["text"]) for quote in QuotesSite(200).truth()}
    grown = [json.loads(line) for line in (tmp_path / "grown.jl").read_text().splitlines()]
    assert Counter(item["text"] for item in grown) == Counter(truth)
    assert all(item["length"] == len(item["text"]) for item in grown)
    assert len((tmp_path / "whole.csv").read_text().splitlines()) == 201
    assert set(seen.read_text().splitlines()) == truth
