"""Test sites on loopback and in virtual time."""

import asyncio
import contextlib
import socket
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.testing.clock import EPOCH, ManualClock, run_virtual
from gossamer.testing.site import (
    Hit,
    RateLimit,
    SiteFetcher,
    SiteResponse,
    serve,
    serve_folder,
    serve_in_thread,
)


def echo(path, headers):
    if path.startswith("/slow"):
        return SiteResponse(body=b"slow", delay_s=0.02)
    if path.startswith("/fail/"):
        return SiteResponse(body=b"x" * 1000, fail=path.removeprefix("/fail/"))
    return SiteResponse(
        body=path.encode(), content_type="text/plain", headers=(("X-Agent", headers["user-agent"]),)
    )


async def raw(site, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(site.host.rpartition(":")[2]))
    try:
        writer.write(request)
        return await reader.read()
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def test_a_real_client_keeps_its_connection():
    with serve_in_thread(echo) as site, closing(HTTPConnection(site.host, timeout=10)) as client:

        def ask(method, path, body=None):
            client.request(method, path, body, {"User-Agent": "t"})
            response = client.getresponse()
            return response, response.read().decode()

        for path in ("/a?b=c", "/%C3%A4", "/"):
            response, text = ask("GET", path)
            assert (response.status, text, response.headers["X-Agent"]) == (200, path, "t")
        response, text = ask("HEAD", "/a")
        assert (response.headers["Content-Length"], text) == ("2", "")
        assert ask("POST", "/p", b"x" * 200_000)[1] == "/p"
        assert len(site.connections) == 1
    assert [(hit.method, hit.path, hit.status) for hit in site.hits] == [
        ("GET", "/a?b=c", 200),
        ("GET", "/%C3%A4", 200),
        ("GET", "/", 200),
        ("HEAD", "/a", 200),
        ("POST", "/p", 200),
    ]
    assert site.log.count_paths()["/"] == 1
    assert site.hits[0].host == site.host


async def test_pipelined_requests_are_answered_in_order():
    ask = "GET {} HTTP/1.1\r\nHost: h\r\nUser-Agent: t\r\n{}\r\n"
    async with serve(echo) as site:
        close = "Connection: close\r\n"
        answer = await raw(
            site, (ask.format("/slow", "") + ask.format("/b", "") + ask.format("/c", close)).encode()
        )
    assert [answer.find(body) > 0 for body in (b"\r\nslow", b"\r\n/b", b"\r\n/c")] == [True] * 3
    assert answer.find(b"slow") < answer.find(b"/b") < answer.find(b"/c")
    assert site.log.peak == {"h": 1}


