"""Bodies that go to a file while they come: of any size, with the memory of one piece."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from gossamer.core.errors import Fault, FetchError, StorageError
from gossamer.core.files import SavedFile
from gossamer.fetch.http.body import BodyBuffer
from gossamer.fetch.http.codings import CodingDecoder, DecodingError, stage_for
from gossamer.fetch.http.limits import FileLimits
from gossamer.fetch.http.wire import Headers
from gossamer.policy.file_names import HEAD_BYTES, is_wanted, read_type
from gossamer.runtime.spool import SpooledFile

SMALL_BYTES = 64 * 1024
"""A body up to this size may be an error page instead of the file, so it is also kept in memory."""
_SLICE_BYTES = 16 * 1024
_PACKED = re.compile(
    r"application/(x-)?(gzip|tgz|tar|gtar|compress|bzip2|zstd)|application/x-gtar-compressed"
)
"""Types of compressed files; some servers also state that compression as Content-Encoding."""


class FileBody(BodyBuffer):
    """A body in a file, hashed while it arrives, in at most ``body_s`` seconds."""

    is_in_memory = False

    def __init__(self, limits: FileLimits) -> None:
        super().__init__(limits.max_bytes)
        self.body_s = limits.body_s
        self.trouble: OSError | None = None  # why it could not be written
        self._limits = limits
        self._headers: Headers = []
        self._hash = hashlib.sha256()
        self._spooled: SpooledFile | None = None
        self._head = b""

    def begin_body(self, headers: Headers) -> None:
        """Take the header. Raises :class:`FetchError` for an unwanted type."""
        self._headers = headers
        kind = read_type(self._header("content-type"), b"")
        if "content-type" in dict(headers) and kind != "application/octet-stream":
            check_type(kind, self._limits.types)

    def _header(self, name: str) -> str:
        return ", ".join(value for key, value in self._headers if key == name)

    def _keep_piece(self, data: bytes) -> None:
        try:
            if self._spooled is None:
                self._spooled = SpooledFile(Path(self._limits.folder))
            self._spooled.file.write(data)
        except OSError as error:
            self.trouble = error
            raise FetchError(Fault.LOCAL, f"{self._limits.folder}: {error.strerror or error}") from None
        if len(self._head) < HEAD_BYTES:
            self._head = (self._head + data)[:HEAD_BYTES]
        self._hash.update(data)

    def check_disk(self) -> None:
        """Raise ``StorageError`` if it could not be written."""
        if self.trouble is not None:
            raise StorageError(
                f"{self._limits.folder}: {self.trouble.strerror or self.trouble}; files are written there "
                "while they come"
            ) from self.trouble

    async def finish_file(self) -> tuple[SavedFile, tuple[str, ...], bytes]:
        """Return the file without its Content-Encoding, flags, and the body itself if it is a small page.

        Raises :class:`FetchError` and ``StorageError``.
        """
        try:
            return await asyncio.to_thread(self._finish)
        except OSError as error:
            self.trouble = error
            self.check_disk()
            raise

    def _finish(self) -> tuple[SavedFile, tuple[str, ...], bytes]:
        spooled = self._spooled
        flags: tuple[str, ...] = ()
        if spooled is None:
            return SavedFile(path="", sha256=self._hash.hexdigest(), size_bytes=0), (), b""
        spooled.finish()
        saved = SavedFile(
            path=spooled.path,
            sha256=self._hash.hexdigest(),
            size_bytes=self.size,
            head=self._head,
            held=spooled,
        )
        kind = self._header("content-type").partition(";")[0].strip().lower()
        if (encoding := self._header("content-encoding")) and not _PACKED.fullmatch(kind):
            saved, flags = decode_file(saved, encoding, self._limits)
        body = b""
        if kind == "text/html" and saved.size_bytes <= SMALL_BYTES:
            body = saved.held.file.read()
            saved.held.file.seek(0)
        return saved, flags, body


def check_type(kind: str, wanted: tuple[str, ...]) -> None:
    """Raise :class:`FetchError` for a type that is not among those that are wanted."""
    if not is_wanted(kind, wanted):
        raise FetchError(Fault.UNWANTED, f"it is {kind}, and files.types has {', '.join(wanted)}")


def decode_file(saved: SavedFile, encoding: str, limits: FileLimits) -> tuple[SavedFile, tuple[str, ...]]:
    """Return the file without its Content-Encoding, and flags; blocks meanwhile.

    A file that was never encoded stays as it is. Raises :class:`FetchError`: ``INCOMPLETE`` for a broken
    transfer, since half a file is useless, and ``TOO_LARGE``.
    """
    tokens = [token for token in re.split(r"[\s,]+", encoding.lower()) if token and token != "identity"]  # noqa: S105 - a coding, no secret
    if len(tokens) > 1:
        raise FetchError(Fault.BAD_ENCODING, "several Content-Encodings, one in the other")
    stage = stage_for(tokens[0]) if tokens else None
    if stage is None:
        return saved, ("unknown_encoding",) if tokens else ()
    spooled, digest, size, head = SpooledFile(Path(limits.folder)), hashlib.sha256(), 0, b""
    try:
        for piece in _decode_pieces(saved, stage):
            size += len(piece)
            if size > limits.max_bytes:
                raise FetchError(Fault.TOO_LARGE, f"more than {limits.max_bytes} bytes")
            head = (head + piece)[:HEAD_BYTES] if len(head) < HEAD_BYTES else head
            digest.update(piece)
            spooled.file.write(piece)
    except DecodingError as error:
        saved.held.finish()
        if not size:
            return saved, ("not_encoded",)
        raise FetchError(Fault.INCOMPLETE, f"its Content-Encoding is broken: {error}") from None
    if not stage.complete or stage.is_doubtful:
        raise FetchError(Fault.INCOMPLETE, "its Content-Encoding ends early, or its check sum is wrong")
    spooled.finish()
    path, text = spooled.path, digest.hexdigest()
    return SavedFile(path=path, sha256=text, size_bytes=size, head=head, held=spooled), ()


def _decode_pieces(saved: SavedFile, stage: CodingDecoder) -> Iterator[bytes]:
    while data := saved.held.file.read(_SLICE_BYTES):
        yield from stage.decode_data(data)
