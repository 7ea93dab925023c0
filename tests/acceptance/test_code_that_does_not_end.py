"""Spiders whose code catches everything, its own end included, and waits on: page, crawl and process end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.programs import rows, run

SPIDER = """
import asyncio

from gossamer import Request, Spider


async def stay():
    while True:
        try:
            await asyncio.sleep(0.05)
        except BaseException:
            pass


class Stays(Spider):
    name = "stays"
    place = ""
    settings = {"delay": 0.0, "per_host": 8, "max_retries": 0, "parse.callback_timeout": 0.3}

    async def start(self):
        for name in ("good", "bad", "gone"):
            yield Request(f"ROOT/{name}", callback=self.parse, errback=self.missed)
        if self.place == "start":
            await stay()

    async def parse(self, response):
        yield {"page": response.url.rpartition("/")[2]}
        if response.url.endswith("/bad") and self.place == "generator":
            await stay()
        if response.url.endswith("/bad") and self.place == "finally":
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.Event().wait()
        if response.url.endswith("/bad") and self.place == "coroutine":
            yield Request("ROOT/more", callback=self.more)

    async def more(self, response):
        await stay()

    async def missed(self, failure):
        if self.place == "errback":
            await stay()

    async def closed(self, reason):
        if self.place == "closed":
            await stay()


class Step:
    async def process_item(self, item, spider):
        if spider.place == "step" and item["page"] == "bad":
            await stay()
        return item


Stays.pipelines = [Step]
"""


def site_of(path: str, headers: Mapping[str, str]) -> SiteResponse:
    return SiteResponse(404) if path in ("/robots.txt", "/gone") else SiteResponse(200, b"<p>text</p>")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serve_in_thread(site_of) as served:
        yield served


@pytest.mark.parametrize(
    ("place", "dead"),
    [
        ("generator", ("/bad", "callback_timeout")),
        ("finally", ("/bad", "callback_timeout")),
        ("coroutine", ("/more", "callback_timeout")),
        ("errback", ("/gone", "callback_timeout")),
        ("step", ("/bad", "pipeline")),
        ("closed", None),
        ("start", None),
    ],
)
def test_code_that_ignores_its_end_holds_up_nothing(
    place: str, dead: tuple[str, str] | None, site: Site, tmp_path: Path
) -> None:
    spider = tmp_path / "stays.py"
    text = SPIDER.replace("ROOT", site.url.rstrip("/")).replace('place = ""', f'place = "{place}"')
    spider.write_text(text)
    limit = ("--max-time", "1") if place == "start" else ()
    done = run("crawl", spider, "--json", "--strict", *limit, cwd=tmp_path, timeout=30)
    result = json.loads(done.stdout)
    assert "ignores its cancellation" in done.stderr
    assert result["finish_reason"] == ("max_time" if place == "start" else "finished")
    assert done.returncode == (0 if place == "start" else 1)
    found = rows(tmp_path / ".gossamer", "SELECT url, reason FROM attempt WHERE verdict = 'dead'")
    assert [(url[url.rindex("/") :], reason) for url, reason in found] == ([dead] if dead else [])
    kept = {json.loads(row[0])["page"] for row in rows(tmp_path / ".gossamer", "SELECT data FROM item")}
    assert kept == ({"good"} if place == "step" else {"good", "bad"})
