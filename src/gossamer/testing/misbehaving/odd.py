"""Answers outside of the standard: some that browsers still show, and some with no certain meaning.

They are combinations of a beginning (status line and fields) and a way to mark the end of the body.
"""

from __future__ import annotations

import gzip
import zlib

import brotli  # type: ignore[import-untyped]

from gossamer.core.errors import Fault
from gossamer.testing.misbehaviour import PAGE, RouteVisit, route

_LENGTH = b"Content-Length: %d\r\n" % len(PAGE)
_CHUNKED = b"Transfer-Encoding: chunked\r\n"
_CHUNKS = b"20\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (PAGE[:32], len(PAGE) - 32, PAGE[32:])

STATUS_LINES = {
    "plain": b"HTTP/1.1 200 OK",
    "no_blank": b"HTTP/1.1 200OK",
    "no_reason": b"HTTP/1.1 200",
    "blank_reason": b"HTTP/1.1 200 ",
    "two_blanks": b"HTTP/1.1  200 OK",
    "tab": b"HTTP/1.1\t200 OK",
    "old": b"HTTP/1.0 200 OK",
    "two": b"HTTP/2 200",
    "two_point_zero": b"HTTP/2.0 200 OK",
    "three": b"HTTP/3 200 OK",
    "small": b"http/1.1 200 OK",
    "no_version": b"HTTP 200 OK",
    "radio": b"ICY 200 OK",
    "latin": b"HTTP/1.1 200 caf\xe9",
    "nul": b"HTTP/1.1 200 O\0K",
    "blank_lines_before": b"\r\n\r\nHTTP/1.1 200 OK",
    "continue_before": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200OK",
}
FIELDS = {
    "no_colon": b"no colon\r\n",
    "no_name": b": no name\r\n",
    "blank_in_name": b"a name: 1\r\n",
    "blank_after_name": b"X-A : 1\r\n",
    "tab_after_name": b"X-A\t: 1\r\n",
    "odd_name": b"(x): 1\r\n",
    "latin_name": b"caf\xe9: 1\r\n",
    "folded": b"X-A: 1\r\n 2\r\n",
    "folded_by_tab": b"X-A: 1\r\n\t2\r\n",
    "folded_first": b" X-A: 1\r\n",
    "nul": b"X-A: 1\x002\r\n",
    "control": b"X-A: 1\x012\r\n",
    "bare_return": b"X-A: 1\r2\r\n",
    "no_value": b"X-A:\r\n",
    "utf8": b"X-A: caf\xc3\xa9\r\n",
    "html": b"<!-- x -->\r\n",
    "second_status": b"HTTP/1.1 200 OK\r\n",
}
_BODIES = {
    "length": (_LENGTH, PAGE),
    "chunked": (_CHUNKED, _CHUNKS),
    "until_close": (b"", PAGE),
}
FRAMINGS = {
    "length_twice": (_LENGTH * 2, PAGE),
    "length_thrice": (_LENGTH * 3, PAGE),
    "length_listed": (b"Content-Length: %d, %d\r\n" % (len(PAGE), len(PAGE)), PAGE),
    "length_small": (b"content-length:%d\r\n" % len(PAGE), PAGE),
    "length_zeros": (b"Content-Length: 000%d\r\n" % len(PAGE), PAGE),
    "length_blank_before_colon": (b"Content-Length : %d\r\n" % len(PAGE), PAGE),
    "length_empty": (b"Content-Length:\r\n", PAGE),
    "length_and_chunked": (_LENGTH + _CHUNKED, _CHUNKS),
    "wrong_length_and_chunked": (b"Content-Length: 5\r\n" + _CHUNKED, _CHUNKS),
    "chunked_and_wrong_length": (_CHUNKED + b"Content-Length: 5\r\n", _CHUNKS),
    "chunked_twice": (_CHUNKED * 2, _CHUNKS),
    "chunked_listed_twice": (b"Transfer-Encoding: chunked, chunked\r\n", _CHUNKS),
    "chunked_capital": (b"Transfer-Encoding: Chunked\r\n", _CHUNKS),
    "chunked_blank_before_colon": (b"Transfer-Encoding : chunked\r\n", _CHUNKS),
    "identity": (b"Transfer-Encoding: identity\r\n", PAGE),
    "identity_and_length": (b"Transfer-Encoding: identity\r\n" + _LENGTH, PAGE),
    "none_and_length": (b"Transfer-Encoding: none\r\n" + _LENGTH, PAGE),
    "empty_and_length": (b"Transfer-Encoding:\r\n" + _LENGTH, PAGE),
    "chunked_then_identity": (_CHUNKED + b"Transfer-Encoding: identity\r\n", _CHUNKS),
    "identity_then_chunked": (b"Transfer-Encoding: identity\r\n" + _CHUNKED, _CHUNKS),
    "identity_chunked": (b"Transfer-Encoding: identity, chunked\r\n", _CHUNKS),
}
CHUNKS = {
    "bare_feeds": _CHUNKS.replace(b"\r\n", b"\n"),
    "bare_feed_after_size": b"%x\n%s\r\n0\n\r\n" % (len(PAGE), PAGE),
    "bare_feed_after_data": b"%x\r\n%s\n0\r\n\r\n" % (len(PAGE), PAGE),
    "blank_after_size": b"%x \r\n%s\r\n0 \r\n\r\n" % (len(PAGE), PAGE),
    "blank_before_size": b" %x\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE),
    "zeros": b"0000%x\r\n%s\r\n000\r\n\r\n" % (len(PAGE), PAGE),
    "capitals": b"%X\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE),
    "extension": b"%x;a=b\r\n%s\r\n0;c\r\n\r\n" % (len(PAGE), PAGE),
    "odd_extension": b"%x ; =\r\n%s\r\n0\r\n\r\n" % (len(PAGE), PAGE),
    "trailer": b"%x\r\n%s\r\n0\r\nX-A: 1\r\n\r\n" % (len(PAGE), PAGE),
    "bytes_after": _CHUNKS + b"and more",
}
_GZIP = gzip.compress(PAGE)


