"""Pages through proxies: what the proxy is told, whose fault a failure is, and what nobody may see."""

from __future__ import annotations

import ssl

import pytest
import trustme

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import Proxy, Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.testing.badroutes import PAGE
from gossamer.testing.badsite import BadSite
from gossamer.testing.clock import ManualClock
from kit.fake_proxy import FakeProxy, Forwarding, drip, hang, hang_up, say

SECRET = "s3cret:/@%"
GREETED = b"\5\2"
LET_IN = b"\1\0"
CONNECTED = b"\5\0\0\1\0\0\0\0\0\0"


def fetcher_with(*trusted: str, tls: ssl.SSLContext | None = None, **options: float) -> HttpFetcher:
    limits = {"connect_s": 5.0, "headers_s": 5.0, "local_pause_s": 0.0} | options
    return HttpFetcher(
        HttpOptions(**limits), clock=ManualClock(), guard=AddressGuard(trusted or {"127.0.0.1"}), tls=tls
    )


async def fetch(fetcher: HttpFetcher, url: str, proxy: Proxy, **fields: object) -> FetchResult | FetchError:
    try:
        return await fetcher.fetch(Request(url, **fields), Route(proxy=proxy))
    except FetchError as error:
        failed = error
    assert (failed.rung, failed.proxy) == ("http", proxy.name)
    assert SECRET not in str(failed)
    return failed


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def server_tls(authority: trustme.CA, name: str = "127.0.0.1") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def client_tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


# --------------------------------------------------------------------------- ways through


async def test_plain_http_is_asked_for_with_its_whole_url() -> None:
    told = Forwarding()
    async with BadSite() as site, FakeProxy(told) as fake:
        fetcher, proxy = fetcher_with(), fake.proxy("user", SECRET)
        for number in range(2):
            fetched = await fetch(fetcher, site.url(f"good?n={number}"), proxy)
            assert isinstance(fetched, FetchResult), fetched
            assert (fetched.body, fetched.proxy, fetched.address) == (PAGE, proxy.name, "")
        await fetcher.close()
        assert told.heads[0].startswith(f"GET {site.url('good?n=0')} HTTP/1.1\r\n")
        assert "Proxy-Authorization: Basic dXNlcjpzM2NyZXQ6L0Al\r\n" in told.heads[0]
        assert fake.connections == 2, "some proxies pass a second request on as it is, with the password"
        assert all("Connection: close\r\n" in head for head in told.heads)
        assert all("proxy-authorization" not in hit.headers for hit in site.log)


async def test_one_users_connection_is_not_anothers(authority: trustme.CA) -> None:
    told = Forwarding()
    async with BadSite(tls=server_tls(authority)) as site, FakeProxy(told) as fake:
        fetcher = fetcher_with(tls=client_tls(authority))
        for user in ("anna", "berta", "anna"):
            await fetch(fetcher, site.url("good"), fake.proxy(user, "x"))
        await fetcher.fetch(Request(site.url("good")))
        await fetcher.close()
        assert fake.connections == 2
        assert site.connections == 3, "without a proxy, none of its connections is used"


async def test_https_goes_through_a_tunnel_that_hides_the_password(authority: trustme.CA) -> None:
    told = Forwarding()
    async with BadSite(tls=server_tls(authority)) as site, FakeProxy(told) as fake:
        fetcher, proxy = fetcher_with(tls=client_tls(authority)), fake.proxy("user", SECRET)
        for _ in range(2):
            fetched = await fetch(fetcher, site.url("echo"), proxy)
            assert isinstance(fetched, FetchResult), fetched
        await fetcher.close()
        assert len(told.heads) == 1, "the tunnel is kept"
        assert told.heads[0].startswith(f"CONNECT 127.0.0.1:{site.port} HTTP/1.1\r\n")
        assert "Proxy-Authorization: Basic " in told.heads[0]
        assert b"roxy" not in fetched.body


@pytest.mark.parametrize("is_tls", [False, True], ids=["http", "https"])
async def test_a_proxy_that_is_itself_spoken_to_by_tls(authority: trustme.CA, is_tls: bool) -> None:
    told = Forwarding()
    tls = server_tls(authority)
    async with BadSite(tls=tls if is_tls else None) as site, FakeProxy(told, scheme="https", tls=tls) as fake:
        fetcher = fetcher_with(tls=client_tls(authority))
        for _ in range(2):
            fetched = await fetch(fetcher, site.url("good"), fake.proxy("user", SECRET))
            assert isinstance(fetched, FetchResult), fetched
            assert fetched.body == PAGE
        if is_tls:  # many records of TLS within TLS
            upload = await fetch(fetcher, site.url("echo"), fake.proxy(), method="POST", body=bytes(300_000))
            assert isinstance(upload, FetchResult), upload
            assert upload.body.endswith(bytes(300_000))
        await fetcher.close()


