"""Cancellation that is not lost.

A task may live on after one ``cancel()``: before Python 3.12 ``asyncio.wait_for``, which drivers use, returns
its result where the cancellation arrives in the tick in which the work is done, and other code takes a
cancellation for its own time limit. A caller that cancels once and then waits, waits for ever.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

AGAIN_S = 10.0
"""Seconds between two cancellations of a task: as long as a clean-up may wait for an answer of a server. The
second cancellation breaks the clean-up off, and is needed only where the first one was lost."""
PATIENCE_S = 28.0
"""Seconds after which a task that has not ended is reported, and left alone: longer than one call to Redis,
which is repeated while it may be, and shorter than the time after which a process with such a shift ends."""

log = logging.getLogger("gossamer.crawl")
_ending: set[asyncio.Task[bool]] = set()  # asyncio keeps no task alive by itself


async def end_tasks(*tasks: asyncio.Future[Any] | None, patience_s: float = PATIENCE_S) -> bool:
    """Cancel tasks, again and again, until each of them has ended. Their results and errors are dropped.

    ``False``: a task has not ended within ``patience_s``. Its name and its stack are logged, and it is left
    alone. A caller that is cancelled meanwhile sees that when this is over.
    """
    given = [task for task in tasks if task is not None]
    left = {task for task in given if not task.done()}
    is_under_way = _is_cancellation_under_way()
    is_cancelled = await _cancel_until_done(left, patience_s) if left else False
    for task in given:
        if not task.done():
            log.error("%s", describe_stuck_task(task, patience_s))
        task.add_done_callback(_drop_result)
    if is_cancelled and not is_under_way:
        raise asyncio.CancelledError
    return all(task.done() for task in given)


def _is_cancellation_under_way() -> bool:
    """Whether this is the clean-up of a caller that was cancelled: its error follows by itself.

    The count of the task alone does not tell: it includes a cancellation that is not delivered yet, and one
    that the caller has absorbed.
    """
    caller = asyncio.current_task()
    error = sys.exc_info()[1] if caller is not None and caller.cancelling() else None
    while error is not None and not isinstance(error, asyncio.CancelledError):
        error = error.__context__
    return error is not None


async def _cancel_until_done(tasks: set[asyncio.Future[Any]], patience_s: float) -> bool:
    """Whether the caller was cancelled meanwhile."""
    now = asyncio.get_running_loop().time
    again_at, ends_at, is_cancelled = now(), now() + patience_s, False
    while tasks and now() < ends_at:
        if now() >= again_at:
            again_at = now() + AGAIN_S
            for task in tasks:
                task.cancel()
        try:
            await asyncio.wait(tasks, timeout=max(min(again_at, ends_at) - now(), 0.0))
        except asyncio.CancelledError:  # the wait itself raises nothing of the tasks
            is_cancelled = True
        tasks = {task for task in tasks if not task.done()}
    return is_cancelled


def end_soon(*tasks: asyncio.Future[Any] | None) -> None:
    """Like :func:`end_tasks`, for code that cannot wait: a task of its own ends them."""
    left = [task for task in tasks if task is not None and not task.done()]
    for task in left:
        task.cancel()
    if left:
        ending = asyncio.ensure_future(_end_rest(left))
        _ending.add(ending)
        ending.add_done_callback(_ending.discard)


async def _end_rest(tasks: Iterable[asyncio.Future[Any]]) -> bool:
    left = {task for task in tasks if not task.done()}
    if left:
        await asyncio.wait(left, timeout=AGAIN_S)  # they have been cancelled once
    return await end_tasks(*tasks, patience_s=PATIENCE_S - AGAIN_S)


async def wait_for_first(
    *waits: Coroutine[Any, Any, object], tasks: Iterable[asyncio.Future[Any]] = ()
) -> None:
    """Wait until one of the waits or of the tasks has ended. Then the waits are over; the tasks continue.

    Waits have to end soon by themselves (a sleep, an event): they are cancelled once, and not awaited, since
    a worker waits many times a second.
    """
    own = {asyncio.ensure_future(wait) for wait in waits}
    try:
        await asyncio.wait({*own, *tasks}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in own:
            wait.cancel()
            wait.add_done_callback(_drop_result)


async def heed_cancellation(work: Awaitable[T]) -> T:
    """Return the result of a driver's work; raise ``CancelledError`` if it lost a cancellation."""
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    try:
        result = await work
    except Exception as error:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError from error
        raise
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError
    return result


def describe_stuck_task(task: asyncio.Future[Any], waited_s: float) -> str:
    """Describe a task that does not end, and where it waits."""
    name = task.get_name() if isinstance(task, asyncio.Task) else repr(task)
    where = "\n".join(stack_of(task)) or "  (unknown)"
    return f"the task {name} was cancelled and has not ended in {waited_s:.0f} s; it is left at:\n{where}"


def stack_of(task: asyncio.Future[Any]) -> list[str]:
    """Return the lines at which a task waits, outermost first; asyncio knows only the outermost one."""
    lines: list[str] = []
    waits: Any = task.get_coro() if isinstance(task, asyncio.Task) else None
    while waits is not None:
        kind = next((kind for kind in ("cr", "gi", "ag") if hasattr(waits, f"{kind}_frame")), "")
        frame = getattr(waits, f"{kind}_frame", None)
        if frame is not None:
            code = frame.f_code
            lines.append(f"  {code.co_filename}:{frame.f_lineno} in {code.co_qualname}")
        waits = getattr(waits, f"{kind}_yieldfrom" if kind == "gi" else f"{kind}_await", None)
    return lines


def _drop_result(task: asyncio.Future[Any]) -> None:
    """Retrieve the error: otherwise asyncio logs it as never retrieved."""
    if not task.cancelled():
        task.exception()
