"""Content-Encoding undone: real bodies, bombs, damage; in any cut the same."""

from __future__ import annotations

import gzip
import random
import time
import zlib

import brotli
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.http.codings import zstd
from gossamer.fetch.http.decode import MAX_STAGES, BodyDecoder
from kit.corpora import corpus, from_corpus

LIMIT = 2_000_000
TEXT = b"<html><p>some words " + bytes(range(256)) * 20


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACK = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def decode(
    encoding: str, data: bytes, *, step: int = 65536, limit: int = LIMIT, is_framed: bool = False
) -> tuple[bytes, tuple[str, ...]]:
    decoder = BodyDecoder(encoding, limit)
    for position in range(0, len(data), step):
        decoder.feed_data(data[position : position + step])
    return decoder.finish_body(is_framed=is_framed)


PAGE = b"".join(b"<p>Paragraph %d, with some words of its own: %d.</p>\n" % (n, n * n) for n in range(1500))


def zstd_frames(data: bytes, *, size_known: bool) -> bytes:
    """Compressed in pieces, as a server does that streams: the header says the size only when it is known."""
    packer = zstd.ZstdCompressor()
    if size_known:
        packer.set_pledged_input_size(len(data))
    pieces = [packer.compress(data[start : start + 10_000]) for start in range(0, len(data), 10_000)]
    return b"".join(pieces) + packer.flush()


def gzip_with_everything(data: bytes) -> bytes:
    """A member whose header has all the optional fields: text flag, header checksum, extra, name, comment."""
    head = b"\x1f\x8b\x08\x1f" + bytes(4) + b"\x02\x03" + b"\x04\0abcd" + b"page.html\0" + b"a comment\0"
    head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    tail = zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return head + raw_deflate(data) + tail


BODIES = {
    "br": (brotli.compress(PAGE), "br"),
    "br, streamed": (brotli.compress(PAGE, quality=1, lgwin=16), "br"),
    "gzip": (gzip.compress(PAGE), "gzip"),
    "gzip, written otherwise": (gzip.compress(PAGE), "GZIP , identity"),
    "gzip, all fields": (gzip_with_everything(PAGE), "gzip"),
    "gzip, stored": (gzip.compress(PAGE, 0), "x-gzip"),
    "deflate without header": (raw_deflate(PAGE), "deflate"),
    "deflate": (zlib.compress(PAGE), "deflate"),
    "gzip in deflate": (zlib.compress(gzip.compress(PAGE)), "gzip, deflate"),
    "gzip in raw deflate in gzip": (gzip.compress(raw_deflate(gzip.compress(PAGE))), "gzip,deflate,gzip"),
    "zstd": (zstd.compress(PAGE), "zstd"),
    "zstd, streamed": (zstd_frames(PAGE, size_known=False), "zstd"),
    "zstd, streamed, size known": (zstd_frames(PAGE, size_known=True), "zstd"),
}


@pytest.mark.parametrize("step", [1, 7, 65536])
@pytest.mark.parametrize("name", BODIES)
def test_a_page_in_every_encoding(name: str, step: int) -> None:
    packed, encoding = BODIES[name]
    assert decode(encoding, packed, step=step) == (PAGE, ())


@from_corpus("compressed")
@pytest.mark.parametrize("step", [1, 7, 65536])
@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("html-br.bin", "br"),
        ("html-gzip.bin", "gzip"),
        ("html-gzip.bin", "GZIP , identity"),
        ("html-rawdeflate.bin", "deflate"),
        ("html-zlibdeflate.bin", "deflate"),
        ("html-gzip-deflate.bin", "gzip, deflate"),
        ("html-gzip-deflate-gzip.bin", "gzip,deflate,gzip"),
        ("html-zstd-static-content-size.bin", "zstd"),
        ("html-zstd-static-no-content-size.bin", "zstd"),
        ("html-zstd-streaming-no-content-size.bin", "zstd"),
    ],
)
def test_real_bodies(name: str, encoding: str, step: int) -> None:
    body, flags = decode(encoding, (corpus("compressed") / name).read_bytes(), step=step)
    assert flags == ()
    assert body.lstrip().lower().startswith(b"<!doctype html")
    assert len(body) in (74837, 74840)


