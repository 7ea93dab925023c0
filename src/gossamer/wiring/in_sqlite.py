"""The files of a data directory, as the settings name them."""

from __future__ import annotations

from pathlib import Path

from gossamer.config import Settings
from gossamer.disk.database import Database
from gossamer.observe.text import shown_url
from gossamer.words.errors import SettingError, StorageError

DATABASE = "gossamer.db"


def database_path(settings: Settings, url: str | None) -> Path:
    """The file of ``sqlite:///FILE``, by default the one in the data directory."""
    if url is None:
        return Path(settings.data) / DATABASE
    if not url.startswith("sqlite:///"):
        key = "frontier.url" if url == settings.frontier.url else "store.url"
        raise SettingError(
            f"{key} = {shown_url(url)!r} is not a database that this version knows; write sqlite:///FILE"
        )
    return Path(url.removeprefix("sqlite:///"))


def databases_folder(settings: Settings) -> Path:
    """Where the locks of a crawl are: beside the requests."""
    return database_path(settings, settings.frontier.url).absolute().parent


class Databases:
    """The SQLite files of one data directory, each opened once."""

    def __init__(self, settings: Settings, *, create: bool) -> None:
        self._settings = settings
        self._create = create
        self._open: dict[Path, Database] = {}

    @property
    def frontier(self) -> Database:
        """The file with the requests."""
        return self._get(self._settings.frontier.url)

    @property
    def store(self) -> Database:
        """The file with items, pages, ledger and jobs."""
        return self._get(self._settings.store.url)

    def _get(self, url: str | None) -> Database:
        path = database_path(self._settings, url).absolute()
        if path not in self._open:
            if not self._create and not path.exists():
                raise StorageError(
                    f"there is no crawl in {path.parent}: {path} does not exist; "
                    "name the data directory with --data, or start one with `gossamer crawl`"
                )
            self._open[path] = Database(path, synchronous=self._settings.sqlite.synchronous)
        return self._open[path]

    def close(self) -> None:
        """Close all; what was acknowledged is on disk."""
        for database in self._open.values():
            database.close()
