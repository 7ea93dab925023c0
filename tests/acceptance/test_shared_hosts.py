"""Two crawls of one host at the same time: the second one says what that means."""

from __future__ import annotations

from pathlib import Path

from gossamer.testing.site import Site, serve_in_thread
from kit.programs import run, start
from kit.saved_shop import served, spider_file


def second_crawl(site: Site, data: Path) -> str:
    done = run("crawl", site.url, "--data", data, "--delay", "0", "--max-pages", "1", "--fresh")
    return done.stderr


def test_a_crawl_says_that_another_one_asks_the_same_host(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.3)) as site:
        process = start("crawl", spider_file(tmp_path, site.url), "--data", data, "--delay", "0")
        while len(site.hits) < 3:
            assert process.poll() is None
        said = second_crawl(site, data)
        process.kill()
        process.wait()
        host = site.url.split("/")[2].partition(":")[0]
        assert "and saved-shop-1 (" in said
        assert f"both crawl {host}: each keeps a pace of its own there" in said
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
        again = run(*crawl, "--max-pages", "1", "--fresh")
        assert again.returncode == 0, again.stderr
        assert "both crawl" not in again.stderr
