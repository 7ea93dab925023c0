"""The end of a job that one of its callbacks asks for: in shared state, so that its supervisor hears it."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.results import VisitResult
from gossamer.ports.committer import Committer
from gossamer.ports.shared_state import SharedState

SPACE = "stops"
KEPT_S = 30 * 86_400.0
"""For so long a stop waits for somebody who ends the job, in seconds."""


async def read_stop(shared: SharedState, job: str) -> str:
    """Why a callback ends a job (its tag); empty: none does. Raises ``StorageError``."""
    return (await shared.get(SPACE, job) or b"").decode("utf-8", "replace")


async def note_stop(shared: SharedState, job: str, why: str) -> None:
    """Somebody ends the job; the first reason counts. Raises ``StorageError``."""
    await shared.update(SPACE, job, lambda said: said or why.encode(), KEPT_S)


async def forget_stop(shared: SharedState, job: str) -> None:
    """The job has ended for it: its next run goes on. Raises ``StorageError``."""
    await shared.put(SPACE, job, b"", 1.0)


class StopCommitter:
    """Port ``Committer``: another one, which says first that a result ends the job.

    So a stop is not lost with a worker that is killed; the page is then fetched again.
    """

    def __init__(self, committer: Committer, shared: SharedState, job: str) -> None:
        self._committer = committer
        self._shared = shared
        self._job = job

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        stop = next((result.stop for result in results if result.stop), "")
        if stop:
            await note_stop(self._shared, self._job, stop)
        return await self._committer.commit(results)
