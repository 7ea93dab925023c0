"""The files that crawls have saved."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gossamer.core.files import StoredFile
from gossamer.core.jobs import Job
from gossamer.ports.file_store import FileStore

PART = 1000


async def list_files(files: FileStore, job: Job | None, limit: int) -> list[StoredFile]:
    """The newest of a job or of all jobs, in the order of their times; those of one time by URL."""
    found: list[StoredFile] = []
    async for part in _read_parts(files, job):
        found = sorted([*found, *part], key=lambda file: (file.stored_at, file.url, file.job))[-limit:]
    return found


async def read_files(files: FileStore, job: Job | None) -> AsyncIterator[StoredFile]:
    """All of a job or of all jobs, job by job, however many there are."""
    async for part in _read_parts(files, job):
        for file in part:
            yield file


async def _read_parts(files: FileStore, job: Job | None) -> AsyncIterator[list[StoredFile]]:
    after = ("", "")
    while part := await files.read_files("" if job is None else job.id, after, PART):
        yield part
        after = (part[-1].job, part[-1].url)
