"""Storage of the versions that replays make."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.result_versions import ResultVersion, VersionState


class ResultVersions(Protocol):
    """The versions of each crawl's results, and their states."""

    async def save_version(self, version: ResultVersion) -> None:
        """Store a version, replacing one of the same job."""
        ...

    async def list_versions(self, base: str) -> list[ResultVersion]:
        """Return the versions of a crawl (``Job.id``), newest first."""
        ...

    async def change_state(self, job: str, state: VersionState) -> bool:
        """Store the state of a version; return whether this job (``Job.id``) is one."""
        ...
