"""Files of an archive: what other readers see, what a kill leaves behind, what is never in them."""

from __future__ import annotations

import asyncio
import gc
import gzip
import importlib.util
import json
import os
import sys
import threading
import zlib
from contextlib import suppress
from pathlib import Path

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from gossamer.archive import cdxj, open_file
from gossamer.archive import writer as writer_module
from gossamer.archive.depot import ArchiveDepot, delete_files
from gossamer.archive.http_block import content_of, split_block
from gossamer.archive.index import BLOCK_BYTES, WHOLE_BYTES, CdxjIndex
from gossamer.archive.packing import pack_record, store_record
from gossamer.archive.reader import WarcReader, has_answers
from gossamer.archive.scanning import scan_file
from gossamer.archive.surt import key_of
from gossamer.archive.warc import (
    RecordCounter,
    digest_of,
    exchange_records,
    fetched_of,
    parts_of,
    read_record,
)
from gossamer.archive.warc import entry_of as entry_of_record
from gossamer.archive.writer import ArchiveOptions, WarcWriter
from gossamer.blobs.folder import FolderBlobStore
from gossamer.config.settings import Settings
from gossamer.core.archive import ArchiveEntry, ArchiveLocation
from gossamer.core.errors import FetchError, StorageError
from gossamer.core.jobs import Job, tag_of
from gossamer.core.requests import Request
from gossamer.core.results import RawExchange
from gossamer.fetch.archived import ArchivedFetcher
from gossamer.fetch.http.decode import BodyDecoder
from gossamer.testing.contracts.archive_harness import (
    JOB,
    PAGE,
    SITE,
    make_answer,
    plain,
    sent_by_http,
)
from gossamer.wiring.archives import open_reader, open_writer

LOCATION = ArchiveLocation(file="a", offset=0, length=1)


def make_depot(folder: Path) -> ArchiveDepot:
    return ArchiveDepot(FolderBlobStore(folder), folder, is_final=True)


def make_writer(folder: Path, **options) -> WarcWriter:
    return WarcWriter(make_depot(folder), JOB, ArchiveOptions(**options))


def make_reader(folder: Path) -> WarcReader:
    return WarcReader(FolderBlobStore(folder))


def raw_answer(header: bytes, body: bytes, fetched_body: bytes | None = None, **said):
    lines = [line.partition(b":") for line in header.strip().split(b"\r\n")[1:]]
    headers = tuple((name.decode().lower(), value.decode("latin-1").strip()) for name, _, value in lines)
    raw = RawExchange(request_header=b"GET / HTTP/1.1\r\n\r\n", response_header=header, body=body)
    return make_answer(body=body if fetched_body is None else fetched_body, headers=headers, raw=raw, **said)


