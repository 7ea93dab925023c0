"""Answers that take forever."""

from __future__ import annotations

from gossamer.core.errors import Fault
from gossamer.testing.misbehaviour import OPEN, RouteVisit, route


@route("slow_headers", "The header comes one byte at a time, forever.", Fault.TIMEOUT_HEADERS, row=1)
async def _slow_headers(visit: RouteVisit) -> None:
    await visit.send_bytes(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        await visit.send_bytes(b"a")
        await visit.pause()


@route("no_answer", "The connection is accepted, and nothing comes.", Fault.TIMEOUT_HEADERS, row=1)
async def _no_answer(visit: RouteVisit) -> None:
    await visit.stall()


@route(
    "continue_flood",
    "100 Continue, again and again.",
    Fault.TIMEOUT_HEADERS,
    Fault.TOO_LARGE,
    Fault.PROTOCOL,
    row=19,
)
async def _continue_flood(visit: RouteVisit) -> None:
    while True:
        await visit.send_bytes(b"HTTP/1.1 100 Continue\r\n\r\n")
        await visit.pause()


@route("stalled_body", "Half of the body comes, then nothing more.", Fault.TIMEOUT_BODY, row=2)
async def _stalled_body(visit: RouteVisit) -> None:
    await visit.send_bytes(f"{OPEN}Content-Length: 1000\r\n\r\n".encode() + b"x" * 500)
    await visit.stall()


@route("slow_body", "The body comes one byte at a time, forever.", Fault.TIMEOUT_BODY, row=2)
async def _slow_body(visit: RouteVisit) -> None:
    await visit.send_bytes(f"{OPEN}Content-Length: 1000000\r\n\r\n".encode())
    while True:
        await visit.send_bytes(b"x")
        await visit.pause()
