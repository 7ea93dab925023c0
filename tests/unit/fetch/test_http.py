"""What the contract of fetchers does not say of this one: TLS, names, the guard, faults and secrets."""

from __future__ import annotations

import asyncio
import datetime
import errno
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
import trustme

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.faults import translate_error
from gossamer.fetch.http.fetcher import HttpFetcher, parse_target
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.resolver import CachingResolver as RememberedNames
from gossamer.fetch.resolver import ThreadResolver
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import EPOCH, ManualClock
from kit.raw_server import Raw

TRUSTED = AddressGuard({"127.0.0.1", "localhost"})


class Names:
    """A resolver that answers with the next list of addresses, the last one again and again."""

    def __init__(self, *answers: list[str] | OSError) -> None:
        self.answers = list(answers)
        self.asked = 0

    async def resolve(self, host: str, port: int) -> list:
        self.asked += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, OSError):
            raise answer
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, port)) for address in answer]


async def fetch(
    url: str, *, guard: AddressGuard = TRUSTED, tls=None, tls_mode="modern", resolver=None, **options
) -> FetchResult | FetchError:
    limits = {"connect_s": 5.0, "headers_s": 0.5, "local_pause_s": 0.0}
    fetcher = HttpFetcher(
        HttpOptions(**(limits | options), tls=tls_mode),
        clock=ManualClock(),
        guard=guard,
        tls=tls,
        resolver=resolver,
    )
    try:
        return await fetcher.fetch(Request(url))
    except FetchError as error:
        return error
    finally:
        await fetcher.close()


# --------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server(authority: trustme.CA, name: str = "127.0.0.1", **options) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **options).configure_cert(context)
    return context


