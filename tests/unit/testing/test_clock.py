"""Clocks of the testing kit."""

import asyncio
import threading
import time

import pytest

from gossamer.runtime.clock import SystemClock
from gossamer.testing import clock as kit
from gossamer.testing.clock import (
    DeadlockError,
    LoopClock,
    ManualClock,
    hold_time,
    run_virtual,
    watch_outside,
    works_outside,
)


async def test_manual_sleepers_wake_in_order_and_only_when_due():
    clock = ManualClock(100.0)
    woken = []

    async def sleeper(seconds):
        await clock.sleep(seconds)
        woken.append((seconds, clock.now()))

    tasks = [asyncio.create_task(sleeper(s)) for s in (3, 1, 2)]
    await asyncio.sleep(0)
    clock.advance(0.5)
    await asyncio.sleep(0)
    assert woken == []
    clock.advance(1.5)
    await asyncio.gather(*(t for t in tasks[1:]))
    assert woken == [(1, 102.0), (2, 102.0)]
    tasks[0].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    clock.advance(10)  # the cancelled sleeper is skipped
    with pytest.raises(ValueError, match="go back"):
        clock.advance(-1)


async def test_manual_sleep_zero_yields():
    clock = ManualClock()
    ran = []
    task = asyncio.create_task(asyncio.sleep(0, ran.append(1)))
    await clock.sleep(0)
    await clock.sleep(-5)
    assert task.done()
    assert clock.now() == kit.EPOCH


def test_a_day_passes_in_no_time_and_in_order():
    seen = []

    async def main(clock):
        async def ticker(name, every):
            while clock.now() < kit.EPOCH + 86_400:
                await clock.sleep(every)
                seen.append((clock.now() - kit.EPOCH, name))

        await asyncio.gather(ticker("a", 600), ticker("b", 7200))
        return clock.now()

    began = time.monotonic()
    assert run_virtual(main) == kit.EPOCH + 86_400
    assert time.monotonic() - began < 2
    assert [at for at, _ in seen] == sorted(at for at, _ in seen)
    assert len(seen) == 144 + 12


def test_timeouts_are_virtual():
    async def main(clock):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3600):
                await asyncio.Event().wait()
        return clock.now() - kit.EPOCH

    assert run_virtual(main) == 3600


def test_time_stands_still_while_an_executor_works():
    async def main(clock):
        release = threading.Event()
        waiting = asyncio.create_task(asyncio.to_thread(release.wait, 10))
        timer = asyncio.create_task(clock.sleep(1000))
        await asyncio.sleep(0)
        threading.Timer(0.05, release.set).start()
        assert await waiting is True
        assert clock.now() == kit.EPOCH
        await timer
        return clock.now() - kit.EPOCH

    assert run_virtual(main) == 1000


class OwnThread:
    """Completes futures from a thread that the loop knows nothing of."""

    async def work(self, value):
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self.timer = threading.Timer(0.05, lambda: loop.call_soon_threadsafe(future.set_result, value))
        self.timer.start()
        return await future


def test_a_component_with_its_own_thread_holds_the_time():
    async def main(clock):
        component = OwnThread()
        works_outside(component, "work")
        async with asyncio.timeout(30):  # would jump and fire if the work were not announced
            assert await component.work(7) == 7
            with hold_time():
                assert await OwnThread().work(8) == 8
        return clock.now()

    assert run_virtual(main) == kit.EPOCH


def test_outstanding_calls_that_a_component_counts_hold_the_time():
    component = OwnThread()
    outstanding = 0

    async def main(clock):
        nonlocal outstanding
        watch_outside(lambda: outstanding)
        outstanding = 1
        async with asyncio.timeout(30):
            assert await component.work(7) == 7
        outstanding = 0
        await clock.sleep(100)
        return clock.now() - kit.EPOCH

    assert run_virtual(main) == 100


def test_unannounced_threads_are_jumped_over():
    component = OwnThread()

    async def main(clock):
        async with asyncio.timeout(30):
            await component.work(7)

    with pytest.raises(TimeoutError):
        run_virtual(main)
    component.timer.cancel()


def test_timers_inside_held_time_go_at_the_real_pace():
    async def main(clock):
        with hold_time():
            began = time.monotonic()
            await clock.sleep(0.03)
        assert time.monotonic() - began >= 0.025
        return clock.now() - kit.EPOCH

    assert run_virtual(main) == pytest.approx(0.03)


def test_deadlock_is_told_with_the_place(monkeypatch):
    monkeypatch.setattr(kit, "PATIENCE_S", 0.01)

    async def main(clock):
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match=r"no timer is set; waiting: .*test_clock\.py"):
        run_virtual(main)


def test_outside_work_that_never_returns_is_told(monkeypatch):
    monkeypatch.setattr(kit, "OUTSIDE_PATIENCE_S", 0.01)

    async def main(clock):
        with hold_time():
            await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="1 calls outside the loop do not return"):
        run_virtual(main)


def test_real_sockets_work_on_the_virtual_loop():
    async def main(clock):
        async def answer(reader, writer):
            await clock.sleep(5)
            writer.write(await reader.readline())
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello\n")
        line = await reader.readline()
        writer.close()
        server.close()
        return line, clock.now() - kit.EPOCH

    assert run_virtual(main) == (b"hello\n", 5)


async def test_loop_clock_and_hold_time_on_an_ordinary_loop():
    clock = LoopClock(start=0.0)
    before = clock.now()
    with hold_time():
        await clock.sleep(0)
    assert clock.now() >= before


async def test_system_clock_ignores_a_clock_that_is_set(monkeypatch):
    clock = SystemClock()
    assert abs(clock.now() - time.time()) < 1
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert 0 <= clock.now() - before < 1
    await clock.sleep(-1)
