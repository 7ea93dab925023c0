"""One process per crawl: a lock on ``<data>/<job>.lock``; or on its digest if the id is not a file name.

Guarantee: two processes never work on the same job of an embedded crawl, and a dead process never
keeps one: the kernel releases ``flock`` when the last descriptor goes.
"""

from __future__ import annotations

import fcntl
import os
import re
from hashlib import blake2b
from pathlib import Path
from types import TracebackType

from gossamer.core.errors import JobBusyError, StorageError

_PLAIN = re.compile(r"\w[\w.-]{0,99}", re.ASCII)


def _file_name(job: str) -> str:
    """Return a file name for any text: URLs and arguments have slashes, and are long."""
    if _PLAIN.fullmatch(job):
        return job
    return blake2b(job.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_locked(data: Path | str, job: str) -> bool:
    """Whether a process works on the job now."""
    path = Path(data) / f"{_file_name(job)}.lock"
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False


def lock_holder(data: Path | str, job: str) -> str:
    """Return the id of the process that works on the job; ``""`` if none does."""
    if not is_locked(data, job):
        return ""
    return (Path(data) / f"{_file_name(job)}.lock").read_bytes()[:32].decode("ascii", "replace").strip()


class JobLock:
    """Held from construction to :meth:`release`.

    Raises :class:`JobBusyError` while another process holds it.
    """

    def __init__(self, data: Path | str, job: str) -> None:
        self.path = Path(data) / f"{_file_name(job)}.lock"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise StorageError(f"{self.path}: the lock file cannot be created:  {error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise JobBusyError(
                f"job {job} is being worked on by process {holder} ({self.path}); "
                "wait for it, stop it, or use another --data directory"
            ) from error
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def __repr__(self) -> str:
        return f"<JobLock {self.path} ({'released' if self._file < 0 else 'held'})>"

    def release(self) -> None:
        """Let others have the job. Idempotent. The file stays: removing it would race with a new holder."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> JobLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