def client(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


async def test_a_good_certificate(authority: trustme.CA) -> None:
    async with BadSite(tls=server(authority)) as site:
        fetched = await fetch(site.url("good"), tls=client(authority))
    assert isinstance(fetched, FetchResult)
    assert (fetched.status, fetched.address, fetched.started_at) == (200, "127.0.0.1", EPOCH)


@pytest.mark.slow
async def test_what_is_left_of_an_upload_over_tls_reaches_no_other_request(authority: trustme.CA) -> None:
    async with BadSite(tls=server(authority)) as site:
        options = HttpOptions(headers_s=2.0)
        fetcher = HttpFetcher(options, clock=ManualClock(), guard=TRUSTED, tls=client(authority))
        upload = Request(site.url("early_answer"), method="POST", body=bytes(16_000_000))
        assert (await fetcher.fetch(upload)).status == 200
        assert (await fetcher.fetch(Request(site.url("good")))).status == 200
        assert site.connections == 2
        await fetcher.close()


@pytest.mark.parametrize("case", ["unknown authority", "expired", "wrong name"])
async def test_bad_certificates_and_the_opt_out_per_host(authority: trustme.CA, case: str) -> None:
    past = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    context = {
        "unknown authority": lambda: server(trustme.CA()),
        "expired": lambda: server(authority, not_after=past),
        "wrong name": lambda: server(authority, "other.example"),
    }[case]()
    async with BadSite(tls=context) as site:
        error = await fetch(site.url("good"), tls=client(authority))
        assert isinstance(error, FetchError)
        assert error.fault is Fault.TLS
        assert "127.0.0.1" in error.detail
        assert site.log == []
        for hosts, ok in (({"127.0.0.1"}, True), ({"localhost"}, False)):
            result = await fetch(site.url("good"), tls=client(authority), insecure_hosts=frozenset(hosts))
            assert isinstance(result, FetchResult) is ok


async def test_tls_to_a_server_that_speaks_none() -> None:
    async with BadSite() as site:
        error = await fetch(site.url("good").replace("http:", "https:"), connect_s=0.1)
    assert isinstance(error, FetchError)
    assert error.fault is Fault.TIMEOUT_CONNECT  # it waits for the end of a header that never comes


async def test_a_server_that_answers_tls_in_the_clear_is_named_as_one() -> None:
    server, url = await raw_server(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    async with server:
        error = await fetch(url)
    assert isinstance(error, FetchError)
    assert error.fault is Fault.TLS
    assert "speaks plain http" in error.detail
    assert "write http://" in error.detail


async def test_a_bad_certificate_names_the_setting(authority: trustme.CA) -> None:
    async with BadSite(tls=server(authority)) as site:
        error = await fetch(site.url("good"))
    assert isinstance(error, FetchError)
    assert 'http.insecure_hosts = ["127.0.0.1"]' in error.detail


# --------------------------------------------------------------------------- TLS of former times


@pytest.mark.parametrize(
    "ciphers", ["AES128-SHA256", "AES256-GCM-SHA384", "ECDHE-RSA-AES128-SHA", "AES128-SHA"]
)
async def test_old_suites_need_the_setting_that_the_message_names(
    authority: trustme.CA, ciphers: str
) -> None:
    """Key exchange by RSA, and SHA-1."""
    context = server(authority, key_type=trustme.KeyType.RSA)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    with old_server(context) as url:
        error = await fetch(url, tls=client(authority))
        assert isinstance(error, FetchError)
        assert error.fault is Fault.TLS
        assert 'http.tls = "compatible"' in error.detail
        fetched = await fetch(url, tls=client(authority), tls_mode="compatible")
        assert isinstance(fetched, FetchResult)
        error = await fetch(url, tls_mode="compatible")
        assert isinstance(error, FetchError)
        assert "http.insecure_hosts" in error.detail  # certificates are checked all the same


async def test_the_first_version_of_tls_needs_the_setting(authority: trustme.CA) -> None:
    context = server(authority)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.maximum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    async with BadSite(tls=context) as site:
        error = await fetch(site.url("good"), tls=client(authority))
        assert isinstance(error, FetchError)
        assert 'http.tls = "compatible"' in error.detail
        assert isinstance(
            await fetch(site.url("good"), tls=client(authority), tls_mode="compatible"), FetchResult
        )


async def test_renegotiation_of_former_times_needs_the_setting() -> None:
    """A server's hello without the extension of RFC 5746; what would follow is not sent."""
    hello = b"\x03\x03" + bytes(range(32)) + b"\x00" + b"\xc0\x2f" + b"\x00"
    message = b"\x02" + len(hello).to_bytes(3, "big") + hello
    record = b"\x16\x03\x03" + len(message).to_bytes(2, "big") + message
    listening, url = await raw_server(record)
    async with listening:
        error = await fetch(url)
        assert isinstance(error, FetchError)
        assert error.fault is Fault.TLS
        assert 'http.tls = "compatible"' in error.detail
        error = await fetch(url, tls_mode="compatible")
        assert isinstance(error, FetchError)
        assert error.fault is Fault.CONNECT  # it goes on, and the server hangs up


@contextmanager
def old_server(context: ssl.SSLContext) -> Iterator[str]:
    """A server on a thread, for OpenSSL then says why it refuses; asyncio's keeps that to itself."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            with plain, suppress(OSError), context.wrap_socket(plain, server_side=True) as secured:
                secured.recv(65536)
                secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{listening.getsockname()[1]}/"
    listening.shutdown(socket.SHUT_RDWR)
    listening.close()
    thread.join(5)


async def raw_server(answer: bytes) -> tuple[asyncio.Server, str]:
    """A server that says the same to everybody who says anything, and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(answer)
        writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    return listening, f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"


# --------------------------------------------------------------------------- names and the guard


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (socket.gaierror(socket.EAI_NONAME, "no such name"), Fault.DNS),
        (socket.gaierror(socket.EAI_NODATA, "no address"), Fault.DNS),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), Fault.DNS_TEMPORARY),
        (OSError(5, "something else"), Fault.DNS_TEMPORARY),
    ],
)
async def test_names_that_do_not_resolve(answer: OSError, fault: Fault) -> None:
    error = await fetch("http://nowhere.example/", resolver=Names(answer))
    assert isinstance(error, FetchError)
    assert error.fault is fault


