"""Changes of items, for outputs."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.changes import ItemChanges, OutputPosition


class ChangeFeed(Protocol):
    """Items in the order in which their values were stored, and the position of each output.

    Positions are texts that sort like the changes. Guarantee: a change that is committed later has a later
    position, so an output that continues from its position misses nothing. An item that changed several times
    appears at its last change.
    """

    async def read_changes(self, after: str, limit: int, until: str = "") -> ItemChanges:
        """Return at most ``limit`` changes after one position ("": from the start) up to another ("": to the
        end).
        """
        ...

    async def count_changes(self, after: str, most: int) -> int:
        """Count the changes after a position, up to ``most``.

        An item that changed several times counts once or each time.
        """
        ...

    async def read_positions(self) -> dict[str, OutputPosition]:
        """Return the position of each output by name."""
        ...

    async def save_position(
        self, output: str, position: OutputPosition, former: OutputPosition | None
    ) -> bool:
        """Store the position of an output if its stored position is ``former`` (``None``: a new output).

        Return ``False`` and store nothing if another writer has moved it. Durable on return.
        """
        ...

    async def forget_output(self, output: str) -> bool:
        """Delete the position of an output; return whether it had one."""
        ...

    async def forget_changes(self) -> None:
        """Delete the changes that every output with a position has consumed. Idempotent."""
        ...
