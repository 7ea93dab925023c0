"""Where profiles of the items of jobs are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.jobs import Job


class ProfileStore(Protocol):
    """What the items of each job looked like, to compare later jobs with. One profile for each job."""

    async def save_profile(self, job: Job, at: float, record: bytes) -> None:
        """Keep a job's profile, made at this time; it replaces the former one."""
        ...

    async def read_profiles(self, jobs: Sequence[Job]) -> dict[str, bytes]:
        """The profiles of these jobs, by the jobs' ids; jobs without one are left out."""
        ...
