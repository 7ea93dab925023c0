"""The body of one answer while it arrives: bounded in bytes, and in pieces."""

from __future__ import annotations

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.http.repair import BoundError, ChunkReader, RepairError

MAX_TINY_PIECES = 50_000
"""Pieces below :data:`TINY_BYTES` that one answer may come in: each costs more time than it brings."""

TINY_BYTES = 16

_COALESCE = 4096
"""Pieces of a body after which they are joined: a flood of tiny chunks must not become a flood of objects."""


def check_tiny(pieces: int) -> None:
    """Raises :class:`FetchError` when there were too many tiny pieces."""
    if pieces > MAX_TINY_PIECES:
        raise FetchError(Fault.TOO_LARGE, f"more than {MAX_TINY_PIECES:,} pieces of a few bytes each")


class BodyBuffer:
    """The body received so far. ``chunks`` splits it if the parser does not."""

    __slots__ = ("_joined", "_pieces", "_tiny", "chunks", "limit", "size")
    is_in_memory = True

    def __init__(self, limit: int) -> None:
        self.limit = limit  # in bytes
        self.size = 0
        self.chunks: ChunkReader | None = None
        self._pieces: list[bytes] = []
        self._joined = 0  # of the pieces, those that were joined from smaller ones
        self._tiny = 0

    def add_data(self, data: bytes) -> None:
        """Add bytes. Raises :class:`FetchError` beyond a bound, and if a chunk is malformed."""
        if self.chunks is not None:
            try:
                data = self.chunks.read_chunks(data)
            except RepairError as error:
                fault = Fault.TOO_LARGE if isinstance(error, BoundError) else Fault.INCOMPLETE
                raise FetchError(fault, str(error)) from None
        if len(data) < TINY_BYTES:
            self._tiny += 1
            check_tiny(self._tiny)
        self.size += len(data)
        if self.size > self.limit:
            raise FetchError(Fault.TOO_LARGE, f"more than {self.limit} bytes")
        self._keep_piece(data)

    def _keep_piece(self, data: bytes) -> None:
        self._pieces.append(data)
        if len(self._pieces) - self._joined > _COALESCE:  # only the new part: the whole would be quadratic
            self._pieces[self._joined :] = [b"".join(self._pieces[self._joined :])]
            self._joined += 1

    def join_pieces(self) -> bytes:
        """Return the whole body."""
        return b"".join(self._pieces)
