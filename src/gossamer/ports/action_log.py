"""The audit log of actions on crawls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from gossamer.core.access import LoggedAction


class ActionLog(Protocol):
    """The audit log: each action on a crawl, its author, and whether it was undone.

    Guarantee: ids ascend and are never reused. If two actions have the same token and key, only the first is
    stored; if several undos of one action compete, one succeeds. Entries are never deleted.
    """

    async def add_action(self, action: LoggedAction) -> LoggedAction | None:
        """Store an action and return it with its id and key, or ``None`` if its token has already used the
        key.
        """
        ...

    async def find_key(self, token: str, key: str) -> LoggedAction | None:
        """Return the action that a token was used for with this key."""
        ...

    async def find_action(self, number: int) -> LoggedAction | None:
        """Return an action by its id."""
        ...

    async def list_actions(
        self, limit: int, *, job: str = "", before_id: int | None = None
    ) -> list[LoggedAction]:
        """Return the latest actions, newest first, optionally only of one job or older than an id."""
        ...

    async def note_after(self, number: int, after: Mapping[str, Any]) -> None:
        """Store the outcome of an action, replacing an earlier one."""
        ...

    async def mark_undone(self, number: int, at: float) -> bool:
        """Mark an action as undone. Return ``False`` if it does not exist, cannot be undone or is already
        undone.
        """
        ...

    async def clear_undone(self, number: int, at: float) -> None:
        """Remove the mark of an undo that was set at this time and then failed; the undo may be retried."""
        ...
