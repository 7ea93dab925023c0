"""A spider that logs in: at real sites, whatever ends its sessions; and what is said when it cannot."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.log_in_site import CHECK, PAGES, PASSWORD, USER, Club, spider_file
from kit.programs import crawl, rows, run, start

SLOW = ("--delay", "0", "--per-host", "4", "--concurrency", "4", "-s", "retry_backoff=0.1")


def every_page_was_had(data: Path) -> None:
    assert rows(data, "select count(*) from item") == [(PAGES,)]
    assert rows(data, "select count(distinct url) from page where url like '%/page/%'") == [(PAGES,)]


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({}, ""),
        ({"uses": 9}, ""),
        ({"uses": 9, "refusal": "401"}, ""),
        ({"uses": 9, "refusal": "form"}, CHECK),
        ({"lasts": 12}, ""),
        ({}, CHECK),
    ],
)
def test_every_page_behind_a_log_in_is_had(options: dict[str, object], more: str, tmp_path: Path) -> None:
    app = Club(**options)  # type: ignore[arg-type]
    with serve_in_thread(app) as site:
        data = tmp_path / "data"
        result = asked("crawl", spider_file(tmp_path, site.url, more), *FAST, "--data", data, cwd=tmp_path)
    assert (result["finish_reason"], result["dead"], result["items"]) == ("finished", 0, PAGES)
    every_page_was_had(data)
    limited = app.uses < PAGES or app.lasts < PAGES
    assert (app.log_ins > 1) is limited
    assert bool(app.refused) is limited, "the first page was asked for after the log-in"
    tries = [(form["user"], form["remember"], form["go"]) for form in app.tries]
    assert set(tries) == {(USER, "on", "in")}
    kinds = set(rows(data, "select verdict, reason from attempt"))
    assert kinds <= {("success", ""), ("retry", "logged_out")}


def test_sessions_that_are_ended_on_the_way_begin_anew(tmp_path: Path) -> None:
    app, data = Club(delay_s=0.03), tmp_path / "data"
    with serve_in_thread(app) as site:
        process = start("crawl", spider_file(tmp_path, site.url), "--data", data, *SLOW)
        for pages in (5, 15, 25):
            wait_until(lambda pages=pages: len(set(app.read)) > pages)
            app.end_sessions()
        assert process.wait(60) == 0
    every_page_was_had(data)
    assert app.log_ins == 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("processes", "kills"),
    [("1", 4), *(pytest.param(*more, marks=pytest.mark.thorough) for more in (("1", 10), ("2", 3)))],
)
def test_a_crawl_that_is_killed_gets_every_page(processes: str, kills: int, tmp_path: Path) -> None:
    """``kill -9`` at any moment, that of the log-in included."""
    app, data = Club(delay_s=0.02, uses=25), tmp_path / "data"
    with serve_in_thread(app) as site:
        options = (spider_file(tmp_path, site.url), "--data", data, *SLOW, "--processes", processes)
        for kill in range(kills):
            process = start("crawl", *options)
            before = len(site.hits)
            wait_until(lambda before=before, kill=kill: len(site.hits) > before + kill % 4)
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        result = crawl(*options)
    assert (result["finish_reason"], result["dead"]) == ("finished", 0)
    every_page_was_had(data)
    assert app.log_ins <= 14, "a session that is logged in stays so over a kill"


@pytest.mark.long
def test_a_wrong_password_stops_the_crawl_and_the_right_one_continues_it(tmp_path: Path) -> None:
    app, data = Club(), tmp_path / "data"
    wrong = "wr0ng-passw0rd"
    with serve_in_thread(app) as site:
        spider = spider_file(tmp_path, site.url)
        (tmp_path / "password.txt").write_text(wrong)
        options = (spider, "--data", data, *SLOW, "--set", "sessions.max_login_failures=2")
        failed = run("crawl", *options)
        assert failed.returncode == 4
        assert f"the spider cannot log in at {site.url}/login (2 times in a row)" in failed.stderr
        assert "still asks to log in" in failed.stderr
        assert len(app.tries) == 2
        shown = failed.stdout + failed.stderr
        (tmp_path / "password.txt").write_text(PASSWORD)
        done = run("crawl", *options)
        assert done.returncode == 0, done.stderr
        shown += done.stdout + done.stderr
    every_page_was_had(data)
    kept = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    for secret in (wrong, PASSWORD):
        assert secret not in shown
        assert secret.encode() not in kept
        assert secret.replace(" ", "+").encode() not in kept


def test_robots_txt_that_forbids_the_log_in_is_said(tmp_path: Path) -> None:
    app = Club(robots="User-agent: *\nDisallow: /login")
    with serve_in_thread(app) as site:
        done = gossamer("crawl", spider_file(tmp_path, site.url), *FAST, cwd=tmp_path, code=4)
        assert f"robots.txt does not allow {site.url}/login" in done.stderr
        assert "--no-robots" in done.stderr
        gossamer("crawl", spider_file(tmp_path, site.url), *FAST, "--no-robots", cwd=tmp_path)
    assert app.log_ins == 1


def test_a_page_that_is_closed_to_this_user_is_a_dead_letter(tmp_path: Path) -> None:
    app, data = Club(private=frozenset({"/page/3"})), tmp_path / "data"
    with serve_in_thread(app) as site:
        result = asked("crawl", spider_file(tmp_path, site.url), *FAST, "--data", data, cwd=tmp_path)
    assert (result["finish_reason"], result["dead"], result["items"]) == ("finished", 1, PAGES - 1)
    [(reason, detail)] = rows(data, "select reason, detail from attempt where verdict = 'dead'")
    assert (reason, detail.partition(",")[0]) == ("logged_out", "redirects to /login")


def test_a_single_page_is_shown_as_members_see_it(tmp_path: Path) -> None:
    app = Club()
    with serve_in_thread(app) as site:
        options = ("--spider", spider_file(tmp_path, site.url), "--callback", "parse_page", "--no-robots")
        shown = gossamer("parse", f"{site.url}/page/7", *options, cwd=tmp_path).stdout
    assert '{"page":"/page/7"}' in shown
    assert (app.log_ins, app.refused) == (1, [])


def test_a_callback_that_is_called_log_in_is_a_callback(tmp_path: Path) -> None:
    more = """
    login_url = ""

    async def start(self):
        yield Request(self.start_urls[0], callback=self.log_in)

    def log_in(self, response):
        yield {"page": response.url}
"""
    with serve_in_thread(Club(refusal="form")) as site:
        spider = spider_file(tmp_path, site.url, more)
        spider.write_text("from gossamer import Request\n" + spider.read_text())
        assert asked("crawl", spider, *FAST, cwd=tmp_path)["items"] == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("    def log_in(self, login): ...", "must be a coroutine function"),
        ("    login_url = 'club'", "'club' is not a URL"),
        ("    login_url = ''", "its login_url '' is not a URL"),
    ],
)
def test_a_log_in_that_cannot_work_is_refused_at_the_start(more: str, said: str, tmp_path: Path) -> None:
    spider = spider_file(tmp_path, "http://127.0.0.1:9", more)
    assert said in gossamer("crawl", spider, cwd=tmp_path, code=2).stderr


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert is_so()