GZIPPED = gzip.compress(b"<p>text</p>" * 50, mtime=0)
SENT = {
    "plain": (b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n", b"body", None),
    "gzip": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(GZIPPED),
        GZIPPED,
        b"<p>text</p>" * 50,
    ),
    "chunked": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n",
        GZIPPED,
        b"<p>text</p>" * 50,
    ),
    "no content": (b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n", b"", None),
    "head": (b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", b"", None),
    "informed": (
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 No\r\nX-A: 1\r\n\r\n",
        b"gone",
        None,
    ),
}


@pytest.mark.parametrize("kind", SENT)
async def test_other_readers_see_the_bytes_that_were_sent(tmp_path, kind):
    """Bodies as they were sent, digests that are right, and a header that fits its body."""
    from fastwarc.warc import ArchiveIterator as FastIterator
    from fastwarc.warc import WarcRecordType

    header, body, decoded = SENT[kind]
    last = header.split(b"\r\n\r\n")[-2] + b"\r\n\r\n"
    fetched = raw_answer(last, body, decoded, status=int(last.split()[1]))
    raw = RawExchange(request_header=b"GET / HTTP/1.1\r\n\r\n", response_header=header, body=body)
    fetched = replace(fetched, raw=raw)
    writer = make_writer(tmp_path)
    place = await writer.write_exchange(Request(PAGE), fetched)
    await writer.close()
    assert plain((await make_reader(tmp_path).read_page(place)).fetched) == plain(fetched)
    (path,) = tmp_path.glob("*/*.warc.gz")
    with path.open("rb") as file:
        found = []
        for record in ArchiveIterator(file, check_digests=True):
            content = record.raw_stream.read()
            if record.rec_type == "response":
                assert record.digest_checker.passed
                assert record.http_headers.get_statuscode() == str(fetched.status)
                found.append(content)
    assert found == [body]
    with path.open("rb") as file:
        for record in FastIterator(file, record_types=WarcRecordType.response, parse_http=True):
            assert record.verify_payload_digest()
            assert (record.http_headers.status_code, record.reader.read()) == (fetched.status, body)
    with path.open("rb") as file:  # a strict reader passes over records without the digest of their block
        records = list(FastIterator(file, record_types=WarcRecordType.any_type, verify_digests=True))
        assert len(records) == 3
    with path.open("rb") as file:
        assert all(record.verify_block_digest() for record in FastIterator(file, parse_http=False))
    index = next(tmp_path.glob("*/*.cdxj")).read_text()
    offset, length = place.rsplit(":", 2)[1:]
    member = path.read_bytes()[int(offset) :][: int(length)]
    assert gzip.decompress(member).startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
    assert index.startswith("example,shop)/page?a=1&b=2 20"), index


async def test_a_revisit_is_one_for_other_readers_too(tmp_path):
    writer = make_writer(tmp_path)
    for url in (PAGE, f"{SITE}/other"):
        await writer.write_exchange(Request(url), make_answer(url, b"same" * 500))
    await writer.close()
    (path,) = tmp_path.glob("*/*.warc.gz")
    with path.open("rb") as file:
        fields = [dict(record.rec_headers.headers) for record in ArchiveIterator(file)]
    revisit = fields[-1]
    assert revisit["WARC-Type"] == "revisit"
    assert revisit["WARC-Refers-To-Target-URI"] == PAGE
    assert revisit["WARC-Refers-To-Date"] == fields[2]["WARC-Date"]
    assert revisit["WARC-Payload-Digest"] == fields[2]["WARC-Payload-Digest"]
    with path.open("rb") as file:
        checked = {
            one.rec_type: one.digest_checker for one in whole(ArchiveIterator(file, check_digests=True))
        }
        assert {kind: digest.problems for kind, digest in checked.items()} == {
            "warcinfo": [], "request": [], "response": [], "revisit": [],
        }  # fmt: skip


def whole(records):
    """Each record when its content has been read."""
    for record in records:
        record.raw_stream.read()
        yield record


@pytest.mark.parametrize(
    ("url", "former"),
    [
        ("http://127.0.0.1:8085/x", "127.0.0.1:8085)/x"),
        ("http://www2.h.test/%7Ea//b?b=%41&a", "test,h,www2)/%7ea//b?a&b=%41"),
        ("http://shop.example/", "example,shop)/"),
    ],
)
async def test_a_page_is_found_by_its_former_key(tmp_path, url, former):
    """In the index of an older version."""
    writer = make_writer(tmp_path)
    await writer.write_exchange(Request(url), make_answer(url, b"x"))
    await writer.close()
    (index,) = tmp_path.glob("*/*.cdxj")
    index.write_text(index.read_text().replace(f"{key_of(url)} ", f"{former} "))
    assert (await make_reader(tmp_path).find_page(JOB, url)).url == url


TEXT = st.text(max_size=40)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True)
ODD = st.lists(st.tuples(st.one_of(NAMES, TEXT), TEXT), max_size=6).map(tuple)


@settings(max_examples=30)
@given(
    headers=ODD,
    body=st.binary(max_size=300),
    status=st.integers(100, 599),
    flags=st.lists(st.from_regex(r"[a-z_]{1,12}", fullmatch=True), max_size=3).map(tuple),
    at=st.floats(0, 4e9),
)
def test_whatever_was_fetched_is_read_back(headers, body, status, flags, at):
    fetched = make_answer(PAGE, body, status=status, headers=headers, flags=flags, at=at, rung="browser")
    assert plain(give_back(fetched)) == plain(fetched)


CODINGS = {
    "gzip": lambda data: gzip.compress(data, 1),
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=1),
    "gzip, br": lambda data: brotli.compress(gzip.compress(data, 1), quality=1),
    "nonsense": lambda data: data,
}


@settings(max_examples=30)
@given(
    coding=st.sampled_from(sorted(CODINGS)),
    body=st.binary(max_size=400),
    cut=st.integers(0, 30),
    header=st.binary(max_size=200),
    is_chunked=st.booleans(),
)
def test_whatever_came_over_the_wire_is_read_back(coding, body, cut, header, is_chunked):
    """Damaged bodies end where they ended; a header that cannot be read says what was understood of it."""
    sent = CODINGS[coding](body)
    sent = sent[: max(len(sent) - cut, 0)]
    decoder = BodyDecoder(coding, 10**6)
    try:
        decoder.feed_data(sent)
        decoded, flags = decoder.finish_body()
    except Exception:
        decoded, flags = b"", ("truncated",)
    fields = [("content-encoding", coding)] + ([("transfer-encoding", "chunked")] if is_chunked else [])
    good = "".join(f"{name}: {value}\r\n" for name, value in fields).encode()
    for received in (b"HTTP/1.1 200 OK\r\n" + good + b"\r\n", header, b"HTTP/1.1 200 OK\r\n" + header):
        raw = RawExchange(request_header=b"GET / HTTP/1.1\r\n\r\n", response_header=received, body=sent)
        fetched = make_answer(PAGE, decoded, headers=tuple(fields), flags=flags, raw=raw)
        assert plain(give_back(fetched)) == plain(fetched)


