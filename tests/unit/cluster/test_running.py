"""A supervisor ends when it is told to, whatever its tasks make of that."""

import asyncio

from gossamer.cluster import running


async def test_a_task_that_takes_a_cancellation_for_a_time_out_ends_all_the_same(monkeypatch):
    monkeypatch.setattr(running, "AGAIN_S", 0.01)
    swallowed = 0

    async def deaf():
        nonlocal swallowed
        while swallowed < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed += 1
        await asyncio.Event().wait()

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    await asyncio.wait_for(running.cancel_tasks({task}), 10)
    assert task.cancelled()
    assert swallowed == 2
