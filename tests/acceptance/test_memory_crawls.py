"""Crawls in memory: everything is as in a data directory, and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from acceptance.test_library import Catalogue, Product, Review, catalogue_app
from gossamer import SettingError, StorageError, UnknownJobError, crawl, items, start_crawl
from gossamer.testing.site import Site, serve, serve_in_thread
from kit.hostile.inside import QUICK, SILENT
from kit.programs import run

SPIDER = """
from gossamer import Spider


class Small(Spider):
    name = "small"
    start_urls = ["{url}/190"]

    def parse(self, response):
        self.stats.inc("pages")
        yield {{"url": response.url}}
        yield from response.follow_all(response.links())
"""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def options(site: Site, **more: Any) -> dict[str, Any]:
    return {"arguments": {"site": site.url}, "sinks": SILENT, "memory": True, **QUICK, **more}


async def test_nothing_is_written_and_the_items_are_at_hand(empty_folder: Path) -> None:
    async with serve(catalogue_app) as site:
        result = await crawl(Catalogue, **options(site))
        on_disk = await crawl(Catalogue, **options(site, memory=False, data=str(empty_folder / "data")))
    assert names_in(empty_folder) == ["data"], "of the second crawl"
    assert (result.finish_reason, result.pages, result.items) == ("finished", 200, 405)
    found = [item async for item in result.items()]
    assert found[-2:] == [Product(sku="p199", price=Decimal(199) / 4), {"plain": 199}]
    assert found == [item async for item in on_disk.items()]
    assert [item async for item in result.items(Review)] == [item async for item in on_disk.items(Review)]
    times = ("first_seen", "last_seen", "changed_at")
    for stored, other in zip(
        [item async for item in result.stored_items()],
        [item async for item in on_disk.stored_items()],
        strict=True,
    ):
        assert {name: getattr(stored, name) for name in stored.__struct_fields__ if name not in times} == {
            name: getattr(other, name) for name in other.__struct_fields__ if name not in times
        }
    varying = {"seconds", "pages_per_second", "peak_rss_mb"}
    first, second = result.as_json(), on_disk.as_json()
    assert {k: v for k, v in first.items() if k not in varying} == {
        k: v for k, v in second.items() if k not in varying
    }


async def test_the_same_spider_runs_several_times_at_once(empty_folder: Path) -> None:
    async with serve(catalogue_app) as one, serve(catalogue_app) as two:
        results = await asyncio.gather(
            *(crawl(Catalogue, **options(site, max_pages=20)) for site in (one, one, two))
        )
    assert [result.items for result in results] == [45] * 3
    for result, site in zip(results, (one, one, two), strict=True):
        urls = {item.url async for item in result.stored_items()}
        assert urls == {f"{site.url}/{number}" for number in range(20)}
    assert names_in(empty_folder) == []


async def test_a_crawl_in_memory_is_stopped_and_says_that_it_cannot_be_continued() -> None:
    async with serve(catalogue_app) as site:
        async with start_crawl(Catalogue, **options(site)) as crawling:
            async for _ in crawling.events():
                if (await crawling.read_totals()).pages >= 5:
                    crawling.stop()
        result = await crawling.wait()
    assert (result.finish_reason, result.pages < 200) == ("signal", True)
    (note,) = result.notes
    assert note.text == "1 request left, which cannot be continued: memory = true"
    assert len([item async for item in result.items(Product)]) == result.pages


@pytest.mark.parametrize(
    "unfit",
    [
        {"processes": 2},
        {"archive.on": True},
        {"cache.on": True},
        {"outputs.x.url": "x.jsonl"},
        {"freshness.recrawl": "due"},
    ],
)
async def test_what_needs_files_does_not_go_with_it(unfit: dict[str, Any], empty_folder: Path) -> None:
    with pytest.raises(SettingError, match=rf"memory = true does not go with {next(iter(unfit))[:5]}"):
        await crawl(Catalogue, memory=True, **unfit)
    assert names_in(empty_folder) == []


@pytest.mark.long
def test_the_command_line_writes_the_items_and_nothing_else(empty_folder: Path) -> None:
    (empty_folder / "small.py").write_text(SPIDER)
    with serve_in_thread(catalogue_app) as site:
        (empty_folder / "small.py").write_text(SPIDER.format(url=site.url))
        asked = ("crawl", "small.py", "--memory", "--delay", "0", "--no-robots")
        for count in (1, 2):
            done = run(*asked, "-O", "new.jsonl", "-o", "all.jsonl", "-O", "-", cwd=empty_folder)
            assert done.returncode == 0, done.stderr
            assert len((empty_folder / "new.jsonl").read_text().splitlines()) == 10
            assert len((empty_folder / "all.jsonl").read_text().splitlines()) == 10 * count, "appended"
            assert len(done.stdout.splitlines()) == 10
            assert "pages: 10" in done.stderr
            assert "gossamer export" not in done.stderr
        assert {*names_in(empty_folder)} - {"__pycache__"} == {"small.py", "new.jsonl", "all.jsonl"}
        summary = json.loads(run(*asked, "--json", "--max-pages", "3", cwd=empty_folder).stdout)
        assert (summary["finish_reason"], summary["pages"], summary["stats"]) == (
            "max_pages",
            3,
            {"pages": 3},
        )


async def test_nobody_can_look_into_it(empty_folder: Path) -> None:
    (empty_folder / "gossamer.toml").write_text('memory = true\n[frontier]\nurl = "redis://127.0.0.1:1/0"\n')
    done = run("jobs", cwd=empty_folder)
    assert done.returncode == 4
    assert "with memory = true crawls leave nothing behind" in done.stderr
    with pytest.raises((StorageError, UnknownJobError)):
        [item async for item in items("small")]
    (empty_folder / "small.py").write_text(SPIDER.format(url="http://127.0.0.1:9"))
    done = run("submit", "small.py", cwd=empty_folder)
    assert (done.returncode, "a fleet keeps its requests in Redis" in done.stderr) == (2, True)
