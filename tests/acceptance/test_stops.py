"""A crawl that ends before its work: a callback says so, or a budget of items or errors is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.errors import UsageError
from gossamer.core.exits import ExitCode
from gossamer.core.jobs import tag_of
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.crawl.run import crawl
from gossamer.engine.job_stop import JobStop
from gossamer.spiders.response import Response
from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import serve, serve_in_thread
from gossamer.wiring.backends import open_backends
from kit.hostile.inside import QUICK, SILENT, follower, run
from kit.programs import run as run_program

PAGES = 400
SPIDER = """
from gossamer import Spider


class Chain(Spider):
    name = "chain"
    start_urls = ["{url}/0"]
    allowed_domains = ["127.0.0.1"]

    def parse(self, response):
        number = int(response.url.rpartition("/")[2])
        yield {{"number": number}}
        if number == 20 and not {again}:
            response.stop("all  of\\n what was asked for")
        yield from response.follow_all(response.links())
"""


def site_app(path: str, headers: Any) -> SiteResponse:
    """A chain of pages, each of which links to the next two; every third ``bad`` one is refused."""
    kind, _, number = path[1:].rpartition("/")
    if kind == "bad" and int(number) % 3 == 2:
        return SiteResponse(403)
    nexts = (n for n in (int(number) + 1, int(number) + 2) if n < PAGES)
    start = f"/{kind}/" if kind else "/"
    return SiteResponse(body="".join(f'<a href="{start}{n}">x</a>' for n in nexts).encode(), delay_s=0.005)


def written(folder: Path, url: str, *, again: bool = False) -> Path:
    file = folder / "chain.py"
    file.write_text(SPIDER.format(url=url, again=again))
    return file


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
async def test_a_callback_ends_the_job_and_the_same_command_continues(tmp_path: Path, processes: int) -> None:
    async with serve(site_app) as site:
        spider = str(written(tmp_path, site.url))
        settings = {**QUICK, "data": str(tmp_path / "data"), "processes": processes}
        result = await crawl(spider, sinks=SILENT, **settings)
        assert result.finish_reason == "stopped: all of what was asked for"
        assert not result.ending.is_early
        assert 20 <= result.pages < PAGES
        assert result.items == result.pages, "what is in flight is finished and kept"
        written(tmp_path, site.url, again=True)
        result = await crawl(spider, sinks=SILENT, **settings)
        assert (result.finish_reason, result.pages) == ("finished", PAGES)


async def test_a_stop_that_a_finished_job_leaves_does_not_end_its_next_run(tmp_path: Path) -> None:
    """Bug it would catch: asked for on the last page, it waits for whoever gives the job more to do."""
    async with serve(site_app) as site:
        settings = {**QUICK, "data": str(tmp_path / "data")}
        spider = written(tmp_path, site.url)
        spider.write_text(spider.read_text().replace("/0", f"/{PAGES - 1}"))
        result = await crawl(str(spider), sinks=SILENT, **settings)
        assert (result.finish_reason, result.pages) == ("finished", 1)
        backends = await open_backends(load_settings(env={}, overrides=settings).settings)
        try:
            (job,) = await backends.book.list_jobs()
            await JobStop(backends.requests.shared, tag_of(job)).note("enough")
        finally:
            await backends.close()
        changed = spider.read_text().replace(f"/{PAGES - 1}", f"/{PAGES - 5}")
        spider.write_text(f"{changed}# another size, since bytecode of the same second goes by it\n")
        result = await crawl(str(spider), sinks=SILENT, **settings)
        assert (result.finish_reason, result.pages) == ("finished", 5)


@pytest.mark.long
def test_jobs_and_status_say_why_it_was_stopped(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(site_app) as site:
        spider = written(tmp_path, site.url)
        quick = ("--delay", "0", "--no-robots", "--per-host", "8", "--data", data)
        done = run_program("crawl", spider, *quick)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "stopped: all of what was asked for" in done.stderr
    assert "the same command continues" in done.stderr
    assert "all of what was asked for" in run_program("status", "chain", "--data", data).stdout
    assert "unfinished (stopped)" in run_program("jobs", "--data", data).stdout


async def test_a_budget_of_items_ends_the_crawl_and_a_larger_one_continues(tmp_path: Path) -> None:
    async with serve(site_app) as site:
        spider = str(written(tmp_path, site.url, again=True))
        settings = {**QUICK, "data": str(tmp_path / "data"), "concurrency": 2}
        result = await crawl(spider, sinks=SILENT, max_items=30, **settings)
        assert result.finish_reason.startswith("max_items: ")
        assert 30 <= result.items < PAGES
        assert not result.ending.is_early
        assert "raise --max-items" in " ".join(map(str, result.notes))
        result = await crawl(spider, sinks=SILENT, **settings)
        assert (result.finish_reason, result.items) == ("finished", PAGES)


async def test_a_budget_of_errors_ends_the_crawl_early(tmp_path: Path) -> None:
    async with serve(site_app) as site:
        result = await run(follower(f"{site.url}/bad/0"), tmp_path, max_errors=3, concurrency=2)
        assert result.finish_reason.startswith("max_errors: ")
        assert result.dead >= 3
        assert result.pages < PAGES / 2
        assert result.ending.is_early


def test_an_error_budget_is_exit_code_3(tmp_path: Path) -> None:
    with serve_in_thread(site_app) as site:
        url = f"{site.url}/bad/0"
        done = run_program(
            "crawl", url, "--delay", "0", "--no-robots", "--max-errors", "2", "--data", tmp_path
        )
    assert done.returncode == ExitCode.STOPPED, done.stderr
    assert "max_errors: " in done.stderr


def test_a_stop_needs_a_reason() -> None:
    url = "http://shop.example/"
    fetched = FetchResult(
        url=url, status=200, headers=(), body=b"", started_at=0, latency_s=0, elapsed_s=0, rung="http"
    )
    response = Response(Request(url), fetched)
    with pytest.raises(UsageError, match="needs a reason"):
        response.stop(" ")
    response.stop("first")
    response.stop("second")
    assert response.stopped == "first"