async def test_names_are_the_proxys_to_look_up() -> None:
    told = Forwarding()
    async with FakeProxy(say(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")) as fake:
        fetcher = fetcher_with()
        fetched = await fetch(fetcher, "http://nowhere.invalid/", fake.proxy())
        assert isinstance(fetched, FetchResult), fetched
        await fetcher.close()
    assert not told.heads


async def test_socks_passes_a_name_a_user_and_a_password() -> None:
    heard: list[bytes] = []

    async def behave(reader, writer):
        for answer in (GREETED, LET_IN, CONNECTED, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"):
            heard.append(await reader.read(65536))
            writer.write(answer)

    async with FakeProxy(behave, scheme="socks5") as fake:
        fetcher = fetcher_with()
        fetched = await fetch(fetcher, "http://somewhere.example/x", fake.proxy("user", SECRET))
        await fetcher.close()
    assert isinstance(fetched, FetchResult), fetched
    assert heard[0] == b"\5\2\0\2"
    assert heard[1] == b"\1\4user\x0a" + SECRET.encode()
    assert heard[2] == b"\5\1\0\3\x11somewhere.example\0\x50"
    assert heard[3].startswith(b"GET /x HTTP/1.1\r\nHost: somewhere.example\r\n")


# --------------------------------------------------------------------------- whose fault it is

HTTP_REFUSALS = {
    "407": (b"HTTP/1.1 407 No\r\n\r\n", Fault.PROXY, "wants a user and a password (407)"),
    "401": (b"HTTP/1.1 401 No\r\n\r\n", Fault.PROXY, "wants a user and a password (401)"),
    "403": (b"HTTP/1.1 403 No\r\n\r\n", Fault.PROXY, "refuses to fetch from the host (403)"),
    "503": (b"HTTP/1.1 503 No\r\n\r\n", Fault.PROXY, "makes no connection to the host (503)"),
    "502": (b"HTTP/1.1 502 No\r\n\r\n", Fault.CONNECT, "cannot reach the host (502)"),
    "504": (b"HTTP/1.1 504 No\r\n\r\n", Fault.CONNECT, "cannot reach the host (504)"),
    "squid, dns": (
        b"HTTP/1.1 503 No\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\nVia: 1.1 a (squid)\r\n\r\n",
        Fault.DNS,
        "says that the host's name does not resolve (503)",
    ),
    "squid, denied": (
        b"HTTP/1.1 403 No\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\n\r\n",
        Fault.PROXY,
        "refuses to fetch from the host (403)",
    ),
    "proxy-status, host": (
        b'HTTP/1.1 502 No\r\nProxy-Status: p; details="a, b"; error=connection_timeout\r\n\r\n',
        Fault.TIMEOUT_CONNECT,
        "cannot reach the host (502)",
    ),
    "proxy-status, proxy": (
        b"HTTP/1.1 502 No\r\nProxy-Status: p; error=proxy_internal_error\r\n\r\n",
        Fault.PROXY,
        "refuses to fetch from the host (502)",
    ),
    "tinyproxy": (
        b"HTTP/1.0 500 Unable to connect\r\nServer: tinyproxy/1.11.1\r\n\r\n",
        Fault.CONNECT,
        "cannot reach the host (500)",
    ),
    "not http": (b"SSH-2.0-x\r\n\r\n", Fault.PROXY, "answers with something other than HTTP"),
    "no end": (b"HTTP/1.1 200 " + b"x" * 70_000, Fault.PROXY, "sends a header without end"),
    "too much": (b"HTTP/1.1 200 OK\r\n\r\n\r\n", Fault.PROXY, "sends more than was requested"),
}


@pytest.mark.parametrize("name", HTTP_REFUSALS)
async def test_a_tunnel_that_is_refused(name: str) -> None:
    answer, fault, words = HTTP_REFUSALS[name]
    async with FakeProxy(say(answer)) as fake:
        fetcher = fetcher_with("example.com")
        error = await fetch(fetcher, "https://example.com/", fake.proxy())
        await fetcher.close()
        assert isinstance(error, FetchError)
        assert error.fault is fault
        assert error.detail.startswith("example.com: ")
        assert error.detail == f"example.com: proxy {fake.proxy().name} {words}"


@pytest.mark.parametrize(
    ("answers", "fault", "words"),
    [
        ([b"\5\xff"], Fault.PROXY, "takes neither this user and password nor anonymous clients"),
        ([GREETED, b"\1\1"], Fault.PROXY, "refuses the user and password"),
        ([b"HTTP/1.1 400 Bad\r\n\r\n"], Fault.PROXY, "answers with something other than SOCKS5"),
        *(
            ([b"\5\0", b"\5" + bytes([reply]) + CONNECTED[2:]], fault, "")
            for reply, fault in {
                **dict.fromkeys((1, 2, 7, 8, 99), Fault.PROXY),
                **dict.fromkeys((3, 4, 5, 6), Fault.CONNECT),
            }.items()
        ),
        ([b"\5\0", b"\5\0\0\2"], Fault.PROXY, "answers with something other than SOCKS5"),
    ],
)
async def test_what_socks_answers(answers: list[bytes], fault: Fault, words: str) -> None:
    async with FakeProxy(say(*answers), scheme="socks5") as fake:
        fetcher, proxy = fetcher_with("example.com"), fake.proxy("user", SECRET)
        error = await fetch(fetcher, "http://example.com/", proxy)
        await fetcher.close()
    assert isinstance(error, FetchError)
    assert error.fault is fault
    assert error.detail.startswith(f"example.com: proxy {proxy.name} {words}")


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize("url", ["http://example.com/", "https://example.com/"])
async def test_a_proxy_that_hangs_up_hangs_or_is_not_there(scheme: str, url: str) -> None:
    fetcher = fetcher_with("example.com", connect_s=0.2, headers_s=0.2)
    async with FakeProxy(hang_up, scheme=scheme) as fake:
        error = await fetch(fetcher, url, fake.proxy("user", SECRET))
        assert isinstance(error, FetchError)
        assert (error.fault, "hangs up without an answer" in error.detail) == (Fault.PROXY, True)
    async with FakeProxy(hang, scheme=scheme) as fake:
        error = await fetch(fetcher, url, fake.proxy("user", SECRET))
        assert isinstance(error, FetchError)
        assert (error.fault, "does not answer" in error.detail) == (Fault.PROXY, True)
    error = await fetch(fetcher, url, fake.proxy("user", SECRET))
    assert isinstance(error, FetchError)
    assert (error.fault, "Connection refused" in error.detail) == (Fault.PROXY, True)
    nowhere = Proxy(scheme=scheme, host="nowhere.invalid", port=1)
    error = await fetch(fetcher, url, nowhere)
    assert isinstance(error, FetchError)
    assert (error.fault, "its name does not resolve" in error.detail) == (Fault.PROXY, True)
    await fetcher.close()


@pytest.mark.parametrize("url", ["http://example.com/", "https://example.com/"])
async def test_a_proxy_that_answers_too_slowly(url: str) -> None:
    fetcher = fetcher_with("example.com", connect_s=0.3, headers_s=0.3)
    async with FakeProxy(drip) as fake:
        error = await fetch(fetcher, url, fake.proxy())
        assert isinstance(error, FetchError)
        assert (error.fault, "does not answer" in error.detail) == (Fault.PROXY, True)
    await fetcher.close()


async def test_a_proxy_whose_certificate_is_not_good(authority: trustme.CA) -> None:
    async with FakeProxy(hang, scheme="https", tls=server_tls(trustme.CA())) as fake:
        fetcher = fetcher_with("example.com", tls=client_tls(authority))
        error = await fetch(fetcher, "http://example.com/", fake.proxy())
        assert isinstance(error, FetchError)
        assert (error.fault, "cannot be reached by TLS" in error.detail) == (Fault.PROXY, True)
        await fetcher.close()


async def test_a_host_with_a_bad_certificate_behind_a_good_proxy(authority: trustme.CA) -> None:
    async with BadSite(tls=server_tls(trustme.CA())) as site, FakeProxy(Forwarding()) as fake:
        fetcher = fetcher_with(tls=client_tls(authority))
        error = await fetch(fetcher, site.url("good"), fake.proxy())
        await fetcher.close()
    assert isinstance(error, FetchError)
    assert error.fault is Fault.TLS


async def test_plain_http_says_what_is_the_proxys_own() -> None:
    denied = b"HTTP/1.1 403 Forbidden\r\nX-Squid-Error: ERR_ACCESS_DENIED 0\r\n"
    status = b"HTTP/1.1 502 No\r\nContent-Length: 0\r\nProxy-Status: "
    cases = {
        status + b"cdn; error=connection_refused, own; error=http_request_denied\r\n\r\n": Fault.PROXY,
        status + b"own; error=dns_timeout\r\n\r\n": Fault.DNS_TEMPORARY,
        status + b"cdn; error=connection_refused, own; received-status=502\r\n\r\n": 502,
        status + b"own; error=of_the_future\r\n\r\n": 502,
        b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n": Fault.PROXY,
        denied + b"Via: 1.1 own (squid)\r\nContent-Length: 0\r\n\r\n": Fault.PROXY,
        denied + b"Via: 1.1 sites (squid), 1.1 own (squid)\r\nContent-Length: 0\r\n\r\n": 403,
        b"HTTP/1.0 401 No\r\nServer: tinyproxy/1.11.1\r\nContent-Length: 0\r\n\r\n": Fault.PROXY,
        b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n": 401,
        b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n": 403,
        b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n": 502,
    }
    for answer, wanted in cases.items():
        async with FakeProxy(say(answer)) as fake:
            fetcher = fetcher_with("example.com")
            got = await fetch(fetcher, "http://example.com/", fake.proxy("user", SECRET))
            await fetcher.close()
        assert (got.status if isinstance(got, FetchResult) else got.fault) == wanted, answer


# --------------------------------------------------------------------------- silence


@pytest.mark.slow
@pytest.mark.parametrize("is_tls", [False, True], ids=["http", "https"])
async def test_a_proxy_that_has_answered_is_believed_once(authority: trustme.CA, is_tls: bool) -> None:
    """One page that hangs is the host's; two different ones, with nothing in between, are the proxy's."""
    told, is_silent = Forwarding(), False

    async def behave(reader, writer):
        await (hang if is_silent else told)(reader, writer)

    late = Fault.TIMEOUT_CONNECT if is_tls else Fault.TIMEOUT_HEADERS
    tls = server_tls(authority) if is_tls else None
    async with BadSite(tls=tls) as site, FakeProxy(behave) as fake:
        fetcher = fetcher_with(tls=client_tls(authority), connect_s=0.3, headers_s=0.3, keepalive_s=0.0)

        async def fault_of(name: str) -> Fault | int:
            fetcher._pool.drop_idle()
            got = await fetch(fetcher, site.url(name), fake.proxy())
            return got.status if isinstance(got, FetchResult) else got.fault

        assert await fault_of("good") == 200
        is_silent = True
        assert [await fault_of(name) for name in ("a", "a", "b", "a")] == [late, late, Fault.PROXY, late]
        is_silent = False
        assert await fault_of("good") == 200
        is_silent = True
        assert await fault_of("b") is late
        await fetcher.close()


# --------------------------------------------------------------------------- the guard


@pytest.mark.parametrize("scheme", ["http", "socks5"])
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "0x7f.1",
        "2130706433",
        "169.254.169.254",
        "localhost",
        "a.localhost",
    ],
)
async def test_no_proxy_is_asked_for_a_private_address(host: str, scheme: str) -> None:
    async with FakeProxy(hang_up, scheme=scheme) as fake:
        fetcher = fetcher_with("example.com")
        for url in (f"http://{host}:8080/", f"https://{host}/", "http://example.org:25/"):
            error = await fetch(fetcher, url, fake.proxy())
            assert isinstance(error, FetchError)
            assert error.fault is Fault.GUARD
        assert not fake.connections, "though the proxy itself is at such an address"
        await fetcher.close()


async def test_the_password_is_in_no_exchange_that_is_kept() -> None:
    async with BadSite() as site, FakeProxy(Forwarding()) as fake:
        fetcher = fetcher_with(keeps_exchanges=True)
        fetched = await fetch(fetcher, site.url("good"), fake.proxy("user", SECRET))
        await fetcher.close()
    assert isinstance(fetched, FetchResult)
    assert fetched.raw is not None
    assert fetched.raw.request_header.startswith(b"GET http://127.0.0.1")
    assert b"roxy" not in fetched.raw.request_header
