"""A fleet is steered: by Celery's own commands, by pause, resume and cancel, by lanes; and does not grow."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest
import redis
from celery import Celery
from playwright.sync_api import sync_playwright

from acceptance.fleet.conftest import Known
from gossamer.cluster.app import make_app
from gossamer.config.layers import load_settings
from gossamer.jobs.control import submit_job
from gossamer.targets.discovery import find_target
from gossamer.targets.planned_spider import plan_of
from gossamer.testing.site import serve_in_thread
from gossamer.wiring.backends import open_backends
from kit.dashboard.hostile_shop import HostileShop
from kit.dashboard.served import serve_dashboard
from kit.dashboard.steering import Steering, steer_crawl
from kit.dashboard.visitor import CHROMIUM, Visitor
from kit.fleet.history import again, judge
from kit.fleet.processes import Fleet, Member, Servers
from kit.fleet.steps import (
    STOPPED,
    ended,
    shown_fleet,
    status,
    until,
)
from kit.web import open_web

# --------------------------------------------------------------------------- celery's own commands


class CeleryWorker(Member):
    """A worker as those start it who know Celery."""

    def command(self) -> Sequence[str]:
        return [sys.executable, "-m", "celery", "-A", "gossamer.cluster", "worker", *self._args]


def celery(env: Mapping[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "celery", "-A", "gossamer.cluster", *args]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, env=env, check=False)


@pytest.mark.long
def test_celery_starts_and_steers_workers(fleet: Fleet, big: Known, folder: Path, places: Servers) -> None:
    """Its workers need nothing but the environment."""
    lone = Fleet(folder, places, workers=0, settings={"cluster.fleet": "lone"})
    worker = CeleryWorker("worker", ("-l", "info", "-n", "one@here", "-c", "3"), lone._env, "takes shifts")
    lone.workers.append(worker)
    with lone:
        app = make_app(load_settings(env=lone._env, start=folder).settings)
        events = Events(app)
        job = lone.submit(big.spider, "--delay", "0.01")
        big.site.wait_for(40)

        found = celery(lone._env, "inspect", "shifts", "--json")
        assert found.returncode == 0, found.stderr
        (shown,) = json.loads(found.stdout).values()
        assert (shown["state"], shown["slots"]) == ("working", 3)
        assert {(shift["job"], shift["lane"]) for shift in shown["shifts"]} == {(job, "http")}

        assert celery(lone._env, "control", "pause_shifts").returncode == 0
        until(lambda: shifts_of(lone) == 0, 5, "no shifts")
        count = big.site.count()
        (card,) = shown_fleet(lone)["workers"]
        assert (card["state"], big.site.count()) == ("paused", count)
        for way_out in ("resume_shifts", "drain", "resume_shifts"):
            count = big.site.count()
            assert app.control.broadcast(way_out, reply=True, limit=1, timeout=5)
            if way_out == "drain":
                until(lambda: shifts_of(lone) == 0, 5, "no shifts")
                assert worker.is_running
            else:
                big.site.wait_for(count + 20, within_s=8)

        app.control.shutdown()
        code, took_s = ended(worker, 10)
        assert (code, took_s < 4) == (0, True), worker.tail()
        assert not again(big.truth, big.site.hits())
        assert lone.run("cancel", job).returncode == 0
        events.end()
        for lane in ("seed", "http"):
            assert ("task-received", f"shift {job} {lane}") in events.seen


def shifts_of(fleet: Fleet) -> int:
    return sum("worker" in shift for shift in shown_fleet(fleet).get("shifts", ()))


class Events:
    """What Flower would see: the kinds of events, and the names in them."""

    def __init__(self, app: Celery) -> None:
        self.seen: set[tuple[str, str]] = set()
        self._connection = app.connection_for_read()
        self._receiver = app.events.Receiver(self._connection, handlers={"*": self._see})
        self._thread = threading.Thread(target=self._receiver.capture)
        self._thread.start()

    def _see(self, event: Mapping[str, Any]) -> None:
        self.seen.add((event["type"], str(event.get("name", ""))))

    def end(self) -> None:
        """Listen no more."""
        self._receiver.should_stop = True
        self._thread.join()
        self._connection.release()


# --------------------------------------------------------------------------- jobs are steered


@pytest.mark.long
def test_pause_resume_and_cancel_take_effect_at_once(fleet: Fleet, big: Known) -> None:
    job = fleet.submit(big.spider, "--delay", "0.01")
    big.site.wait_for(60)
    until(lambda: (status(fleet, job)["pages_per_second"] or 0.0) > 5, 30, "a rate")
    shown = status(fleet, job)
    assert shown["shifts"] >= 1
    assert shown["eta_seconds"] is None or shown["eta_seconds"] > 1, "while it finds more than it does"

    assert fleet.run("pause", job).returncode == 0
    paused_at = time.time()
    shown = status(fleet, job)
    assert (shown["state"], shown["queue"]["leased"]) == ("paused", 0)
    assert fleet.run("wait", job, "-q").returncode == STOPPED
    resumed_at = time.time()
    count = big.site.count()
    assert fleet.run("resume", job).returncode == 0
    big.site.wait_for(count + 20, within_s=10)
    late = [hit for hit in big.site.hits() if paused_at + 0.5 < hit.at < resumed_at]
    assert not late

    assert fleet.run("cancel", job).returncode == 0
    cancelled_at = time.time()
    assert fleet.run("wait", job, "-q").returncode == STOPPED
    until(lambda: not shown_fleet(fleet).get("shifts"), 10, "no shifts")
    assert big.site.hits()[-1].at < cancelled_at + 0.5
    assert not again(big.truth, big.site.hits())


@pytest.mark.long
def test_a_running_job_follows_whoever_changes_it(fleet: Fleet, big: Known, tmp_path: Path) -> None:
    """Its delay, by the command line and through the API, and its workers; measured by the site's own log."""
    job = fleet.submit(big.spider, "--delay", "30")
    big.site.wait_for(1)
    at = time.time()
    done = fleet.run("set", job, "delay=0.05", "--json")
    assert done.returncode == 0, done.stderr
    big.site.wait_for(12, within_s=15)
    later = [hit.at for hit in big.site.hits() if hit.at > at]
    assert later[0] - at < 4, "it follows soon, the start of the command included"
    assert (later[-1] - later[0]) / (len(later) - 1) > 0.05 * 0.9, "and is no faster than that"

    async def steer() -> None:
        said = load_settings(env=fleet._env, start=tmp_path).settings
        places = {"frontier": {"url": said.frontier.url}, "store": {"url": said.store.url}}
        async with open_web(tmp_path, cluster={"fleet": said.cluster.fleet}, **places) as web:

            async def do(path: str, **body: Any) -> Any:
                answer = await web.client.post(f"/api/v1{path}", json=body)
                assert answer.is_success, answer.text
                return answer.json()

            async def until_it(what: Callable[[], Any], told: str) -> None:
                await asyncio.to_thread(until, what, 15, told)

            changed = await do(f"/jobs/{job}/actions", do="limits", **{"with": {"delay": 20}})
            assert changed["before"]["settings"] == {"delay": 0.05}
            count = big.site.count()
            undone = await web.client.request("DELETE", f"/api/v1/actions/{changed['action']}")
            assert undone.is_success, undone.text
            await until_it(lambda: big.site.count() > count + 5, "the former delay")

            workers = [quote(card["id"], safe="") for card in shown_fleet(fleet)["workers"]]
            for worker in workers:
                await do(f"/workers/{worker}/actions", do="drain")
            await until_it(lambda: shifts_of(fleet) == 0, "no worker works")
            for worker in workers:
                await do(f"/workers/{worker}/actions", do="keep", expect={"state": "draining"})
            count = big.site.count()
            await until_it(lambda: big.site.count() > count + 5, "they work again")

            await do(f"/jobs/{job}/actions", do="pause", expect={"state": "running"})
            await until_it(lambda: shifts_of(fleet) == 0, "no shifts")
            await do(f"/jobs/{job}/actions", do="resume", expect={"state": "paused"})
            count = big.site.count()
            await until_it(lambda: big.site.count() > count + 5, "it goes on")

    asyncio.run(steer())
    assert fleet.run("cancel", job).returncode == 0
    assert not again(big.truth, big.site.hits())


