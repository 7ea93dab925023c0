"""Statistics of a spider's own: counted once, whatever is killed, and shown wherever a job is."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from gossamer import Spider, crawl
from gossamer.config.settings import Settings
from gossamer.observe import metrics
from gossamer.observe.metrics import MetricSample
from gossamer.queries.metrics import MetricsReader
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve, serve_in_thread
from gossamer.wiring.backends import open_backends
from kit.hostile.inside import QUICK, SILENT
from kit.programs import crawl as run_crawl
from kit.programs import rows, run, start

PAGES = 240
SPIDER = """
from gossamer import DropItem, Spider


def count_items(item, spider):
    spider.stats.inc("items/seen")
    if item["number"] % 10 == 0:
        raise DropItem("round")
    return item


class Counting(Spider):
    name = "counting"
    start_urls = ["{url}/0"]
    pipelines = [count_items]

    async def start(self):
        self.stats.inc("starts")
        async for request in super().start():
            yield request

    async def parse(self, response):
        number = int(response.url.rpartition("/")[2])
        self.stats.inc("pages")
        self.stats.inc("weight", 0.25)
        self.stats.max("last", number)
        self.stats.min("first", number)
        yield {{"number": number}}
        for request in response.follow_all(response.links()):
            yield request

    def closed(self, reason):
        self.stats.inc("ends")
"""


def chain_app(path: str, headers: Any) -> SiteResponse:
    if not path[1:].isdigit():
        return SiteResponse(404)
    number = int(path[1:])
    after = "".join(f'<a href="/{n}">x</a>' for n in range(number + 1, min(number + 4, PAGES)))
    return SiteResponse(body=after.encode(), delay_s=0.004)


def write_spider(folder: Path, url: str) -> Path:
    file = folder / "counting.py"
    file.write_text(SPIDER.format(url=url))
    return file


OPTIONS = ("--delay", "0", "--per-host", "8", "--no-robots")
COUNTED = {"first": 0, "items/seen": PAGES, "last": PAGES - 1, "pages": PAGES, "weight": PAGES / 4}


@pytest.mark.long
def test_whatever_is_killed_each_page_counts_once(tmp_path: Path) -> None:
    with serve_in_thread(chain_app) as site:
        spider, data = write_spider(tmp_path, site.url), tmp_path / ".gossamer"
        for more in (30, 60):
            before = pages_in(data)
            process = start("crawl", spider, "-q", *OPTIONS, cwd=tmp_path)
            end = time.monotonic() + 60
            while pages_in(data) < before + more and time.monotonic() < end:
                assert process.poll() is None, "nobody was killed in the middle"
            process.send_signal(signal.SIGKILL)
            process.wait()
        result = run_crawl(spider, *OPTIONS, cwd=tmp_path)
        assert (result["finish_reason"], result["pages"]) == ("finished", PAGES)
        starts = result["stats"].pop("starts")
        assert 1 <= starts <= 3, "what is counted of no page goes with the results of the next one"
        assert result["stats"] == {**COUNTED, "ends": 1}
        text = run("status", "counting", cwd=tmp_path).stdout
        assert f"pages: {PAGES}" in text
        assert "weight: 60" in text
        status = json.loads(run("status", "counting", "--json", cwd=tmp_path).stdout)
        assert status["stats"] == {**COUNTED, "ends": 1, "starts": starts}


def pages_in(data: Path) -> int:
    try:
        return int(rows(data, "SELECT count(*) FROM page")[0][0])
    except Exception:
        return 0


@pytest.mark.slow
def test_several_processes_count_together(tmp_path: Path) -> None:
    with serve_in_thread(chain_app) as site:
        result = run_crawl(write_spider(tmp_path, site.url), *OPTIONS, "--processes", "2", cwd=tmp_path)
    assert (result["finish_reason"], result["pages"]) == ("finished", PAGES)
    assert result["stats"] == {**COUNTED, "starts": 1, "ends": 1}


async def test_the_summary_and_the_metrics_show_them(tmp_path: Path) -> None:
    class Small(Spider):
        name = "small"

        async def start(self) -> Any:
            self.stats.set("set", 0)
            async for request in super().start():
                yield request

        def parse(self, response: Any) -> Any:
            self.stats.inc('odd "name"')
            self.stats.set("set", 1.5)
            self.stats.set("set", -2.5)

    async with serve(chain_app) as site:
        Small.start_urls = [f"{site.url}/1"]
        result = await crawl(Small, sinks=SILENT, data=str(tmp_path), **QUICK)
        assert result.stats == {'odd "name"': 1, "set": -2.5}
        assert result.as_json()["stats"] == {'odd "name"': 1, "set": -2.5}
        again = await crawl(Small, sinks=SILENT, data=str(tmp_path), fresh=True, **QUICK)
        assert again.stats == result.stats, "each job has its own"
        settings = Settings.model_validate({"data": str(tmp_path)})
        backends = await open_backends(settings)
        try:
            samples = await MetricsReader(settings, backends).read_samples()
        finally:
            await backends.close()
    assert MetricSample(metrics.SPIDER_STAT, -2.5, ("small-1", "set")) in samples
    assert MetricSample(metrics.SPIDER_STAT, 1, ("small-2", 'odd "name"')) in samples


async def test_hooks_and_pipelines_count_for_the_page_in_hand(tmp_path: Path) -> None:
    class Hooked(Spider):
        name = "hooked"

        def on_request(self, request: Any) -> None:
            self.stats.inc("sent")

        def on_response(self, response: Any) -> None:
            self.stats.inc(f"status {response.status}")

        def parse(self, response: Any) -> Any:
            yield from response.follow_all(response.links())

    async with serve(chain_app) as site:
        Hooked.start_urls = [f"{site.url}/{PAGES - 2}", f"{site.url}/none"]
        result = await crawl(Hooked, sinks=SILENT, data=str(tmp_path), **QUICK)
        assert len(site.hits) == 3
    assert result.stats == {"sent": 3, "status 200": 2, "status 404": 1}


async def test_a_callback_that_counts_what_is_no_number_is_a_dead_letter_at_its_line(tmp_path: Path) -> None:
    class Wrong(Spider):
        name = "wrong"

        def parse(self, response: Any) -> Any:
            yield {"kept": 1}
            self.stats.inc("price", "12")

    async with serve(chain_app) as site:
        Wrong.start_urls = [f"{site.url}/1"]
        result = await crawl(Wrong, sinks=SILENT, data=str(tmp_path), **QUICK)
    assert (result.dead, result.items, result.stats) == (1, 1, {})
    ((detail,),) = rows(tmp_path, "SELECT detail FROM attempt")
    assert 'self.stats.inc("price", "12")' in detail
