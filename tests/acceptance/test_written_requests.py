"""Requests that say much arrive as they were written, over kills, retries and redirects, and nowhere else."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.core.exits import ExitCode
from gossamer.testing.site import Site, SiteResponse, serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.environment import environment
from kit.programs import crawl, rows, run, start
from kit.written_requests import BASIC, CALLS, SECRET, CalledSite, write_spider


@pytest.fixture
def other() -> Iterator[Site]:
    with serve_in_thread(lambda path, headers: SiteResponse(200, b"<html>other</html>")) as served:
        yield served


@pytest.fixture
def app(other: Site) -> CalledSite:
    return CalledSite(elsewhere=other.url.replace("127.0.0.1", "localhost"))


@pytest.mark.long
def test_they_survive_a_kill(app: CalledSite, other: Site, tmp_path: Path) -> None:
    app.delay_s = 0.1
    with serve_in_thread(app) as site:
        options = (write_spider(tmp_path, site.url, delay=3.0), "--data", tmp_path / "data", "--delay", "0")
        process = start("crawl", *options, "--concurrency", "2")
        deadline = time.monotonic() + 30
        while len(app.calls) < 3 and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        assert 3 <= len(app.calls) < CALLS, "it was stopped in the middle"
        began = min(hit.at for hit in site.hits)
        result = crawl(*options, "--per-host", "4")
    assert (result["finish_reason"], result["dead"], result["pages"]) == ("finished", 0, CALLS + 2)
    app.all_calls_were_whole()
    ((at, headers),) = app.later
    assert at >= began + 2.5, "a request with a delay waits, whatever becomes of the process"
    assert (headers[":body"], headers["authorization"]) == ("a=1&a=x+y", f"Bearer {SECRET}")
    (landed,) = [hit for hit in other.hits if hit.path == "/landed"]
    assert not {"authorization", "cookie"} & landed.headers.keys(), "another host is told nothing"
    assert SECRET not in str(rows(tmp_path / "data", "select * from attempt"))


def test_dead_letters_are_tried_again_with_all_that_they_say(app: CalledSite, tmp_path: Path) -> None:
    app.is_broken = True
    with serve_in_thread(app) as site:
        write_spider(tmp_path, site.url)
        options = ("crawl written.py -s retry_backoff=0.01", *FAST)
        done = gossamer(*options, "--json", cwd=tmp_path, code=ExitCode.DEAD_LETTERS)
        result = json.loads(done.stdout)
        assert (result["dead"], len(app.calls)) == (CALLS, 2 * CALLS), "each may be tried once more"
        (letter, *_) = asked("dead list written", cwd=tmp_path)
        assert letter["options"] == [
            "auth", "cookies token", "without accept-language", "timeout 20", "max_size 5000", "max_retries 1"
        ]  # fmt: skip
        shown = gossamer("dead show written", cwd=tmp_path).stdout
        assert "cookies token" in shown
        assert SECRET not in shown + str(letter)
        app.calls.clear()
        app.is_broken = False
        gossamer("dead retry written", cwd=tmp_path)
        assert asked(*options, cwd=tmp_path)["dead"] == 0
    app.all_calls_were_whole()


DOMAINS = """
[domain."{host}"]
auth_env = "SHOP_ACCESS"
robots = false
headers = {{ X-Shop = "12" }}
cookies = {{ currency = "EUR" }}
user_agent = "shopper/1"
"""
PLAIN = """
from gossamer import Spider


class Plain(Spider):
    name = "plain"
    start_urls = ["{url}/1"]
    allowed_domains = ["127.0.0.1", "localhost"]

    def parse(self, response):
        yield {{"url": response.url}}
        yield from response.follow_all(["{url}/2", "{other}/3"])
"""


@pytest.mark.parametrize("processes", ["1", "2"])
def test_settings_of_a_domain_are_for_its_hosts_alone(other: Site, tmp_path: Path, processes: str) -> None:
    away = other.url.replace("127.0.0.1", "localhost")
    with serve_in_thread(lambda path, headers: SiteResponse(200, b"<html>x</html>")) as site:
        (tmp_path / "gossamer.toml").write_text(DOMAINS.format(host=site.host))
        (tmp_path / "plain.py").write_text(PLAIN.format(url=site.url, other=away))
        line = ("crawl", "plain.py", *FAST, "--processes", processes)
        missing = run(*line, cwd=tmp_path)
        assert missing.returncode == 4
        assert "put it into the environment variable SHOP_ACCESS" in missing.stderr
        done = run(*line, "--json", cwd=tmp_path, env=environment() | {"SHOP_ACCESS": f"me:{SECRET}"})
    assert done.returncode == 0, done.stderr
    assert sorted(hit.path for hit in site.hits) == ["/1", "/2"], "its robots.txt is not asked for"
    for hit in site.hits:
        said = [hit.headers.get(name) for name in ("authorization", "x-shop", "cookie", "user-agent")]
        assert said == [BASIC, "12", "currency=EUR", "shopper/1"]
    assert sorted(hit.path for hit in other.hits) == ["/3", "/robots.txt"]
    assert not any({"authorization", "x-shop", "cookie"} & hit.headers.keys() for hit in other.hits)
    kept = b"".join(file.read_bytes() for file in (tmp_path / ".gossamer").rglob("*") if file.is_file())
    assert SECRET.encode() not in kept
    assert BASIC.removeprefix("Basic ").encode() not in kept


def test_a_domain_keeps_its_own_delay(tmp_path: Path) -> None:
    with serve_in_thread(lambda path, headers: SiteResponse(200, b"<html>x</html>")) as site:
        (tmp_path / "plain.py").write_text(PLAIN.format(url=site.url, other=site.url))
        options = ("--delay", "0", "--no-robots", "-s", f"domain.{site.host}.delay=0.5")
        result = asked("crawl plain.py", *options, cwd=tmp_path)
        explained = gossamer(f"explain {site.url}/1", cwd=tmp_path).stdout
    assert result["pages"] == 3, explained
    times = [hit.at for hit in site.hits]
    assert all(later - sooner > 0.47 for sooner, later in pairwise(times)), times
