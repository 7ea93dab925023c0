"""Deletes stored bytes that no row names: of forgotten files, and of killed workers."""

from __future__ import annotations

from gossamer.core.blobs import BlobInfo
from gossamer.core.errors import UsageError
from gossamer.core.record import Record
from gossamer.policy.file_names import STORES, is_owner, name_owner, read_digest
from gossamer.ports.blob_store import BlobStore
from gossamer.ports.file_store import FileStore

GRACE_S = 3600.0
"""Seconds for which new bytes are not swept: their worker may be about to name them."""
PART = 1000
"""Blobs that the store is asked about at once."""


class SweepResult(Record, frozen=True, kw_only=True):
    """Totals of a sweep."""

    blobs: int = 0  # that no row names
    size_bytes: int = 0  # of them
    kept: int = 0  # that are named
    young: int = 0  # that no row names yet
    unfinished: int = 0  # uploads that a killed worker had only begun


async def sweep_files(
    files: FileStore, blobs: BlobStore, before: float, *, store: str, is_dry: bool = False
) -> SweepResult:
    """Delete bytes that no row names and that were stored before then; ``is_dry``: only count.

    Other contents of the place stay. Raises ``StorageError``, and ``UsageError`` if a store other than
    ``store`` also has files there, since files that only its rows name would be deleted.
    """
    await _check_owners(blobs, store)
    result = SweepResult()
    part: list[BlobInfo] = []
    async for info in blobs.list_blobs(""):
        if read_digest(info.name):
            part.append(info)
        if len(part) == PART:
            result = await _sweep_part(result, part, files, blobs, before, is_dry=is_dry)
            part = []
    result = await _sweep_part(result, part, files, blobs, before, is_dry=is_dry)
    return result if is_dry else _added(result, unfinished=await blobs.delete_unfinished(before))


async def _check_owners(blobs: BlobStore, store: str) -> None:
    async for info in blobs.list_blobs(f"{STORES}/"):
        if is_owner(info.name) and info.name != name_owner(store):
            other = (await blobs.read_range(info.name, 0, 300)).decode(errors="replace").strip()
            raise UsageError(
                f"nothing was swept: the files of another store are in the same place ({other}), and would "
                f"be deleted; give each store a files.url of its own, or delete {info.name} there if that "
                "store is gone"
            )


async def _sweep_part(
    result: SweepResult,
    part: list[BlobInfo],
    files: FileStore,
    blobs: BlobStore,
    before: float,
    *,
    is_dry: bool,
) -> SweepResult:
    named = await files.select_named({read_digest(info.name) for info in part}) if part else set()
    for info in part:
        if read_digest(info.name) in named:
            result = _added(result, kept=1)
        elif info.changed_at >= before or not (is_dry or await _is_still_old(blobs, info, before)):
            result = _added(result, young=1)
        else:
            if not is_dry:
                await blobs.delete_blob(info.name)
            result = _added(result, blobs=1, size_bytes=info.size_bytes)
    return result


async def _is_still_old(blobs: BlobStore, info: BlobInfo, before: float) -> bool:
    """Whether the blob has not been stored again since it was listed."""
    now = await blobs.stat_blob(info.name)
    return now is not None and now.changed_at < before


def _added(result: SweepResult, **numbers: int) -> SweepResult:
    return SweepResult(
        **{name: getattr(result, name) + numbers.get(name, 0) for name in result.__struct_fields__}
    )
