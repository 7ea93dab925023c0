"""How the server reads requests of whoever sends them, before it is known who that is."""

import asyncio
import socket

import pytest
import uvicorn

from gossamer.testing.clock import run_virtual
from gossamer.web.body_limit import BODY_S, BodyReader
from gossamer.web.serving import MAX_HEAD, make_config
from kit.web import open_web


async def send_raw(port, request):
    """The first line of what is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(10.0):
            return (await reader.readline()).decode()
    finally:
        writer.close()


async def test_headers_have_a_bound(tmp_path):
    async with open_web(tmp_path) as web:
        parts, listening = web.app.state.parts, socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(make_config(parts, parts.settings))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        port = listening.getsockname()[1]
        ask = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
        assert (await send_raw(port, ask % b"")).startswith("HTTP/1.1 200")
        long = b"X: " + b"a" * 8000 + b"\r\n"
        assert (await send_raw(port, ask % long)).startswith("HTTP/1.1 200")
        for head in (long * 200, b"X: " + b"a" * 20 * MAX_HEAD):
            assert (await send_raw(port, ask % head)).startswith("HTTP/1.1 400")
        server.should_exit = True
        await serving


def test_a_body_that_does_not_come_is_not_waited_for():
    async def main(clock):
        async def trickle():
            await clock.sleep(BODY_S / 3.5)
            return {"type": "http.request", "body": b"x", "more_body": True}

        timed = BodyReader(trickle)
        for _ in range(3):
            await timed.receive()
        with pytest.raises(TimeoutError):
            await timed.receive()

    run_virtual(main)


def test_behind_the_body_there_is_any_time():
    async def main(clock):
        async def hang_up_late():
            await clock.sleep(10 * BODY_S)
            return {"type": "http.disconnect"}

        messages = [{"type": "http.request", "body": b"x"}]

        async def receive():
            return messages.pop() if messages else await hang_up_late()

        timed = BodyReader(receive)
        assert (await timed.receive())["body"] == b"x"
        assert (await timed.receive())["type"] == "http.disconnect"

    run_virtual(main)
