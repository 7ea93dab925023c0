"""Changed items as objects of a bucket, or files of a folder: each batch is one, compressed JSON Lines."""

from __future__ import annotations

import asyncio
import gzip
import secrets
from collections.abc import Sequence

from gossamer.core.changes import ChangedItem
from gossamer.outputs.lines import lines_of
from gossamer.ports.blob_store import BlobStore


class ObjectOutput:
    """An ``ItemOutput`` that writes named objects: a repeated batch replaces itself.

    Other stores may write to the same place with equal batch names, so each store draws a random id, which is
    a part of each name.
    """

    def __init__(self, blobs: BlobStore, name: str) -> None:
        self._blobs = blobs
        self._name = name

    def __repr__(self) -> str:
        return f"<ObjectOutput {self._name}>"

    async def read_state(self, former: bytes, items: Sequence[ChangedItem]) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        return former or secrets.token_hex(4).encode()

    async def write_batch(self, name: str, items: Sequence[ChangedItem], state: bytes) -> bytes:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        data = await asyncio.to_thread(lambda: gzip.compress(b"".join(lines_of(items)), 6, mtime=0))
        await self._blobs.put_bytes(f"{self._name}-{state.decode()}-{name}.jsonl.gz", data)
        return state

    async def close(self) -> None:
        """See :class:`~gossamer.ports.item_output.ItemOutput`."""
        await self._blobs.close()
