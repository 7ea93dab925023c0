"""The item that a file becomes."""

from __future__ import annotations

from gossamer.core.files import StoredFile
from gossamer.items.item import Item, key
from gossamer.policy.file_names import name_thumbnail


class File(Item):
    """A file that was saved. Its item's URL is the page that led to it."""

    url: str = key()  # as it was asked for, in its canonical form
    sha256: str  # of its bytes, in hexadecimal
    size: int  # in bytes
    type: str  # its media type, without parameters
    path: str  # in the place of files (``files.url``)
    name: str = ""  # the spider's name for it
    thumbnails: dict[str, str] = {}  # paths in the same place, by the names of their sizes


def make_file_item(file: StoredFile, name: str) -> File:
    """Return the item of a file that the store knows."""
    return File(
        url=file.url,
        sha256=file.sha256,
        size=file.size_bytes,
        type=file.type,
        path=file.blob,
        name=name,
        thumbnails={size: name_thumbnail(file.sha256, size) for size in file.thumbnails},
    )
