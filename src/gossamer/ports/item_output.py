"""A place outside of the store to which items are written as they change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.changes import ChangedItem


class ItemOutput(Protocol):
    """A file, a bucket or a database that takes items in batches.

    Guarantee: a batch that is written again by its name, after a kill or an error, leaves what writing it
    once does; what others have written there stays. What cannot be reached is a
    :class:`~gossamer.core.errors.StorageError`: the batch waits.
    """

    async def read_state(self, former: bytes, items: Sequence[ChangedItem]) -> bytes:
        """What has to be known of the place before a batch of these is written; it is saved before that.

        ``former`` is what the batch before gave, empty for the first one. When the batch is written again,
        some of the items may be missing: those that have changed since.
        """
        ...

    async def write_batch(self, name: str, items: Sequence[ChangedItem], state: bytes) -> bytes:
        """Write a batch, of a place that was as ``state`` says; what is known then.

        The name tells batches apart, and those that come later have greater ones. An item that the place
        refuses is left out and logged; it holds up no other.
        """
        ...

    async def close(self) -> None:
        """Let go of files and connections. Idempotent."""
        ...
