"""Actions that any process of the place may carry out to their end later.

Guarantee: an action is entered before any part of it is done, and stays entered until its end is logged. If
several processes find it due at the same time, one carries it out; if that one is killed, another does.
"""

from __future__ import annotations

import logging
from importlib import import_module

import msgspec

from gossamer.core.actions import ActionOrder
from gossamer.core.errors import StorageError
from gossamer.ports.shared_state import SharedState
from gossamer.wiring.backends import Backends

SPACE = "delayed-actions"
CLAIM_S = 60.0
"""Seconds since its latest sign of life for which an action is left to the process that carries it out."""
LOOK_S = 5.0
"""Seconds between two checks for due actions."""
KEPT_S = 366 * 86_400.0
"""Seconds after which an action that no process has carried out is deleted."""
_TIMES = ""
"""The key of when each action is due; other keys are the numbers of actions."""

log = logging.getLogger("gossamer.actions")


_decode_times = msgspec.msgpack.Decoder(dict[int, float]).decode
_read_order = msgspec.json.Decoder(ActionOrder).decode


class ActionTimer:
    """The unfinished actions of a store, in the shared state of its place."""

    def __init__(self, shared: SharedState, space: str) -> None:
        self._shared = shared
        self._space = space

    async def enter_action(self, order: ActionOrder, due_at: float) -> None:
        """Enter an action that has a number, or put its time off."""
        await self._shared.put(self._space, str(order.number), msgspec.json.encode(order), KEPT_S)
        await self._change_time(order.number, due_at)

    async def prolong_claim(self, number: int, now: float) -> None:
        """Leave an action to the caller for longer."""
        await self._change_time(number, now + CLAIM_S)

    async def remove_action(self, number: int) -> None:
        """Remove an action that is at its end."""
        await self._change_time(number, None)
        await self._shared.put(self._space, str(number), b"", 1.0)

    async def claim_due(self, now: float) -> list[ActionOrder]:
        """Claim the due actions for :data:`CLAIM_S` seconds, and return them."""
        if not _find_due(_read_times(await self._shared.get(self._space, _TIMES)), now):
            return []
        due: list[int] = []

        def claim(stored: bytes | None) -> bytes:
            times = _read_times(stored)
            due[:] = _find_due(times, now)
            return msgspec.msgpack.encode(times | dict.fromkeys(due, now + CLAIM_S))

        await self._shared.update(self._space, _TIMES, claim, KEPT_S)
        found = [await self._shared.get(self._space, str(number)) for number in due]
        return [order for order in map(_read_or_leave, due, found) if order is not None]

    async def _change_time(self, number: int, due_at: float | None) -> None:
        def change(stored: bytes | None) -> bytes:
            others = {one: at for one, at in _read_times(stored).items() if one != number}
            return msgspec.msgpack.encode(others if due_at is None else {**others, number: due_at})

        await self._shared.update(self._space, _TIMES, change, KEPT_S)


async def open_timer(backends: Backends) -> ActionTimer:
    """Open the timer of a store's actions. Raises ``StorageError``."""
    return ActionTimer(backends.requests.shared, await backends.name_own_space(SPACE))


def _read_times(stored: bytes | None) -> dict[int, float]:
    return _decode_times(stored) if stored else {}


def _read_or_leave(number: int, stored: bytes | None) -> ActionOrder | None:
    """Return an order; ``None``: it is at its end, or left to a process that can read it."""
    try:
        return _read_order(stored) if stored else None
    except msgspec.MsgspecError as error:
        log.warning("action %d waits, since it cannot be read here: %s", number, error)
        return None


def _find_due(times: dict[int, float], now: float) -> list[int]:
    return sorted(number for number, due_at in times.items() if due_at <= now)


async def finish_due(backends: Backends) -> None:
    """Carry out all due actions; the failure of one does not stop the others.

    Raises ``StorageError`` at the end; then a later check does the rest.
    """
    orders = await (await open_timer(backends)).claim_due(backends.clock.now())
    failed: StorageError | None = None
    for order in orders:
        try:
            await import_module("gossamer.jobs.acting").finish_action(backends, order)  # seldom one is due
        except StorageError as error:
            failed = failed or error
    if failed is not None:
        raise failed


async def keep_finishing(backends: Backends) -> None:
    """Carry out due actions, at once and from then on, until cancelled."""
    trouble = ""
    while True:
        try:
            await finish_due(backends)
            trouble = ""
        except Exception as error:
            if str(error) != trouble:
                is_known = isinstance(error, StorageError)
                log.warning("actions that are due wait: %s", error, exc_info=None if is_known else error)
            trouble = str(error)
        await backends.clock.sleep(LOOK_S)