@pytest.mark.parametrize("name", ["br", "deflate", "gzip", "zstd"])
def test_a_few_kilobytes_that_become_many_megabytes_stop_at_the_limit(name: str) -> None:
    data = PACK[name](bytes(12_000_000))
    assert len(data) < 13_000
    for limit in (1000, LIMIT):
        with pytest.raises(FetchError) as caught:
            decode(name, data, limit=limit)
        assert caught.value.fault is Fault.TOO_LARGE
    assert decode(name, data, limit=12_000_000) == (bytes(12_000_000), ())


@from_corpus("compressed")
@pytest.mark.parametrize("name", ["br", "deflate", "gzip", "zstd"])
def test_bombs_stop_at_the_limit(name: str) -> None:
    data = (corpus("compressed") / f"bomb-{name}.bin").read_bytes()
    for limit in (1000, LIMIT):
        with pytest.raises(FetchError) as caught:
            decode(name, data, limit=limit)
        assert caught.value.fault is Fault.TOO_LARGE
    assert len(decode(name, data, limit=20_000_000)[0]) == 11_511_612


def test_a_bomb_in_the_middle_of_a_stack_stops() -> None:
    inner = gzip.compress(bytes(50_000_000), 1)
    outer = zlib.compress(gzip.compress(inner))
    start = time.process_time()
    with pytest.raises(FetchError, match="too_large"):
        decode("gzip, gzip, deflate", outer)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("step", [1, 100, 65536])
@pytest.mark.parametrize(("encoding", "trailer"), [("gzip", 8), ("deflate", 4)])
@pytest.mark.parametrize("missing", [1, 4, 8, 9, 10, 12, 30, 500])
def test_a_body_without_its_end_keeps_what_decoded(
    missing: int, encoding: str, trailer: int, step: int
) -> None:
    """Cut in the check sum, before it, and in the data."""
    packed = PACK[encoding](PAGE)[:-missing]
    assert decode(encoding, packed, step=step)[1] == ("truncated",), "more may have been lost"
    body, flags = decode(encoding, packed, step=step, is_framed=True)
    assert flags == (("bad_checksum",) if missing <= trailer else ("truncated",))
    assert body == PAGE[: len(body)]
    assert body == PAGE or missing > trailer


