"""Answers that are not by the book: read whole, or refused; never at the cost of the next request."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from gossamer.archive.http_block import read_header
from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.http.body import MAX_TINY_PIECES
from gossamer.fetch.http.connection import HttpConnection
from gossamer.fetch.http.deadline import DeadlineTimer
from gossamer.fetch.http.limits import MAX_HEAD_BYTES, HttpOptions, limits_of
from gossamer.fetch.http.memory_budget import MemoryBudget
from gossamer.fetch.http.repair import MAX_LINES, ChunkReader, RepairError, repair_header
from gossamer.fetch.http.wire import WireResponse, keeps_alive
from gossamer.policy.redirects import follow_redirect
from gossamer.testing.clock import VirtualLoop
from gossamer.testing.contracts.fetcher import try_fetch
from gossamer.testing.misbehaving.odd import HOPELESS_ANSWERS, ODD_ANSWERS
from gossamer.testing.misbehaviour import PAGE
from kit.raw_server import Raw, fetcher_with


async def test_odd_answers_are_read_whole_and_hopeless_ones_refused() -> None:
    assert len(ODD_ANSWERS) >= 137
    said = {f"/{name}": hang_up(answer) for name, answer in (ODD_ANSWERS | HOPELESS_ANSWERS).items()}
    found = {}
    async with Raw(said) as server:
        fetcher = fetcher_with()
        for path in said:
            result = await try_fetch(fetcher, Request(server.url + path))
            found[path[1:]] = result.body if isinstance(result, FetchResult) else result
        await fetcher.close()
    assert {name: found[name] for name in ODD_ANSWERS if found[name] != PAGE} == {}
    assert [name for name in HOPELESS_ANSWERS if not isinstance(found[name], Fault)] == []


@pytest.mark.parametrize(
    ("sent", "target"),
    [
        ("/ж?q=ж".encode("cp1251"), "/%E6?q=%E6"),  # the bytes are the server's own
        ("/中?q=中".encode("gbk"), "/%D6%D0?q=%D6%D0"),
        ("/é?q=é".encode("latin-1"), "/%E9?q=%E9"),
        ("/é?q=é".encode(), "/%C3%A9?q=%C3%A9"),
    ],
)
async def test_a_redirect_leads_to_the_bytes_that_the_server_sent(sent: bytes, target: str) -> None:
    answer = b"HTTP/1.1 302 Found\r\nLocation: " + sent + b"\r\nContent-Length: 0\r\n\r\n"
    async with Raw({"/": hang_up(answer)}) as server:
        fetcher = fetcher_with()
        found = await fetcher.fetch(Request(server.url + "/"))
        await fetcher.close()
        hop = follow_redirect(Request(found.url), found.url, 302, found.header("location"), limit=5)
        assert hop.url == server.url + target
    assert read_header(answer) == (302, found.headers)


def hang_up(answer: bytes):
    async def say(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    return say


# --------------------------------------------------------------------------- no answer spoils another one


class Wire(asyncio.Transport):
    """A transport whose other side is the test."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False
        self.unsent = 0

    def write(self, data: bytes) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def is_closing(self) -> bool:
        return self.closed

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    loop = VirtualLoop()
    yield loop
    loop.close()


def ask(
    loop: VirtualLoop, connection: HttpConnection, parts: list[bytes], *, ends: bool
) -> WireResponse | FetchError | None:
    """One exchange; ``None`` when it has not come to an end with what there is."""
    promise = connection.send_request(
        b"GET / HTTP/1.1\r\n\r\n", b"", loop.time(), limits_of(HttpOptions()), is_head=False, file=None
    )
    for part in parts:
        connection.data_received(part)
        if connection._transport is None or connection._transport.is_closing():
            break
    if ends and not promise.done():
        connection.connection_lost(None)
    if not promise.done():
        connection.close()
        promise.exception()
        return None
    return promise.exception() or promise.result()  # type: ignore[return-value]


