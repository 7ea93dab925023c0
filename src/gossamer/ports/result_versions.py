"""Where it is noted which jobs are results of another one, made again."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.result_versions import ResultVersion, VersionState


class ResultVersions(Protocol):
    """The results of each crawl that were made again, and what became of them."""

    async def save_version(self, version: ResultVersion) -> None:
        """Note a result; one of the same job is replaced."""
        ...

    async def list_versions(self, base: str) -> list[ResultVersion]:
        """Those of a crawl (``Job.id``), the newest first."""
        ...

    async def change_state(self, job: str, state: VersionState) -> bool:
        """Note what became of a result; whether there is one of this job (``Job.id``)."""
        ...