def give_back(fetched):
    """An answer through its record."""
    parts = parts_of(Request(fetched.url), fetched, keeps_credentials=False)
    record = read_record(exchange_records(parts, None, RecordCounter(), keeps_credentials=False)[1])
    entry = entry_of_record(record, LOCATION)
    assert entry is not None
    assert entry.at == round(fetched.started_at, 6)
    assert cdxj.entry_from(cdxj.line_of(entry), "") == entry
    return fetched_of(entry, record, split_block(record.block)[1])


@pytest.mark.parametrize("keeps", [False, True])
async def test_credentials_are_in_no_file_unless_they_are_asked_for(tmp_path, keeps):
    writer = make_writer(tmp_path, keeps_credentials=keeps)
    await writer.write_exchange(Request(PAGE), sent_by_http())
    asked = Request(
        PAGE, method="POST", body=b"password=canary-body", headers={"Authorization": "canary-made"}
    )
    await writer.write_exchange(asked, make_answer(headers=(("set-cookie", "a=canary-set"),)))
    await writer.close()
    text = b"".join(gzip.decompress(path.read_bytes()) for path in tmp_path.glob("*/*.warc.gz"))
    text += b"".join(path.read_bytes() for path in tmp_path.glob("*/*.cdxj"))
    assert (b"canary" in text) is keeps
    assert b"canary-body" not in text, "the body of a request is never kept"


def test_folded_and_oddly_written_credentials_are_hidden_too():
    header = b"HTTP/1.1 200 OK\r\nSET-COOKIE : a=canary\r\n\tb=canary\r\nX: 1\r\nset-cookie:canary\r\n\r\n"
    fetched = raw_answer(b"HTTP/1.1 200 OK\r\nx: 1\r\n\r\n", b"")
    fetched = make_answer(
        headers=(("x", "1"),), raw=RawExchange(request_header=b"", response_header=header, body=b"")
    )
    parts = parts_of(Request(PAGE), fetched, keeps_credentials=False)
    assert b"canary" not in exchange_records(parts, None, RecordCounter(), keeps_credentials=False)[1]


@settings(deadline=None)
@given(st.lists(st.tuples(st.binary(max_size=3000), st.integers(0, 40), st.booleans()), max_size=6))
def test_what_is_packed_is_read_without_what_was_packed_before(records):
    for data, times, is_stored in records:
        record = data * times
        expand = zlib.decompressobj(zlib.MAX_WBITS | 16)
        assert expand.decompress(store_record(record) if is_stored else pack_record(record)) == record
        assert (expand.eof, expand.unused_data) == (True, b"")


def test_without_the_quick_compressor_records_are_packed_all_the_same(monkeypatch):
    """There is none for every kind of machine."""
    monkeypatch.setitem(sys.modules, "isal", None)
    spec = importlib.util.find_spec("gossamer.archive.packing")
    plain_packing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain_packing)
    assert plain_packing.deflate is zlib
    data = b"<p>text</p>" * 10_000
    packed = plain_packing.pack_record(data)
    assert len(packed) < len(data) / 20
    assert gzip.decompress(packed) == data == gzip.decompress(plain_packing.store_record(data))


def test_of_repeated_fields_the_first_one_counts_as_for_the_page(tmp_path):
    kinds = (("content-type", "text/html"), ("content-type", "image/png"))
    assert content_of(kinds) == ("text/html", False)
    assert content_of((("content-encoding", "gzip"), ("content-encoding", "identity"))) == ("", True)


async def test_a_media_type_that_is_no_text_harms_no_other_page(tmp_path):
    """Lines of the index are made later: one that cannot be made would stop all that come after it."""
    writer = make_writer(tmp_path)
    odd = make_answer(PAGE, headers=(("content-type", "text/\udc80"),))
    places = [await writer.write_exchange(Request(PAGE), odd)]
    for number in range(40):
        url = f"{SITE}/{number}"
        places.append(await writer.write_exchange(Request(url), make_answer(url, b"%d" % number)))
    await writer.close()
    assert len([entry async for entry in make_reader(tmp_path).list_pages(JOB)]) == 41
    assert (await make_reader(tmp_path).read_page(places[0])).fetched.headers == odd.headers


