"""An operator's orders to single workers: left in shared state, where each worker looks with its beats."""

from __future__ import annotations

import secrets

from gossamer.core.shifts import WorkerState
from gossamer.ports.shared_state import SharedState

SPACE = "worker-orders"
KEPT_S = 3600.0
"""A worker that has not looked for this long is gone."""


async def give_order(shared: SharedState, worker: str, state: WorkerState) -> None:
    """Let a worker take shifts from now on, or none; the latest order counts."""
    await shared.put(SPACE, worker, f"{state.value} {secrets.token_hex(8)}".encode(), KEPT_S)


class OrderReader:
    """Reads one worker's orders; each order once, however often it is read."""

    def __init__(self) -> None:
        self._known = b""

    async def read_order(self, shared: SharedState, worker: str) -> WorkerState | None:
        """Return the order since the last call; ``None`` without one. Raises ``StorageError``."""
        said = await shared.get(SPACE, worker)
        if not said or said == self._known:
            return None
        self._known = said
        return WorkerState(said.decode().partition(" ")[0])
