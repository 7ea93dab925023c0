"""Finds lines in the index of a file without reading all of it."""

from __future__ import annotations

from bisect import bisect_left

from gossamer.ports.blob_store import BlobStore

WHOLE_BYTES = 2 * 1024 * 1024
"""An index up to this size is read once and kept."""
BLOCK_BYTES = 32 * 1024


class CdxjIndex:
    """The sorted lines of one blob."""

    def __init__(self, blobs: BlobStore, name: str, size_bytes: int) -> None:
        self._blobs = blobs
        self._name = name
        self._size = size_bytes
        self._lines: list[bytes] | None = None
        self._probes: dict[int, tuple[int, bytes]] = {}

    def __repr__(self) -> str:
        return f"<CdxjIndex {self._name} of {self._size:,} bytes>"

    async def find_lines(self, prefix: bytes) -> list[bytes]:
        """Return all lines that begin so."""
        if self._size <= WHOLE_BYTES:
            if self._lines is None:
                self._lines = (await self._blobs.read_range(self._name)).splitlines()
            start = bisect_left(self._lines, prefix)
            lines = self._lines[start:]
        else:
            lines = await self._read_lines(await self._find_start(prefix), prefix)
        found = []
        for line in lines:
            if not line.startswith(prefix):
                break
            found.append(line)
        return found

    async def _find_start(self, prefix: bytes) -> int:
        """Return where a line begins before which none is looked for, with less than a block between them."""
        low, high = 0, self._size  # a line begins at low; no line looked for begins before it
        while high - low > BLOCK_BYTES:
            middle = (low + high) // 2
            start, line = await self._probe(middle)
            if not start or middle + start >= high:
                break  # lines as long as a block: read on from here
            if line < prefix:
                low = middle + start
            else:
                high = middle
        return low

    async def _probe(self, place: int) -> tuple[int, bytes]:
        """Return the distance to the next line after a place, and that line; 0 if the block has none.

        The result is cached: all searches probe the same few places (two for each block), and a replay
        searches for every page.
        """
        if place not in self._probes:
            block = await self._blobs.read_range(self._name, place, BLOCK_BYTES)
            start = block.find(b"\n") + 1
            self._probes[place] = start, block[start:].split(b"\n", 1)[0]
        return self._probes[place]

    async def _read_lines(self, start: int, prefix: bytes) -> list[bytes]:
        """From a line on, those that do not stand behind all that begin so."""
        data = bytearray()
        while start < self._size:
            block = await self._blobs.read_range(self._name, start, BLOCK_BYTES if prefix else None)
            start += len(block)
            data += block
            end = data.rfind(b"\n")
            last = bytes(data[data.rfind(b"\n", 0, max(end, 0)) + 1 : max(end, 0)])
            if not block or (last > prefix and not last.startswith(prefix)):
                break
        lines = bytes(data).splitlines()
        return lines[bisect_left(lines, prefix) :]
