"""The audit log in memory: the readable reference, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gossamer.core.access import LoggedAction
from gossamer.store.access_rows import with_key


class MemoryActionLog:
    """An ``ActionLog`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._actions: dict[int, LoggedAction] = {}

    async def add_action(self, action: LoggedAction) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        action = replace(with_key(action), id=len(self._actions) + 1)
        if await self.find_key(action.token, action.key) is not None:
            return None
        self._actions[action.id] = action
        return action

    async def find_key(self, token: str, key: str) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        found = (action for action in self._actions.values() if (action.token, action.key) == (token, key))
        return next(found, None)

    async def find_action(self, number: int) -> LoggedAction | None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        return self._actions.get(number)

    async def list_actions(
        self, limit: int, *, job: str = "", before_id: int | None = None
    ) -> list[LoggedAction]:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        newest_first = reversed(self._actions.values())
        found = [action for action in newest_first if job in ("", action.job)]
        return [action for action in found if before_id is None or action.id < before_id][:limit]

    async def note_after(self, number: int, after: Mapping[str, Any]) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        self._actions[number] = replace(self._actions[number], after=dict(after))

    async def mark_undone(self, number: int, at: float) -> bool:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        action = self._actions.get(number)
        if action is None or action.undone_at is not None or (action.undo_until or 0.0) <= at:
            return False
        self._actions[number] = replace(action, undone_at=at)
        return True

    async def clear_undone(self, number: int, at: float) -> None:
        """See :class:`~gossamer.ports.action_log.ActionLog`."""
        action = self._actions.get(number)
        if action is not None and action.undone_at == at:
            self._actions[number] = replace(action, undone_at=None)
