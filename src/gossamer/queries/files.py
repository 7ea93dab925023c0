"""The files that crawls have saved."""

from __future__ import annotations

from gossamer.core.files import StoredFile
from gossamer.core.jobs import Job
from gossamer.ports.file_store import FileStore

PART = 1000


async def list_files(files: FileStore, job: Job | None = None) -> list[StoredFile]:
    """Those of a job or of all jobs, in the order of their times; those of one time by URL."""
    found: list[StoredFile] = []
    after = ("", "")
    while part := await files.read_files("" if job is None else job.id, after, PART):
        found += part
        after = (part[-1].job, part[-1].url)
    return sorted(found, key=lambda file: (file.stored_at, file.url, file.job))
