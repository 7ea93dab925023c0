"""The archive before the store: a page that is settled is in the archive, whatever is killed then."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.results import VisitResult
from gossamer.ports.archive_writer import ArchiveWriter
from gossamer.ports.committer import Committer


class ArchivingCommitter:
    """A committer that waits for the archive before each commit."""

    def __init__(self, committer: Committer, writer: ArchiveWriter) -> None:
        self._committer = committer
        self._writer = writer

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        await self._writer.flush()
        return await self._committer.commit(results)
