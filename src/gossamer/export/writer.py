"""What every format has: a writer, and a word for what the format cannot hold."""

from __future__ import annotations

from typing import Any, Protocol

from gossamer.core.errors import GossamerError


class UnfitItemError(GossamerError):
    """A format cannot hold an item; the message names the field and why. Nothing of the item was written."""


class ItemWriter(Protocol):
    """One format being written. What is to be kept of an old file was written by the constructor."""

    def write_item(self, data: dict[str, Any]) -> None:
        """Add one item. Raises :class:`UnfitItemError` for one that the format cannot hold."""
        ...

    def write_end(self) -> None:
        """Write what comes after the last item."""
        ...

    def close(self) -> None:
        """Let go of what the writer holds; called in any case."""
        ...
