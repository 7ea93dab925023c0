"""Bodies that go to a file while they come: whole or not at all, whatever their size and coding."""

import asyncio
import gzip
import hashlib
import os
import re
import tracemalloc
from pathlib import Path

import pytest

from gossamer.core.errors import Fault, FetchError, StorageError
from gossamer.core.files import Saving
from gossamer.core.requests import Request
from gossamer.fetch.http.limits import FileLimits
from gossamer.runtime.spool import SpooledFile
from kit.raw_server import Raw, fetcher_with

MEGABYTE = 1024 * 1024
PIECE = os.urandom(64 * 1024)


def answer(body, *fields, length=None):
    head = ["HTTP/1.1 200 OK", f"Content-Length: {len(body) if length is None else length}", *fields, "", ""]
    return "\r\n".join(head).encode() + body


async def fetch(folder, answers, path="/", *, limits=None, **options):
    """What comes of a file, with the fetcher closed."""
    files = FileLimits(folder=str(folder), **(limits or {}))
    fetcher = fetcher_with(files=files, **options)
    async with Raw(answers) as server:
        try:
            return await fetcher.fetch(Request(server.url + path, saves=Saving()))
        finally:
            await fetcher.close()


async def fault_of(folder, *arguments, **options):
    with pytest.raises(FetchError) as raised:
        await fetch(folder, *arguments, **options)
    return raised.value.fault