async def test_what_is_no_http_is_refused():
    async with serve(echo) as site:
        assert (await raw(site, b"hello\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
        assert (await raw(site, b"GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
        with contextlib.suppress(ConnectionResetError):  # what is not read any more may cut the answer off
            assert (await raw(site, b"x" * 300_000)).startswith(b"HTTP/1.1 431 ")
    assert site.hits == []


async def test_misbehaviour_over_sockets():
    async with serve(echo) as site:
        ask = "GET /fail/{} HTTP/1.1\r\nHost: h\r\n\r\n"
        with pytest.raises(ConnectionResetError):
            await raw(site, ask.format("reset").encode())
        assert await raw(site, ask.format("close").encode()) == b""
        half = await raw(site, ask.format("half").encode())
        assert b"Content-Length: 1000" in half
        assert half.endswith(b"\r\n\r\n" + b"x" * 500)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(raw(site, ask.format("stall").encode()), 0.05)
    assert [hit.status for hit in site.hits] == [0, 0, 0, 0]


async def test_peak_counts_requests_at_the_same_time():
    async with serve(echo) as site:
        fields = f"Host: {site.host}\r\nUser-Agent: t\r\nConnection: close\r\n"
        ask = f"GET /slow HTTP/1.1\r\n{fields}\r\n".encode()
        await asyncio.gather(*(raw(site, ask) for _ in range(5)))
        await raw(site, ask)
    assert site.log.peak == {site.host: 5}
    assert len(site.log.start_gaps(site.host)) == 5
    assert site.log.start_gaps("other") == []


def test_in_a_thread():
    with serve_in_thread(echo) as site, socket.create_connection(site.host.split(":")) as client:
        client.sendall(b"GET /t HTTP/1.0\r\nUser-Agent: t\r\nConnection: close\r\n\r\n")
        assert client.makefile("rb").read().endswith(b"/t")
    assert [hit.path for hit in site.hits] == ["/t"]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(site.host.split(":"))


def test_a_taken_port_is_told_from_the_thread():
    with (
        serve_in_thread(echo) as site,
        pytest.raises(OSError, match="in use"),
        serve_in_thread(echo, port=int(site.host.split(":")[1])),
    ):
        pass


# --------------------------------------------------------------------------- folders


@pytest.fixture
def folder(tmp_path) -> Path:
    root = tmp_path / "site"
    (root / "sub dir").mkdir(parents=True)
    (root / "empty").mkdir()
    (root / "index.html").write_text("home")
    (root / "sub dir" / "index.html").write_text("sub")
    (root / "ä.txt").write_text("umlaut")
    (root / "data.json").write_text("{}")
    (root / "page.html.gz").write_bytes(b"gz")
    (root / "odd.zzz").write_bytes(b"")
    (root / "in").symlink_to(root / "data.json")
    (root / "loop").symlink_to(root / "loop")
    (tmp_path / "secret").write_text("secret")
    (root / "out").symlink_to(tmp_path / "secret")
    return root


@pytest.mark.parametrize(
    ("path", "status", "body", "kind"),
    [
        ("/", 200, b"home", "text/html"),
        ("/?x=1", 200, b"home", "text/html"),
        ("/index.html", 200, b"home", "text/html"),
        ("/sub%20dir/", 200, b"sub", "text/html"),
        ("/%C3%A4.txt", 200, b"umlaut", "text/plain"),
        ("/data.json", 200, b"{}", "application/json"),
        ("/page.html.gz", 200, b"gz", "application/gzip"),
        ("/odd.zzz", 200, b"", "application/octet-stream"),
        ("/in", 200, b"{}", "application/json"),
    ],
)
def test_folder_serves_its_files(folder, path, status, body, kind):
    answer = serve_folder(folder)(path, {})
    assert (answer.status, answer.body, answer.content_type) == (status, body, kind)


def test_folder_redirects_directories(folder):
    for path, place in (("/sub%20dir", "/sub%20dir/"), ("//empty?x", "/empty/")):
        answer = serve_folder(folder)(path, {})
        assert (answer.status, answer.headers) == (301, (("Location", place),))


@pytest.mark.parametrize(
    "path",
    [
        "/missing",
        "/empty/",
        "/data.json/",
        "/out",
        "/loop",
        "/../secret",
        "/..%2fsecret",
        "/%2e%2e/secret",
        "//etc/passwd",
        "/%2Fetc/passwd",
        "/x%00",
        "/%ff",
        "/" + 300 * "a",
        "",
    ],
)
def test_folder_gives_nothing_else(folder, path):
    answer = serve_folder(folder)(path, {})
    assert answer.status == (200 if path == "" else 404) or answer.status == 301
    assert b"secret" not in answer.body
    assert b"root:" not in answer.body


# --------------------------------------------------------------------------- limits


def test_rate_limit_over_the_last_second_per_host():
    clock = ManualClock()
    limit = RateLimit(echo, 2, retry_after_s=7, clock=clock)
    headers = {"host": "a", "user-agent": ""}
    assert [limit("/", headers).status for _ in range(3)] == [200, 200, 429]
    refused = limit("/", headers)
    assert (refused.status, refused.headers) == (429, (("Retry-After", "7"),))
    assert limit("/", {**headers, "host": "b"}).status == 200
    clock.advance(1)
    assert limit("/", headers).status == 200
    assert limit.refused_count == 2
    assert [refused for _, refused in limit.seen] == [False, False, True, True, False, False]


def test_refusals_thrown_in():
    limit = RateLimit(echo, 1000, every=3, clock=ManualClock())
    assert [limit("/", {"user-agent": ""}).status for _ in range(7)] == [200, 200, 429, 200, 200, 429, 200]


# --------------------------------------------------------------------------- without sockets


def test_fetching_in_virtual_time():
    async def main(clock):
        fetcher = SiteFetcher({"a.example": echo, "b.example:81": echo}, clock, latency_s=2)
        one, two = await asyncio.gather(
            fetcher.fetch(Request("http://a.example/x?y", headers={"User-Agent": "me"})),
            fetcher.fetch(Request("http://b.example:81", method="HEAD")),
        )
        await fetcher.fetch(Request("http://a.example/slow"))
        await fetcher.close()
        return fetcher, one, two

    fetcher, one, two = run_virtual(main)
    assert (one.status, one.body, one.header("x-agent")) == (200, b"/x?y", "me")
    assert one.header("content-type") == "text/plain"
    assert (one.started_at, one.latency_s, one.elapsed_s) == (EPOCH, 2, 2)
    assert (two.body, two.header("x-agent")) == (b"", "gossamer-test")
    assert fetcher.hits[2] == Hit(EPOCH + 2, "/slow", 200, "a.example", "GET", fetcher.hits[2].headers)
    assert fetcher.log.peak == {"a.example": 1, "b.example:81": 1}
    assert fetcher.log.start_gaps("a.example") == [2]
    assert fetcher.touches_network


def test_misbehaviour_in_virtual_time():
    async def main(clock):
        fetcher = SiteFetcher({"h": echo}, clock, latency_s=1, timeout_s=30)
        faults = []
        for url in ("http://h/fail/reset", "http://h/fail/half", "http://h/fail/stall", "http://nowhere/"):
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch(Request(url))
            faults.append(caught.value.fault)
        return faults, clock.now() - EPOCH, len(fetcher.hits)

    faults = [Fault.CONNECT, Fault.INCOMPLETE, Fault.TIMEOUT_HEADERS, Fault.DNS]
    assert run_virtual(main) == (faults, 32, 3)