async def test_labels_that_are_too_long_are_no_names() -> None:
    error = await fetch(f"http://{'a' * 70}.example/")
    assert isinstance(error, FetchError)
    assert error.fault is Fault.DNS


async def test_a_name_that_resolves_to_a_private_address_is_refused() -> None:
    async with BadSite() as site:
        for names in (Names(["127.0.0.1"]), Names(["127.0.0.1", "10.0.0.1"]), Names(["::1", "127.0.0.1"])):
            error = await fetch(site.url("good", host="evil.example"), resolver=names)
            assert isinstance(error, FetchError)
            assert error.fault is Fault.GUARD
        assert site.connections == 0
        fetched = await fetch(
            site.url("good", host="mine.example"),
            guard=AddressGuard({"mine.example"}),
            resolver=Names(["127.0.0.1"]),
        )
        assert isinstance(fetched, FetchResult)
        assert fetched.address == "127.0.0.1"


async def test_a_name_that_turns_private_is_refused_then_too() -> None:
    # A public address that this machine does not reach stands for the first answer.
    async with BadSite() as site:
        names = Names(["8.8.8.8"], ["127.0.0.1"])
        options = HttpOptions(connect_s=0.05, headers_s=0.05, dns_cache_s=0, local_pause_s=0)
        fetcher = HttpFetcher(options, clock=ManualClock(), resolver=names)
        url = site.url("good", host="rebind.example")
        faults = []
        for _ in range(2):
            with pytest.raises(FetchError) as caught:
                await fetcher.fetch(Request(url))
            faults.append(caught.value.fault)
        await fetcher.close()
        assert faults[0] in (Fault.CONNECT, Fault.TIMEOUT_CONNECT, Fault.LOCAL)
        assert faults[1] is Fault.GUARD
        assert (names.asked, site.connections) == (2, 0)


async def test_a_link_to_another_service_is_not_followed() -> None:
    names = Names(["8.8.8.8"])
    error = await fetch("http://mail.example:25/", resolver=names)
    assert isinstance(error, FetchError)
    assert error.fault is Fault.GUARD
    assert names.asked == 0


async def test_an_address_that_refuses_is_asked_for_again() -> None:
    """The host has moved: what was said of it five minutes ago leads nowhere."""
    async with BadSite() as site:
        names = Names(["127.0.0.2"], ["127.0.0.1"])  # nobody listens on the first one
        fetcher = HttpFetcher(
            HttpOptions(dns_cache_s=300),
            clock=ManualClock(),
            guard=AddressGuard({"mine.example"}),
            resolver=names,
        )
        url = site.url("good", host="mine.example")
        with pytest.raises(FetchError, match="connect"):
            await fetcher.fetch(Request(url))
        assert (await fetcher.fetch(Request(url))).status == 200
        await fetcher.fetch(Request(url + "/again"))
        assert names.asked == 2
        await fetcher.close()


async def test_names_are_forgotten_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.fetch.resolver.MAX_REMEMBERED", 3)
    resolver = Names(["8.8.8.8"])
    names = RememberedNames(resolver, 300.0)
    for host in ("a", "b", "c", "d", "d", "c", "b"):
        await names.resolve(f"{host}.example", 80)
    assert resolver.asked == 4
    await names.resolve("a.example", 80)  # the oldest one
    assert resolver.asked == 5


async def test_the_guard_is_on_by_default() -> None:
    async with BadSite() as site:
        fetcher = HttpFetcher(HttpOptions(), clock=ManualClock())
        with pytest.raises(FetchError, match=r"guard: 127\.0\.0\.1: not a public address"):
            await fetcher.fetch(Request(site.url("good")))
        await fetcher.close()
        assert site.connections == 0


async def test_nobody_listens() -> None:
    async with BadSite() as site:
        url = site.url("good")
    error = await fetch(url)
    assert isinstance(error, FetchError)
    assert error.fault is Fault.CONNECT


