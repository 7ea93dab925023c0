"""Profiles of items in memory: the readable reference, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.jobs import Job


class MemoryProfileStore:
    """A ``ProfileStore`` that lives and dies with its process."""

    def __init__(self) -> None:
        self._records: dict[str, bytes] = {}

    async def save_profile(self, job: Job, at: float, record: bytes) -> None:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        self._records[job.id] = record

    async def read_profiles(self, jobs: Sequence[Job]) -> dict[str, bytes]:
        """See :class:`~gossamer.ports.profile_store.ProfileStore`."""
        return {job.id: self._records[job.id] for job in jobs if job.id in self._records}
