"""Answers that are not HTTP, and connections that end early."""

from __future__ import annotations

import asyncio

from gossamer.core.errors import Fault
from gossamer.testing.misbehaviour import OPEN, PAGE, RouteVisit, route


@route("junk", "Bytes that are not HTTP.", Fault.PROTOCOL, row=19)
async def _junk(visit: RouteVisit) -> None:
    await visit.send_bytes(b"\x00\x01\x02 this is not HTTP \xff\xfe\r\n\r\n")


@route("http_09", "A page without any header, as in 1991.", Fault.PROTOCOL, row=19)
async def _http_09(visit: RouteVisit) -> None:
    await visit.send_bytes(PAGE)


@route("cut_header", "The connection ends within the header.", Fault.PROTOCOL, Fault.CONNECT, row=18)
async def _cut_header(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nContent-Ty")


@route("reset", "A TCP reset instead of an answer.", Fault.CONNECT, row=18)
async def _reset(visit: RouteVisit) -> None:
    visit.reset_connection()


@route("reset_body", "A TCP reset within the body.", Fault.INCOMPLETE, row=18)
async def _reset_body(visit: RouteVisit) -> None:
    await visit.send_bytes(f"{OPEN}Content-Length: 1000\r\n\r\n".encode() + b"x" * 500)
    await visit.pause()
    visit.reset_connection()


@route("hang_up", "The connection is closed instead of an answer.", Fault.CONNECT, row=18)
async def _hang_up(visit: RouteVisit) -> None:
    visit.keep_alive = False


@route("close_idle", "A good page; the connection is closed when the next request comes on it.", 200, row=18)
async def _close_idle(visit: RouteVisit) -> None:
    if any(earlier.connection == visit.hit.connection for earlier in visit.site.log[:-1]):
        return
    await visit.send_response(PAGE)
    await asyncio.sleep(0)


@route("no_content_with_body", "204, and a body that must not be there.", 204, row=19)
async def _no_content_with_body(visit: RouteVisit) -> None:
    visit.keep_alive = True
    await visit.send_bytes(b"HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\npoison")


@route(
    "switching",
    "101: the connection switches to another protocol.",
    Fault.PROTOCOL,
    101,
    Fault.TIMEOUT_BODY,
    row=19,
)
async def _switching(visit: RouteVisit) -> None:
    await visit.send_bytes(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: Upgrade\r\n\r\nhello"
    )
    await visit.stall()


STATUS_LINES = {
    "none": b"HTTP/1.1 OK",
    "letters": b"HTTP/1.1 abc OK",
    "huge": b"HTTP/1.1 20000 OK",
    "version": b"HTTP/9.9.9 200 OK",
    "blanks": b"HTTP/1.1  ",
}


@route(
    "odd_status",
    "Lines that are not status lines, by the name below the route.",
    Fault.PROTOCOL,
    row=19,
    variants=tuple(STATUS_LINES),
)
async def _odd_status(visit: RouteVisit) -> None:
    chosen = STATUS_LINES[visit.path_below or "none"]
    await visit.send_bytes(chosen + b"\r\nContent-Length: 2\r\n\r\nok")


@route("head_with_body", "A body even when only the header was asked for.", 200, row=19)
async def _head_with_body(visit: RouteVisit) -> None:
    visit.keep_alive = True
    await visit.send_bytes(f"{OPEN}Content-Length: {len(PAGE)}\r\n\r\n".encode() + PAGE)


@route(
    "early_answer",
    "The answer to an upload comes before the upload, which the server does not read.",
    200,
    row=18,
)
async def _early_answer(visit: RouteVisit) -> None:
    await visit.send_response(PAGE)
    if visit.hit.method == "POST":
        await visit.stall()
