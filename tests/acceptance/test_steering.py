"""A crawl that runs in another process follows whoever steers it, measured by the site's own log."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.command_line import asked, gossamer
from kit.fleet.steps import until
from kit.programs import rows, start
from kit.web import open_web

SLOW_S = 20.0
"""A delay by which a crawl would take minutes."""


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(60, per_page=10, related=0)) as site:
        yield site


@pytest.mark.long
def test_a_running_crawl_follows(shop: Site, tmp_path: Path) -> None:
    crawling = start("crawl", shop.url, "--delay", str(SLOW_S), "--concurrency", "3", "-q", cwd=tmp_path)
    try:
        until(lambda: len(shop.hits) >= 1, 15, "robots.txt was asked for")
        (name,) = (job["job"] for job in asked("jobs", cwd=tmp_path))
        at = time.time()
        (changed,) = asked("set", name, "delay=0.2", cwd=tmp_path)
        assert (changed["key"], changed["before"], changed["after"]) == ("delay", SLOW_S, 0.2)
        until(lambda: len(shop.hits) >= 6, 15, "faster crawl")
        later = [hit.at for hit in shop.hits if hit.at > at]
        assert later[0] - at < 2.0, "it follows within a second or two"
        assert (later[-1] - later[0]) / (len(later) - 1) > 0.2 * 0.9, "and is no faster than that"

        held = asked("host", name, shop.host, "--hold", "1h", cwd=tmp_path)
        assert held["next_at"] == held["hold_until"]
        count = len(shop.hits)
        asked("host", name, shop.host, "--ask", cwd=tmp_path)
        until(lambda: len(shop.hits) > count + 1, 15, "request after the hold")

        gossamer("pause", name, cwd=tmp_path)
        assert crawling.wait(15) == 3, "it stopped early"
        (status,) = asked("jobs", cwd=tmp_path)
        assert (status["state"], status["finish_reason"]) == ("paused", "paused")

        count = len(shop.hits)
        crawling = start("crawl", shop.url, "--delay", str(SLOW_S), "--concurrency", "3", "-q", cwd=tmp_path)
        until(lambda: len(shop.hits) >= count + 4, 15, "crawl at the changed delay after its resume")
        asked("set", name, "max_time=0.1", cwd=tmp_path)
        assert crawling.wait(15) == 0, "the run is over by its time"
        (status,) = asked("jobs", cwd=tmp_path)
        assert status["finish_reason"] == "max_time"

        (back,) = asked("set", name, "delay", "--back", cwd=tmp_path)
        assert (back["before"], back["after"]) == (0.2, SLOW_S)
        kept = [json.loads(record)["key"] for (record,) in rows(tmp_path / ".gossamer", CHANGES)]
        assert kept == ["max_time"]
    finally:
        crawling.kill()
        crawling.wait()


CHANGES = "SELECT record FROM job_setting"


@pytest.mark.slow
async def test_a_crawl_is_started_and_steered_from_afar(shop: Site, tmp_path: Path) -> None:
    async with open_web(tmp_path, dashboard={"allow_private": True}) as web:

        async def do(path: str, **body: Any) -> Any:
            answer = await web.client.post(f"/api/v1{path}", json=body)
            assert answer.is_success, answer.text
            return answer.json()

        async def until_it(what: Callable[[], Any], told: str) -> None:
            await asyncio.to_thread(until, what, 15, told)

        job = (await do("/jobs", target=shop.url, settings={"delay": 0.1}))["job"]
        await until_it(lambda: len(shop.hits) >= 3, "it crawls")
        refused = await web.client.post("/api/v1/jobs", json={"target": shop.url})
        assert refused.status_code == 409, "the same is under way"

        paused = await do(f"/jobs/{job}/actions", do="pause", expect={"state": "running"})
        await until_it(lambda: at_work(tmp_path) == [], "its process ends")
        count = len(shop.hits)
        changed = await do(f"/jobs/{job}/actions", do="limits", **{"with": {"delay": 0.05, "per_host": 4}})
        assert changed["before"]["settings"] == {"delay": 0.1, "per_host": 1}
        undone = await web.client.request("DELETE", f"/api/v1/actions/{paused['action']}")
        assert undone.is_success, undone.text
        await until_it(lambda: len(shop.hits) >= count + 4, "it goes on, in another process")

        await do(f"/jobs/{job}/actions", do="cancel")
        await until_it(lambda: at_work(tmp_path) == [], "its process ends")
        assert (await web.get("/jobs"))["jobs"][0]["state"] == "paused", "for ten seconds"
        for task in list(web.app.state.parts.tasks):
            task.cancel()
    (log,) = (tmp_path / "logs").glob(f"{job}.log")
    assert "Traceback" not in log.read_text()


def at_work(data: Path) -> list[int]:
    """The processes that crawl in a data directory."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"data={data}".encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