async def test_the_system_resolver_on_its_own_threads() -> None:
    resolver = ThreadResolver(2)
    found = await resolver.resolve("localhost", 80)
    assert {row[4][0] for row in found} <= {"127.0.0.1", "::1"}
    assert all(row[4][1] == 80 for row in found)
    with pytest.raises(UnicodeError):
        await resolver.resolve("a..b", 80)


def test_nobody_waits_for_a_look_up_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the loop's end nor, since its thread is a daemon, the end of the process."""
    gone, asked = threading.Event(), threading.Event()

    def slow(*_: object) -> list:
        asked.set()
        gone.wait(10)
        return []

    async def main() -> None:
        resolver = ThreadResolver(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(resolver.resolve("slow.example", 80), 0.1)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    asyncio.run(main())
    assert asked.is_set()
    threads = [thread for thread in threading.enumerate() if thread.name == "gossamer-dns"]
    assert threads
    assert all(thread.daemon for thread in threads)
    gone.set()
    for thread in threads:
        thread.join(5)


# --------------------------------------------------------------------------- URLs, secrets, bodies


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://x.example/a%2Fb?c=%zz&d", "/a%2Fb?c=%zz&d"),
        ("http://x.example", "/"),
        ("http://x.example/\u00e9 \u00fc", "/%C3%A9%20%C3%BC"),
        ("http://x.example/a\r\nHost: evil", "/aHost:%20evil"),
        ("http://x.example/?q={}|^`'", "/?q={}|^`'"),
        ("http://x.example/#fragment", "/"),
    ],
)
def test_urls_are_sent_as_they_are_or_made_safe(url: str, sent: str) -> None:
    assert parse_target(url).path == sent


async def test_no_secret_shows_in_an_error() -> None:
    async with BadSite() as site:
        for name in ("reset", "junk", "short_body", "no_answer", "junk_encoding"):
            url = site.url(f"{name}?key=canary").replace("//", "//user:canary@")
            error = await fetch(url, max_body_bytes=1000)
            assert isinstance(error, FetchError)
            assert "canary" not in str(error)
            assert "canary" not in error.detail
        assert site.log[0].headers["authorization"].startswith("Basic ")
    for url in ("http://user:canary@:99999/", "http://user:canary@[x/", "canary://x"):
        assert "canary@" not in str(await fetch(url))


async def test_header_injection_is_refused() -> None:
    async with BadSite() as site:
        fetcher = HttpFetcher(HttpOptions(), clock=ManualClock(), guard=TRUSTED)
        for bad in (
            Request(site.url("echo"), headers={"X-A": "b\r\nX-Evil: 1"}),
            Request(site.url("echo"), headers={"X-A: b\r\nX-Evil": "1"}),
            Request(site.url("echo"), headers={"Content-Length: 5, X": "1"}),
            Request(site.url("echo"), headers={" folded": "1"}),
            Request(site.url("echo"), method="GET /evil HTTP/1.1"),
            Request(site.url("echo"), method="GET /evil HTTP/1.1\r\nX-Evil: 1\r\nX-A:"),
        ):
            with pytest.raises(FetchError, match="bad_url"):
                await fetcher.fetch(bad)
        await fetcher.close()
        assert all("x-evil" not in hit.headers for hit in site.log)


async def test_headers_that_are_no_ascii_become_text() -> None:
    async with BadSite() as site:
        fetched = await fetch(site.url("odd_headers"))
    if isinstance(fetched, FetchResult):
        assert (fetched.header("x-utf8"), fetched.header("x-latin")) == ("caf\u00e9", "caf\u00e9")


