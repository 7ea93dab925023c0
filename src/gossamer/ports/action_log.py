"""Where it is kept who did what to which crawl."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from gossamer.core.access import LoggedAction


class ActionLog(Protocol):
    """The audit log: what was done to crawls, by whom, and whether it was undone.

    Guarantee: ids ascend and are never used again; of two actions with the same token and key only the first
    is there, and of those that undo one action at the same time one succeeds. Nothing is ever deleted.
    """

    async def add_action(self, action: LoggedAction) -> LoggedAction | None:
        """Note an action; it is returned with its id and key. ``None``: its token has used its key before."""
        ...

    async def find_key(self, token: str, key: str) -> LoggedAction | None:
        """The action that a token was used for with this key."""
        ...

    async def find_action(self, number: int) -> LoggedAction | None:
        """An action by its id."""
        ...

    async def list_actions(
        self, limit: int, *, job: str = "", before_id: int | None = None
    ) -> list[LoggedAction]:
        """The latest actions, newest first: on one job, older than an id, as asked for."""
        ...

    async def note_after(self, number: int, after: Mapping[str, Any]) -> None:
        """What came of an action, in the place of what was noted before."""
        ...

    async def mark_undone(self, number: int, at: float) -> bool:
        """``False``: there is no such action, no way back any more, or somebody has undone it already."""
        ...

    async def clear_undone(self, number: int, at: float) -> None:
        """Take back that it was undone at this time: that has failed, and may be tried again."""
        ...
