"""A saved shop: exactly its 755 products, replayed, served, and killed again and again."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from gossamer.testing.site import Site, serve_in_thread
from kit.corpora import from_corpus
from kit.programs import crawl, rows, run, start
from kit.saved_shop import PAGES, PRODUCTS, SavedShop, made_shop, real_shop, served, spider_file

FAST = ("--delay", "0", "--per-host", "4", "-s", "retry_backoff=0.1")
KILLS = 10


def stored_ids(data: Path) -> list[int]:
    """The ids of the products that are stored, one for each stored item."""
    return [json.loads(text)["id"] for (text,) in rows(data, "select data from item")]


@pytest.fixture(params=["made", pytest.param("real", marks=from_corpus("shop", cases=PAGES))])
def shop(request: pytest.FixtureRequest) -> SavedShop:
    """The pages made here, and those of a real shop."""
    return made_shop() if request.param == "made" else real_shop()


def test_replayed_under_its_own_name(shop: SavedShop, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    for number, body in shop.pages.items():
        (tmp_path / "saved" / f"{number}.html").write_bytes(body)
    spider = spider_file(tmp_path, shop.name)
    rules = json.dumps({shop.name + "/shop/page/{n}/": "{n}.html"})
    replay = ("-s", f"replay.folder={tmp_path / 'saved'}", "-s", f"replay.rules={rules}")
    result = crawl(spider, "--data", tmp_path / "data", *replay, "-O", tmp_path / "out.jsonl")
    assert (result["pages"], result["items"], result["finish_reason"]) == (PAGES, PRODUCTS, "finished")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(lines) == len({line["id"] for line in lines}) == PRODUCTS
    assert all(line["name"] and float(line["price"]) > 0 for line in lines)


def test_served_on_loopback(shop: SavedShop, tmp_path: Path) -> None:
    with serve_in_thread(served(lambda: site.url, shop=shop)) as site:
        result = crawl(spider_file(tmp_path, site.url), "--data", tmp_path / "data", *FAST)
        assert (result["pages"], result["items"]) == (PAGES, PRODUCTS)
        assert set(site.log.count_paths().values()) == {1}
    assert len(set(stored_ids(tmp_path / "data"))) == PRODUCTS


def test_killed_ten_times_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    """Killed with SIGKILL while pages are in flight: a kill may cost the pages in flight, never more."""
    chance = random.Random(7)
    data = tmp_path / "data"
    with serve_in_thread(served(lambda: site.url, delay_s=0.05)) as site:
        spider = spider_file(tmp_path, site.url)
        for _ in range(KILLS):
            process = start("crawl", spider, "--data", data, *FAST)
            kill_in_midst(process, site, pages=chance.randint(1, 4), after_s=chance.random() * 0.06)
        assert json.loads(run("jobs", "--data", data, "--json").stdout)[0]["finish_reason"] == "interrupted"
        result = crawl(spider, "--data", data, *FAST)
        hits = site.log.count_paths()
    assert (result["pages"], result["items"], result["dead"]) == (PAGES, PRODUCTS, 0)
    ids = stored_ids(data)
    assert len(ids) == len(set(ids)) == PRODUCTS
    fetched = {path: count for path, count in hits.items() if path != "/robots.txt"}
    assert len(fetched) == PAGES
    assert sum(fetched.values()) - PAGES <= KILLS * 4, "a kill costs at most the four pages in flight"
    parsed = Counter(url for (url,) in rows(data, "select url from page"))
    assert set(parsed.values()) == {1}, "every page was stored once"
    assert hits["/robots.txt"] <= 2, "robots.txt is remembered over restarts"


def kill_in_midst(process: subprocess.Popen[bytes], site: Site, *, pages: int, after_s: float) -> None:
    """Kill the process a moment after it has asked for some more pages."""
    until = len(site.hits) + pages
    deadline = time.monotonic() + 30
    while len(site.hits) < until and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(after_s)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the crawl ended before it could be killed"


def test_the_same_command_again_says_that_nothing_is_to_be_done(tmp_path: Path) -> None:
    with serve_in_thread(served(lambda: site.url)) as site:
        spider = spider_file(tmp_path, site.url)
        first = crawl(spider, "--data", tmp_path / "data", *FAST)
        again = run("crawl", spider, "--data", tmp_path / "data", *FAST)
        hits = len(site.hits)
        fresh = crawl(spider, "--data", tmp_path / "data", *FAST, "--fresh")
        assert len(site.hits) - hits == PAGES, "robots.txt is still known"
    assert again.returncode == 0
    assert "--fresh" in again.stderr
    assert (fresh["items"], fresh["job"]) == (PRODUCTS, "saved-shop-2")
    assert first["job"] == "saved-shop-1"
    assert len(set(stored_ids(tmp_path / "data"))) == PRODUCTS, "the same products, seen by two jobs"