@pytest.mark.parametrize("name", ["no_answer", "slow_headers", "slow_body"])
async def test_a_timeout_of_a_requests_own_bounds_all_of_it(name: str) -> None:
    patient = HttpOptions(headers_s=60.0, idle_s=60.0, body_s=60.0)
    async with BadSite() as site:
        fetcher = HttpFetcher(patient, clock=ManualClock(), guard=TRUSTED)
        with pytest.raises(FetchError) as failed:
            async with asyncio.timeout(20):
                await fetcher.fetch(Request(site.url(name), timeout=0.2))
        await fetcher.close()
    body, headers = Fault.TIMEOUT_BODY, Fault.TIMEOUT_HEADERS
    assert failed.value.fault is (body if name == "slow_body" else headers)


async def test_a_timeout_of_a_requests_own_bounds_the_connection_too() -> None:
    class Stuck:
        async def resolve(self, host: str, port: int) -> list:
            await asyncio.Event().wait()
            return []

    fetcher = HttpFetcher(HttpOptions(connect_s=60.0), clock=ManualClock(), resolver=Stuck())
    with pytest.raises(FetchError) as failed:
        async with asyncio.timeout(20):
            await fetcher.fetch(Request("http://a.example/", timeout=0.1))
    await fetcher.close()
    assert failed.value.fault is Fault.TIMEOUT_CONNECT


async def test_redirects_survive_their_bodies() -> None:
    async with BadSite() as site:
        fetched = await fetch(site.url("redirect_bomb"))
    assert isinstance(fetched, FetchResult)
    assert (fetched.header("location"), fetched.body, fetched.flags) == ("/good", b"", ("truncated",))


async def test_a_gzip_body_that_is_flushed_and_not_ended_is_whole_where_http_says_its_end() -> None:
    """A bug it would catch: a robots.txt that servers write so closes its origin."""
    packer, text = zlib.compressobj(9, zlib.DEFLATED, 31), b"User-agent: *\nDisallow: /private\n"
    packed = packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
    half, start = packed[:-9], b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
    chunks = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(packed), packed)

    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.write(start + b"\r\n" + packed)
        await writer.drain()
        writer.close()

    answers = {
        "/length": start + b"Content-Length: %d\r\n\r\n%s" % (len(packed), packed),
        "/chunks": start + chunks,
        "/half": start + b"Content-Length: %d\r\n\r\n%s" % (len(half), half),
        "/close": hang_up,
    }
    async with Raw(answers) as server:
        flags = {}
        for path in answers:
            fetched = await fetch(server.url + path)
            assert isinstance(fetched, FetchResult)
            flags[path] = fetched.flags
            assert path == "/half" or fetched.body == text
    whole, cut = ("bad_checksum",), ("truncated",)
    assert flags == {"/length": whole, "/chunks": whole, "/half": cut, "/close": cut}


async def test_the_wire_is_counted() -> None:
    async with BadSite() as site:
        fetched = await fetch(site.url("gzipped"))
    assert isinstance(fetched, FetchResult)
    assert 0 < fetched.wire_bytes < 200
    assert fetched.wire_bytes != len(fetched.body)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (TimeoutError("http://user:pw@x/"), Fault.TIMEOUT_CONNECT),
        (ConnectionRefusedError(111, "pw"), Fault.CONNECT),
        (OSError("Multiple exceptions: pw"), Fault.CONNECT),
        (UnicodeError("label pw too long"), Fault.DNS),
        (ValueError("http://user:pw@x/"), Fault.BAD_URL),
        (ssl.SSLError(1, "bad"), Fault.TLS),
        (OSError(errno.EMFILE, "pw"), Fault.LOCAL),
        (OSError(errno.ENETUNREACH, "pw"), Fault.LOCAL),
        (OSError(errno.ENOBUFS, "pw"), Fault.LOCAL),
        (OSError(errno.EADDRNOTAVAIL, "pw"), Fault.LOCAL),
        (OSError(errno.ENOMEM, "pw"), Fault.LOCAL),
        (OSError(errno.EHOSTUNREACH, "pw"), Fault.CONNECT),
    ],
)
def test_translation(error: Exception, fault: Fault) -> None:
    translated = translate_error(error, host="x.example")
    assert translated.fault is fault
    assert "pw" not in str(translated)
