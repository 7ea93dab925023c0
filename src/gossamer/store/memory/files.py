"""Which files jobs have saved, in memory: the readable reference, for tests."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from gossamer.core.files import StoredFile
from gossamer.store.files import as_kept, place_of_url


class MemoryFileStore:
    """A ``FileStore`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._files: dict[tuple[str, str], StoredFile] = {}

    async def save_file(self, file: StoredFile) -> None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        place = (file.job, place_of_url(file.url))
        self._files[place] = as_kept(file, self._files.get(place))

    async def see_body(self, sha256: str, at: float) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        place = next((place for place, file in self._files.items() if file.sha256 == sha256), None)
        if place is None:
            return None
        file = self._files[place]
        self._files[place] = replace(file, last_seen=max(file.last_seen, at))
        return self._files[place]

    async def find_file(self, url: str) -> StoredFile | None:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        found = [file for file in self._files.values() if file.url == url]
        return max(found, key=lambda file: (file.last_seen, file.job), default=None)

    async def read_files(
        self, job: str = "", after: tuple[str, str] = ("", ""), limit: int = 1000
    ) -> list[StoredFile]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        begin = (job or after[0], place_of_url(after[1]))
        found = (place for place in sorted(self._files) if place > begin and job in ("", place[0]))
        return [self._files[place] for place in [*found][:limit]]

    async def select_named(self, digests: Collection[str]) -> set[str]:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        return {file.sha256 for file in self._files.values()} & {*digests}

    async def forget_files(self, before: float) -> int:
        """See :class:`~gossamer.ports.file_store.FileStore`."""
        old = [place for place, file in self._files.items() if file.last_seen < before]
        for place in old:
            del self._files[place]
        return len(old)
