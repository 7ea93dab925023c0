"""The misbehaviours of :class:`~gossamer.testing.badsite.BadSite`, one function each."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Mapping
from functools import lru_cache

from gossamer.testing.misbehaviour import ROUTES, Route, Visit, route
from gossamer.words.errors import Fault

PAGE = b"<!doctype html><title>A page</title><p>A page of a few words, with nothing wrong.</p>"
BOMB_BYTES = 64 * 1024 * 1024
MEGABYTE = 1024 * 1024
_OPEN = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


@lru_cache(maxsize=1)
def _gzip_of_zeros() -> bytes:
    """A bomb that costs its maker nothing: one member over and over."""
    return gzip.compress(bytes(MEGABYTE)) * (BOMB_BYTES // MEGABYTE)


# --------------------------------------------------------------------------- what is right


@route("good", "A page with nothing wrong.", 200)
async def _good(visit: Visit) -> None:
    await visit.respond(PAGE)


@route("echo", "The request's method, path, headers and body as lines of text.", 200)
async def _echo(visit: Visit) -> None:
    hit = visit.hit
    lines = [f"{hit.method} {hit.path}", *(f"{name}: {value}" for name, value in hit.headers.items())]
    await visit.respond("\n".join(lines).encode("latin-1") + b"\n\n" + hit.body, kind="text/plain")


@route("gzipped", "A page sent with gzip.", 200)
async def _gzipped(visit: Visit) -> None:
    await visit.respond(gzip.compress(PAGE), headers="Content-Encoding: gzip\r\n")


@route("raw_deflate", "A page sent with deflate, without the zlib wrapper that belongs around it.", 200)
async def _raw_deflate(visit: Visit) -> None:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    await visit.respond(packer.compress(PAGE) + packer.flush(), headers="Content-Encoding: deflate\r\n")


@route("chunked", "A page in chunks, with an extension and a trailer.", 200)
async def _chunked(visit: Visit) -> None:
    visit.keep_alive = True
    head = _OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send(head.encode() + b"%x;a=b\r\n%s\r\n0\r\nX-End: yes\r\n\r\n" % (len(PAGE), PAGE))


@route("until_close", "A page without a length that ends with the connection, in HTTP/1.0.", 200)
async def _until_close(visit: Visit) -> None:
    await visit.send(b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n" + PAGE)


@route("no_content", "204 without a body.", 204)
async def _no_content(visit: Visit) -> None:
    visit.keep_alive = True
    await visit.send(b"HTTP/1.1 204 No Content\r\n\r\n")


# --------------------------------------------------------------------------- time


@route("slow_headers", "The header comes one byte at a time, for ever.", Fault.TIMEOUT_HEADERS)
async def _slow_headers(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await visit.send(b"a")
        await visit.pause()


@route("no_answer", "The connection is taken and nothing comes.", Fault.TIMEOUT_HEADERS)
async def _no_answer(visit: Visit) -> None:
    await visit.stall()


@route("continue_flood", "100 Continue, again and again.", Fault.TIMEOUT_HEADERS, Fault.PROTOCOL)
async def _continue_flood(visit: Visit) -> None:
    while True:
        await visit.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await visit.pause()


@route("stalled_body", "Half of the body comes, then nothing more.", Fault.TIMEOUT_BODY)
async def _stalled_body(visit: Visit) -> None:
    await visit.send(f"{_OPEN}Content-Length: 1000\r\n\r\n".encode() + b"x" * 500)
    await visit.stall()


@route("slow_body", "The body comes one byte at a time, for ever.", Fault.TIMEOUT_BODY)
async def _slow_body(visit: Visit) -> None:
    await visit.send(f"{_OPEN}Content-Length: 1000000\r\n\r\n".encode())
    while True:
        await visit.send(b"x")
        await visit.pause()


# --------------------------------------------------------------------------- size


@route("endless_body", "A body without length or end, as fast as it is taken.", Fault.TOO_LARGE)
async def _endless_body(visit: Visit) -> None:
    await visit.send(f"{_OPEN}\r\n".encode())
    while True:
        await visit.send(b"x" * 65536)


@route("announced_giant", "A Content-Length of a terabyte.", Fault.TOO_LARGE)
async def _announced_giant(visit: Visit) -> None:
    await visit.send(f"{_OPEN}Content-Length: 1000000000000\r\n\r\n".encode() + b"x" * 1000)
    await visit.stall()


@route("gzip_bomb", "A few kilobytes of gzip that become 64 MiB.", Fault.TOO_LARGE)
async def _gzip_bomb(visit: Visit) -> None:
    await visit.respond(_gzip_of_zeros(), headers="Content-Encoding: gzip\r\n")


@route("nested_bomb", "A bomb packed twice: gzip in gzip.", Fault.TOO_LARGE)
async def _nested_bomb(visit: Visit) -> None:
    body = gzip.compress(_gzip_of_zeros())
    await visit.respond(body, headers="Content-Encoding: gzip, gzip\r\n")


@route("br_bomb", "A few hundred bytes of brotli that become 4 MiB.", Fault.TOO_LARGE)
async def _br_bomb(visit: Visit) -> None:
    import brotli  # type: ignore[import-untyped]

    body = brotli.compress(bytes(4 * MEGABYTE), quality=1)
    await visit.respond(body, headers="Content-Encoding: br\r\n")


@route("zstd_bomb", "A few kilobytes of zstd that become 64 MiB.", Fault.TOO_LARGE)
async def _zstd_bomb(visit: Visit) -> None:
    # Frames of one RLE block each (RFC 8878, 3.1.1.2.2): 128 KiB of one byte in 13 bytes.
    frame = (
        b"\x28\xb5\x2f\xfd"
        + b"\xa0"
        + (131072).to_bytes(4, "little")
        + (131072 << 3 | 3).to_bytes(3, "little")
    )
    await visit.respond((frame + b"\0") * (BOMB_BYTES // 131072), headers="Content-Encoding: zstd\r\n")


@route("empty_members", "100,000 empty gzip members: much work, no bytes.", 200, Fault.BAD_ENCODING)
async def _empty_members(visit: Visit) -> None:
    await visit.respond(gzip.compress(b"") * 100_000, headers="Content-Encoding: gzip\r\n")


@route("bomb_on_404", "A bomb as the body of an error.", Fault.TOO_LARGE)
async def _bomb_on_404(visit: Visit) -> None:
    body = _gzip_of_zeros()
    await visit.respond(body, status="404 Not Found", headers="Content-Encoding: gzip\r\n")


@route("tiny_chunks", "A body in 10,000 chunks of one byte.", 200)
async def _tiny_chunks(visit: Visit) -> None:
    visit.keep_alive = True
    head = _OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send(head.encode() + b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n")


# --------------------------------------------------------------------------- broken bodies


@route("short_body", "The body ends before its Content-Length.", Fault.INCOMPLETE)
async def _short_body(visit: Visit) -> None:
    await visit.send(f"{_OPEN}Content-Length: 1000\r\n\r\n".encode() + PAGE)


@route("long_body", "The body goes on after its Content-Length.", 200)
async def _long_body(visit: Visit) -> None:
    visit.keep_alive = True
    await visit.send(f"{_OPEN}Content-Length: {len(PAGE)}\r\n\r\n".encode() + PAGE + b"and more of it")


@route("two_answers", "A second response that nobody asked for, at once.", 200)
async def _two_answers(visit: Visit) -> None:
    visit.keep_alive = True
    head = f"{_OPEN}Content-Length: {len(PAGE)}\r\n\r\n".encode()
    await visit.send(head + PAGE + b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")


@route("late_answer", "A second response that nobody asked for, when the connection is idle.", 200)
async def _late_answer(visit: Visit) -> None:
    await visit.respond(PAGE)
    await visit.pause()
    await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")


@route("truncated_chunked", "The chunks stop without a last one.", Fault.INCOMPLETE)
async def _truncated_chunked(visit: Visit) -> None:
    head = _OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send(head.encode() + b"%x\r\n%s\r\n" % (len(PAGE), PAGE))


@route("broken_chunked", "The size of a chunk is no number.", Fault.INCOMPLETE, Fault.PROTOCOL)
async def _broken_chunked(visit: Visit) -> None:
    head = _OPEN + "Transfer-Encoding: chunked\r\n\r\n"
    await visit.send(head.encode() + b"5\r\nhello\r\n")
    await visit.pause()
    await visit.send(b"zz\r\nworld\r\n0\r\n\r\n")
    await visit.stall()


@route("truncated_gzip", "The gzip stream stops early, the response does not.", 200)
async def _truncated_gzip(visit: Visit) -> None:
    body = gzip.compress(bytes(range(256)) * 40)
    await visit.respond(body[: len(body) // 2], headers="Content-Encoding: gzip\r\n")


@route("wrong_encoding", "A plain page that calls itself gzip.", 200)
async def _wrong_encoding(visit: Visit) -> None:
    await visit.respond(PAGE, headers="Content-Encoding: gzip\r\n")


@route("junk_encoding", "Random bytes that call themselves gzip.", Fault.BAD_ENCODING)
async def _junk_encoding(visit: Visit) -> None:
    await visit.respond(bytes(range(256)), headers="Content-Encoding: gzip\r\n")


# --------------------------------------------------------------------------- redirects


@route("redirect_loop", "A redirect to itself.", 302)
async def _redirect_loop(visit: Visit) -> None:
    await visit.respond(status="302 Found", headers=f"Location: {visit.hit.path}\r\n")


@route("redirect_chain", "A redirect to the next of endlessly many.", 302)
async def _redirect_chain(visit: Visit) -> None:
    number = visit.hit.path.rpartition("/")[2]
    step = int(number) + 1 if number.isdigit() else 1
    await visit.respond(status="302 Found", headers=f"Location: /redirect_chain/{step}\r\n")


@route("redirect_bad_location", "A redirect whose Location is no URL.", 302)
async def _redirect_bad_location(visit: Visit) -> None:
    await visit.respond(status="302 Found", headers="Location: http:///\xff\xfe:x[\r\n")


@route("redirect_no_location", "A redirect without a Location.", 302)
async def _redirect_no_location(visit: Visit) -> None:
    await visit.respond(PAGE, status="302 Found")


@route("redirect_other_host", "A redirect to the same port of localhost.", 302)
async def _redirect_other_host(visit: Visit) -> None:
    target = visit.site.url("echo", host="localhost")
    await visit.respond(status="302 Found", headers=f"Location: {target}\r\n")


@route("redirect_private", "A redirect to the address of a cloud's metadata service.", 302)
async def _redirect_private(visit: Visit) -> None:
    await visit.respond(status="302 Found", headers="Location: http://169.254.169.254/latest/\r\n")


@route("redirect_file", "A redirect to a file of the crawler's machine.", 302)
async def _redirect_file(visit: Visit) -> None:
    await visit.respond(status="302 Found", headers="Location: file:///etc/passwd\r\n")


@route("redirect_bomb", "A redirect whose body is a bomb: the redirect counts, the body does not.", 302)
async def _redirect_bomb(visit: Visit) -> None:
    headers = "Location: /good\r\nContent-Encoding: gzip\r\n"
    await visit.respond(_gzip_of_zeros(), status="302 Found", headers=headers)


# --------------------------------------------------------------------------- headers and statuses


@route("retry_after", "429, come back in 120 seconds.", 429)
async def _retry_after(visit: Visit) -> None:
    await visit.respond(status="429 Too Many Requests", headers="Retry-After: 120\r\n")


@route("unavailable", "503 without a hint.", 503)
async def _unavailable(visit: Visit) -> None:
    await visit.respond(status="503 Service Unavailable")


@route("http_999", "A status that no standard knows.", 999)
async def _http_999(visit: Visit) -> None:
    await visit.respond(PAGE, status="999 Request denied")


@route("many_cookies", "10,000 cookies at once.", 200, Fault.PROTOCOL)
async def _many_cookies(visit: Visit) -> None:
    await visit.respond(PAGE, headers="".join(f"Set-Cookie: c{n}=v\r\n" for n in range(10_000)))


@route("some_cookies", "A good cookie, one for another site, one for a suffix and a false ``__Host-``.", 200)
async def _some_cookies(visit: Visit) -> None:
    lines = ("good=1; Path=/", "evil=1; Domain=example.org", "suffix=1; Domain=com", "__Host-x=1; Path=/")
    await visit.respond(PAGE, headers="".join(f"Set-Cookie: {line}\r\n" for line in lines))


@route("giant_cookie", "One cookie of a megabyte.", 200, Fault.PROTOCOL)
async def _giant_cookie(visit: Visit) -> None:
    await visit.respond(PAGE, headers=f"Set-Cookie: a={'x' * 1_000_000}\r\n")


@route("header_bomb", "Header after header, 10 MB of them.", Fault.PROTOCOL, Fault.TIMEOUT_HEADERS)
async def _header_bomb(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 200 OK\r\n")
    for _ in range(1000):
        await visit.send(b"X-Bomb: " + b"x" * 10_000 + b"\r\n")
    await visit.send(b"Content-Length: 0\r\n\r\n")


@route("odd_headers", "A folded header, one without a colon, raw UTF-8 and Latin-1.", 200, Fault.PROTOCOL)
async def _odd_headers(visit: Visit) -> None:
    headers = b"X-Utf8: caf\xc3\xa9\r\nX-Latin: caf\xe9\r\nX-Fold: a\r\n b\r\nno colon\r\n"
    await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + headers + b"\r\nok")


# --------------------------------------------------------------------------- not HTTP, no connection


@route("junk", "Bytes that are no HTTP.", Fault.PROTOCOL)
async def _junk(visit: Visit) -> None:
    await visit.send(b"\x00\x01\x02 this is not HTTP \xff\xfe\r\n\r\n")


@route("http_09", "A page without any header, as in 1991.", Fault.PROTOCOL)
async def _http_09(visit: Visit) -> None:
    await visit.send(PAGE)


@route("cut_header", "The connection ends within the header.", Fault.PROTOCOL, Fault.CONNECT)
async def _cut_header(visit: Visit) -> None:
    await visit.send(b"HTTP/1.1 200 OK\r\nContent-Ty")


@route("reset", "A TCP reset instead of an answer.", Fault.CONNECT)
async def _reset(visit: Visit) -> None:
    visit.reset()


@route("reset_body", "A TCP reset within the body.", Fault.INCOMPLETE)
async def _reset_body(visit: Visit) -> None:
    await visit.send(f"{_OPEN}Content-Length: 1000\r\n\r\n".encode() + b"x" * 500)
    await visit.pause()
    visit.reset()


@route("hang_up", "The connection is closed instead of an answer.", Fault.CONNECT)
async def _hang_up(visit: Visit) -> None:
    visit.keep_alive = False


@route("close_idle", "A good page; the connection is closed when the next request comes on it.", 200)
async def _close_idle(visit: Visit) -> None:
    if any(earlier.connection == visit.hit.connection for earlier in visit.site.log[:-1]):
        return
    await visit.respond(PAGE)
    await asyncio.sleep(0)


def routes() -> Mapping[str, Route]:
    """All misbehaviours by name."""
    return ROUTES
