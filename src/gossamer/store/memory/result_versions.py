"""Which jobs are results of another one, made again, in memory: the readable reference, for tests."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.result_versions import ResultVersion, VersionState


class MemoryResultVersions:
    """``ResultVersions`` that live and die with their process."""

    def __init__(self) -> None:
        self._versions: dict[str, ResultVersion] = {}

    async def save_version(self, version: ResultVersion) -> None:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        self._versions[version.job] = version

    async def list_versions(self, base: str) -> list[ResultVersion]:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        found = [version for version in self._versions.values() if version.base == base]
        return sorted(found, key=lambda version: (version.created_at, version.job), reverse=True)

    async def change_state(self, job: str, state: VersionState) -> bool:
        """See :class:`~gossamer.ports.result_versions.ResultVersions`."""
        if job not in self._versions:
            return False
        self._versions[job] = replace(self._versions[job], state=state)
        return True
