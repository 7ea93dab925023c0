"""A shift that is past its deadline is ended, or its process is, whatever hangs in it."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time

import pytest

from gossamer.cluster import process_watch, worker_process
from gossamer.cluster.shift_task import ShiftTask
from gossamer.cluster.worker_process import WorkerProcess
from gossamer.config.layers import load_settings
from gossamer.core.exits import ExitCode
from gossamer.core.shifts import SEED_LANE, EndReason, Shift, ShiftState
from gossamer.policy import shift_deadlines
from gossamer.policy.health import describe_failures
from gossamer.wiring.backends import open_backends
from kit.fleet.steps import until

WITHIN_S = 20.0


@pytest.fixture
def settings(redis_url, tmp_path, monkeypatch):
    """Shifts of a moment, looked at often."""
    for module, name, value in (
        (process_watch, "LOOK_S", 0.05),
        (shift_deadlines, "GRACE_S", 0.2),
        (shift_deadlines, "MORE_S", 0.1),
        (shift_deadlines, "KILL_S", 0.4),
        (worker_process, "LEAVE_S", 1.0),
    ):
        monkeypatch.setattr(module, name, value)
    said = {"data": str(tmp_path), "frontier": {"url": redis_url}, "cluster": {"shift": 1, "drain": 0}}
    said["store"] = {"patience": 0.1}
    return load_settings(env={}, spider=said).settings


@pytest.fixture
async def place(settings):
    made = WorkerProcess(settings, slots=1, lanes=("http",))
    await asyncio.to_thread(made.begin)
    assert await asyncio.to_thread(made.start)
    yield made
    await asyncio.to_thread(made.close)


@pytest.fixture
async def asked(settings):
    """A shift that the supervisor has asked for."""
    backends = await open_backends(settings, create=True)
    roster = backends.require_fleet().roster
    token = await roster.claim_leadership("me", WITHIN_S)
    at = (await roster.read_roster()).at
    shift = Shift(id="shop-1:http:1", job="shop-1", lane="http", expires_at=at + WITHIN_S)
    assert await roster.request_shifts([shift], {}, token)
    yield roster
    await backends.close()


def failures_of(parts):
    return describe_failures(parts, time.monotonic(), time.time())


async def hang_until_cancelled(_task):
    await asyncio.Event().wait()


async def test_a_shift_that_hangs_is_cancelled_and_taken_back(place, asked, monkeypatch, caplog):
    monkeypatch.setattr(ShiftTask, "run", hang_until_cancelled)
    looks = []
    cancel = place._watch._cancel
    monkeypatch.setattr(
        place._watch, "_cancel", lambda shift_id: (looks.append(place._read_life()), cancel(shift_id))
    )
    with caplog.at_level(logging.ERROR, "gossamer"):
        async with asyncio.timeout(WITHIN_S):
            end = await asyncio.to_thread(place.work_on_shift, "shop-1", "http", "shop-1:http:1")
    assert end == "failed: 0 pages"
    (line,) = [line for line in caplog.messages if "past its deadline" in line]
    assert line.startswith("a shift of shop-1 on http is past its deadline and ends now. It is at:")
    assert "in hang_until_cancelled" in line
    view = await asked.read_roster()
    assert [shift.state for shift in view.shifts] == [ShiftState.LOST], "its leases are to be taken back"
    (standing,) = view.standings
    assert standing.why is EndReason.FAILED
    assert "did not end by its deadline" in standing.detail
    assert place.current_work()["shifts"] == []
    (parts,) = looks
    (failure,) = failures_of(parts)
    assert failure.startswith("a shift of shop-1 on http has been past its deadline for ")
    await asyncio.to_thread(until, lambda: not failures_of(place._read_life()), WITHIN_S, "its slot is free")


@pytest.mark.parametrize("blocks", [False, True], ids=["and waits", "and blocks the loop"])
async def test_a_shift_that_cannot_be_cancelled_ends_its_process(place, asked, monkeypatch, caplog, blocks):
    let_go, left = threading.Event(), threading.Event()
    codes = []

    async def hang(_task):
        while not let_go.is_set():
            if blocks:
                let_go.wait(WITHIN_S)
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        raise asyncio.CancelledError

    def leave(code):
        codes.append(code)
        left.set()

    monkeypatch.setattr(ShiftTask, "run", hang)
    monkeypatch.setattr(ShiftTask, "abandon", hang_until_cancelled)
    monkeypatch.setattr(worker_process.os, "_exit", leave)
    working = asyncio.create_task(asyncio.to_thread(place.work_on_shift, "shop-1", "http", "shop-1:http:1"))
    began = time.monotonic()
    assert await asyncio.to_thread(left.wait, WITHIN_S)
    took_s = time.monotonic() - began
    workers = (await asked.read_roster()).workers
    let_go.set()
    await asyncio.wait({working}, timeout=WITHIN_S)
    assert codes[0] == ExitCode.BUG
    assert took_s < 10.0
    assert not workers, "others take over at once"
    assert any("This process ends now" in line for line in caplog.messages)


async def test_a_shift_has_the_patience_of_the_settings_with_its_store(place, settings):
    patient = settings.store.model_copy(update={"patience": 600.0})
    place._settings = settings.model_copy(update={"store": patient})
    shift = Shift(id="shop-1:http:1", job="shop-1", lane="http")
    place._begun[shift.id] = shift
    try:
        assert place._watched_shifts()[shift.id].patience_s == 600.0
        place._works[shift.id] = ShiftTask(shift, place._settings, None, None)
        assert place._watched_shifts()[shift.id].patience_s == 600.0
    finally:
        del place._begun[shift.id]
        place._works.pop(shift.id, None)


async def test_seeding_that_took_long_is_not_late_while_its_end_is_reported(place):
    shift = Shift(id="shop-1:seed:1", job="shop-1", lane=SEED_LANE)
    place._begun[shift.id] = shift
    try:
        assert place._watched_shifts()[shift.id].max_s == math.inf
    finally:
        del place._begun[shift.id]
