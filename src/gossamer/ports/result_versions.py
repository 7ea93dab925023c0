"""Storage of re-extracted results of jobs."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.result_versions import ResultVersion, VersionState


class ResultVersions(Protocol):
    """The re-extracted results of each crawl and their states."""

    async def save_version(self, version: ResultVersion) -> None:
        """Store a result, replacing one of the same job."""
        ...

    async def list_versions(self, base: str) -> list[ResultVersion]:
        """Return the results of a crawl (``Job.id``), newest first."""
        ...

    async def change_state(self, job: str, state: VersionState) -> bool:
        """Store the state of a result; return whether this job (``Job.id``) has one."""
        ...
