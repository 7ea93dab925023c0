"""The end of a job that its spider's code asks for: in shared state, so that its supervisor hears it.

A stop belongs to one *run* of a job, which has a number. A job that has ended and runs again begins its next
run; whatever workers of an earlier run ask for by then, or have asked for, ends it no more.
"""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.jobs import Job, tag_of
from gossamer.core.results import VisitResult
from gossamer.ports.committer import Committer
from gossamer.ports.shared_state import SharedState

SPACE = "job-stops"
KEPT_S = 30 * 86_400.0
"""Seconds for which a stop waits until the job is ended."""


async def read_stop(shared: SharedState, job: str) -> str:
    """Return why the run of a job (its tag) is to end; empty: not stopped. Raises ``StorageError``."""
    return _unpack(await shared.get(SPACE, job))[1]


async def begin_next_run(shared: SharedState, job: Job) -> None:
    """End the stops of a job's earlier run, if it has ended and runs again. Raises ``StorageError``.

    It is called before the job is recorded as running, so that no supervisor reads an old stop.
    """
    if job.finished_at is not None:
        await shared.update(SPACE, tag_of(job), lambda said: _pack(_unpack(said)[0] + 1, ""), KEPT_S)


class JobStop:
    """Ends a job (its tag) from a worker, in the run in which the worker began."""

    def __init__(self, shared: SharedState, job: str) -> None:
        self._shared = shared
        self._job = job
        self._run = 0

    async def begin(self) -> None:
        """Belong to the run that the job is in now. Raises ``StorageError``."""
        self._run = _unpack(await self._shared.get(SPACE, self._job))[0]

    async def note(self, why: str) -> None:
        """End this run; the first reason counts. Nothing, if it is over. Raises ``StorageError``."""

        def change(said: bytes | None) -> bytes:
            run, reason = _unpack(said)
            is_settled = run > self._run or (run == self._run and reason)
            return said if said and is_settled else _pack(self._run, why)

        await self._shared.update(SPACE, self._job, change, KEPT_S)


class StopCommitter:
    """Port ``Committer``: another one, which says first that a result ends the job.

    So a stop is not lost with a worker that is killed; the page is then fetched again.
    """

    def __init__(self, committer: Committer, stop: JobStop) -> None:
        self._committer = committer
        self._stop = stop

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        if why := next((result.stop for result in results if result.stop), ""):
            await self._stop.note(why)
        return await self._committer.commit(results)


def _pack(run: int, why: str) -> bytes:
    return f"{run} {why}".encode()


def _unpack(said: bytes | None) -> tuple[int, str]:
    """Return the run, and why it is to end."""
    run, _, why = (said or b"0 ").decode("utf-8", "replace").partition(" ")
    return int(run), why