def mutated(answer: bytes, dice: random.Random) -> bytes:
    changed = bytearray(answer)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(changed))
        match dice.randrange(5):
            case 0:
                changed[at] = dice.randrange(256)
            case 1:
                del changed[at : at + dice.randint(1, 8)]
            case 2:
                changed[at:at] = dice.choice(
                    [b"\r\n", b"\n", b"\r", b" ", b":", b",", b"0", b"\0", b"\r\n\r\n"]
                )
            case 3:
                end = at + dice.randint(1, 40)
                changed[at:at] = changed[at:end]
            case 4:
                changed[at:at] = dice.choice(
                    [b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: x\r\n"]
                )
        changed = changed or bytearray(b"x")
    return bytes(changed)


@pytest.mark.slow
def test_no_answer_however_changed_reaches_the_next_request(loop: VirtualLoop) -> None:
    """The bytes of each answer are its own; so what the next one gets is exactly the next one."""
    dice = random.Random(20_260)
    table = sorted((ODD_ANSWERS | HOPELESS_ANSWERS).items())
    plain = [("", ODD_ANSWERS[f"status_plain_{way}"]) for way in ("length", "chunked")]
    following = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfollowing"
    asked_again = 0
    for _ in range(17_000):
        _, answer = dice.choice(plain if dice.random() < 0.5 else table)
        wrong = mutated(answer, dice)
        cut = dice.randrange(len(wrong) + 1)
        connection = HttpConnection(loop, HttpOptions(), MemoryBudget(10**9))
        connection.connection_made(Wire())
        result = ask(loop, connection, [wrong[:cut], wrong[cut:]], ends=dice.random() < 0.5)
        if isinstance(result, WireResponse):
            assert b"following" not in result.body
        if not connection.is_reusable:
            continue
        asked_again += 1
        after = ask(loop, connection, [following], ends=False)
        assert isinstance(after, WireResponse), (wrong, after)
        assert (after.status, after.body) == (200, b"following"), wrong
    assert asked_again > 300  # or nothing was tried


def test_a_repaired_answer_gives_its_connection_up(loop: VirtualLoop) -> None:
    for name, answer in ODD_ANSWERS.items():
        connection = HttpConnection(loop, HttpOptions(), MemoryBudget(10**9))
        connection.connection_made(Wire())
        ask(loop, connection, [answer[:30], answer[30:]], ends=False)
        if connection.is_reusable:
            assert repair_was_not_needed(loop, answer), name


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_who_answers_before_the_request_has_gone_out_is_not_asked_again(
    loop: VirtualLoop, method: str
) -> None:
    wire = Wire()
    wire.unsent = 1000
    connection = HttpConnection(loop, HttpOptions(), MemoryBudget(10**9))
    connection.connection_made(wire)
    promise = connection.send_request(
        b"X / HTTP/1.1\r\n\r\n",
        b"body",
        loop.time(),
        limits_of(HttpOptions()),
        is_head=method == "HEAD",
        file=None,
    )
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert promise.result().status == 200
    assert not connection.is_reusable


def repair_was_not_needed(loop: VirtualLoop, answer: bytes) -> bool:
    connection = HttpConnection(loop, HttpOptions(), MemoryBudget(10**9))
    connection.connection_made(Wire())
    ask(loop, connection, [answer], ends=False)
    return not connection._is_repaired


# --------------------------------------------------------------------------- bounds


@pytest.mark.parametrize("size", [1, 5, len(b"HTTP/1.1 200OK\r\nX: 1\r\n")])
async def test_a_broken_header_may_come_in_pieces(size: int) -> None:
    answer = b"HTTP/1.1 200OK\r\nX: 1\r\nContent-Length: 2\r\n\r\nok"

    async def slowly(writer: asyncio.StreamWriter) -> None:
        for start in range(0, len(answer), size):
            writer.write(answer[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)

    async with Raw({"/": slowly}) as server:
        fetcher = fetcher_with()
        for path in ("/", "/next"):
            assert (await fetcher.fetch(Request(server.url + path))).body == b"ok"
        assert server.connections == 2
        await fetcher.close()


def test_a_broken_header_has_a_bound() -> None:
    line = b"x: y\r\n"
    assert repair_header(b"HTTP/1.1 200OK\r\n" + line * 10) is None
    long = b"HTTP/1.1 200OK\r\n" + line * (MAX_HEAD_BYTES // len(line))
    for header in (long, long + b"\r\n"):
        with pytest.raises(RepairError, match="more than 262144"):
            repair_header(header)


def test_no_end_of_informational_responses_is_refused() -> None:
    assert repair_header(b"HTTP 100\n\n" * 3 + b"HTTP 200\n\nok") is not None
    for flood in (b"HTTP 100\n\n" * 20, b"HTTP 100\n\n" + b"\n" * 100):
        with pytest.raises(RepairError):
            repair_header(flood)


def test_a_broken_header_is_not_read_anew_with_each_of_its_pieces(
    loop: VirtualLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a host could hold the event loop for as long as a header may take."""
    read: list[int] = []

    def counted(raw: bytes) -> object:
        read.append(len(raw))
        return repair_header(raw)

    monkeypatch.setattr("gossamer.fetch.http.connection.repair_header", counted)
    connection = HttpConnection(loop, HttpOptions(), MemoryBudget(10**9))
    connection.connection_made(Wire())
    parts = [b"HTTP/1.1 200OK\r\n", *[b"x: y\r\n"] * 200, b"Content-Length: 2\r", b"\n", b"\r", b"\n", b"ok"]
    result = ask(loop, connection, parts, ends=False)
    assert isinstance(result, WireResponse)
    assert result.body == b"ok"
    assert len(read) < 10


@pytest.mark.parametrize("junk", [b"220 mail", b"<html>", b"\0", b"HTML", b"\r\n\r\nx"])
def test_what_is_no_http_is_refused_at_once(junk: bytes) -> None:
    with pytest.raises(RepairError, match="not HTTP"):
        repair_header(junk)


def test_chunks_byte_by_byte() -> None:
    for name, answer in ODD_ANSWERS.items():
        if not name.startswith("chunks_"):
            continue
        reader = ChunkReader()
        body = answer.partition(b"\r\n\r\n")[2]
        assert b"".join(reader.read_chunks(body[at : at + 1]) for at in range(len(body))) == PAGE, name
        assert reader.is_complete


def test_blank_lines_between_chunks_come_to_an_end() -> None:
    reader = ChunkReader()
    assert reader.read_chunks(b"1\r\nx\r\n" * 10) == b"x" * 10
    with pytest.raises(RepairError, match="very many"):
        reader.read_chunks(b"\n" * (MAX_LINES + 1))


async def test_a_body_of_very_many_tiny_pieces_ends() -> None:
    """Each costs the event loop as much as a page of 10 kB."""

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(2 * MAX_TINY_PIECES // 1000):
            writer.write(b"1\r\nx\r\n" * 1000)
            await writer.drain()

    async with Raw({"/": drip}) as server:
        fetcher = fetcher_with(body_s=60.0, idle_s=20.0)
        with pytest.raises(FetchError, match="pieces of a few bytes") as caught:
            await fetcher.fetch(Request(f"{server.url}/"))
        assert caught.value.fault is Fault.TOO_LARGE
        await fetcher.close()


def test_tiny_pieces_of_a_header_end_too(loop: VirtualLoop) -> None:
    connection = HttpConnection(loop, HttpOptions(), MemoryBudget(10**9))
    connection.connection_made(Wire())
    parts = [b"HTTP/1.1 200 OK\r\nX: ", *[b"x"] * (MAX_TINY_PIECES + 1)]
    result = ask(loop, connection, parts, ends=False)
    assert isinstance(result, FetchError)
    assert result.fault is Fault.TOO_LARGE


async def test_the_unpacked_length_of_a_packed_body_that_stays_open() -> None:
    answer = ODD_ANSWERS["coding_unpacked_length"]
    async with Raw({"/": answer}) as server:
        fetcher = fetcher_with(idle_s=0.2)
        assert (await fetcher.fetch(Request(f"{server.url}/"))).body == PAGE
        await fetcher.close()


@pytest.mark.parametrize(
    ("version", "connection", "keeps"),
    [
        ("1.1", None, True),
        ("1.1", "close", False),
        ("1.1", "Keep-Alive, Close", False),
        ("1.0", None, False),
        ("1.0", "Keep-Alive", True),
        ("1.0", "close", False),
    ],
)
def test_who_leaves_the_connection_open(version: str, connection: str | None, keeps: bool) -> None:
    headers = [("x", "close")] + ([("connection", connection)] if connection else [])
    assert keeps_alive(version, headers) is keeps


def test_a_redirect_whose_body_stalls_costs_a_second(loop: VirtualLoop) -> None:
    async def redirected() -> tuple[WireResponse, float]:
        options = HttpOptions(idle_s=20.0, headers_s=30.0)
        connection = HttpConnection(loop, options, MemoryBudget(10**9))
        connection.connection_made(Wire())
        promise = connection.send_request(
            b"GET / HTTP/1.1\r\n\r\n", b"", loop.time(), limits_of(options), is_head=False, file=None
        )
        connection.data_received(b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 9\r\n\r\nx")
        return await promise, loop.time()

    answer, took_s = loop.run_until_complete(redirected())
    assert (answer.status, answer.is_cut) == (302, True)
    assert took_s == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize(
    "body",
    [bytes(range(256)), ODD_ANSWERS["coding_gzip_capital"][-100:-50], b"\x1f\x8b"],
    ids=["every byte", "a piece of gzip", "the start of gzip"],  # packed bodies differ with the time
)
async def test_an_encoded_body_that_is_cut_is_incomplete_whatever_it_holds(body: bytes) -> None:
    """It is tried again; one that is not what its coding says would not be."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n" + body
    async with Raw({"/": hang_up(answer)}) as server:
        fetcher = fetcher_with()
        assert await try_fetch(fetcher, Request(f"{server.url}/")) is Fault.INCOMPLETE
        await fetcher.close()


def test_a_deadline_may_move_both_ways(loop: VirtualLoop) -> None:
    fired: list[float] = []
    deadline = DeadlineTimer(loop, lambda: fired.append(loop.time()))

    async def run(*times: float) -> None:
        deadline.start(times[0])
        for time in times[1:]:
            deadline.move_to(time)
        await asyncio.sleep(100.0)

    loop.run_until_complete(run(10.0, 30.0, 20.0))
    assert fired == [pytest.approx(20.0)]
    loop.run_until_complete(run(150.0, 130.0))
    assert fired[1:] == [pytest.approx(130.0)]
    assert not deadline.is_running
