"""To run a callback of a spider on one response, whatever kind of function it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from gossamer.runtime.callback_results import results_of
from gossamer.spiders.response import Response


def run_callback(callback: Callable[..., Any], response: Response, **arguments: Any) -> list[Any]:
    """All items and requests that a callback gives for a response: a generator, a coroutine or either. ::

        items = run_callback(Shop().parse_product, Response.from_html(url, html))

    The callback gets the ``cb_kwargs`` of the response's request, and ``arguments``. It may be called where
    an event loop runs, as in an asynchronous test: the callback then has a loop of its own.
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