async def test_an_archive_of_an_older_version_is_read(tmp_path):
    """Its records and its index name fingerprints, which nothing reads."""
    header = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    record = (
        b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        b"WARC-Date: 2026-01-02T03:04:05.250000Z\r\nWARC-Target-URI: %b\r\nWARC-Payload-Digest: %b\r\n"
        b"Gossamer-Rung: http\r\nGossamer-Fingerprint: -5\r\nContent-Length: %d\r\n\r\n%bold\r\n\r\n"
    ) % (PAGE.encode(), digest_of(b"old").encode(), len(header) + 3, header)
    packed, folder = pack_record(record), tmp_path / JOB
    line = {"url": PAGE, "mime": "text/html", "status": "200", "digest": digest_of(b"old"), "offset": "0"}
    line |= {"length": str(len(packed)), "filename": "0123456789ab-00001.warc.gz"}
    line |= {"gossamer": {"at": 1767323045.25, "fp": -5, "rung": "http"}}
    folder.mkdir()
    (folder / "0123456789ab-00001.warc.gz").write_bytes(packed)
    for has_index in (False, True):
        if has_index:
            text = f"{cdxj.key_of(PAGE)} 20260102030405 {json.dumps(line)}\n"
            (folder / "0123456789ab-00001.cdxj").write_text(text)
        entry = await make_reader(tmp_path).find_page(JOB, PAGE)
        assert (entry.at, entry.status, entry.content_type) == (1767323045.25, 200, "text/html")
        assert (await make_reader(tmp_path).read_page(entry.location.text)).fetched.body == b"old"


def _count_done_futures() -> int:
    gc.collect()
    return sum(isinstance(one, asyncio.Future) and one.done() for one in gc.get_objects())


async def test_a_disk_that_is_full_for_long_keeps_no_page_in_memory(tmp_path, monkeypatch):
    def refuse(file, data, offset):
        raise OSError(28, "No space left on device")

    writer = make_writer(tmp_path)
    await writer.write_exchange(Request(PAGE), make_answer())
    monkeypatch.setattr(open_file.os, "pwrite", refuse)
    before = _count_done_futures()  # other tests of this process have left theirs
    for _ in range(20):
        with suppress(StorageError):
            await writer.write_exchange(Request(PAGE), make_answer())
    assert _count_done_futures() - before < 5


async def test_a_close_that_is_broken_off_leaves_no_answer_without_its_line(tmp_path, monkeypatch):
    """What a thread is writing then is in the file, and belongs in its index."""
    writer = make_writer(tmp_path, is_synced=True)
    await writer.write_exchange(Request(PAGE), make_answer())
    real, begun, may_go_on = open_file.OpenWarcFile.append_bytes, threading.Event(), threading.Event()

    def append_bytes(file, data):
        begun.set()
        may_go_on.wait(10)
        real(file, data)

    monkeypatch.setattr(open_file.OpenWarcFile, "append_bytes", append_bytes)
    writer.queue_exchange(Request(f"{SITE}/2"), make_answer(f"{SITE}/2", b"later"))
    closing = asyncio.create_task(writer.close())
    await asyncio.to_thread(begun.wait, 10)
    closing.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    with suppress(asyncio.CancelledError):
        await closing
    (index,) = tmp_path.glob("*/*.cdxj")
    assert index.read_bytes().count(b"\n") == 2


async def test_large_answers_are_noted_soon(tmp_path):
    writer = make_writer(tmp_path, revisits=False)
    for number in range(6):
        url = f"{SITE}/{number}"
        await writer.write_exchange(Request(url), make_answer(url, os.urandom(400_000)))
    (notes,) = tmp_path.glob("*/*.lines")
    assert notes.read_bytes().count(b"\n") == 4, "the first one, and three of 1.2 MB"


@pytest.mark.parametrize("is_raw", [False, True])
def test_what_an_answer_tells_like_a_secret_is_hidden_and_the_rest_is_as_it_was(is_raw):
    secret = ("Set-Cookie2", "X-Auth-Token", "X-CSRF-Token", "SET-COOKIE")
    plain_ones = ("WWW-Authenticate", "Access-Control-Allow-Credentials", "ETag", "Cache-Control")
    lines = [f"{name}: canary-{name}" for name in secret] + [f"{name}: kept {name}" for name in plain_ones]
    header = "\r\n".join(["HTTP/1.1 200 OK", *lines, "", ""]).encode()
    fetched = raw_answer(header, b"x")
    fetched = fetched if is_raw else replace(fetched, raw=None)
    parts = parts_of(Request(PAGE), fetched, keeps_credentials=False)
    assert b"canary" not in parts.block.header
    assert all(f"kept {name}".encode() in parts.block.header for name in plain_ones)
    assert all(name.lower().encode() in parts.block.header.lower() for name in secret)


