"""The SQLite files that a crawl uses, shared by the back ends that keep things in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from sqlite3 import Connection

from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.results import VisitResult
from gossamer.drivers.sqlite.database import Database
from gossamer.drivers.sqlite.writer import writer_of

DATABASE = "gossamer.db"


def database_path(settings: Settings, url: str | None) -> Path:
    """Return the file of ``sqlite:///FILE``, by default the one in the data directory."""
    if url is None:
        return Path(settings.data) / DATABASE
    return Path(url.removeprefix("sqlite:///"))


class DatabasePool:
    """The SQLite files of one data directory, each opened once; ``limit_s``: the longest a read takes."""

    def __init__(self, settings: Settings, *, create: bool, limit_s: float | None = None) -> None:
        self._settings = settings
        self._create = create
        self._limit_s = limit_s
        self._open: dict[Path, Database] = {}
        self.write_within: (
            Callable[[Connection, Job, Sequence[VisitResult], Sequence[VisitResult]], None] | None
        ) = None
        """How the store writes within a transaction of its file; ``None``: it is in none of these files."""

    @property
    def frontier_database(self) -> Database:
        """The file with the requests."""
        return self._open_database(self._settings.frontier.url)

    @property
    def store_database(self) -> Database:
        """The file with items, pages, ledger and jobs."""
        return self._open_database(self._settings.store.url)

    def _open_database(self, url: str | None) -> Database:
        path = database_path(self._settings, url).absolute()
        if path not in self._open:
            if not self._create and not path.exists():
                raise StorageError(
                    f"there is no crawl in {path.parent}: {path} does not exist; "
                    "name the data directory with --data, or start one with `gossamer crawl`"
                )
            self._open[path] = Database(
                path, synchronous=self._settings.sqlite.synchronous, read_limit_s=self._limit_s
            )
        return self._open[path]

    def blocking_writers(self) -> set[int]:
        """Return the processes that block all other writers of a database at the moment."""
        return {writer for path in self._open if (writer := writer_of(path)) is not None}

    def close(self) -> None:
        """Close all databases; acknowledged writes are on disk."""
        for database in self._open.values():
            database.close()
