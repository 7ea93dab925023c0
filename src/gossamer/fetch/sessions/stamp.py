"""Whether somebody has changed what workers share, at the price of one look for many."""

from __future__ import annotations

import asyncio
import os

from gossamer.ports.shared_state import SharedState


class SharedStamp:
    """A mark in shared state that is new whenever somebody says so.

    Guarantee: when ``look`` returns, ``turn`` has moved if anybody has announced a change before ``look`` was
    called. One look serves all who asked before it began; a process that is alone looks at nothing.
    """

    def __init__(
        self, shared: SharedState, space: str, key: str, kept_s: float, *, is_alone: bool = False
    ) -> None:
        self._shared = shared
        self._place = (space, key)
        self._kept_s = kept_s
        self._is_alone = is_alone
        self._value: bytes | None = None
        self._coming: asyncio.Task[None] | None = None  # a look that has not begun
        self.turn = 0  # how often it was found changed

    def __repr__(self) -> str:
        return f"<SharedStamp of {' '.join(self._place)}, changed {self.turn} times>"

    async def look(self) -> None:
        """Have ``turn`` say whether somebody has changed anything. Raises ``StorageError``."""
        if self._is_alone:
            return
        if self._coming is None:
            self._coming = asyncio.create_task(self._look_now())
        await asyncio.shield(self._coming)

    async def announce(self) -> None:
        """Let the others look. Raises ``StorageError``."""
        if not self._is_alone:
            await self._shared.put(*self._place, os.urandom(8), self._kept_s)

    async def _look_now(self) -> None:
        self._coming = None  # who asks from now on may know of something that was announced later
        value = await self._shared.get(*self._place)
        if value != self._value:
            self._value = value
            self.turn += 1
