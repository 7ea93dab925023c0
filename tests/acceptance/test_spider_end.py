"""The end of a run: the spider is told, pipelines are closed, and the exit code says what failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.programs import rows, run

PRODUCTS = 30
SPIDER = """
import asyncio, sys
from pathlib import Path
from gossamer import Spider

NOTES = Path("{notes}")


def note(text):
    with NOTES.open("a") as file:
        file.write(text + "\\n")


class Step:
    def open_spider(self, spider):
        note("open")

    def process_item(self, item, spider):
        return item

    def close_spider(self, spider):
        note("close")
        {close}


class Last:
    def process_item(self, item, spider):
        return item

    async def close_spider(self, spider):
        note("close last")


class Ends(Spider):
    name = "ends"
    start_urls = ["{url}"]
    pipelines = [Step, Last]
    settings = {{"delay": 0.0, "per_host": 8, "parse.callback_timeout": 0.2}}

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(css="a")

    {closed}
"""
SYNC = 'def closed(self, reason):\n        note(f"closed {reason}")'
ASYNC = "async " + SYNC


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(PRODUCTS, page_bytes=500)) as site:
        yield site


class Run:
    """A crawl of the shop by a spider with this end."""

    def __init__(self, folder: Path, shop: Site, *args: str, closed: str = SYNC, close: str = "pass") -> None:
        notes = folder / "notes"
        file = folder / "ends.py"
        file.write_text(SPIDER.format(notes=notes, url=shop.url, closed=closed, close=close))
        done = run("crawl", file, "--data", folder / "data", "--json", *args, cwd=folder)
        self.code, self.stderr = done.returncode, done.stderr
        self.result = json.loads(done.stdout) if done.stdout else {}
        self.notes = notes.read_text().splitlines()
        self.items = rows(folder / "data", "SELECT count(*) FROM item")[0][0]


@pytest.mark.parametrize("closed", [SYNC, ASYNC])
def test_closed_is_called_once_at_the_end_with_the_reason(tmp_path: Path, shop: Site, closed: str) -> None:
    ran = Run(tmp_path, shop, closed=closed)
    assert (ran.code, ran.notes) == (0, ["open", "close", "close last", "closed finished"])


def test_closed_is_told_of_a_budget(tmp_path: Path, shop: Site) -> None:
    assert Run(tmp_path, shop, "--max-pages", "3").notes[-1] == "closed max_pages"


def test_with_several_processes_closed_is_called_once_and_every_pipeline_is_closed(
    tmp_path: Path, shop: Site
) -> None:
    ran = Run(tmp_path, shop, "--processes", "2")
    assert ran.code == 0
    assert ran.notes.count("closed finished") == 1
    assert ran.notes.count("open") == ran.notes.count("close") == ran.notes.count("close last") == 2


@pytest.mark.parametrize(
    ("closed", "told"),
    [
        ("def closed(self, reason):\n        1 / 0", "ZeroDivisionError"),
        ("def closed(self, reason):\n        raise SystemExit(0)", "SystemExit"),
        ("async def closed(self, reason):\n        raise asyncio.CancelledError", "CancelledError"),
        ("async def closed(self, reason):\n        await asyncio.sleep(99)", "took longer than 0.2 s"),
    ],
)
def test_a_closed_that_fails_is_said_changes_the_code_and_loses_nothing(
    tmp_path: Path, shop: Site, closed: str, told: str
) -> None:
    ran = Run(tmp_path, shop, closed=closed)
    assert ran.code == 1
    assert ran.result["finish_reason"] == "finished"
    assert ran.result["items"] == ran.items > PRODUCTS
    assert "in closed() of the spider ends" in ran.stderr
    assert told in ran.stderr


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_pipeline_that_does_not_close_is_said_and_the_others_are_closed(
    tmp_path: Path, shop: Site, processes: str
) -> None:
    ran = Run(tmp_path, shop, "--processes", processes, close='raise RuntimeError("still busy")')
    assert ran.code == 1
    assert ran.result["items"] == ran.items > PRODUCTS
    assert ran.notes.count("close last") == int(processes)
    assert ran.notes[-1] == "closed finished" or processes == "2"
    assert ran.stderr.count("gossamer: in the pipeline step Step.close_spider()") == int(processes)
    assert "RuntimeError: still busy" in ran.stderr


def test_a_crawl_that_only_another_process_cannot_close_has_failed(tmp_path: Path, shop: Site) -> None:
    elsewhere = 'if "member" in sys.argv[0]: raise RuntimeError'
    ran = Run(tmp_path, shop, "--processes", "2", close=elsewhere)
    assert (ran.code, ran.stderr.count("gossamer: in the pipeline step Step.close_spider()")) == (1, 1)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/nowhere", 1),  # 404
        ("", 0),
    ],
)
def test_a_crawl_that_got_nothing_has_failed(tmp_path: Path, shop: Site, path: str, code: int) -> None:
    args = ("crawl", shop.url + path, "--data", tmp_path, "--delay", "0", "--max-pages", "2")
    assert run(*args).returncode == code
    again = run(*args[:-2])
    assert again.returncode == code


RAISES = """
from gossamer import Request, Spider


class Ends(Spider):
    name = "ends"
    settings = {{"delay": 0.0}}

    async def start(self):
        yield Request("{url}")
        raise ValueError("the list of shops is \\x1b[31mempty")

    def closed(self, reason):
        print("closed", reason)

    def parse(self, response):
        yield {{"url": response.url}}
"""


@pytest.mark.long
def test_a_start_that_raises_is_what_the_job_ended_with(tmp_path: Path, shop: Site) -> None:
    (tmp_path / "ends.py").write_text(RAISES.format(url=shop.url))
    done = run("crawl", "ends.py", cwd=tmp_path)
    what = "start() of the spider 'ends' raised ValueError: the list of shops is \\x1b[31mempty"
    assert (done.returncode, done.stdout) == (2, "closed error\n")
    assert f"gossamer: {what} (" in done.stderr
    assert "unfinished (not begun) " in run("jobs", cwd=tmp_path).stdout
    status = run("status", "ends", cwd=tmp_path).stdout
    assert what in status, status
    found = json.loads(run("status", "ends", "--json", cwd=tmp_path).stdout)
    assert (found["state"], found["finish_reason"]) == ("unfinished", "not begun"), found
    assert found["error"].startswith(what)
    (tmp_path / "ends.py").write_text(RAISES.format(url=shop.url).replace("raise", "return #"))
    assert run("crawl", "ends.py", cwd=tmp_path).returncode == 0
    found = json.loads(run("status", "ends", "--json", cwd=tmp_path).stdout)
    assert (found["job"], found["state"], found["finish_reason"]) == ("ends-1", "finished", "finished")