@pytest.mark.thorough
def test_a_crawl_is_steered_from_its_start_to_its_export_in_the_dashboard(
    fleet: Fleet, tmp_path: Path
) -> None:
    """The same as on one machine, in a real browser."""
    with (
        serve_in_thread(HostileShop(200)) as shop,
        serve_dashboard(tmp_path, "-s", "dashboard.allow_private=true", env=fleet._env) as url,
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=CHROMIUM) as chromium,
        Visitor(chromium, url) as someone,
    ):
        steer_crawl(Steering(someone, shop, fleet.run, tmp_path / "downloads"))


@pytest.mark.long
@pytest.mark.parametrize("slots", [1, pytest.param(2, marks=pytest.mark.thorough)])
def test_a_small_job_does_not_wait_for_a_huge_one(
    slots: int, big: Known, small: Known, folder: Path, places: Servers
) -> None:
    with Fleet(folder, places, workers=1, slots=slots, settings={"cluster.fleet": f"fair{slots}"}) as fleet:
        huge = fleet.submit(big.spider)
        big.site.wait_for(100)
        result = fleet.crawl(small.spider)
        count = big.site.count()
        judge(small.truth, small.site.hits(), fleet.stored(result["job"]))
        big.site.wait_for(count + 100, within_s=10)
        fleet.run("cancel", huge)