def read(result):
    """The bytes that are kept, which are those that are described."""
    data = Path(result.saved.path).read_bytes()
    saved = result.saved
    assert (saved.size_bytes, saved.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert saved.head == data[:16]
    return data


async def test_a_large_file_takes_the_memory_of_its_pieces(tmp_path):
    pieces = 24 * MEGABYTE // len(PIECE)

    async def send(writer):
        writer.write(answer(b"", length=pieces * len(PIECE)))
        for _ in range(pieces):
            writer.write(PIECE)
            await writer.drain()

    await fetch(tmp_path, {"/": answer(b"warm")})
    tracemalloc.start()
    try:
        result = await fetch(tmp_path, {"/": send}, large_bodies_bytes=MEGABYTE, max_body_bytes=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * MEGABYTE, f"{peak:,} bytes for a file of {result.saved.size_bytes:,}"
    assert read(result) == PIECE * pieces
    assert (result.body, result.wire_bytes) == (b"", pieces * len(PIECE))


async def test_files_do_not_wait_for_the_memory_that_others_would_take(tmp_path):
    is_over = asyncio.Event()

    async def slow(writer):
        writer.write(answer(b"x" * MEGABYTE, length=MEGABYTE + 1))
        await is_over.wait()
        writer.write(b"x")

    fetcher = fetcher_with(files=FileLimits(folder=str(tmp_path)), large_bodies_bytes=1)
    async with Raw({"/slow": slow, "/quick": answer(b"y" * 2 * MEGABYTE)}) as server:
        urls = (f"{server.url}/slow", f"{server.url}/quick")
        first, second = (asyncio.create_task(fetcher.fetch(Request(url, saves=Saving()))) for url in urls)
        assert (await second).saved.size_bytes == 2 * MEGABYTE
        assert not first.done()
        is_over.set()
        assert (await first).saved.size_bytes == MEGABYTE + 1
        await fetcher.close()


async def test_a_file_on_its_way_has_no_name_that_a_kill_would_leave(tmp_path):
    result = await fetch(tmp_path, {"/": answer(PIECE)})
    assert read(result) == PIECE
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_nobody_holds_takes_no_place(tmp_path):
    spooled = SpooledFile(tmp_path / "made")
    spooled.file.write(PIECE)
    spooled.finish()
    assert Path(spooled.path).read_bytes() == PIECE
    number = spooled.file.fileno()
    del spooled
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


async def test_a_file_that_breaks_off_is_no_file(tmp_path):
    async def half(writer):
        writer.write(answer(PIECE[:1000], length=2000))
        writer.close()

    async def broken_chunks(writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n")
        writer.close()

    for way in (half, broken_chunks):
        assert await fault_of(tmp_path, {"/": way}) is Fault.INCOMPLETE
    stalled = answer(b"x" * 10, length=20)
    assert await fault_of(tmp_path, {"/": stalled}, idle_s=0.05) is Fault.TIMEOUT_BODY


async def test_what_is_larger_than_allowed_is_no_file(tmp_path):
    async def endless(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5000)

    small = {"limits": {"max_bytes": 1000}}
    assert await fault_of(tmp_path, {"/": answer(b"x" * 1001)}, **small) is Fault.TOO_LARGE
    assert await fault_of(tmp_path, {"/": endless}, **small) is Fault.TOO_LARGE
    packed = answer(gzip.compress(b"x" * 100_000), "Content-Encoding: gzip")
    assert await fault_of(tmp_path, {"/": packed}, **small) is Fault.TOO_LARGE


@pytest.mark.parametrize(
    ("fields", "body", "kept"),
    [
        (("Content-Encoding: gzip",), gzip.compress(PIECE), PIECE),
        (("Content-Encoding: gzip", "Content-Type: application/gzip"), gzip.compress(PIECE), None),
        (("Content-Encoding: gzip",), b"never encoded", None),
        (("Content-Encoding: identity",), PIECE, None),
        (("Content-Encoding: utf-8",), PIECE, None),
        (("Content-Encoding: gzip, br",), PIECE, Fault.BAD_ENCODING),
        (("Content-Encoding: gzip",), gzip.compress(PIECE)[:-20], Fault.INCOMPLETE),
        (("Content-Encoding: gzip",), gzip.compress(PIECE)[:-8] + bytes(8), Fault.INCOMPLETE),
    ],
    ids=["gzip", "archive", "not encoded", "identity", "unknown", "stacked", "cut", "wrong sum"],
)
async def test_the_coding_of_the_transfer_is_undone_and_that_of_the_file_is_not(tmp_path, fields, body, kept):
    if isinstance(kept, Fault):
        assert await fault_of(tmp_path, {"/": answer(body, *fields)}) is kept
    else:
        assert read(await fetch(tmp_path, {"/": answer(body, *fields)})) == (kept or body)


async def test_chunks_in_disorder_go_to_the_file_too(tmp_path):
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
    assert read(await fetch(tmp_path, {"/": chunked})) == b"abcde"


async def test_only_a_success_is_a_file(tmp_path):
    for status in (302, 404, 500):
        head = f"HTTP/1.1 {status} X\r\nContent-Length: 4\r\nLocation: /x\r\n\r\nbody".encode()
        result = await fetch(tmp_path, {"/": head})
        assert (result.saved, result.body) == (None, b"body")
    page = await fetch(tmp_path, {"/": answer(b"<h1>No</h1>", "Content-Type: text/html")})
    assert (page.body, read(page)) == (b"<h1>No</h1>", b"<h1>No</h1>"), "a page may be one that refuses us"
    assert (await fetch(tmp_path, {"/": answer(b"")})).saved.size_bytes == 0


async def test_what_is_of_no_type_that_is_wanted_is_not_read(tmp_path):
    async def film(writer):
        writer.write(answer(b"", "Content-Type: video/mp4", length=10**9))
        await asyncio.Event().wait()

    wanted = {"limits": {"types": ("image/*", "application/pdf")}}
    assert await fault_of(tmp_path, {"/": film}, **wanted) is Fault.UNWANTED
    assert read(await fetch(tmp_path, {"/": answer(b"x", "Content-Type: image/PNG; a=b")}, **wanted)) == b"x"
    assert read(await fetch(tmp_path, {"/": answer(b"%PDF-")}, **wanted)) == b"%PDF-", "it may be one"


async def test_a_disk_that_takes_nothing_stops_the_crawl_and_names_the_folder(tmp_path):
    (tmp_path / "spool").write_text("in the way")
    with pytest.raises(StorageError, match=re.escape(f"{tmp_path}/spool")):
        await fetch(tmp_path / "spool", {"/": answer(PIECE)})
