"""Limits the time of callbacks in one round of the event loop, so that leases are extended in time."""

from __future__ import annotations

import asyncio
import time

MOST_S = 0.1
"""Seconds of callbacks in one round of the event loop; the callback that exceeds them is the last."""


class CallbackGate:
    """Whose turn it is to run a callback, in one event loop.

    Pages that are ready together are all worked on in one round of the loop, and nothing else happens in it:
    with 64 of them and a second for each, no lease is extended for a minute, and others take them over.
    """

    def __init__(self) -> None:
        self._began_at: float | None = None  # of this round; None: no callback has run in it

    async def wait_for_turn(self) -> None:
        """Come back when a callback may run: in this round of the loop, or in one after it."""
        while self._is_over():  # noqa: ASYNC110 - there is nothing to wait for but the next round
            await asyncio.sleep(0)
        if self._began_at is None:
            self._began_at = time.monotonic()
            asyncio.get_running_loop().call_soon(self._end_round)

    def _is_over(self) -> bool:
        return self._began_at is not None and time.monotonic() - self._began_at > MOST_S

    def _end_round(self) -> None:
        self._began_at = None
