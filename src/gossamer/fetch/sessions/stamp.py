"""Detect whether other workers have changed shared values, by one look for many."""

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
    """A mark in shared state for each of 256 buckets of names, renewed with every change in its bucket.

    Guarantee: when ``look`` returns, ``mark_of`` a name is new if a change of it was announced before
    ``look`` was called. One look serves all earlier calls; a single process does not look.
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
        """Bring ``mark_of`` up to date. Raises ``StorageError``."""
        if self._is_alone:
            return
        if self._coming is None:
            self._coming = asyncio.create_task(self._look_now())
        await asyncio.shield(self._coming)

    def mark_of(self, name: str) -> bytes:
        """Return the mark of a name: new after each change of it, and of few others."""
        start = _start_of(name)
        return self._marks[start : start + _MARK]

    async def announce(self, name: str) -> None:
        """Announce a change of this name to other workers. Raises ``StorageError``."""
        if self._is_alone:
            return
        start, mark = _start_of(name), os.urandom(_MARK)

        def changed(stored: bytes | None) -> bytes:
            marks = _read_marks(stored)
            return marks[:start] + mark + marks[start + _MARK :]

        await self._shared.update(*self._place, changed, self._kept_s)

    async def _look_now(self) -> None:
        self._coming = None  # later callers may know of a later announcement
        self._marks = _read_marks(await self._shared.get(*self._place))


def _start_of(name: str) -> int:
    """Return the start of the mark of a name's bucket."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=1).digest()[0] * _MARK


def _read_marks(stored: bytes | None) -> bytes:
    return stored if stored is not None and len(stored) == len(_NOTHING) else _NOTHING
