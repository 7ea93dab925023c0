"""A committer that tells how long commits take."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.results import VisitResult
from gossamer.ports.committer import Committer
from gossamer.ports.work_watcher import WorkWatcher


class TimedCommitter:
    """Port ``Committer``: wraps another one and reports its commits to a ``WorkWatcher``."""

    def __init__(self, committer: Committer, watcher: WorkWatcher) -> None:
        self._committer = committer
        self._watcher = watcher

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        number = self._watcher.begin_commit()
        try:
            return await self._committer.commit(results)
        finally:
            self._watcher.end_commit(number)
