"""The contract of a blob store, as named checks.

Use: ``await check_blob_store(make)``, or one by one from ``BLOB_STORE_CHECKS``; ``make(clock)`` is an async
context manager that gives a :class:`~gossamer.ports.blob_store.BlobStore` in which nothing is.
"""

from __future__ import annotations

import asyncio
import tempfile
from math import inf
from pathlib import Path

from gossamer.core.errors import BlobMissingError
from gossamer.ports.blob_store import BlobStore
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["BLOB_STORE_CHECKS", "check_blob_store"]

MEGABYTE = 1024 * 1024
LARGE = bytes(range(256)) * (9 * MEGABYTE // 256) + b"end"

BLOB_STORE_CHECKS: ContractSuite[BlobStore] = ContractSuite()
"""The checks by name."""


async def check_blob_store(make: Make[BlobStore]) -> None:
    """Run every check on a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await BLOB_STORE_CHECKS.run(make)


async def _names(store: BlobStore, prefix: str = "") -> list[str]:
    return [info.name async for info in store.list_blobs(prefix)]


async def _stream(store: BlobStore, name: str) -> list[bytes]:
    return [piece async for piece in store.stream_bytes(name)]


@BLOB_STORE_CHECKS.register
async def what_is_put_is_read(store: BlobStore) -> None:
    """As a whole and as a stream, also an empty one; a second put replaces it."""
    await store.put_bytes("a/one.txt", b"first")
    await store.put_bytes("a/one.txt", b"second, which is longer")
    await store.put_bytes("a/empty", b"")
    assert_equal(await store.read_range("a/one.txt"), b"second, which is longer", "as put last")
    assert_equal(await store.read_range("a/empty"), b"", "an empty blob is a blob")
    assert_equal(b"".join(await _stream(store, "a/empty")), b"", "as a stream")


@BLOB_STORE_CHECKS.register
async def a_file_is_put_whole(store: BlobStore) -> None:
    """A large one too, in pieces of at most one megabyte; the file stays."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "large")
        await asyncio.to_thread(path.write_bytes, LARGE)
        await store.put_file("large.bin", path)
        assert_holds(await asyncio.to_thread(path.exists), "the file stays where it was")
    pieces = await _stream(store, "large.bin")
    assert_holds(b"".join(pieces) == LARGE, "nothing is lost on the way")
    assert_holds(max(map(len, pieces)) <= MEGABYTE, "no piece is larger than a megabyte")
    assert_equal([info.size_bytes async for info in store.list_blobs("")], [len(LARGE)], "its size")


@BLOB_STORE_CHECKS.register
async def a_blob_is_looked_at(store: BlobStore) -> None:
    """Size and time match the listing; a missing blob is ``None``."""
    await store.put_bytes("a/one.txt", b"four")
    await store.put_bytes("a/one.txt.more", b"")
    listed = {info.name: info async for info in store.list_blobs("")}
    for name in ("a/one.txt", "a/one.txt.more"):
        assert_equal(await store.stat_blob(name), listed[name], name)
    for name in ("a", "a/one", "a/one.txt/x", "none"):
        assert_equal(await store.stat_blob(name), None, name)


@BLOB_STORE_CHECKS.register
async def a_part_is_read(store: BlobStore) -> None:
    """From any place on; beyond the end there is less, or nothing."""
    await store.put_bytes("digits", b"0123456789")
    parts = {(0, 3): b"012", (4, 2): b"45", (7, None): b"789", (8, 50): b"89", (10, 5): b"", (99, None): b""}
    for (offset, length), expected in parts.items():
        assert_equal(await store.read_range("digits", offset, length), expected, f"{offset}, {length}")
    assert_equal(await store.read_range("digits", 3, 0), b"", "nothing was asked for")


@BLOB_STORE_CHECKS.register
async def what_is_not_there_is_said_to_be_missing(store: BlobStore) -> None:
    """The error names the blob; a mere prefix of a name is also missing."""
    await store.put_bytes("folder/blob", b"1")
    for name in ("none", "folder", "folder/blob/more"):
        for read in (store.read_range(name), store.read_range(name, 3, 2), _stream(store, name)):
            try:
                await read
            except BlobMissingError as error:
                assert_holds(name in str(error), "the error names the blob")
            else:
                raise AssertionError(f"{name} is not there")


@BLOB_STORE_CHECKS.register
async def blobs_are_listed_in_the_order_of_their_names(store: BlobStore) -> None:
    """By what names begin with, which need not be a whole part; with their sizes and times."""
    for name in ("b/2", "a/10", "a-b", "a/9/deep", "ab", "a.x/1"):
        await store.put_bytes(name, name.encode())
    everything = ["a-b", "a.x/1", "a/10", "a/9/deep", "ab", "b/2"]
    assert_equal(await _names(store), everything, "all of them")
    assert_equal(await _names(store, "a/"), ["a/10", "a/9/deep"], "those of one part")
    assert_equal(await _names(store, "a/1"), ["a/10"], "a part of a part")
    assert_equal(await _names(store, "a"), everything[:-1], "a beginning")
    assert_equal(await _names(store, "none/"), [], "none begins so")
    (info,) = [info async for info in store.list_blobs("b/")]
    assert_equal(info.size_bytes, 3, "its size")
    assert_holds(info.changed_at > 1_600_000_000, "its time is one of now")


@BLOB_STORE_CHECKS.register
async def a_deleted_blob_is_gone(store: BlobStore) -> None:
    """Twice does no harm; others stay."""
    await store.put_bytes("x/1", b"1")
    await store.put_bytes("x/2", b"2")
    for _ in range(2):
        await store.delete_blob("x/1")
    await store.delete_blob("never/there")
    assert_equal(await _names(store), ["x/2"], "the other one")


@BLOB_STORE_CHECKS.register
async def a_name_that_leads_elsewhere_is_refused(store: BlobStore) -> None:
    """Names derived from a site's data fail early."""
    for name in (
        "",
        "/x",
        "x/",
        "a//b",
        "../x",
        "a/../../x",
        "a/./b",
        "ä",
        "a b",
        "a\x00",
        "a\n",
        "a~",
        "a\\b",
    ):
        for act in (
            store.put_bytes(name, b"1"),
            store.put_file(name, Path(__file__)),
            store.read_range(name),
            store.delete_blob(name),
            _stream(store, name),
        ):
            try:
                await act
            except ValueError:
                continue
            raise AssertionError(f"{name!r} is not the name of a blob")
    assert_equal(await _names(store), [], "nothing was stored")


@BLOB_STORE_CHECKS.register
async def of_writers_at_one_time_one_wins_whole(store: BlobStore) -> None:
    """Never a mixture; and other names are not touched."""
    values = [bytes([65 + number]) * 100_000 for number in range(8)]
    await asyncio.gather(*(store.put_bytes("same", value) for value in values))
    await asyncio.gather(*(store.put_bytes(f"own/{number}", value) for number, value in enumerate(values)))
    assert_holds(await store.read_range("same") in values, "one of them, whole")
    assert_equal(
        [await store.read_range(f"own/{n}", 0, 1) for n in range(8)], [v[:1] for v in values], "each"
    )


@BLOB_STORE_CHECKS.register
async def a_store_is_closed_twice(store: BlobStore) -> None:
    """Closing may be repeated."""
    await store.put_bytes("a", b"1")
    await store.close()
    await store.close()


@BLOB_STORE_CHECKS.register
async def what_is_whole_is_not_unfinished(store: BlobStore) -> None:
    """At any age; deleting unfinished puts leaves complete blobs alone."""
    await store.put_bytes("a/one", b"1")
    assert_equal(await store.delete_unfinished(inf), 0, "nobody was killed")
    assert_equal(await _names(store), ["a/one"], "it is there")
