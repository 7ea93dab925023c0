"""Rows that are read ahead in a thread of their own, so that a pipe that stalls blocks nothing else.

Rows are handed on when they fill a chunk, or after a moment. The thread is a daemon and owns its input: a
command that is stopped does not wait for a line that may never come.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Generic, TypeVar

T = TypeVar("T")
MOMENT_S = 0.5
"""Seconds that rows wait for others."""


class RowReader(Generic[T]):
    """Reads the rows of ``read_rows``, at most two chunks of ``size`` rows ahead."""

    def __init__(self, read_rows: Callable[[], Iterator[T]], size: int) -> None:
        self._read_rows = read_rows
        self._size = size
        self._waiting: list[T] = []
        self._room = threading.Condition()  # guards all of these
        self._is_over = False
        self._is_abandoned = False
        self._error: Exception | None = None

    def __repr__(self) -> str:
        return f"<RowReader {len(self._waiting)} waiting{', over' if self._is_over else ''}>"

    async def chunks(self) -> AsyncIterator[list[T]]:
        """Yield the rows in chunks. Raises the errors of reading, after the rows that came before."""
        loop, ready = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop is closed: the reader has stopped
                loop.call_soon_threadsafe(ready.set)

        threading.Thread(target=self._read, args=(tell,), name="gossamer-rows", daemon=True).start()
        try:
            is_over = False
            while not is_over:
                with suppress(TimeoutError):
                    async with asyncio.timeout(MOMENT_S):
                        await ready.wait()
                ready.clear()
                chunk, is_over = self._take()
                if chunk:
                    yield chunk
            if self._error is not None:
                raise self._error
        finally:
            with self._room:
                self._is_abandoned = True
                self._room.notify()

    def _take(self) -> tuple[list[T], bool]:
        """Return the waiting rows, and whether they are the last."""
        with self._room:
            chunk, self._waiting = self._waiting, []
            self._room.notify()
            return chunk, self._is_over

    def _read(self, tell: Callable[[], None]) -> None:
        """Read the rows, in the thread."""
        error: Exception | None = None
        try:
            for row in self._read_rows():
                if not self._hand_on(row, tell):
                    break
        except Exception as raised:  # noqa: BLE001 - the consumer of the rows raises it
            error = raised
        with self._room:
            self._is_over, self._error = True, error
        tell()

    def _hand_on(self, row: T, tell: Callable[[], None]) -> bool:
        """Add a row for the consumer; return ``False`` once there is none."""
        with self._room:
            self._waiting.append(row)
            if len(self._waiting) >= self._size:
                tell()
            while len(self._waiting) >= 2 * self._size and not self._is_abandoned:
                self._room.wait()
            return not self._is_abandoned
