"""Clocks for tests: time moves only when a test says so, or when all tasks wait.

:class:`ManualClock` stands still until it is advanced. :func:`run_virtual` runs a coroutine on a
:class:`VirtualLoop`, whose time jumps to the next timer as soon as nothing is ready: hours of crawling in
milliseconds, always in the same order. A test that waits forever fails with :class:`DeadlockError`.

Work on other threads takes real time, so virtual time stands still meanwhile. The loop detects
``run_in_executor`` and ``asyncio.to_thread`` itself. Announce a component with a thread of its own (one that
completes futures by ``call_soon_threadsafe``) by a count of its outstanding calls, by :func:`hold_time`
around the waiting, or by :func:`works_outside` for a whole method::

    watch_outside(lambda: database.outstanding)
    works_outside(component, "fetch")
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Args = TypeVarTuple("Args")

EPOCH = 1_700_000_000.0
"""The start of test clocks: 2023-11-14 22:13:20 UTC."""

PATIENCE_S = 1.0
"""Real seconds to wait for other threads and sockets before a loop without timers is a deadlock."""

OUTSIDE_PATIENCE_S = 60.0
"""Real seconds that announced work on other threads may take when all tasks wait."""


class DeadlockError(AssertionError):
    """All tasks wait forever: nothing is ready, no timer is set and no other thread is at work."""


class ManualClock:
    """A clock that stands still until :meth:`advance`."""

    def __init__(self, start: float = EPOCH) -> None:
        self._now = start
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def __repr__(self) -> str:
        return f"ManualClock(now={self._now!r}, sleepers={len(self._sleepers)})"

    def now(self) -> float:
        """Return seconds since the epoch, as set."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock is advanced that far; zero or less yields to other tasks once."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), waiter))
        await waiter

    def advance(self, seconds: float) -> None:
        """Advance the clock and wake due sleepers, earliest first; they run when the caller next awaits."""
        if seconds < 0:
            raise ValueError(f"a clock cannot go back ({seconds} s)")
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            waiter = heapq.heappop(self._sleepers)[2]
            if not waiter.done():
                waiter.set_result(None)


class _JumpingSelector(selectors.DefaultSelector):
    """Asks the system which files are ready; waits in real time only for work outside the loop."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return the ready files. Instead of waiting for ``timeout`` seconds, the loop's time jumps."""
        outside = (
            self.loop.outside_calls
        )  # counted before looking: what returns in between is then seen as ready
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if outside:
            ready = super().select(OUTSIDE_PATIENCE_S if timeout is None else timeout)
        elif timeout is None:
            ready = super().select(PATIENCE_S)
        if not ready:
            self._jump_time(timeout)
        return ready

    def _jump_time(self, timeout: float | None) -> None:
        if timeout is None:
            raise DeadlockError(
                f"at virtual second {self.loop.time():.6f} nothing is ready and no timer is set; waiting: "
                + (
                    ", ".join(sorted(_describe_task(task) for task in asyncio.all_tasks(self.loop)))
                    or "no task"
                )
                + (
                    f"; {self.loop.outside_calls} calls outside the loop do not return"
                    if self.loop.outside_calls
                    else ""
                )
            )
        self.loop.virtual_s += timeout


def _describe_task(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    where = f"{frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else "done"
    return f"{task.get_name()} at {where}"


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock starts at 0 and jumps to the next timer when nothing is ready.

    While work outside the loop is under way (``outside > 0``) it does not jump: a timer then fires
    only if it would have fired in real time as well.
    """

    def __init__(self) -> None:
        self.virtual_s = 0.0
        self._held = 0
        self._counters: list[Callable[[], int]] = []
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    @property
    def outside_calls(self) -> int:
        """Calls under way outside the loop."""
        return self._held + sum(counter() for counter in self._counters)

    def add_counter(self, counter: Callable[[], int]) -> None:
        """Count these calls as well; the count must not fall before their results have reached the loop."""
        self._counters.append(counter)

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self.virtual_s

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Args], T], *args: *Args
    ) -> asyncio.Future[T]:
        """As asyncio's; virtual time stands still until the call is done."""
        future = super().run_in_executor(executor, func, *args)
        self._held += 1
        future.add_done_callback(self._came_back)
        return future

    def _came_back(self, _: asyncio.Future[Any]) -> None:
        self._held -= 1

    async def shutdown_default_executor(self, *args: Any) -> None:
        """As asyncio's, which joins the threads from one more thread."""
        with self.hold_time():
            await super().shutdown_default_executor(*args)

    @contextmanager
    def hold_time(self) -> Iterator[None]:
        """Announce work outside the loop: no jumps within this block."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1


class LoopClock:
    """A :class:`~gossamer.ports.clock.Clock` that shows a loop's own time. May be read by any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None, start: float = EPOCH) -> None:
        self._loop = loop or asyncio.get_running_loop()
        self._start = start

    def now(self) -> float:
        """Return seconds since the epoch: the start plus the loop's time."""
        return self._start + self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Wait on the loop's time; zero or less yields to other tasks once."""
        await asyncio.sleep(max(0.0, seconds))


@contextmanager
def hold_time() -> Iterator[None]:
    """Stop jumps of virtual time within this block; without effect on an ordinary loop."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop, VirtualLoop):
        yield
        return
    with loop.hold_time():
        yield


def watch_outside(counter: Callable[[], int]) -> None:
    """Stop jumps of virtual time while ``counter()`` is not zero; without effect on an ordinary loop."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, VirtualLoop):
        loop.add_counter(counter)


def works_outside(component: Any, *methods: str) -> None:
    """Hold the time while one of these ``async`` methods of this object is awaited."""

    def held(method: Callable[..., Awaitable[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
        async def hold(*args: Any, **kwargs: Any) -> T:
            with hold_time():
                return await method(*args, **kwargs)

        return hold

    for name in methods:
        setattr(component, name, held(getattr(component, name)))


def run_virtual(main: Callable[[LoopClock], Coroutine[Any, Any, T]], *, start: float = EPOCH) -> T:
    """Run ``main(clock)`` to its end on a loop of its own in virtual time, and return its result.

    Call it from an ordinary (not ``async``) test. Raises :class:`DeadlockError` when all tasks wait forever.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main(LoopClock(runner.get_loop(), start)))
