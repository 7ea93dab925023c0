"""The results of replays: each is a data directory of its own until it is promoted or discarded.

The store records the versions and their states. Guarantee: a name is never used twice for a job; an
unfinished version is not recorded, and the next replay of the job deletes it.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from gossamer.core.errors import StorageError, UsageError
from gossamer.core.jobs import Job, tag_of
from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.ports.result_versions import ResultVersions
from gossamer.runtime.file_lock import JobLock, is_locked

FOLDER = "replays"
"""Below the data directory."""


class VersionFolder:
    """The data directories of the versions of one job."""

    def __init__(self, data: str, job: Job) -> None:
        self._job = job
        self._folder = Path(data).absolute() / FOLDER
        self._tag = tag_of(job)

    def __repr__(self) -> str:
        return f"VersionFolder({str(self._folder)!r}, {self._tag})"

    def path_of(self, name: str) -> Path:
        """Return the data directory of a version."""
        return self._folder / f"{self._tag}-r{_number_of(name)}"

    def create_version(self, taken: Collection[str]) -> tuple[str, JobLock]:
        """Return the name of a new version, and the lock of its directory. Raises ``StorageError``.

        ``taken`` are the names of all recorded versions. Other directories are deleted, unless a process is
        at work on them.
        """
        used = {_number_of(name) for name in taken}
        for place in self._places():
            number = _number_of(place.name)
            if number not in used and not is_locked(self._folder, place.name):
                self._delete(place)
            used.add(number)
        name = f"{self._job.id}-r{max(used, default=0) + 1}"
        lock = JobLock(self._folder, self.path_of(name).name)
        try:
            self.path_of(name).mkdir()
        except OSError as error:
            lock.release()
            raise StorageError(f"{self.path_of(name)}: {error.strerror}") from error
        return name, lock

    def delete_version(self, name: str) -> None:
        """Delete the data directory of a version, if there is one. Raises ``StorageError``."""
        self._delete(self.path_of(name))

    def _places(self) -> Iterator[Path]:
        for place in self._folder.glob(f"{self._tag}-r*"):
            if place.is_dir() and place.name.removeprefix(f"{self._tag}-r").isdecimal():
                yield place

    @staticmethod
    def _delete(place: Path) -> None:
        try:
            shutil.rmtree(place)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(f"{place}: {error.strerror}") from error


async def find_version(versions: ResultVersions, job: Job, name: str) -> ResultVersion:
    """Return a version of a job by its name, or by the end of it: ``shop-1-r2``, ``r2``, ``2``.

    Raises ``UsageError``, which lists the existing ones.
    """
    listed = await versions.list_versions(job.id)
    there = {each.job: each for each in listed if each.state is not VersionState.DISCARDED}
    for full in (name, f"{job.id}-{name}", f"{job.id}-r{name}"):
        if full in there:
            return there[full]
    known = ", ".join(f"{each.job} ({each.state})" for each in there.values())
    raise UsageError(
        f"{job.id} has no version {name!r}; "
        + (f"there are: {known}" if known else f"`gossamer replay {job.id}` makes one")
    )


def _number_of(name: str) -> int:
    return int(name.rpartition("-r")[2])
