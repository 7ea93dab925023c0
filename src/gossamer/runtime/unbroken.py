"""Work that is not broken off: of which it is not known, half done, whether it has happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_work(work: Coroutine[Any, Any, T]) -> T:
    """What the work gives. A caller that is cancelled meanwhile, however often, is so when it has ended."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # whoever wanted to know has been cancelled
        raise
