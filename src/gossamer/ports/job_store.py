"""Storage of jobs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.steering import SettingChange


class JobStore(Protocol):
    """The jobs of a store.

    Guarantee: ids are unique, safe as file names, and never reused; keys are random and secret enough to tell
    the jobs of different stores apart.
    """

    async def read_identity(self) -> str:
        """Return the identity of this store: 16 random hexadecimal digits, created once."""
        ...

    async def create(
        self, name: str, target: str, plan: bytes = b"", key: bytes = b"", *, alone: bool = False
    ) -> Job:
        """Create a running job with a new id; its plan never changes.

        Calls with the same ``key`` (16 random bytes) all return the job of the first call. With ``alone`` no
        job is created while a fleet job of this name runs or is paused: that job, which has another key, is
        returned instead; of several concurrent calls one creates the job.
        """
        ...

    async def find_by_key(self, key: bytes) -> Job | None:
        """Return the job that was created with a key."""
        ...

    async def get(self, id_or_name: str) -> Job | None:
        """Return a job by its id, or the latest of that name."""
        ...

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """Return all jobs, or only those that run or are paused; newest first."""
        ...

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """Store ``state``, ``finished_at``, ``end_reason`` and ``end_error``; return whether they were
        stored.

        With ``expected``, store only if state and ``finished_at`` are still those: another process may have
        changed the job since it was read.
        """
        ...

    async def update_plan(self, job: Job) -> None:
        """Store the current plan of a job and nothing else; an unknown job is ignored."""
        ...

    async def read_changes(self, job: Job) -> tuple[SettingChange, ...]:
        """Return the manually changed settings of a job by name."""
        ...

    async def save_changes(
        self, job: Job, changes: Sequence[SettingChange], put_back: Collection[str] = ()
    ) -> None:
        """Store changed settings, replacing earlier changes; delete those that were reset."""
        ...

    async def read_launch(self, job: Job) -> bytes:
        """Return how a single-machine crawl was last started, or an empty value if unknown."""
        ...

    async def save_launch(self, job: Job, launch: bytes) -> None:
        """Store how the crawl was last started."""
        ...
