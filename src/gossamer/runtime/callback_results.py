"""Normalises the results of users' callbacks."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Iterable, MappingView
from typing import Any


async def results_of(returned: Any) -> AsyncGenerator[Any, None]:
    """Yield all results of a callback: of generators, lists, single values, and awaitables of them."""
    if inspect.isawaitable(returned):
        returned = await returned
    if hasattr(returned, "__aiter__"):
        async for result in returned:
            yield result
        return
    for result in as_results(returned):
        yield result


def as_results(returned: Any) -> Iterable[Any]:
    """Return the results of a callback that has returned: those of a generator or a collection, or one."""
    if hasattr(returned, "__next__") or isinstance(returned, list | tuple | set | MappingView):
        return returned  # type: ignore[no-any-return]
    return (returned,)