@pytest.mark.parametrize("fails_at", range(1, 6))
async def test_a_full_disk_loses_nothing_that_was_said_to_be_written(tmp_path, monkeypatch, fails_at):
    """Half of a record is on the disk when the write fails: it must be cut, not read."""
    real, calls = os.pwrite, []

    def pwrite(file, data, offset):
        calls.append(1)
        if len(calls) == fails_at:
            real(file, data[: len(data) // 2], offset)
            raise OSError(28, "No space left on device")
        return real(file, data, offset)

    monkeypatch.setattr(open_file.os, "pwrite", pwrite)
    writer, places = make_writer(tmp_path, revisits=False), {}
    for number in range(6):
        body = b"%d" % number * 100
        try:
            place = await writer.write_exchange(
                Request(f"{SITE}/{number}"), make_answer(f"{SITE}/{number}", body)
            )
        except StorageError as error:
            said = str(error)
        else:
            places[place] = body
    await writer.close()
    assert len(places) == 5
    assert "No space left" in said
    reader = make_reader(tmp_path)
    for place, body in places.items():
        assert (await reader.read_page(place)).fetched.body == body
    assert len([entry async for entry in reader.list_pages(JOB)]) == 5
    (path,) = tmp_path.glob("*/*.warc.gz")
    scanned = scan_file(path, "any")
    assert (scanned.whole_bytes, len(scanned.lines)) == (path.stat().st_size, 5), "no half record is between"


@pytest.mark.parametrize("begun", [0, 1])
async def test_what_is_queued_while_the_disk_is_full_is_written_when_there_is_room(
    tmp_path, monkeypatch, begun
):
    """The commit that waits for it fails, and is tried again; who wants a place is told at once."""
    real, is_full = os.pwrite, [False]

    def pwrite(file, data, offset):
        if is_full[0]:
            raise OSError(28, "No space left on device")
        return real(file, data, offset)

    monkeypatch.setattr(open_file.os, "pwrite", pwrite)
    writer = make_writer(tmp_path)
    for number in range(3):
        url = f"{SITE}/{number}"
        writer.queue_exchange(Request(url), make_answer(url, b"%d" % number))
        if number < begun:
            await writer.flush()
            continue
        is_full[0] = True
        with pytest.raises(StorageError, match="No space left"):
            await writer.flush()
    with pytest.raises(StorageError, match="No space left"):
        await writer.write_exchange(Request(PAGE), make_answer(PAGE, b"4"))
    is_full[0] = False
    await writer.flush()
    found = [entry.url async for entry in make_reader(tmp_path).list_pages(JOB)]
    assert sorted(found) == [f"{SITE}/{number}" for number in range(3)]
    await writer.close()


async def test_a_turns_pages_wait_for_no_thread_unless_the_disk_is_slow(tmp_path, monkeypatch):
    """With few requests at once, most of what an archive cost was waiting; a slow disk holds up nobody."""
    monkeypatch.setattr(writer_module, "SLOW_S", 60.0)
    handed = []
    to_thread = asyncio.to_thread

    async def count_handed(act, *given):
        handed.append(act)
        return await to_thread(act, *given)

    monkeypatch.setattr(asyncio, "to_thread", count_handed)

    async def flush(writer, body=b"x"):
        handed.clear()
        writer.queue_exchange(Request(PAGE), make_answer(PAGE, body))
        await writer.flush()
        return bool(handed)

    writer = make_writer(tmp_path, max_file_bytes=4000)
    assert [await flush(writer) for _ in range(3)] == [True, False, False], "only the file is opened there"
    assert await flush(writer, os.urandom(writer_module.PACKED_HERE_BYTES + 1)), "and what is large is packed"
    monkeypatch.setattr(writer_module, "SLOW_S", -1.0)
    assert [await flush(writer) for _ in range(3)] == [True, True, True], "the next file, which is slow"
    monkeypatch.setattr(writer_module, "SLOW_S", 60.0)
    assert await flush(writer), "it stays with the thread"
    assert await flush(writer, os.urandom(4000)), "up to its end"
    assert [await flush(writer) for _ in range(2)] == [True, False], "another file is tried anew"
    await writer.close()
    synced = make_writer(tmp_path, is_synced=True)
    assert [await flush(synced) for _ in range(2)] == [True, True]
    await synced.close()
    assert len([entry async for entry in make_reader(tmp_path).list_pages(JOB)]) == 1, "all are read"


@pytest.mark.parametrize("share", [0, 1, 2, 3])
async def test_what_a_killed_worker_left_is_put_in_order(tmp_path, share):
    """Cut within the last record, at its front, before it and not at all."""
    writer = make_writer(tmp_path, revisits=False)
    places = [
        await writer.write_exchange(Request(f"{SITE}/{n}"), make_answer(f"{SITE}/{n}", b"%d" % n))
        for n in range(4)
    ]
    (path,) = tmp_path.glob("*/*.open")
    data = path.read_bytes()
    last = ArchiveLocation.from_text(places[-1])
    size = {0: last.offset, 1: last.offset + 5, 2: last.offset + last.length - 1, 3: len(data)}[share]
    dead = tmp_path / "dead"
    (dead / JOB).mkdir(parents=True)
    left = dead / JOB / path.name
    left.write_bytes(data[:size])
    reader = make_reader(dead)
    whole = places if share == 3 else places[:-1]
    assert [entry.location.text async for entry in reader.list_pages(JOB)] == whole, "before anybody came"
    await make_depot(dead).recover_files(JOB)
    assert not left.exists()
    assert [entry.location.text async for entry in make_reader(dead).list_pages(JOB)] == whole
    assert (await make_reader(dead).find_page(JOB, f"{SITE}/0")).location.text == places[0]
    with (dead / JOB / path.name.removesuffix(".open")).open("rb") as file:
        assert sum(record.rec_type == "response" for record in ArchiveIterator(file)) == len(whole)


async def test_a_page_in_a_file_that_is_being_written_is_found_without_reading_all_of_it(tmp_path):
    """``explain`` asks while the crawl runs, and a full file takes half a minute to read."""
    blobs = CountingBlobStore(tmp_path)
    writer = make_writer(tmp_path, revisits=False)
    for number in range(120):
        url = f"{SITE}/{number}"
        await writer.write_exchange(Request(url), make_answer(url, os.urandom(20_000)))
    (path,) = tmp_path.glob("*/*.open")
    reader = WarcReader(blobs)
    assert await reader.find_page(JOB, f"{SITE}/7") is not None
    assert blobs.read_bytes < 120 * 500 + writer_module.LISTED_AT_ONCE * 21_000 < path.stat().st_size / 3
    await writer.write_exchange(Request(PAGE), make_answer())
    assert await reader.find_page(JOB, PAGE) is not None, "what came since is read"
    notes = path.with_name(path.name + ".lines")
    noted, size = notes.read_bytes(), path.stat().st_size
    for damaged in (noted[:-5], noted[: len(noted) // 2], noted.replace(b"{", b"\0", 5), b"nonsense\n", b""):
        notes.write_bytes(damaged)
        assert len([one async for one in make_reader(tmp_path).list_pages(JOB)]) == 121
    notes.write_bytes(noted)
    os.truncate(path, size - 10)
    assert len([one async for one in make_reader(tmp_path).list_pages(JOB)]) == 120, "the file lost its end"
    await writer.close()
    assert not notes.exists()


class CountingBlobStore(FolderBlobStore):
    """Counts what is read."""

    read_bytes = reads = 0

    async def read_range(self, name, offset=0, length=None):
        data = await super().read_range(name, offset, length)
        self.read_bytes += len(data)
        self.reads += 1
        return data


async def test_whether_a_job_has_answers_is_known_without_reading_them(tmp_path):
    """A replay asks before it begins, and building all entries of a million pages takes half a minute."""
    blobs = CountingBlobStore(tmp_path)
    assert not await has_answers(blobs, JOB)
    writer = make_writer(tmp_path)
    await writer.write_exchange(Request(PAGE), make_answer())
    (notes,) = tmp_path.glob("*/*.lines")
    assert await has_answers(blobs, JOB)
    notes.unlink()
    assert blobs.reads == 0
    assert await has_answers(blobs, JOB), "a file without notes is read"
    await writer.close()
    blobs.reads = 0
    assert await has_answers(blobs, JOB)
    assert not await has_answers(blobs, "other-1-0123456789ab")
    assert blobs.reads == 0


@pytest.mark.parametrize("has_index", [True, False])
async def test_a_file_that_was_cut_is_told_of_once_and_what_is_whole_is_read(tmp_path, caplog, has_index):
    """A bug it would catch: of half an archive a replay says only that pages were never there."""
    writer = make_writer(tmp_path, revisits=False)
    for number in range(4):
        url = f"{SITE}/{number}"
        await writer.write_exchange(Request(url), make_answer(url, b"%d" % number))
    await writer.close()
    (path,) = tmp_path.glob("*/*.warc.gz")
    (index,) = tmp_path.glob("*/*.cdxj")
    if not has_index:
        index.unlink()
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    fetcher, found = ArchivedFetcher(make_reader(tmp_path), JOB), []
    for number in range(4):
        with suppress(FetchError):
            found.append((await fetcher.fetch(Request(f"{SITE}/{number}"))).body)
    assert 0 < len(found) < 4
    assert found == [b"%d" % number for number in range(len(found))]
    said = [record.message for record in caplog.records if path.name in record.message]
    assert len(said) == 1
    assert ("its page is missing" if has_index else "whole only up to byte") in said[0]


async def test_the_file_of_a_living_worker_is_left_alone(tmp_path):
    """Another process of the same crawl starts: it must not finish what the first one writes."""
    writer = make_writer(tmp_path)
    await writer.write_exchange(Request(PAGE), make_answer())
    await make_depot(tmp_path).recover_files(JOB)
    place = await writer.write_exchange(Request(f"{SITE}/2"), make_answer(f"{SITE}/2", b"later"))
    await writer.close()
    assert (await make_reader(tmp_path).read_page(place)).fetched.body == b"later"


class SlowBlobStore(FolderBlobStore):
    """A bucket that others overtake."""

    async def put_file(self, name, path):
        for _ in range(50):
            await asyncio.sleep(0)
        await super().put_file(name, path)


async def test_a_turn_that_fills_files_is_in_the_bucket_when_it_is_flushed(tmp_path):
    """Full files are published aside: flush must neither publish one twice nor return before it is there."""
    blobs = SlowBlobStore(tmp_path / "bucket")
    depot = ArchiveDepot(blobs, tmp_path / "spool", is_final=False)
    options = ArchiveOptions(max_file_bytes=2048, publishes_turns=True, revisits=False)
    writer = WarcWriter(depot, JOB, options)
    for turn in range(4):
        sizes = [0, 0, 0] if turn % 2 else [5000, 5000, 100]
        urls = [f"{SITE}/{turn}/{number}" for number in range(3)]
        made = [make_answer(url, os.urandom(size)) for url, size in zip(urls, sizes, strict=True)]
        first = [writer.write_exchange(Request(url), answer) for url, answer in zip(urls, made, strict=True)]
        places = await asyncio.gather(*first)
        places.append(await writer.write_exchange(Request(f"{SITE}/x"), make_answer(f"{SITE}/x")))
        await asyncio.gather(writer.flush(), writer.flush())
        there = {info.name async for info in blobs.list_blobs("")}
        assert {place.split(":")[0] for place in places} <= there
    await writer.close()
    assert not [path for path in (tmp_path / "spool").rglob("*") if path.is_file()]


@pytest.mark.parametrize("max_file_bytes", [1024, 2**30])
async def test_what_is_flushed_is_on_the_disk_also_when_its_file_has_got_full(
    tmp_path, monkeypatch, max_file_bytes
):
    synced = set()
    real = os.fsync
    monkeypatch.setattr(open_file.os, "fsync", lambda file: (synced.add(os.fstat(file).st_ino), real(file)))
    blobs = SlowBlobStore(tmp_path / "bucket")
    depot = ArchiveDepot(blobs, tmp_path / "spool", is_final=False)
    writer = WarcWriter(depot, JOB, ArchiveOptions(max_file_bytes=max_file_bytes, is_synced=True))
    await writer.write_exchange(Request(PAGE), make_answer(PAGE, os.urandom(3000)))
    (path,) = (tmp_path / "spool").glob("*/*.open")
    number = path.stat().st_ino
    await writer.flush()
    assert number in synced
    await writer.close()


async def test_a_large_index_is_searched_in_parts(tmp_path):
    """Every line of it is found, those at the edges of blocks too, and none that is not there."""
    entries = {}
    for number in range(9_000):
        url = f"{SITE}/{number * 7919 % 100_003}/" + "x" * (number % 90)
        entries[url] = cdxj.line_of(
            ArchiveEntry(url=url, at=1e9, status=200, digest="sha1:" + "A" * 32, location=LOCATION)
        )
    text = "".join(line + "\n" for line in sorted(entries.values())).encode()
    assert len(text) > WHOLE_BYTES + BLOCK_BYTES
    blobs = CountingBlobStore(tmp_path)
    await blobs.put_bytes("index", text)
    index = CdxjIndex(blobs, "index", len(text))
    urls = sorted(entries)
    for url in (*urls[::97], urls[-1], min(entries, key=cdxj.key_of), max(entries, key=cdxj.key_of)):
        assert await index.find_lines(f"{cdxj.key_of(url)} ".encode()) == [entries[url].encode()]
        assert await index.find_lines(f"{cdxj.key_of(url)}y ".encode()) == []
    blobs.reads = 0  # a replay asks for every page: most of the way is known then
    for url in urls[::97]:
        await index.find_lines(f"{cdxj.key_of(url)} ".encode())
    assert blobs.reads < 1.5 * len(urls[::97])
    assert len(await index.find_lines(b"")) == len(entries)


async def test_old_files_are_deleted_with_their_indexes_and_nothing_else(tmp_path):
    """Neither what is young, nor what is being written, nor a stranger's file that lies there."""
    old = tmp_path / "old-1-0123456789ab"
    for job in (old.name, JOB):
        writer = WarcWriter(make_depot(tmp_path), job)
        await writer.write_exchange(Request(PAGE), make_answer())
        await writer.close()
    busy, killed = WarcWriter(make_depot(tmp_path), old.name), WarcWriter(make_depot(tmp_path), old.name)
    await killed.write_exchange(Request(PAGE), make_answer())
    (left_open,) = old.glob("*.open")
    (old / f"copy-{left_open.name}").write_bytes(left_open.read_bytes())
    await killed.close()
    (left_open.with_name(left_open.name.removesuffix(".open"))).unlink()
    (old / f"copy-{left_open.name}").rename(left_open)  # a killed worker's, whose index was written
    await busy.write_exchange(Request(PAGE), make_answer())
    strange = ["notes.txt", "CRAWL-2019.warc.gz", "CRAWL-2019.cdxj", "mine.open", "mine~"]
    for name in strange:
        (old / name).write_text("mine")
    (old / f"{left_open.name.removesuffix('.warc.gz.open')}.cdxj.0123abcd~").write_text("half an index")
    for path in old.iterdir():
        os.utime(path, (1000, 1000))
    kept = {path.name for path in (tmp_path / JOB).iterdir()}
    assert await make_depot(tmp_path).delete_abandoned(500.0) == 0
    assert await make_depot(tmp_path).delete_abandoned(2000.0) == 2
    assert await delete_files(FolderBlobStore(tmp_path), 2000.0) == 1
    open_one, notes = sorted({path.name for path in old.iterdir()} - set(strange))
    assert (open_one + ".lines", open_one[-5:]) == (notes, ".open")
    assert {path.name for path in (tmp_path / JOB).iterdir()} == kept
    assert [entry.url async for entry in make_reader(tmp_path).list_pages(JOB)] == [PAGE]
    await busy.close()


async def test_a_bucket_that_is_not_there_ends_a_crawl_before_its_first_page(tmp_path, s3_url):
    """Else it is found out when the first file is full, or at the very end."""
    settings = Settings.model_validate({"archive": {"url": "s3://no-such-bucket/x"}, "data": str(tmp_path)})
    job = Job(id="shop-1", name="shop", target="shop.py", created_at=1.0)
    with pytest.raises(StorageError, match="no such bucket"):
        await open_writer(settings, job)


async def test_what_a_killed_worker_left_here_is_uploaded_by_the_next(tmp_path, s3_url):
    """Its part of the archive would otherwise stay on the machine for good, unseen."""
    settings = Settings.model_validate({"archive": {"url": s3_url}, "data": str(tmp_path)})
    job = Job(id="shop-1", name="shop", target="shop.py", created_at=1.0, key=b"k" * 32)
    writer = await open_writer(settings, job)
    place = await writer.write_exchange(Request(PAGE), make_answer())
    (left,) = (tmp_path / "archive-spool").glob("*/*.open")
    data = left.read_bytes()
    await writer.close()
    assert not left.exists()
    left.with_name("ffffffffffff-00001.warc.gz.open").write_bytes(data[:-1])
    left.with_name("eeeeeeeeeeee-00001.warc.gz.open").write_bytes(data)
    await open_writer(settings, job)
    assert not list((tmp_path / "archive-spool").glob("*/*"))
    reader = open_reader(settings)
    for name in (left.name.removesuffix(".open"), "eeeeeeeeeeee-00001.warc.gz"):
        moved = ArchiveLocation.from_text(place.replace(left.name.removesuffix(".open"), name))
        assert (await reader.read_page(moved.text)).entry.location == moved
    assert len([entry async for entry in reader.list_pages(tag_of(job))]) == 1
