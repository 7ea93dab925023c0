"""Storage of the profiles of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.jobs import Job


class ProfileStore(Protocol):
    """Profiles of the items of jobs, one for each job, for comparison with later jobs."""

    async def save_profile(self, job: Job, at: float, record: bytes) -> None:
        """Store a job's profile with its time, replacing the former one."""
        ...

    async def read_profiles(self, jobs: Sequence[Job]) -> dict[str, bytes]:
        """Return the profiles of these jobs by id; jobs without one are left out."""
        ...
