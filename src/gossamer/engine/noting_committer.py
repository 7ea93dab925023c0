"""What is known of pages is noted with the results: links to known pages are looked at before each commit."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.results import VisitResult
from gossamer.engine.page_memory import PageMemory
from gossamer.ports.committer import Committer


class NotingCommitter:
    """A committer that has the memory of pages look at each batch before."""

    def __init__(self, committer: Committer, memory: PageMemory) -> None:
        self._committer = committer
        self._memory = memory

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        return await self._committer.commit(await self._memory.note_links(results))
