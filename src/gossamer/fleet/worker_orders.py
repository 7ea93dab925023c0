"""What a person asks of single workers: left in shared state, where each worker looks with its beats."""

from __future__ import annotations

from gossamer.core.shifts import WorkerState
from gossamer.ports.shared_state import SharedState

SPACE = "worker-orders"
KEPT_S = 3600.0
"""A worker that has not looked for so long is gone."""


async def give_order(shared: SharedState, worker: str, state: WorkerState) -> None:
    """Let a worker take shifts from now on, or none; the latest order counts."""
    await shared.put(SPACE, worker, state.value.encode(), KEPT_S)


async def take_order(shared: SharedState, worker: str) -> WorkerState | None:
    """What a worker was told since it last looked; it is asked for once."""
    said = await shared.get(SPACE, worker)
    if not said:
        return None
    await shared.compare_and_swap(SPACE, worker, said, b"", KEPT_S)
    return WorkerState(said.decode())
