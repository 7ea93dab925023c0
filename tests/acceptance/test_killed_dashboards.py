"""A dashboard that is killed after somebody cancelled a crawl there: the next process cancels it."""

from __future__ import annotations

import json
import sqlite3
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit import programs
from kit.command_line import asked
from kit.fleet.steps import until

pytestmark = pytest.mark.slow


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(8, per_page=8, related=0)) as site:
        yield site


def state_of(folder: Path) -> str:
    (state,) = (job["state"] for job in asked("jobs", cwd=folder) if job["job"].endswith("-1"))
    return str(state)


def let_time_pass(folder: Path) -> None:
    """What is due in some seconds is due now."""
    with sqlite3.connect(folder / ".gossamer" / "gossamer.db") as db:
        which = "WHERE space LIKE 'delayed-actions:%' AND key = ''"
        query = f"SELECT value FROM shared {which}"
        ((value,),) = db.execute(query).fetchall()
        times = dict.fromkeys(msgspec.msgpack.decode(value, type=dict[int, float]), 1.0)
        changed = (msgspec.msgpack.encode(times),)
        db.execute(f"UPDATE shared SET value = ? {which}", changed)


@pytest.mark.long
@pytest.mark.parametrize("next_one", ["dashboard", "crawl"])
def test_a_cancel_survives_the_kill_of_its_dashboard(tmp_path: Path, shop: Site, next_one: str) -> None:
    begun = ("crawl", f"{shop.url}/", "--delay", "0", "--max-pages", "2")
    crawl = programs.start(*begun[:2], "--delay", "30", cwd=tmp_path)
    until(lambda: shop.hits, 20, "the crawl has begun")
    crawl.kill()
    crawl.wait(10)
    port = programs.free_port()
    dashboard = programs.start("dashboard", "--port", port, cwd=tmp_path)
    try:
        until(lambda: cancel_at(port, shop), 20, "the dashboard takes the order")
    finally:
        dashboard.kill()
        dashboard.wait(10)
    assert state_of(tmp_path) == "paused", "for as long as it can be undone"
    let_time_pass(tmp_path)
    if next_one == "crawl":
        done = programs.run(*begun, cwd=tmp_path)
        assert "-2 started" in done.stderr, "the cancelled one is not continued"
        assert state_of(tmp_path) == "cancelled"
        return
    process = programs.start("dashboard", "--port", port, cwd=tmp_path)
    try:
        until(lambda: state_of(tmp_path) == "cancelled", 20, "the job is cancelled")
    finally:
        process.terminate()
        process.wait(20)


def cancel_at(port: str, shop: Site) -> bool:
    """Whether the dashboard has taken the order."""
    order = json.dumps({"do": "cancel", "key": "once"}).encode()
    job = shop.url.removeprefix("http://").replace(":", "-") + "-1"
    address = f"http://127.0.0.1:{port}/api/v1/jobs/{job}/actions"
    request = urllib.request.Request(address, order, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
