"""A destination outside of the store that receives items as they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.changes import ChangedItem


class ItemOutput(Protocol):
    """A file, a bucket or a database that takes items in batches.

    Guarantee: writing a batch again by its name, after a kill or an error, has the same result as writing it
    once; other data in the destination stays. An unreachable destination raises
    :class:`~gossamer.core.errors.StorageError`, and the batch waits.
    """

    async def read_state(self, former: bytes, items: Sequence[ChangedItem]) -> bytes:
        """Return the state of the destination needed to write a batch; it is saved before the batch is
        written.

        ``former`` is the result of the batch before, empty for the first one. If the batch is written again,
        items that have changed since may be missing.
        """
        ...

    async def write_batch(self, name: str, items: Sequence[ChangedItem], state: bytes) -> bytes:
        """Write a batch to a destination in the given state; return its new state.

        Each batch has a unique name, and names ascend. An item that the destination refuses is logged and
        skipped.
        """
        ...

    async def close(self) -> None:
        """Close files and connections. Idempotent."""
        ...
