"""`gossamer schedule` and `gossamer scheduler`: what is due is crawled once, also after kill -9."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.command_line import asked, gossamer
from kit.fleet.steps import until
from kit.programs import rows, run, start


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(8, per_page=8, related=0)) as site:
        yield site


def add(folder: Path, url: str, *more: str, name: str = "shop", cron: str = "0 0 1 1 *") -> None:
    gossamer("schedule", "add", name, cron, url, "--delay", "0", *more, cwd=folder)


def make_due(folder: Path, *, name: str = "shop", ago_s: float = 60.0) -> None:
    """Let the schedule be due now: as if it had been added long ago."""
    with sqlite3.connect(folder / ".gossamer" / "gossamer.db") as db:
        ((record,),) = db.execute("SELECT record FROM schedule WHERE name = ?", (name,)).fetchall()
        due = time.gmtime(time.time() - ago_s)
        changed = {**json.loads(record), "cron": f"{due.tm_min} {due.tm_hour} * * *"}
        since = time.time() - ago_s - 90.0
        made = (json.dumps(changed), since, name)
        db.execute("UPDATE schedule SET record = ?, since = ? WHERE name = ?", made)


def shown(folder: Path, name: str = "shop") -> list[dict[str, object]]:
    return asked("schedule", "show", name, cwd=folder)["runs"]


def ended(folder: Path, runs: int = 1) -> bool:
    """Whether so many runs were begun, and none is under way; read without a process that would ask."""
    found = rows(folder / ".gossamer", "SELECT count(*), total(is_open) FROM schedule_run")
    return found == [(runs, 0)]


def outcomes_of(folder: Path, *names: str) -> list[str]:
    return sorted(str(run["outcome"]) for name in names for run in shown(folder, name))


def test_mistakes_are_told_when_a_schedule_is_added(shop: Site, tmp_path: Path) -> None:
    def refused(*arguments: str) -> str:
        done = run("schedule", *arguments, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        return done.stderr

    assert "'61' is wrong as minute" in refused("add", "shop", "61 * * * *", shop.url)
    zone = ("--zone", "europe/berln")
    assert "did you mean Europe/Berlin?" in refused("add", "shop", "@daily", shop.url, *zone)
    assert "there is no file shop.py" in refused("add", "shop", "@daily", "shop.py")
    assert "cannot name a schedule" in refused("add", "a/b", "@daily", shop.url)
    secret = ("-s", 'http.headers={"Cookie": "a"}')
    assert "secrets are not kept" in refused("add", "x", "@daily", shop.url, *secret)
    assert "--jitter 'soon' is not a duration" in refused("add", "x", "@daily", shop.url, "--jitter", "soon")
    add(tmp_path, shop.url, "--zone", "Europe/Berlin", "--overlap", "queue", "--catch-up", "none")
    assert "there is a schedule 'shop' already" in refused("add", "shop", "@daily", shop.url)
    assert "did you mean 'shop'?" in refused("run", "shpo")
    (listed,) = asked("schedule", "list", cwd=tmp_path)
    assert (listed["zone"], listed["overlap"], listed["catch_up"]) == ("Europe/Berlin", "queue", "none")
    assert (listed["options"], listed["is_on"], listed["runs"]) == ({"delay": "0.0"}, True, [])
    gossamer("schedule", "disable", "shop", cwd=tmp_path)
    assert asked("schedule", "list", cwd=tmp_path)[0]["next_at"] is None
    gossamer("schedule", "enable", "shop", cwd=tmp_path)
    gossamer("schedule", "remove", "shop", cwd=tmp_path)
    assert asked("schedule", "list", cwd=tmp_path) == []


@pytest.mark.slow
def test_a_run_by_hand_is_a_crawl_like_any_other(shop: Site, tmp_path: Path) -> None:
    add(tmp_path, shop.url)
    job = gossamer("schedule", "run", "shop", cwd=tmp_path).stdout.strip()
    finished = "SELECT count(*) FROM job WHERE state = 'finished'"
    until(lambda: rows(tmp_path / ".gossamer", finished) == [(1,)], 30, "the end of the crawl")
    assert shown(tmp_path)[0]["outcome"] == "finished"
    (listed,) = asked("jobs", cwd=tmp_path)
    assert (listed["job"], listed["state"], listed["waiting"]) == (job, "finished", 0)
    (found,) = shown(tmp_path)
    assert (found["job"], found["is_manual"]) == (job, True)
    again = gossamer("schedule", "run", "shop", cwd=tmp_path).stdout.strip()
    assert again != job, "each run is a crawl of its own"
    until(lambda: rows(tmp_path / ".gossamer", finished) == [(2,)], 30, "the end of the second crawl")
    assert shown(tmp_path)[0]["outcome"] == "finished"


@pytest.mark.slow
def test_a_scheduler_runs_what_is_due_and_ends_cleanly(shop: Site, tmp_path: Path) -> None:
    add(tmp_path, shop.url)
    make_due(tmp_path)
    working = start("scheduler", cwd=tmp_path)
    try:
        until(lambda: ended(tmp_path), 30, "the run")
        assert outcomes_of(tmp_path, "shop") == ["finished"]
        refused = run("scheduler", cwd=tmp_path)
        assert refused.returncode == 4
        assert f"process {working.pid} is the scheduler of .gossamer already" in refused.stderr
        working.send_signal(signal.SIGINT)
        assert working.wait(15) == 0
    finally:
        working.kill()
        working.wait()
    assert len(asked("jobs", cwd=tmp_path)) == 1


@pytest.mark.long
def test_a_stopped_scheduler_continues_its_crawl(shop: Site, tmp_path: Path) -> None:
    add(tmp_path, shop.url, "--delay", "0.2")
    make_due(tmp_path)
    working = start("scheduler", cwd=tmp_path)
    try:
        until(lambda: len(shop.hits) >= 5, 30, "the crawl to begin")
        working.send_signal(signal.SIGTERM)
        assert working.wait(30) == 0
        assert [one["state"] for one in asked("jobs", cwd=tmp_path)] == ["unfinished"]
        working = start("scheduler", cwd=tmp_path)
        until(lambda: ended(tmp_path), 60, "its end")
    finally:
        working.send_signal(signal.SIGTERM)
        working.wait(30)
    assert outcomes_of(tmp_path, "shop") == ["finished"]
    assert [one["state"] for one in asked("jobs", cwd=tmp_path)] == ["finished"]
    pages = Counter(hit.path for hit in shop.hits if hit.path != "/robots.txt")
    assert set(pages.values()) == {1}, "no page was fetched twice"


@pytest.mark.long
@pytest.mark.parametrize("moment", ["at once", "while it crawls"])
def test_a_killed_scheduler_costs_no_run_and_makes_none_twice(
    shop: Site, tmp_path: Path, moment: str
) -> None:
    add(tmp_path, shop.url, "--delay", "0.2")
    make_due(tmp_path)
    working = start("scheduler", cwd=tmp_path)
    try:
        claimed = "SELECT count(*) FROM schedule_run"
        until(lambda: rows(tmp_path / ".gossamer", claimed) == [(1,)], 30, "the claim")
        if moment == "while it crawls":
            until(lambda: len(shop.hits) >= 4, 30, "the crawl to begin")
        os.kill(working.pid, signal.SIGKILL)
        working.wait()
        working = start("scheduler", cwd=tmp_path)
        until(lambda: ended(tmp_path), 60, "the end of the run")
    finally:
        working.send_signal(signal.SIGTERM)
        working.wait(30)
    assert outcomes_of(tmp_path, "shop") == ["finished"]
    assert [one["state"] for one in asked("jobs", cwd=tmp_path)] == ["finished"]
    pages = Counter(hit.path for hit in shop.hits if hit.path != "/robots.txt")
    assert set(pages.values()) == {1}, "no page was fetched twice"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overlap", "outcomes"), [("queue", ["finished"] * 2), ("skip", ["finished", "skipped"])]
)
def test_two_schedules_of_one_target_that_are_due_at_once(
    shop: Site, tmp_path: Path, overlap: str, outcomes: list[str]
) -> None:
    """An hourly crawl and a nightly one, at midnight: the second one waits, or is left out; none fails."""
    for name in ("hourly", "nightly"):
        add(tmp_path, shop.url, "--overlap", overlap, name=name)
    for name in ("hourly", "nightly"):
        make_due(tmp_path, name=name)
    working = start("scheduler", cwd=tmp_path)
    try:
        until(lambda: ended(tmp_path, 2), 60, "both runs")
    finally:
        working.send_signal(signal.SIGTERM)
        working.wait(30)
    assert outcomes_of(tmp_path, "hourly", "nightly") == outcomes
    assert len(asked("jobs", cwd=tmp_path)) == outcomes.count("finished")
