"""A worker beats however busy its spiders keep the loop; one whose loop hangs counts as gone meanwhile."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

from gossamer.cluster.worker_process import WorkerProcess
from gossamer.config.layers import load_settings
from gossamer.core.shifts import Shift
from gossamer.wiring.backends import open_backends

WITHIN_S = 20.0


@pytest.fixture
def settings(redis_url, tmp_path):
    said = {"data": str(tmp_path), "frontier": {"url": redis_url}}
    return load_settings(env={}, spider=said).settings


@pytest.fixture
async def roster(settings):
    backends = await open_backends(settings, create=True)
    yield backends.require_fleet().roster
    await backends.close()


@pytest.fixture
async def blocked(settings):
    """A place of work whose loop is blocked until it is let go; and what lets it go."""
    let_go = threading.Event()
    places = []

    async def make(**fields):
        frontier = settings.frontier.model_copy(update=fields)
        place = WorkerProcess(settings.model_copy(update={"frontier": frontier}), slots=1, lanes=("http",))
        places.append(place)
        await asyncio.to_thread(place.begin)
        assert await asyncio.to_thread(place.start)
        place._loop.call_soon_threadsafe(let_go.wait, 2 * WITHIN_S)
        return place, let_go

    yield make
    let_go.set()
    for place in places:
        await asyncio.to_thread(place.close)


async def beats(roster, after=0.0):
    """When the worker beat last; it is waited for until it has, after a time."""
    until = time.monotonic() + WITHIN_S
    while True:
        found = [worker.beat_at for worker in (await roster.read_roster()).workers if worker.beat_at > after]
        if found:
            return found[0]
        assert time.monotonic() < until, "no beat"
        await asyncio.sleep(0.05)


async def test_a_beat_says_how_far_the_clock_of_its_machine_is_ahead(roster, blocked, monkeypatch):
    ahead = SimpleNamespace(time=lambda: time.time() + 3_600.0, monotonic=time.monotonic)
    monkeypatch.setattr("gossamer.cluster.heartbeat.time", ahead)
    await blocked()
    await beats(roster, await beats(roster))  # the first is before the clocks are compared
    (worker,) = (await roster.read_roster()).workers
    assert worker.ahead_s == pytest.approx(3_600.0, abs=1.0)


@pytest.mark.long
async def test_a_busy_loop_delays_no_beat_and_no_beginning(roster, blocked):
    place, let_go = await blocked()
    at = await beats(roster)
    for _ in range(2):
        at = await beats(roster, at)
    token = await roster.claim_leadership("me", WITHIN_S)
    shift = Shift(id="shop-1:http:1", job="shop-1", lane="http", expires_at=at + WITHIN_S)
    assert await roster.request_shifts([shift], {}, token)
    working = asyncio.create_task(asyncio.to_thread(place.work_on_shift, "shop-1", "http", shift.id))
    at = await beats(roster, await beats(roster, at))
    (found,) = (await roster.read_roster()).shifts
    assert (found.worker, found.state.value) == (place.card.id, "working")
    assert at - found.beat_at < 3.0
    let_go.set()
    assert (await working).startswith("failed"), "there is no such job"


@pytest.mark.long
async def test_a_loop_that_hangs_is_as_good_as_dead_until_it_turns(roster, blocked, caplog):
    place, let_go = await blocked(lease_ttl=1.5)
    until = time.monotonic() + WITHIN_S
    while "blocked the event loop" not in caplog.text:
        assert time.monotonic() < until
        await asyncio.sleep(0.05)
    assert place.work_on_shift("shop-1", "http", "x") == "not begun: this worker takes no shifts now"
    at = await beats(roster)
    let_go.set()
    await beats(roster, at)


async def test_a_worker_that_leaves_is_not_there_any_more(roster, settings):
    place = WorkerProcess(settings, slots=1, lanes=("http",))
    await asyncio.to_thread(place.begin)
    assert await asyncio.to_thread(place.start)
    await beats(roster)
    await asyncio.to_thread(place.close)
    assert (await roster.read_roster()).workers == ()


@pytest.mark.long
async def test_who_is_told_twice_to_end_leaves_though_its_loop_is_blocked(roster, blocked):
    place, _ = await blocked()
    await beats(roster)
    await asyncio.to_thread(place.abort, 5.0)
    assert (await roster.read_roster()).workers == ()
