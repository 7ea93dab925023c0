"""The parts that every format shares: a writer, and an error for items that the format cannot hold."""

from __future__ import annotations

from typing import Any, Protocol

from gossamer.core.errors import GossamerError


class UnfitItemError(GossamerError):
    """A format cannot hold an item; the message names the field and why. Nothing of the item was written."""


class ItemWriter(Protocol):
    """A format being written. Its constructor writes the kept content of an old file."""

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item. Raises :class:`UnfitItemError` for one that the format cannot hold."""
        ...

    def write_end(self) -> None:
        """Write the end of the file, after the last item."""
        ...

    def close(self) -> None:
        """Release the writer's resources; called in any case."""
        ...