def _brotli_page() -> bytes:
    packed: bytes = brotli.compress(PAGE)
    return packed


_DEFLATE = zlib.compress(PAGE)
CODINGS = {
    "gzip_junk_after": (b"gzip", _GZIP + b"junk"),
    "gzip_zeros_after": (b"gzip", _GZIP + bytes(512)),
    "gzip_wrong_check": (b"gzip", _GZIP[:-8] + b"\1\2\3\4" + _GZIP[-4:]),
    "gzip_wrong_size": (b"gzip", _GZIP[:-4] + b"\1\2\3\4"),
    "gzip_capital": (b"GZIP", _GZIP),
    "gzip_by_its_old_name": (b"x-gzip", _GZIP),
    "gzip_two_members": (b"gzip", gzip.compress(PAGE[:40]) + gzip.compress(PAGE[40:])),
    "gzip_and_identity": (b"gzip, identity", _GZIP),
    "deflate_raw": (b"deflate", _DEFLATE[2:-4]),
    "deflate_junk_after": (b"deflate", _DEFLATE + b"junk"),
    "deflate_wrong_check": (b"deflate", _DEFLATE[:-4] + b"\1\2\3\4"),
    "brotli_junk_after": (b"br", _brotli_page() + b"junk"),
    "not_packed": (b"gzip", PAGE),
    "empty": (b"", PAGE),
    "identity": (b"identity", PAGE),
    "charset": (b"utf-8", PAGE),
    "none": (b"none", PAGE),
}


def _whole_answers() -> dict[str, bytes]:
    answers = {}
    for name, line in STATUS_LINES.items():
        for way, (fields, body) in _BODIES.items():
            answers[f"status_{name}_{way}"] = (
                line + b"\r\nContent-Type: text/html\r\n" + fields + b"\r\n" + body
            )
    start = b"HTTP/1.1 200 OK\r\n"
    for name, field in FIELDS.items():
        answers[f"field_{name}_first"] = start + field + _LENGTH + b"\r\n" + PAGE
        answers[f"field_{name}_chunked"] = start + _CHUNKED + field + b"\r\n" + _CHUNKS
    for name, (fields, body) in FRAMINGS.items():
        answers[f"framing_{name}"] = start + fields + b"\r\n" + body
    for name, body in CHUNKS.items():
        answers[f"chunks_{name}"] = start + _CHUNKED + b"\r\n" + body
    for name, (coding, body) in CODINGS.items():
        length = b"Content-Length: %d\r\n" % len(body)
        answers[f"coding_{name}"] = start + b"Content-Encoding: %s\r\n" % coding + length + b"\r\n" + body
    answers["coding_unpacked_length"] = start + b"Content-Encoding: gzip\r\n" + _LENGTH + b"\r\n" + _GZIP
    answers["coding_for_the_way"] = (
        start + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + b"%x\r\n%s\r\n0\r\n\r\n" % (len(_GZIP), _GZIP)
    )
    answers["bare_feeds"] = start.replace(b"\r", b"") + _LENGTH.replace(b"\r", b"") + b"\n" + PAGE
    answers["bytes_after"] = start + _LENGTH + b"\r\n" + PAGE + b"and more"
    return answers


