"""Calling code that users wrote: callbacks, pipeline steps, hooks.

Such code may raise anything, ``SystemExit`` and ``CancelledError`` included, and may wait forever; both are
the trouble of one page, or of one hook. Only Ctrl-C and the cancellation of the task that calls it are not
its own.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import sys
import traceback
import types
from collections.abc import Awaitable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer.core.errors import SelectorError, UsageError
from gossamer.core.text import describe_error

_PACKAGE = str(Path(__file__).parents[1])
_REQUEST_IS_SET = "immutable type: 'Request'"
"""The error for setting an attribute of a request."""

GRACE_S = 1.0
"""Seconds for which cancelled code may still wait, to close its resources."""

log = logging.getLogger("gossamer.crawl")


def ends_task(error: BaseException) -> bool:
    """Whether this task or the process is being ended; users' code may also raise the same errors itself."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt)


@contextmanager
def refuse_failed_opening(what: str) -> Iterator[None]:
    """Around code of users that opens something: what that raises is a ``UsageError``, and the crawl ends."""
    try:
        yield
    except (Exception, SystemExit) as error:
        told = str(error) if isinstance(error, UsageError) else describe_error(error)
        raise UsageError(f"{what} cannot be opened: {told}") from error


async def await_value(value: Any, limit_s: float) -> Any:
    """Return the result of users' code, awaited if needed.

    Raises its errors, and ``TimeoutError`` if it waits longer than ``limit_s`` seconds.
    """
    if not inspect.isawaitable(value):
        return value
    timer = asyncio.timeout(limit_s)
    try:
        async with timer:
            return await await_endable(value)
    except TimeoutError:
        if timer.expired():
            raise TimeoutError(f"it took longer than {limit_s:g} s") from None
        raise


async def await_endable(work: Awaitable[Any]) -> Any:
    """Return the result of awaited users' code; it ends at its time limit or with its task.

    Code that catches ``CancelledError`` and waits again (``except:`` in a loop, a ``finally`` that waits)
    would keep its page, and the end of the crawl, forever. After ``GRACE_S`` seconds it is not run again.
    """
    return await _drive_coroutine(_to_coroutine(work))


async def _to_coroutine(work: Awaitable[Any]) -> Any:
    return await work


@types.coroutine
def _drive_coroutine(work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run ``work`` within this task (one stack, for the watchdog); stop running it when it does not end."""
    error: BaseException | None = None
    grace: _GraceTimer | None = None
    try:
        while True:
            try:
                waits_for = work.send(None) if error is None else work.throw(error)
            except StopIteration as end:
                return end.value
            if grace is None and isinstance(error, asyncio.CancelledError):
                grace = _GraceTimer()
            error = None
            try:
                yield waits_for
            except BaseException as thrown:
                if grace is not None and grace.is_over:
                    _abandon_coroutine(work)
                    raise
                error = thrown
    finally:
        if grace is not None:
            grace.end_grace()


def _abandon_coroutine(work: Coroutine[Any, Any, Any]) -> None:
    """Never run this again, nor destroy it, even at the end of the process: that would run it as well."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(work))
    log.warning("the spider's code ignores its cancellation (an `except:` in a loop?); it is abandoned")


class _GraceTimer:
    """The time that the current task has to end after it was cancelled; then it is cancelled once more."""

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None, "only a task is cancelled"
        self._task = task
        self._timer = asyncio.get_running_loop().call_later(GRACE_S, self._cancel_again)
        self.is_over = False

    def _cancel_again(self) -> None:
        self.is_over = True
        self._task.cancel()

    def end_grace(self) -> None:
        """Forget it, and that the task was cancelled for it."""
        self._timer.cancel()
        if self.is_over:
            self._task.uncancel()


def traceback_text(error: BaseException, caller: str) -> str:
    """Return the traceback without the frames of the caller's file (``__file__``)."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in (caller, __file__):
        frames = frames.tb_next
    told = traceback.TracebackException(type(error), error, frames)
    if isinstance(error, SelectorError | UsageError):  # it says all; where it was raised tells nothing more
        told.stack = traceback.StackSummary.from_list(
            [frame for frame in told.stack if not frame.filename.startswith(_PACKAGE)]
        )
    text = "".join(told.format())
    if isinstance(error, AttributeError) and str(error) == _REQUEST_IS_SET:
        return f"{text.rstrip()}: a request cannot be changed; make another one: request.replace(url=...)\n"
    return text


def describe_line(owner: object, error: BaseException) -> str:
    """Return the line of the file with an object's class that an error comes from, if it has one."""
    file = getattr(sys.modules.get(type(owner).__module__), "__file__", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if file and frame.filename == file]
    return f" ({file}, line {lines[-1]})" if lines else ""
