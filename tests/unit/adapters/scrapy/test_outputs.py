"""What callbacks give on its way to the crawl."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from gossamer.adapters.scrapy.callbacks import TURN_S, outputs_of


async def test_others_have_their_turn_while_a_middleware_gathers_what_a_long_callback_gives() -> None:
    turns = 0

    async def work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def yield_for_long() -> Iterator[int]:
        until = time.monotonic() + 4 * TURN_S
        while time.monotonic() < until:
            yield 1

    working = asyncio.create_task(work())
    assert [output async for output in outputs_of(yield_for_long())]
    working.cancel()
    assert turns > 1