@pytest.mark.parametrize("strategy", [zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE])
def test_wherever_data_is_cut_it_is_not_taken_for_whole(strategy: int) -> None:
    """A bug it would catch: what comes next by chance would end the data."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31, 8, strategy)
    text = PAGE[:900]
    packed = packer.compress(text) + packer.flush()
    for length in range(1, len(packed)):
        body, flags = decode("gzip", packed[:length], is_framed=True)
        assert body == text[: len(body)]
        assert flags == (("truncated",) if len(packed) - length > 8 else ("bad_checksum",))


@pytest.mark.parametrize("step", [1, 3, 65536])
@pytest.mark.parametrize(("encoding", "bits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
def test_a_body_that_was_flushed_and_not_ended_is_whole_where_http_ends_it(
    encoding: str, bits: int, step: int
) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    first = packer.compress(PAGE[:500]) + packer.flush(zlib.Z_SYNC_FLUSH)
    more = packer.compress(PAGE[500:]) + packer.flush(zlib.Z_SYNC_FLUSH)
    for data, body in ((first, PAGE[:500]), (first + more, PAGE)):
        decoder = BodyDecoder(encoding, LIMIT)
        for position in range(0, len(data), step):
            decoder.feed_data(data[position : position + step])
        assert decoder.finish_body(is_framed=True) == (body, ("bad_checksum",))
        assert decoder.finish_body() == (body, ("truncated",)), "another piece may have been lost"
    decoder = BodyDecoder(encoding, LIMIT)
    decoder.feed_data(first + more[:-4])
    assert decoder.finish_body(is_framed=True)[1] == ("truncated",)


@pytest.mark.parametrize("step", [100, 65536])
def test_a_wrong_checksum_is_told_and_the_body_kept(step: int) -> None:
    packed = bytearray(gzip.compress(PAGE))
    packed[-5] ^= 1
    assert decode("gzip", bytes(packed), step=step) == (PAGE, ("bad_checksum",))


@from_corpus("compressed")
@pytest.mark.parametrize(
    ("name", "size", "flag"),
    [
        ("truncated-crc-error.gz", 25542, "truncated"),
        ("truncated-crc-error-short.gz", 3741, "truncated"),
        ("unexpected-eof.gz", 8576, "bad_checksum"),
    ],
)
@pytest.mark.parametrize("step", [100, 65536])
def test_truncated_files_keep_what_decoded(name: str, size: int, flag: str, step: int) -> None:
    packed = (corpus("compressed") / name).read_bytes()
    body, flags = decode("gzip", packed, step=step, is_framed=True)
    assert (len(body), flags) == (size, (flag,))


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br"])
def test_a_stream_cut_in_half_keeps_its_beginning(encoding: str) -> None:
    data = b"".join(b"line %d\n" % n for n in range(5000))
    packed = PACK[encoding](data)
    body, flags = decode(encoding, packed[: len(packed) // 2])
    assert flags == ("truncated",)
    assert len(body) > 1000
    assert data.startswith(body)


def test_damage_keeps_what_came_before_it() -> None:
    data = b"".join(b"line %d\n" % n for n in range(50_000))
    packed = bytearray(gzip.compress(data))
    packed[len(packed) // 2] ^= 0xFF
    packed[-8:] = bytes(8)
    body, flags = decode("gzip", bytes(packed))
    assert flags in (("truncated",), ("bad_checksum",))
    assert data[:50_000] == body[:50_000]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "rot13", "gzip, br"])
def test_plain_text_under_a_false_name_is_kept(encoding: str) -> None:
    text = "<!doctype html><p>caf\u00e9</p>".encode() * 30
    assert decode(encoding, text) == (text, ("not_encoded",))


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd", ", ".join(["gzip"] * (MAX_STAGES + 1))])
def test_junk_under_a_false_name_is_refused(encoding: str) -> None:
    with pytest.raises(FetchError) as caught:
        decode(encoding, b"\x00\x01\x02\x03" * 300)
    assert caught.value.fault is Fault.BAD_ENCODING


def test_a_header_of_very_many_codings_makes_no_decoders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them holds some kilobytes, and a header has room for a hundred thousand."""
    made: list[str] = []
    monkeypatch.setattr("gossamer.fetch.http.decode.stage_for", made.append)
    assert decode(",".join(["zstd"] * 10_000), b"plain") == (b"plain", ("not_encoded",))
    assert made == []


@pytest.mark.parametrize("pack", [gzip.compress, zstd.compress])
@pytest.mark.parametrize("step", [1000, 65536, 10_000_000])
def test_floods_of_empty_members_are_cheap(pack: object, step: int) -> None:
    encoding = "gzip" if pack is gzip.compress else "zstd"
    flood = pack(b"text") + pack(b"") * 100_000
    start = time.process_time()
    assert decode(encoding, flood, step=step, limit=10_000_000) == (b"text", ("truncated",))
    assert time.process_time() - start < 1.0


def test_members_frames_and_what_follows_them() -> None:
    assert decode("gzip", gzip.compress(b"a") + gzip.compress(b"b") + b"\0\0junk") == (b"ab", ())
    assert decode("zstd", zstd.compress(b"a") + zstd.compress(b"b") + b"junk") == (b"ab", ())
    assert decode("deflate", zlib.compress(b"a") + b"junk") == (b"a", ())


@pytest.mark.parametrize("step", [1500, 65536, 10_000_000])
@pytest.mark.parametrize("encoding", sorted(PACK))
def test_large_members_one_after_the_other(encoding: str, step: int) -> None:
    data = bytes(1_000_000)  # several pieces from a few bytes of input
    count = 1 if encoding in ("br", "deflate") else 3
    junk = b"" if encoding == "br" else b"junk" * 1000
    packed = PACK[encoding](data) * count + junk
    assert decode(encoding, packed, step=step, limit=4_000_000) == (data * count, ())


