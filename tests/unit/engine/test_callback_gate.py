"""Callbacks that compute for long leave the event loop to others in between."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from gossamer.engine import callback_gate
from gossamer.engine.callback_gate import MOST_S, CallbackGate


@pytest.mark.parametrize(("callback_s", "most"), [(MOST_S * 10, 1), (MOST_S * 0.4, 3), (MOST_S / 1000, 64)])
async def test_others_have_their_turn_between_callbacks(
    callback_s: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bug it would catch: 64 pages that are ready together hold up the leases of all for 64 callbacks."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(callback_gate, "time", SimpleNamespace(monotonic=lambda: clock.now))
    callbacks, rounds, done = CallbackGate(), [], 0

    async def work() -> None:
        nonlocal done
        await callbacks.wait_for_turn()
        clock.now += callback_s
        done += 1

    async def look() -> None:
        while done < 64:
            before = done
            await asyncio.sleep(0)
            rounds.append(done - before)

    await asyncio.gather(look(), *(work() for _ in range(64)))
    assert sum(rounds) == 64
    assert max(rounds) == most


async def test_a_callback_that_waits_holds_up_nobody() -> None:
    callbacks, opened, done = CallbackGate(), asyncio.Event(), []

    async def work(number: int) -> None:
        await callbacks.wait_for_turn()
        if number == 0:
            await opened.wait()
        done.append(number)
        opened.set()

    await asyncio.gather(*map(work, range(3)))
    assert done == [1, 2, 0]
