"""Names and types of stored files. Pure.

A name has no part from a URL or a user: it is the SHA-256 of the bytes, and an extension from a fixed table
by type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from hashlib import blake2b

EXTENSIONS = {
    "application/epub+zip": "epub",
    "application/gzip": "gz",
    "application/json": "json",
    "application/msword": "doc",
    "application/pdf": "pdf",
    "application/postscript": "ps",
    "application/rtf": "rtf",
    "application/vnd.ms-excel": "xls",
    "application/vnd.ms-powerpoint": "ppt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/x-7z-compressed": "7z",
    "application/x-bzip2": "bz2",
    "application/x-tar": "tar",
    "application/x-xz": "xz",
    "application/xml": "xml",
    "application/zip": "zip",
    "application/zstd": "zst",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "font/woff": "woff",
    "font/woff2": "woff2",
    "image/avif": "avif",
    "image/bmp": "bmp",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/jxl": "jxl",
    "image/png": "png",
    "image/svg+xml": "svg",
    "image/tiff": "tiff",
    "image/vnd.microsoft.icon": "ico",
    "image/webp": "webp",
    "text/calendar": "ics",
    "text/css": "css",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "text/xml": "xml",
    "video/mp4": "mp4",
    "video/mpeg": "mpeg",
    "video/ogg": "ogv",
    "video/quicktime": "mov",
    "video/webm": "webm",
}
"""The extension of each type; any other type has ``bin``."""
UNKNOWN_TYPE, UNKNOWN_EXTENSION = "application/octet-stream", "bin"
THUMBNAILS = "thumbs"
"""The folder of thumbnails; each size has one of its own in there."""

STORES = "stores"
"""The folder of what says whose files are in a place."""

_SAME = {
    "application/x-gzip": "application/gzip",
    "application/x-pdf": "application/pdf",
    "application/x-zip-compressed": "application/zip",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-icon": "image/vnd.microsoft.icon",
    "image/x-png": "image/png",
}
"""Other names of types."""
_VAGUE = frozenset(
    {"", UNKNOWN_TYPE, "binary/octet-stream", "application/download", "application/force-download"}
)
"""Types that servers send for unknown content."""
_BEGINNINGS = (
    (b"%PDF-", "application/pdf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
)
"""First bytes of file formats, for files without a declared type (WHATWG MIME Sniffing)."""
HEAD_BYTES = 16
"""How much of a file is looked at to know its type."""
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_DIGEST = "[0-9a-f]{64}"
_BLOB = re.compile(
    rf"(?:{THUMBNAILS}/[a-z0-9_-]+/)?(?P<start>[0-9a-f]{{2}})/(?P<digest>{_DIGEST})\.[a-z0-9]+"
)
_OWNER = re.compile(rf"{STORES}/[0-9a-f]{{32}}\.txt")


def read_type(content_type: str, head: bytes) -> str:
    """The media type of a file, by what its server says, or else by its first bytes."""
    said = content_type.partition(";")[0].strip().lower()
    said = _SAME.get(said, said)
    if said in _VAGUE or not _TYPE.fullmatch(said):
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return "image/webp"
        return next((kind for start, kind in _BEGINNINGS if head.startswith(start)), UNKNOWN_TYPE)
    return said


def is_wanted(kind: str, wanted: Sequence[str]) -> bool:
    """Whether a type is one of those, which may have stars (``image/*``); without any, all are wanted."""
    return not wanted or any(fnmatchcase(kind, pattern.lower()) for pattern in wanted)


def is_raster(kind: str) -> bool:
    """Whether a type is that of pictures made of pixels, of which there can be smaller ones."""
    return kind.startswith("image/") and kind != "image/svg+xml"


def name_blob(sha256: str, kind: str) -> str:
    """The name of a file by its bytes and its type: ``ab/SHA256.pdf``."""
    return f"{sha256[:2]}/{sha256}.{EXTENSIONS.get(kind, UNKNOWN_EXTENSION)}"


def name_thumbnail(sha256: str, size: str) -> str:
    """The name of a thumbnail by the bytes of its picture and by what its size is called."""
    return f"{THUMBNAILS}/{size}/{sha256[:2]}/{sha256}.jpg"


def name_owner(store: str) -> str:
    """The name of what says that files of a store are in a place."""
    return f"{STORES}/{blake2b(store.encode(), digest_size=16).hexdigest()}.txt"


def is_owner(name: str) -> bool:
    """Whether a name was made by :func:`name_owner`; other names in the folder belong to other programs."""
    return _OWNER.fullmatch(name) is not None


def read_digest(name: str) -> str:
    """The SHA-256 in the name of a file or of a thumbnail; empty: it is something else's name."""
    found = _BLOB.fullmatch(name)
    return found["digest"] if found is not None and found["digest"].startswith(found["start"]) else ""