@pytest.mark.long
def test_a_worker_takes_only_what_its_lanes_say(small: Known, folder: Path, places: Servers) -> None:
    fleet = Fleet(folder, places, workers=0, settings={"cluster.fleet": "laned"})
    browsers = Member("worker", ("--lanes", "browser"), fleet._env, "takes shifts")
    fleet.workers.append(browsers)
    with fleet:
        job = fleet.submit(small.spider)
        until(lambda: status(fleet, job)["trouble"], 10, "trouble that is told")
        assert status(fleet, job)["trouble"] == "no worker takes shifts of the lane 'http'"
        assert small.site.count() == 0
        joins = fleet._member("worker", (), "takes shifts").start()
        fleet.workers.append(joins)
        fleet.wait(job)
        judge(small.truth, small.site.hits(), fleet.stored(job))


# --------------------------------------------------------------------------- nothing grows


@pytest.mark.thorough
def test_a_worker_does_not_grow_with_jobs(folder: Path, places: Servers, small: Known) -> None:
    with Fleet(
        folder, places, workers=1, slots=8, settings={"cluster.fleet": "long", "max_pages": 3}
    ) as fleet:
        sizes = []
        for _ in range(3):
            asyncio.run(submit_many(fleet, small, 10))
            sizes.append(size_at_rest(fleet))
        # Ten more jobs that left something behind would be ten more; pools grow with what runs at once.
        assert all(after - before < 5 for before, after in zip(*sizes[1:], strict=True)), sizes


async def submit_many(fleet: Fleet, known: Known, count: int) -> None:
    """Jobs as `submit` makes them, and their ends."""
    env = fleet._env
    settings = load_settings(env=env, start=known.spider.parent).settings
    plan = plan_of(str(known.spider), {}, settings, find_target(str(known.spider), {}, None))
    backends = await open_backends(settings, create=True)
    try:
        jobs = [await submit_job(backends, settings, plan, f"job{n}", "small") for n in range(count)]
        for job in jobs:
            while (now := await backends.book.get(job.id)) is None or now.finished_at is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    finally:
        await backends.close()


def size_at_rest(fleet: Fleet) -> tuple[int, int, int, int]:
    """Its size when that has not changed for a second: shifts end, and let go of things, after their jobs."""
    deadline, same = time.monotonic() + 20, [size_of(fleet)]
    while len(same) < 10 and time.monotonic() < deadline:
        time.sleep(0.1)
        size = size_of(fleet)
        same = [*same, size] if size == same[-1] else [size]
    return same[-1]


def size_of(fleet: Fleet) -> tuple[int, int, int, int]:
    """Threads and open files of the worker, and its connections to both servers."""
    proc = Path(f"/proc/{fleet.workers[0].pid}")
    with redis.Redis.from_url(fleet.servers.redis.url) as client:
        redises = len(client.client_list())
    return (
        len(list((proc / "task").iterdir())),
        len(list((proc / "fd").iterdir())),
        redises,
        asyncio.run(sessions(fleet)),
    )


async def sessions(fleet: Fleet) -> int:
    connection = await asyncpg.connect(fleet.servers.database)
    try:
        return await connection.fetchval("select count(*) from pg_stat_activity where datname is not null")
    finally:
        await connection.close()
