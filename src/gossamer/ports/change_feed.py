"""Items as they change, for outputs that follow them."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.changes import ItemChanges, OutputPosition


class ChangeFeed(Protocol):
    """Items in the order in which their values were stored, and how far each output has come.

    Places are texts that sort as the changes do. Guarantee: nothing that is committed later ever gets a place
    before one that was read, so an output that goes on from its place misses nothing; an item that changed
    several times is read where it changed last.
    """

    async def read_changes(self, after: str, limit: int, until: str = "") -> ItemChanges:
        """Changes behind a place ("": all) and not behind another one ("": any), at most ``limit``."""
        ...

    async def count_changes(self, after: str, most: int) -> int:
        """How many changes there are behind a place; no more than ``most`` are counted.

        Of an item that changed several times, all of them or only the last one.
        """
        ...

    async def read_positions(self) -> dict[str, OutputPosition]:
        """How far each output has come, by its name."""
        ...

    async def save_position(
        self, output: str, position: OutputPosition, former: OutputPosition | None
    ) -> bool:
        """Note how far an output has come, if it had come as far as ``former`` says (``None``: it is new).

        ``False``: it had not, somebody else writes it; nothing is noted. Durable when it returns.
        """
        ...

    async def forget_output(self, output: str) -> bool:
        """Drop the position of an output; whether there was one."""
        ...

    async def forget_changes(self) -> None:
        """Drop the changes that every output with a position has. Safe to repeat."""
        ...
