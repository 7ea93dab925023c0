"""How the server reads requests of whoever sends them, before it is known who that is."""

import asyncio
import json
import socket

import pytest
import uvicorn
from uvicorn.server import ServerState

from gossamer.testing.clock import run_virtual
from gossamer.web.body_limit import BODY_S, BodyReader
from gossamer.web.connections import HEAD_S, MAX_HEAD, TimedProtocol
from gossamer.web.serving import make_config
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
        config = make_config(parts, parts.settings)
        assert config.http is TimedProtocol
        server = uvicorn.Server(config)
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


class SilentTransport(asyncio.Transport):
    """A connection over which nothing comes but what a test hands on."""

    def __init__(self):
        super().__init__()
        self.sent = b""
        self.is_closed = False

    def write(self, data):
        self.sent += data

    def close(self):
        self.is_closed = True

    def is_closing(self):
        return self.is_closed

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


async def answer_nothing(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def open_connection(state, app=answer_nothing):
    config = uvicorn.Config(app, http=TimedProtocol, ws="none", log_config=None, lifespan="off")
    connection, transport = TimedProtocol(config, state, {}), SilentTransport()
    connection.connection_made(transport)
    return connection, transport


@pytest.mark.parametrize("begun", [b"", b"GET /healthz HTT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_head_that_does_not_come_is_not_waited_for(begun, is_first):
    async def main(clock):
        connection, transport = open_connection(ServerState())
        if not is_first:
            connection.data_received(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await clock.sleep(1.0)
            assert transport.sent.startswith(b"HTTP/1.1 200")
        for byte in begun:
            connection.data_received(bytes([byte]))
            await clock.sleep(HEAD_S * 0.9 / len(begun))
        if begun:
            assert not transport.is_closed
        await clock.sleep(HEAD_S * 0.2 if begun else HEAD_S)
        assert transport.is_closed

    run_virtual(main)


@pytest.mark.parametrize("wrong", [b"GET /\x01 HTTP/1.1\r\n\r\n", b"nonsense\r\n\r\n", b"x" * (MAX_HEAD + 1)])
def test_what_is_no_request_is_answered_as_any_error_is(wrong):
    async def main(_clock):
        connection, transport = open_connection(ServerState())
        connection.data_received(wrong)
        head, _, body = transport.sent.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 Bad Request")
        assert b"content-type: application/json" in head.lower()
        assert json.loads(body)["error"]["what"] == "This is not a request."
        assert transport.is_closed

    run_virtual(main)


def test_nonsense_behind_a_request_ends_the_connection():
    async def begin_answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(HEAD_S)

    async def main(clock):
        connection, transport = open_connection(ServerState(), begin_answer)
        connection.data_received(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        await clock.sleep(1.0)
        connection.data_received(b"nonsense\r\n")
        assert transport.is_closed
        assert b" 400 " not in transport.sent

    run_virtual(main)


def test_a_body_that_nobody_reads_any_more_is_not_waited_for():
    async def main(clock):
        connection, transport = open_connection(ServerState())
        connection.data_received(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        await clock.sleep(1.0)
        assert transport.sent.startswith(b"HTTP/1.1 200")
        for _ in range(7):
            connection.data_received(b"x")
            await clock.sleep(HEAD_S / 6)
        assert transport.is_closed

    run_virtual(main)


def test_a_head_that_came_leaves_time_for_the_answer():
    async def answer_late(scope, receive, send):
        await asyncio.sleep(HEAD_S * 3)

    async def main(clock):
        connection, transport = open_connection(ServerState(), answer_late)
        await clock.sleep(HEAD_S * 0.9)
        connection.data_received(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
        await clock.sleep(HEAD_S * 0.2)
        assert not transport.is_closed

    run_virtual(main)


def test_whoever_asks_nothing_makes_room_for_those_who_ask(monkeypatch):
    monkeypatch.setattr("gossamer.web.connections.MAX_CONNECTIONS", 3)

    async def main(clock):
        state, opened = ServerState(), []
        for number in range(5):
            opened.append(open_connection(state))
            if number == 0:
                opened[0][0].data_received(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n")
            await clock.sleep(0.1)
            for connection, transport in opened:
                if transport.is_closed:
                    state.connections.discard(connection)
        assert [transport.is_closed for _, transport in opened] == [False, True, True, False, False]

    run_virtual(main)
