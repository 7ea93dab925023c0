"""Calling code that users wrote: callbacks, pipeline steps, hooks.

Such code may raise anything, ``SystemExit`` and ``CancelledError`` included, and may wait for ever; both are
the trouble of one page, or of one hook. Only Ctrl-C and the cancellation of the task that calls it are not
its own.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
from pathlib import Path
from typing import Any

from gossamer.words.errors import SelectorError

_PACKAGE = str(Path(__file__).parent)


def ends_task(error: BaseException) -> bool:
    """Whether somebody ends this task or the process; users' code may raise the same for no such reason."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt)


async def settle(value: Any, limit_s: float) -> Any:
    """What users' code returned, awaited where it has to be.

    Raises what it raises, and ``TimeoutError`` when it waits longer than ``limit_s`` seconds.
    """
    if not inspect.isawaitable(value):
        return value
    timer = asyncio.timeout(limit_s)
    try:
        async with timer:
            return await value
    except TimeoutError:
        if timer.expired():
            raise TimeoutError(f"it took longer than {limit_s:g} s") from None
        raise


def traceback_text(error: BaseException, caller: str) -> str:
    """The traceback without the frames of the file that called users' code (``__file__`` of the caller)."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in (caller, __file__):
        frames = frames.tb_next
    told = traceback.TracebackException(type(error), error, frames)
    if isinstance(error, SelectorError):  # it says all by itself; where it was raised tells nothing more
        told.stack = traceback.StackSummary.from_list(
            [frame for frame in told.stack if not frame.filename.startswith(_PACKAGE)]
        )
    return "".join(told.format())