def test_no_body_is_no_damage() -> None:
    assert decode("gzip", b"") == (b"", ())


def test_plain_bodies_are_limited_too() -> None:
    assert decode("identity", b"x" * 100, limit=100) == (b"x" * 100, ())
    with pytest.raises(FetchError, match="too_large"):
        decode("", b"x" * 101, limit=100)


@settings(max_examples=60)
@given(
    data=st.binary(max_size=3000),
    encodings=st.lists(st.sampled_from(sorted(PACK)), min_size=1, max_size=MAX_STAGES),
    step=st.integers(1, 4000),
)
def test_any_stack_in_any_cut_comes_back(data: bytes, encodings: list[str], step: int) -> None:
    packed = data
    for encoding in encodings:
        packed = PACK[encoding](packed)
    assert decode(", ".join(encodings), packed, step=step) == (data, ())


@settings(max_examples=100)
@given(st.binary(max_size=500), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, deflate"]))
def test_junk_never_raises_anything_else(data: bytes, encoding: str) -> None:
    try:
        body, flags = decode(encoding, data)
    except FetchError as error:
        body, flags = b"", (error.fault.value,)
    assert len(body) <= LIMIT
    assert flags in ((), ("truncated",), ("bad_checksum",), ("not_encoded",), ("bad_encoding",))


# --------------------------------------------------------------------------- whole, and something after it

PACKED = {
    "gzip": gzip.compress(b"page " * 9000),
    "deflate": zlib.compress(b"page " * 9000),
    "br": brotli.compress(b"page " * 9000),
    "zstd": zstd.compress(b"page " * 9000),
}


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("more", [b"j", b"junk after the end", bytes(3000)])
@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_bytes_after_the_end_cost_nothing(encoding: str, more: bytes, size: int) -> None:
    data = PACKED[encoding] + more
    decoder = BodyDecoder(encoding, 10**6)
    for start in range(0, len(data), size):
        decoder.feed_data(data[start : start + size])
    assert decoder.finish_body() == (b"page " * 9000, ())


def test_bytes_after_brotli_are_found_in_large_bodies_too() -> None:
    noise = random.Random(1).randbytes(300_000)
    data = brotli.compress(noise, quality=1) + b"junk"
    decoder = BodyDecoder("br", 10**6)
    for start in range(0, len(data), 8192):
        decoder.feed_data(data[start : start + 8192])
    assert decoder.finish_body() == (noise, ())


@pytest.mark.parametrize("size", [1, 7, 10**6])
@pytest.mark.parametrize(
    "wrong",
    [
        PACKED["gzip"][:-8] + b"\1\2\3\4" + PACKED["gzip"][-4:],
        PACKED["gzip"][:-4] + b"\1\2\3\4",
        PACKED["gzip"][:-8] + bytes(8),
    ],
)
def test_a_wrong_check_sum_after_the_whole_is_no_cut(wrong: bytes, size: int) -> None:
    decoder = BodyDecoder("gzip", 10**6)
    for start in range(0, len(wrong), size):
        decoder.feed_data(wrong[start : start + size])
    assert decoder.finish_body() == (b"page " * 9000, ("bad_checksum",))


def test_what_comes_after_a_wrong_check_sum_is_missed_aloud() -> None:
    first = gzip.compress(b"one")
    body, flags = decode("gzip", first[:-8] + bytes(8) + gzip.compress(b"two"))
    assert (body, flags) == (b"one", ("truncated",))


@pytest.mark.parametrize("encoding", ["binary", "aws-chunked", "rot13, gzip"])
def test_a_coding_that_nobody_knows_is_passed_on(encoding: str) -> None:
    picture = bytes(range(256))
    assert decode(encoding, picture) == (picture, ("unknown_encoding",))
    assert decode(encoding, b"text") == (b"text", ("not_encoded",))
