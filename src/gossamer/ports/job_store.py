"""Where jobs are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from gossamer.core.jobs import Job
from gossamer.core.steering import SettingChange


class JobStore(Protocol):
    """The jobs of a store.

    Guarantee: ids are unique, safe as file names, and never used again; keys are random and secret enough to
    tell the jobs of different stores apart.
    """

    async def read_identity(self) -> str:
        """What tells this store from every other one: 16 random hexadecimal digits, made up once."""
        ...

    async def create(
        self, name: str, target: str, plan: bytes = b"", key: bytes = b"", *, alone: bool = False
    ) -> Job:
        """A new job with an id of its own, running; its plan never changes.

        With a ``key`` (16 random bytes) there is one job, whoever asks and however often: the first one.
        ``alone``: while a job of a fleet with this name runs or is paused, none is made. That job is returned
        then, whose key is another one; of many who ask at once one makes its job.
        """
        ...

    async def find_by_key(self, key: bytes) -> Job | None:
        """The job that was made with a key."""
        ...

    async def get(self, id_or_name: str) -> Job | None:
        """A job by its id, or the latest of that name."""
        ...

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """All jobs, or those whose end is not in the book (they run or are paused); newest first."""
        ...

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """Store ``state``, ``finished_at``, ``end_reason`` and ``end_error``; ``False``: nothing was stored.

        With ``expected`` only if state and ``finished_at`` in the book are still those: somebody else may
        have changed the job since it was read.
        """
        ...

    async def update_plan(self, job: Job) -> None:
        """Store the plan of a job as it is now; all else stays, and nothing is done for an unknown job."""
        ...

    async def read_changes(self, job: Job) -> tuple[SettingChange, ...]:
        """The settings of a job that a person changed, by their names."""
        ...

    async def save_changes(
        self, job: Job, changes: Sequence[SettingChange], put_back: Collection[str] = ()
    ) -> None:
        """Keep changed settings, each in the place of a former change; forget those that were put back."""
        ...

    async def read_launch(self, job: Job) -> bytes:
        """How a crawl of one machine was begun; empty where nobody has said so."""
        ...

    async def save_launch(self, job: Job, launch: bytes) -> None:
        """Keep how it was begun the last time."""
        ...
