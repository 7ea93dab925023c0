"""Two crawls of one host at the same time: they keep one pace, and the second one says so."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.testing.answers import SiteResponse
from gossamer.testing.site import Hit, Site, serve_in_thread
from kit.programs import run, start
from kit.saved_shop import served, spider_file

AT_ONCE_S = 40.0
"""What is killed holds a lease for a minute: nobody waits for its end."""


def second_crawl(site: Site, data: Path) -> str:
    crawl = ("crawl", site.url, "--data", data, "--delay", "0", "--max-pages", "1", "--fresh")
    return run(*crawl, timeout=AT_ONCE_S).stderr


def test_a_crawl_says_that_another_one_asks_the_same_host(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.3)) as site:
        process = start("crawl", spider_file(tmp_path, site.url), "--data", data, "--delay", "0")
        while len(site.hits) < 3:
            assert process.poll() is None
        said = second_crawl(site, data)
        process.kill()
        process.wait()
        host = site.url.split("/")[2]
        assert "and saved-shop-1 (" in said
        assert f"both crawl {host}: they share its pace and take turns" in said
        assert "both crawl" not in second_crawl(site, data), "it is not crawled any more"


def test_a_killed_crawl_that_is_started_over_is_not_at_work(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.3)) as site:
        crawl = ("crawl", spider_file(tmp_path, site.url), "--data", data, "--delay", "0")
        process = start(*crawl)
        while len(site.hits) < 3:
            assert process.poll() is None
        process.kill()
        process.wait()
        again = run(*crawl, "--max-pages", "1", "--fresh", timeout=AT_ONCE_S)
        assert again.returncode == 0, again.stderr
        assert "both crawl" not in again.stderr


LISTED = """
from gossamer import Spider

class {name}(Spider):
    name = "{name}"
    start_urls = [f"{url}/{name}/{{n}}" for n in range({pages})]

    def parse(self, response):
        yield {{"url": response.url}}
"""


def crawl_both(tmp_path: Path, page: SiteResponse, *options: str) -> list[Hit]:
    """The host's own log of two crawls by two processes on one file, until the smaller one is done."""
    with serve_in_thread(lambda path, headers: page) as site:
        crawls = {}
        for name, pages in (("large", 2_000), ("small", 12)):
            spider = tmp_path / f"{name}.py"
            spider.write_text(LISTED.format(name=name, url=site.url, pages=pages))
            crawls[name] = start("crawl", spider, *options, "--no-robots", "--data", tmp_path / "data")
            while not any(hit.path.startswith(f"/{name}/") for hit in site.hits):
                assert crawls[name].poll() is None, f"{name} ended before its first page"
        assert crawls["small"].wait(60) == 0
        hits = list(site.hits)
        crawls["large"].kill()
        crawls["large"].wait()
    return hits


@pytest.mark.long
def test_two_crawls_of_different_size_keep_one_pace_and_both_progress(tmp_path: Path) -> None:
    """No more than one of them may ask, by turns."""
    hits = crawl_both(tmp_path, SiteResponse(200, b"<!doctype html><title>Page</title>"), "--delay", "0.1")
    both = [hit for hit in hits if hit.at >= max(first_of(hits, "large"), first_of(hits, "small"))]
    gaps = [later.at - sooner.at for sooner, later in pairwise(both)]
    close = [gap for gap in gaps if gap < 0.06]  # a gap is measured where it arrives, late as that may be
    assert len(close) <= len(gaps) // 3, gaps  # two at a time would make it half of them
    assert sum(gaps) >= 0.09 * len(gaps), "one delay for both"
    taken = [hit.path.split("/")[1] for hit in both]
    assert 8 <= taken.count("large") <= 20, f"by turns: {taken}"


@pytest.mark.long
def test_two_crawls_without_a_delay_have_one_slot_together(tmp_path: Path) -> None:
    """The host takes its time for each answer: no request comes before the answer to the one before it."""
    page = SiteResponse(200, b"<!doctype html><title>Page</title>", delay_s=0.1)
    hits = crawl_both(tmp_path, page, "--delay", "0", "--per-host", "1")
    gaps = [later.at - sooner.at for sooner, later in pairwise(hits)]
    assert min(gaps) >= 0.095, gaps
    assert {hit.path.split("/")[1] for hit in hits} == {"large", "small"}


def first_of(hits: Sequence[Hit], name: str) -> float:
    return min(hit.at for hit in hits if hit.path.startswith(f"/{name}/"))
