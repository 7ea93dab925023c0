"""Rows of saved files as records, the same for every store."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from gossamer.core.files import StoredFile

FIELDS = (
    "job", "place", "url", "sha256", "blob", "size_bytes", "type", "thumbnails", "etag", "modified",
    "stored_at", "last_seen",
)  # fmt: skip
"""The columns, in their order."""


def place_of_url(url: str) -> str:
    """Return a short form of a URL for keys and indexes: of one length, however long the URL is."""
    return blake2b(url.encode(), digest_size=16).hexdigest() if url else ""


def row_of_file(file: StoredFile) -> tuple[Any, ...]:
    """Return the columns of a record."""
    said = {"place": place_of_url(file.url), "thumbnails": " ".join(file.thumbnails)}
    return tuple(said[name] if name in said else getattr(file, name) for name in FIELDS)


def file_of(row: Iterable[Any]) -> StoredFile:
    """Return the record of a row."""
    values = dict(zip(FIELDS, row, strict=True))
    del values["place"]
    return StoredFile(**(values | {"thumbnails": tuple(values["thumbnails"].split())}))


def as_kept(file: StoredFile, former: StoredFile | None) -> StoredFile:
    """Return the row that replaces a former one of the same job and URL."""
    if former is None or former.sha256 != file.sha256:
        return file
    return replace(file, stored_at=former.stored_at, last_seen=max(former.last_seen, file.last_seen))