ODD_ANSWERS = _whole_answers()
"""Answers by name, byte for byte; each means :data:`PAGE`."""

_OK = b"HTTP/1.1 200 OK\r\n"
HOPELESS_ANSWERS = {
    "status_none": b"HTTP/1.1 OK\r\n" + _LENGTH + b"\r\n" + PAGE,
    "status_letters": b"HTTP/1.1 abc OK\r\n" + _LENGTH + b"\r\n" + PAGE,
    "status_two_digits": b"HTTP/1.1 20 OK\r\n" + _LENGTH + b"\r\n" + PAGE,
    "status_five_digits": b"HTTP/1.1 20000 OK\r\n" + _LENGTH + b"\r\n" + PAGE,
    "status_zero": b"HTTP/1.1 000 OK\r\n" + _LENGTH + b"\r\n" + PAGE,
    "status_blanks": b"HTTP/1.1   \r\n" + _LENGTH + b"\r\n" + PAGE,
    "version_of_three": b"HTTP/9.9.9 200 OK\r\n" + _LENGTH + b"\r\n" + PAGE,
    "another_protocol": b"SMTP/1.1 200 OK\r\n" + _LENGTH + b"\r\n" + PAGE,
    "greeting_of_mail": b"220 mail.example ESMTP\r\n",
    "no_header": PAGE,
    "lengths_that_differ": _OK + _LENGTH + b"Content-Length: 5\r\n\r\n" + PAGE,
    "lengths_listed_that_differ": _OK + b"Content-Length: 5, 6\r\n\r\n" + PAGE,
    "length_negative": _OK + b"Content-Length: -5\r\n\r\n" + PAGE,
    "length_signed": _OK + b"Content-Length: +5\r\n\r\n" + PAGE,
    "length_in_words": _OK + b"Content-Length: many\r\n\r\n" + PAGE,
    "length_in_hex": _OK + b"Content-Length: 0x10\r\n\r\n" + PAGE,
    "length_beyond_numbers": _OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n" + PAGE,
    "length_not_reached": _OK + b"Content-Length: 1000\r\n\r\n" + PAGE,
    "chunk_size_in_words": _OK + _CHUNKED + b"\r\nmany\r\n" + PAGE + b"\r\n0\r\n\r\n",
    "chunk_size_negative": _OK + _CHUNKED + b"\r\n-5\r\n" + PAGE + b"\r\n0\r\n\r\n",
    "chunk_size_beyond_numbers": _OK + _CHUNKED + b"\r\n" + b"F" * 40 + b"\r\n" + PAGE,
    "chunks_not_ended": _OK + _CHUNKED + b"\r\n" + _CHUNKS[:-5],
    "chunks_cut": _OK + _CHUNKED + b"\r\n" + _CHUNKS[:50],
    "chunks_cut_and_identity": _OK + _CHUNKED + b"Transfer-Encoding: identity\r\n\r\n" + _CHUNKS[:50],
    "chunks_that_are_none": _OK + _CHUNKED + b"\r\n" + PAGE,
    "header_cut": _OK + b"Content-Type: text/ht",
    "broken_header_cut": b"HTTP/1.1 200OK\r\nContent-Type: text/ht",
    "gzip_unpacked_length_and_cut": _OK + b"Content-Encoding: gzip\r\n" + _LENGTH + b"\r\n" + _GZIP[:40],
    "gzip_of_another_length": _OK + b"Content-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n" + _GZIP,
}
"""Answers by name whose meaning or end is uncertain."""


@route(
    "odd_answer",
    "A page with an odd header or body, by the name in ``ODD_ANSWERS`` below it.",
    200,
    Fault.PROTOCOL,
    Fault.INCOMPLETE,
    row=19,
)
async def _odd_answer(visit: RouteVisit) -> None:
    await visit.send_bytes(ODD_ANSWERS[visit.path_below or "status_no_blank_length"])


@route(
    "hopeless_answer",
    "An answer that means no page, or two pages, by the name in ``HOPELESS_ANSWERS`` below it.",
    Fault.PROTOCOL,
    Fault.INCOMPLETE,
    row=19,
)
async def _hopeless_answer(visit: RouteVisit) -> None:
    await visit.send_bytes(HOPELESS_ANSWERS[visit.path_below or "status_none"])
