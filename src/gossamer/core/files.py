"""Files of a crawl: request, result and stored record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.core.errors import UsageError
from gossamer.core.record import Record, Time
from gossamer.core.rungs import BROWSER_WAY, way_of

FILE_TYPE = "File"
"""The type of the items that say of files where they are."""
MAX_NAME = 1000
"""Maximum length of a file's name, in characters."""


class Saving(Record, frozen=True, kw_only=True):
    """That the answer to a request is to be kept as a file, and what people call it."""

    name: str = ""  # for people: never a part of a path

    def __post_init__(self) -> None:
        if len(self.name) > MAX_NAME:
            raise UsageError(f"the name of a file has more than {MAX_NAME:,} characters")


class SavedFile(Record, frozen=True, kw_only=True):
    """A body that was written to a file of this machine while it came."""

    path: str  # where it is as long as ``held`` is
    sha256: str  # of its bytes, in hexadecimal
    size_bytes: int
    head: bytes = b""  # its first bytes
    held: Any = None  # the open file: deleted when its last reference goes


class StoredFile(Record, frozen=True, kw_only=True):
    """The store's record of a file that a job has saved."""

    job: str  # the id of the job that saw it
    url: str  # as it was asked for, in its canonical form
    sha256: str  # of its bytes, in hexadecimal
    blob: str  # its name in the place of files: ``ab/SHA256.EXT``
    size_bytes: int
    type: str = ""  # its media type, without parameters
    thumbnails: tuple[str, ...] = ()  # the names of those that there are
    etag: str = ""  # the server's ETag of this version
    modified: str = ""  # when the server says that it was changed
    stored_at: Time = 0.0  # when this job first saw it
    last_seen: Time = 0.0  # when a job last saw these bytes


def is_file_item(kind: str, data: Mapping[str, Any]) -> bool:
    """Whether an item of this type with these fields says of a saved file where it is."""
    return kind == FILE_TYPE and "sha256" in data and "path" in data


def check_saving(saves: Saving, callback: object, fetch: str) -> None:
    """Raise ``UsageError`` for a request that a file cannot be got by."""
    if not isinstance(saves, Saving):
        raise UsageError("Request(saves=...) takes a Saving; response.file(url) makes such a request")
    if callback is not None:
        raise UsageError("a request for a file has no callback: the file becomes an item of the type File")
    if fetch and way_of(fetch) == BROWSER_WAY:
        raise UsageError("a file is not fetched in a browser: leave out fetch, and it comes by plain HTTP")
