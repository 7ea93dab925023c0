"""Waiting for code that waits for Deferreds: on asyncio, as if they were its own futures."""

from __future__ import annotations

import asyncio
import types
from collections.abc import AsyncIterator, Awaitable, Generator
from typing import Any

from twisted.internet.defer import Deferred


async def await_any(work: Any) -> Any:
    """Return the result of a Deferred, or of an awaitable that may await Deferreds."""
    return await _drive_awaitable(work)


async def iterate_any(given: Any) -> AsyncIterator[Any]:
    """Yield from an asynchronous iterator within which Deferreds may be awaited."""
    steps = aiter(given)
    try:
        while True:
            try:
                output = await _drive_awaitable(anext(steps))
            except StopAsyncIteration:
                return
            yield output
    finally:
        if hasattr(steps, "aclose"):
            await steps.aclose()


@types.coroutine
def _drive_awaitable(work: Awaitable[Any]) -> Generator[Any, Any, Any]:
    """Run an awaitable in this task; it yields asyncio futures or Deferreds."""
    steps: Any = work.__await__()
    error: BaseException | None = None
    while True:
        try:
            waits_for = steps.send(None) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value
        error = None
        try:
            if isinstance(waits_for, Deferred):
                yield from _follow_deferred(waits_for)
            else:
                yield waits_for
        except BaseException as raised:  # noqa: BLE001 - it is handed on to the code that waits
            error = raised


def _follow_deferred(deferred: Deferred[Any]) -> asyncio.Future[None]:
    """Return a future that is done when a Deferred has any result; the result stays in the Deferred."""
    fired: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(result: Any) -> Any:
        if not fired.done():
            fired.set_result(None)
        return result

    deferred.addBoth(tell)
    return fired
