"""Tasks end though a cancellation of them is lost, and a driver cannot lose ours."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import pytest

from gossamer.drivers.redis import clients, server
from gossamer.policy.shift_deadlines import KILL_S
from gossamer.runtime import cancelling
from gossamer.runtime.cancelling import end_soon, end_tasks, heed_cancellation, wait_for_first
from gossamer.runtime.unbroken import finish_work
from gossamer.testing.clock import run_virtual


def virtual(body):
    """A test on virtual time."""

    def test():
        run_virtual(lambda _: body())

    return test


@pytest.fixture
def soon(monkeypatch):
    """The second cancellation comes at once."""
    monkeypatch.setattr(cancelling, "AGAIN_S", 0.01)


async def lose_cancellations(count):
    """A task that loses so many cancellations, as drivers may."""
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            count -= 1
            if count < 0:
                raise


async def begun(work, name=None):
    task = asyncio.create_task(work, name=name)
    await asyncio.sleep(0)
    return task


async def test_a_task_that_loses_cancellations_ends(soon):
    tasks = [await begun(lose_cancellations(count)) for count in (0, 1, 3)]
    assert await end_tasks(*tasks, None)
    assert all(task.cancelled() for task in tasks)


async def test_a_task_that_cleans_up_is_cancelled_once():
    seen = []

    async def work():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            await asyncio.sleep(0.05)
            seen.append("clean")
            raise

    assert await end_tasks(await begun(work()))
    assert seen == ["cancelled", "clean"]


@virtual
async def test_a_clean_up_that_waits_for_a_slow_server_is_not_broken_off():
    seen = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(9)
            seen.append("clean")

    assert await end_tasks(await begun(work()))
    end_soon(await begun(work()))
    await asyncio.sleep(10)
    assert seen == ["clean", "clean"]


@virtual
async def test_one_call_to_redis_in_hand_ends_before_its_task_is_given_up():
    longest_s = clients.ANSWER_S + server.PATIENCE_S
    task = await begun(finish_work(asyncio.sleep(longest_s)))
    assert await end_tasks(task)
    task, began = await begun(lose_cancellations(10_000)), asyncio.get_running_loop().time()
    assert not await end_tasks(task)
    assert asyncio.get_running_loop().time() - began < KILL_S, "the process lives, and can say so"
    await kill(task)


async def test_a_task_that_never_ends_is_named_with_its_place_and_left(soon, caplog):
    task = await begun(lose_cancellations(10_000), name="lease renewal")
    with caplog.at_level(logging.ERROR, "gossamer"):
        assert not await end_tasks(task, patience_s=0.05)
    (line,) = caplog.messages
    assert "the task lease renewal was cancelled and has not ended" in line
    assert f"{__file__}:" in line
    assert "in lose_cancellations" in line
    assert not task.done()
    await kill(task)


async def kill(task):
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)


async def test_a_caller_that_is_cancelled_waits_for_the_end_and_is_cancelled_then(soon):
    task = await begun(lose_cancellations(2))

    async def call():
        await end_tasks(task)

    caller = await begun(call())
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert task.done()


async def test_a_clean_up_continues_after_a_repeated_cancellation(soon):
    inner, seen = await begun(lose_cancellations(3)), []

    async def outer():
        try:
            await asyncio.sleep(60)
        finally:
            await end_tasks(inner)
            seen.append("the rest of the clean-up")

    assert await end_tasks(await begun(outer()))
    assert inner.done()
    assert seen


async def test_a_cancellation_that_is_not_delivered_yet_is_not_lost():
    inner, seen = await begun(asyncio.sleep(60)), []

    async def call():
        asyncio.current_task().cancel()
        await end_tasks(inner)
        seen.append("after it")

    (done,), _ = await asyncio.wait({asyncio.create_task(call())})
    assert done.cancelled()
    assert inner.done()
    assert not seen


async def test_a_caller_that_has_absorbed_a_cancellation_can_be_cancelled_again(soon):
    inner, seen = await begun(lose_cancellations(2)), []

    async def call():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await end_tasks(inner)
        seen.append("after it")

    caller = await begun(call())
    for _ in range(2):
        caller.cancel()
        await asyncio.sleep(0)
    await asyncio.wait({caller})
    assert caller.cancelled()
    assert inner.done()
    assert not seen


async def test_a_clean_up_with_an_error_of_its_own_continues_after_a_repeated_cancellation(soon):
    inner, seen = await begun(lose_cancellations(3)), []

    async def outer():
        try:
            try:
                await asyncio.sleep(60)
            finally:
                raise OSError("the clean-up fails")
        finally:
            await end_tasks(inner)
            seen.append("the rest of the clean-up")

    assert await end_tasks(await begun(outer()))
    assert inner.done()
    assert seen


async def test_errors_of_ended_tasks_are_dropped(caplog):
    async def fail():
        raise ValueError("nobody asks")

    task = await begun(fail())
    assert await end_tasks(task)
    assert isinstance(task.exception(), ValueError)


async def test_code_that_cannot_wait_ends_a_task_too(soon):
    task = await begun(lose_cancellations(2))
    end_soon(task, None)
    async with asyncio.timeout(5):
        await asyncio.wait({task})
    assert task.cancelled()


async def test_the_first_wait_that_is_over_ends_the_others():
    event = asyncio.Event()
    other = await begun(asyncio.sleep(60))
    asyncio.get_running_loop().call_soon(event.set)
    before = asyncio.all_tasks()
    await wait_for_first(event.wait(), asyncio.sleep(60), tasks={other})
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert not other.done()
    await end_tasks(other)


@pytest.mark.parametrize("error", [None, OSError("its own time-out")])
async def test_a_cancellation_that_a_driver_loses_counts(error):
    async def call():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        if error is not None:
            raise error
        return b"PONG"

    task = await begun(heed_cancellation(call()))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_limit_that_a_driver_loses_is_still_a_time_out():
    async def call():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await heed_cancellation(call())


async def test_a_call_in_a_clean_up_is_not_cancelled_again():
    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            answers.append(await heed_cancellation(asyncio.sleep(0, "released")))

    answers = []
    assert await end_tasks(await begun(work()))
    assert answers == ["released"]


async def test_work_that_must_be_finished_outlasts_every_cancellation(soon):
    done = []

    async def write():
        await asyncio.sleep(0.1)
        done.append("written")

    assert await end_tasks(await begun(finish_work(write())))
    assert done == ["written"]
