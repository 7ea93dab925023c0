"""Whether somebody has changed what workers share, at the price of one look for many."""

from __future__ import annotations

import asyncio
import os
from hashlib import blake2b

from gossamer.ports.shared_state import SharedState

BUCKETS = 256
_MARK = 4
"""Bytes of the mark of one bucket."""
_NOTHING = bytes(BUCKETS * _MARK)


class SharedStamp:
    """A mark in shared state for each of 256 buckets of names, new whenever somebody has changed one of them.

    Guarantee: when ``look`` returns, ``mark_of`` a name is new if anybody has announced a change of it before
    ``look`` was called. One look serves all who asked before it began; a process that is alone looks at
    nothing.
    """

    def __init__(
        self, shared: SharedState, space: str, key: str, kept_s: float, *, is_alone: bool = False
    ) -> None:
        self._shared = shared
        self._place = (space, key)
        self._kept_s = kept_s
        self._is_alone = is_alone
        self._marks = _NOTHING
        self._coming: asyncio.Task[None] | None = None  # a look that has not begun

    def __repr__(self) -> str:
        return f"<SharedStamp of {' '.join(self._place)}>"

    async def look(self) -> None:
        """Have ``mark_of`` say whether somebody has changed anything. Raises ``StorageError``."""
        if self._is_alone:
            return
        if self._coming is None:
            self._coming = asyncio.create_task(self._look_now())
        await asyncio.shield(self._coming)

    def mark_of(self, name: str) -> bytes:
        """The mark of a name: a new one after each change of it, and after those of few others."""
        start = _start_of(name)
        return self._marks[start : start + _MARK]

    async def announce(self, name: str) -> None:
        """Let the others look at what has this name. Raises ``StorageError``."""
        if self._is_alone:
            return
        start, mark = _start_of(name), os.urandom(_MARK)

        def changed(stored: bytes | None) -> bytes:
            marks = _read_marks(stored)
            return marks[:start] + mark + marks[start + _MARK :]

        await self._shared.update(*self._place, changed, self._kept_s)

    async def _look_now(self) -> None:
        self._coming = None  # who asks from now on may know of something that was announced later
        self._marks = _read_marks(await self._shared.get(*self._place))


def _start_of(name: str) -> int:
    """Where the mark of a name's bucket begins."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] * _MARK


def _read_marks(stored: bytes | None) -> bytes:
    return stored if stored is not None and len(stored) == len(_NOTHING) else _NOTHING
