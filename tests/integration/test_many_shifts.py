"""Shifts of a worker that are ended at any moment, in every way, leave no task behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import subprocess
import sys
from collections.abc import Iterator

import pytest

from gossamer.cluster.shift_task import ShiftTask
from gossamer.config.layers import load_settings
from gossamer.core.shifts import PAGE_LANE, SEED_LANE, EndReason, Shift
from gossamer.drivers.redis.server import RedisClock
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.runtime.cancelling import end_tasks, stack_of
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve
from gossamer.wiring.backends import open_backends

END_S = 60.0
"""How long a shift may take to end on a machine that is busy."""
BUSY_S = 110
"""How long a busy loop lives when nothing ends it."""


@contextlib.contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes that compute."""
    code = f"import time\nends = time.monotonic() + {BUSY_S}\nwhile time.monotonic() < ends: pass"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


async def quiet() -> None:
    """A bell that is not heard."""


async def no_task_but(before: set[asyncio.Task[object]]) -> None:
    """Wait until the other tasks have ended; they have been told to."""
    for _ in range(200):
        left = asyncio.all_tasks() - before
        if not left:
            return
        await asyncio.sleep(0.01)
    told = "\n".join("\n".join([repr(task), *stack_of(task)]) for task in left)
    pytest.fail(f"tasks are left behind:\n{told}")


async def work_in_hand(work: ShiftTask, running: asyncio.Task[object]) -> None:
    """Wait until it has begun."""
    for _ in range(round(END_S / 0.005)):
        if work.current_shift.in_flight or running.done():
            return
        await asyncio.sleep(0.005)


async def end_shift(work: ShiftTask, running: asyncio.Task[object], how: str) -> None:
    """End a shift as its worker, its supervisor or the watch of its deadline does."""
    if how == "stop":
        work.stop(EndReason.YIELD)
    elif how == "abandon":
        await work.abandon()
    elif how == "cancel":
        await end_tasks(running)
    async with asyncio.timeout(END_S):
        await asyncio.wait({running})


async def end_shifts(redis_url: str, folder: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin and end so many shifts of one job, one after the other."""
    monkeypatch.setattr(RedisClock, "MEASURED_FOR_S", 0.0)  # each sleep writes commands, in which it is ended
    moments = random.Random(20261127)
    async with serve(Shop(products=5_000, page_bytes=200, delay_s=0.01)) as site:
        given = {"data": folder, "frontier.url": redis_url, "robots": False, "delay": 0, "per_host": 8}
        given |= {"frontier.lease_ttl": 1, "cluster.drain": 1}
        settings = load_settings(env={}, overrides=given).settings
        backends = await open_backends(settings, create=True)
        try:
            job = await submit_job(backends, *prepare_submission(f"{site.url}/catalog", {}, given))
            for number in range(count + 1):
                lane = PAGE_LANE if number else SEED_LANE
                shift = Shift(id=f"{job.id}:{number}", job=job.id, lane=lane, worker="w")
                before = asyncio.all_tasks()
                work = ShiftTask(shift, settings, backends, quiet)
                running = asyncio.create_task(work.run())
                if number and moments.random() < 0.7:
                    await work_in_hand(work, running)
                if number:
                    await asyncio.sleep(moments.uniform(0.0, 0.05))
                how = moments.choice(["stop", "abandon", "cancel"]) if number else "wait"
                await end_shift(work, running, how)
                await no_task_but(before)
                if not running.cancelled():
                    assert running.result().why is not EndReason.FAILED
            assert (await backends.store.read_totals(job)).pages > count / 2, "there was work to end"
        finally:
            await backends.close()


@pytest.mark.long
async def test_shifts_that_are_ended_leave_no_task_behind(redis_url, tmp_path, monkeypatch):
    await end_shifts(redis_url, str(tmp_path), 20, monkeypatch)


@pytest.mark.thorough
@pytest.mark.timeout(600)
async def test_200_shifts_that_are_ended_under_load_leave_no_task_behind(redis_url, tmp_path, monkeypatch):
    with busy_loops(os.cpu_count() or 1):
        await end_shifts(redis_url, str(tmp_path), 200, monkeypatch)
