"""Whoever is used up at a site is replaced: by new cookies, and by a new log-in."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from gossamer.core.exits import ExitCode
from gossamer.testing.site import SiteResponse, serve_in_thread
from kit.command_line import FAST, asked, gossamer
from kit.log_in_site import PAGES, Club, spider_file
from kit.programs import rows


class Counting:
    """A site that hands every visitor a number, and refuses one who has had too many pages."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.numbers = itertools.count(1)
        self.pages: Counter[str] = Counter()

    def __call__(self, path: str, headers: Mapping[str, str]) -> SiteResponse:
        if path == "/robots.txt":
            return SiteResponse(404)
        visitor = headers.get("cookie", "") or f"visitor={next(self.numbers)}"
        self.pages[visitor] += 1
        known = (("Set-Cookie", visitor),)
        if self.pages[visitor] > self.patience or path == "/closed":
            return SiteResponse(403, b"<html>no</html>", headers=(*known, ("cf-mitigated", "challenge")))
        links = "".join(f"<a href=/{number}>x</a>" for number in range(PAGES)) if path == "/" else ""
        return SiteResponse(200, f"<html>{path}{links}</html>".encode(), headers=known)


def crawl(site: str, folder: Path, *settings: str, code: int = 0) -> dict[str, object]:
    options = [word for setting in settings for word in ("--set", setting)]
    line = ("crawl", f"{site}/", "--delay", "0", "--per-host", "1", *options, "--json")
    done: dict[str, object] = json.loads(gossamer(*line, cwd=folder, code=code).stdout)
    return done


def test_a_visitor_that_is_refused_comes_back_as_another_and_no_page_is_lost(tmp_path: Path) -> None:
    app = Counting(patience=12)
    with serve_in_thread(app) as site:
        result = crawl(site.url, tmp_path, "sessions.max_uses=1000")
        assert (result["finish_reason"], result["dead"], result["pages"]) == ("finished", 0, PAGES + 1)
        sessions = rows(tmp_path / ".gossamer", "select distinct session from attempt order by 1")
    assert [name for (name,) in sessions] == ["", "#2", "#3", "#4"]
    assert list(app.pages.values()) == [13, 13, 13, PAGES + 1 - 36]


def test_one_who_leaves_in_time_is_never_refused(tmp_path: Path) -> None:
    app = Counting(patience=12)
    with serve_in_thread(app) as site:
        result = crawl(site.url, tmp_path, "sessions.max_uses=10")
    assert (result["dead"], result["retries"], result["pages"]) == (0, 0, PAGES + 1)
    assert list(app.pages.values()) == [10, 10, 10, 10, 1]


def test_several_share_a_site(tmp_path: Path) -> None:
    app = Counting(patience=12)
    with serve_in_thread(app) as site:
        result = crawl(site.url, tmp_path, "sessions.per_host=4")
    assert (result["dead"], result["retries"], result["pages"]) == (0, 0, PAGES + 1)
    assert sorted(app.pages.values()) == [10, 10, 10, 11]


def test_a_page_that_is_refused_to_everybody_does_not_use_everybody_up(tmp_path: Path) -> None:
    app = Counting(patience=10**6)
    with serve_in_thread(app) as site:
        options = (*FAST, "--set", "sessions.max_uses=9", "--json")
        done = gossamer("crawl", f"{site.url}/closed", *options, cwd=tmp_path, code=1)
    result = json.loads(done.stdout)
    assert (result["dead"], result["retries"]) == (1, 0), "nobody had been welcome before"


def test_by_default_there_is_one_visitor(tmp_path: Path) -> None:
    app = Counting(patience=12)
    with serve_in_thread(app) as site:
        result = crawl(site.url, tmp_path, code=ExitCode.DEAD_LETTERS)
    assert (result["pages"], result["dead"], len(app.pages)) == (12, PAGES + 1 - 12, 1)


def test_a_new_identity_logs_in_anew(tmp_path: Path) -> None:
    app, data = Club(), tmp_path / "data"
    with serve_in_thread(app) as site:
        options = ("--set", "sessions.max_uses=10", "--delay", "0", "--data", data)
        result = asked("crawl", spider_file(tmp_path, site.url), *options, cwd=tmp_path)
    assert (result["dead"], result["items"], app.refused) == (0, PAGES, [])
    assert app.log_ins == 5
    assert rows(data, "select count(distinct session) from attempt") == [(5,)]
