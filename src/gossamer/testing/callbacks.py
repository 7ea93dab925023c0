"""Run a spider's callback of any kind of function on one response."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gossamer.runtime.callback_results import results_of
from gossamer.spiders.response import Response


def run_callback(callback: Callable[..., Any], response: Response, **arguments: Any) -> list[Any]:
    """Run a callback and return its items and requests as a list, also in an asynchronous test.

    Args:
        callback: a method of a spider: a function, a generator, a coroutine function or an async generator.
        response: the response, see ``Response.from_html()``.
        arguments: keyword arguments, in addition to the ``cb_kwargs`` of the request.
    """

    async def collect() -> list[Any]:
        returned = callback(response, **{**response.cb_kwargs, **arguments})
        return [result async for result in results_of(returned) if result is not None]

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(collect())
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, collect()).result()
