"""The jobs of a store in memory."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.steering import SettingChange
from gossamer.ports.clock import Clock
from gossamer.store.job_rows import slug_of


class MemoryJobStore:
    """A ``JobStore`` that lives and dies with its process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: dict[str, Job] = {}
        self._changes: dict[str, dict[str, SettingChange]] = {}
        self._launches: dict[str, bytes] = {}
        self._identity = secrets.token_hex(8)

    async def read_identity(self) -> str:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        return self._identity

    async def create(
        self, name: str, target: str, plan: bytes = b"", key: bytes = b"", *, alone: bool = False
    ) -> Job:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        if key and (made := await self.find_by_key(key)):
            return made
        for job in reversed(self._jobs.values()) if alone else ():
            if job.name == name and job.is_fleet and job.is_unfinished:
                return job
        head = slug_of(name)
        number = 1 + sum(slug_of(job.name) == head for job in self._jobs.values())
        job = Job(
            id=f"{head}-{number}",
            name=name,
            target=target,
            created_at=self._clock.now(),
            key=key or secrets.token_bytes(16),
            plan=plan,
        )
        self._jobs[job.id] = job
        return job

    async def get(self, id_or_name: str) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        named = (job for job in reversed(self._jobs.values()) if job.name == id_or_name)
        return self._jobs.get(id_or_name) or next(named, None)

    async def find_by_key(self, key: bytes) -> Job | None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        return next((job for job in self._jobs.values() if job.key == key), None)

    async def list_jobs(self, *, unfinished: bool = False) -> list[Job]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        newest_first = list(reversed(self._jobs.values()))
        return [job for job in newest_first if job.is_unfinished or not unfinished]

    async def update(self, job: Job, *, expected: Job | None = None) -> bool:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        known = self._jobs.get(job.id)
        if known is None:
            return False
        if expected and (known.state, known.finished_at) != (expected.state, expected.finished_at):
            return False
        self._jobs[job.id] = replace(
            known,
            state=job.state,
            finished_at=job.finished_at,
            end_reason=job.end_reason,
            end_error=job.end_error,
        )
        return True

    async def update_plan(self, job: Job) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        if (known := self._jobs.get(job.id)) is not None:
            self._jobs[job.id] = replace(known, plan=job.plan)

    async def read_changes(self, job: Job) -> tuple[SettingChange, ...]:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        return tuple(change for _, change in sorted(self._changes.get(job.id, {}).items()))

    async def save_changes(
        self, job: Job, changes: Sequence[SettingChange], put_back: Collection[str] = ()
    ) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        kept = self._changes.setdefault(job.id, {})
        kept.update({change.key: change for change in changes})
        for key in put_back:
            kept.pop(key, None)

    async def read_launch(self, job: Job) -> bytes:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        return self._launches.get(job.id, b"")

    async def save_launch(self, job: Job, launch: bytes) -> None:
        """See :class:`~gossamer.ports.job_store.JobStore`."""
        self._launches[job.id] = launch
