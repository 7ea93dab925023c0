"""Work that must not be interrupted, since its outcome would be unknown."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def finish_work(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work. A cancellation of the caller takes effect when the work has ended."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # the caller has been cancelled
        raise
