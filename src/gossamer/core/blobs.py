"""Facts about a blob: named bytes in a folder or a bucket."""

from __future__ import annotations

from gossamer.core.record import Record, Time


class BlobInfo(Record, frozen=True, kw_only=True):
    """One blob in a listing."""

    name: str  # as it was stored by, without the place of all of them
    size_bytes: int
    changed_at: Time  # when it was stored, by the storage's clock
