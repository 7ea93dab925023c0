"""The rung ``impersonate``: what servers see of it, where it connects, and what it says when it fails."""

from __future__ import annotations

import asyncio
import gzip
import logging
import re
import socket
import subprocess
import sys
from collections.abc import Sequence

import pytest
import trustme

from gossamer.config.settings import Settings
from gossamer.core.errors import Fault, FetchError, MissingServiceError, SettingError
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult
from gossamer.core.routes import Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.impersonate.clients import ClientKey, ClientPool
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.fetch.impersonate.profiles import (
    FAMILIES,
    PLATFORMS,
    find_profile,
    learn_headers,
    profile_names,
)
from gossamer.install import install_command
from gossamer.testing.clock import ManualClock
from gossamer.wiring import fetchers as wiring
from gossamer.wiring.fetchers import fetcher_of
from kit.environment import environment
from kit.fixed_resolver import FixedResolver
from kit.raw_server import Raw
from kit.tls_server import TlsAnswer, TlsHit, TlsServer

NAMES = ("shop.test", "localhost", "127.0.0.1")


def fetcher_for(
    server: TlsServer | None = None, *, trusted: Sequence[str] = NAMES, options: dict | None = None, **more
) -> ImpersonatingFetcher:
    authorities = server.authority_pem if server is not None else None
    more = {"resolver": FixedResolver(["127.0.0.1"]), "authorities": authorities} | more
    limits = HttpOptions(**({"headers_s": 3.0, "idle_s": 3.0} | (options or {})))
    return ImpersonatingFetcher(limits, clock=ManualClock(), guard=AddressGuard(trusted), **more)


@pytest.fixture
async def close_later():
    """Closes what it is given when the test is over."""
    opened = []

    def keep(fetcher):
        opened.append(fetcher)
        return fetcher

    yield keep
    for fetcher in opened:
        await fetcher.close()


async def fault_of(fetcher, url: str, **route) -> FetchError:
    with pytest.raises(FetchError) as raised:
        await fetcher.fetch(Request(url), Route(rung="impersonate", **route))
    return raised.value


# --------------------------------------------------------------------------- what the server sees


def is_browser(hit: TlsHit) -> bool:
    """As a site that admits browsers only would say: one that talks HTTP/2 as they do, and shuffles TLS."""
    return hit.opening is not None and hit.hello.ja4.startswith("t13d15") and len(hit.opening.settings) > 3


async def test_a_server_that_admits_browsers_only_admits_impersonate_and_not_plain_http(close_later):
    async with TlsServer(admits=is_browser, names=NAMES) as server:
        context = server.client_context()
        plain = HttpFetcher(
            HttpOptions(), clock=ManualClock(), guard=AddressGuard(NAMES), tls=context,
            resolver=FixedResolver(["127.0.0.1"]),
        )  # fmt: skip
        request = Request(server.url("page", host="shop.test"))
        refused = await close_later(plain).fetch(request)
        admitted = await close_later(fetcher_for(server)).fetch(request)
    assert (refused.status, refused.rung) == (403, "http")
    assert (admitted.status, admitted.rung, admitted.address) == (200, "impersonate", "127.0.0.1")
    assert server.hits[0].hello.ja4 != server.hits[1].hello.ja4


async def test_a_route_may_name_the_browser_and_each_has_connections_of_its_own(close_later):
    async with TlsServer(names=NAMES) as server:
        fetcher = close_later(fetcher_for(server, profile="chrome150"))
        request = Request(server.url("page", host="shop.test"))
        for profile in ("", "firefox", "", "firefox"):
            await fetcher.fetch(request, Route(rung="impersonate", profile=profile))
    agents = [hit.header("user-agent") for hit in server.hits]
    assert ["Chrome/150" in agent for agent in agents] == [True, False, True, False]
    assert ["Firefox/" in agent for agent in agents] == [False, True, False, True]
    assert server.connections == 2
    assert server.hits[0].opening.akamai != server.hits[1].opening.akamai


async def test_what_a_request_says_itself_stands_in_the_place_of_what_the_browser_says(close_later):
    async with TlsServer(names=NAMES) as server:
        fetcher = close_later(fetcher_for(server, options={"headers": {"X-All": "1"}}))
        url = server.url("page", host="shop.test")
        await fetcher.fetch(Request(url))
        await fetcher.fetch(Request(url, headers={"User-Agent": "own", "X-Mine": "2"}))
    usual, own = ([name for name, _ in hit.headers] for hit in server.hits)
    assert server.hits[1].header("user-agent") == "own"
    assert own == [*usual, "x-mine"] or sorted(own) == sorted([*usual, "x-mine"])
    assert own.index("user-agent") == usual.index("user-agent")


async def test_the_language_is_a_setting(close_later):
    async with TlsServer(names=NAMES) as server:
        fetcher = close_later(fetcher_for(server, accept_language="de-DE,de;q=0.9"))
        await fetcher.fetch(Request(server.url("page", host="shop.test")))
    assert server.hits[0].header("accept-language") == "de-DE,de;q=0.9"


async def test_in_the_clear_nothing_is_said_that_browsers_say_over_tls_only(close_later):
    async with Raw({}) as server:
        fetcher = close_later(fetcher_for())
        await fetcher.fetch(Request(server.url + "/page", headers={"Referer": "http://shop.test/"}))
    lines = server.heads[0].decode().split("\r\n")
    names = [line.partition(":")[0] for line in lines[1:-2]]
    assert names == [
        "Host", "Connection", "Upgrade-Insecure-Requests", "User-Agent", "Accept", "Referer",
        "Accept-Encoding", "Accept-Language",
    ]  # fmt: skip
    assert "Accept-Encoding: gzip, deflate" in lines


async def test_a_server_of_http1_is_spoken_to_as_browsers_do_once_it_is_known(close_later):
    async with TlsServer(protocols=("http/1.1",), names=NAMES) as server:
        fetcher = close_later(fetcher_for(server))
        for _ in range(2):
            await fetcher.fetch(Request(server.url("page", host="shop.test")))
    names = [name for name, _ in server.hits[1].headers]
    assert names[:3] == ["Host", "Connection", "sec-ch-ua"]
    assert "Sec-Fetch-Mode" in names
    assert "priority" not in map(str.lower, names)
    assert server.connections == 1


@pytest.mark.parametrize("family", FAMILIES)
async def test_headers_of_a_profile_agree_with_each_other_and_with_its_platform(family):
    marks = {"windows": "Windows NT", "macos": "Macintosh", "linux": "Linux", "android": "Android"}
    checked = 0
    for platform in PLATFORMS:
        try:
            profile = find_profile(family, platform)
        except SettingError:
            continue
        said = dict(await learn_headers(profile))
        assert marks[platform] in said["user-agent"], said
        version = profile.name.removeprefix(family).partition(".")[0]
        if family != "okhttp":
            assert version in said["user-agent"]
        if "sec-ch-ua" in said:
            assert f'v="{version}"' in said["sec-ch-ua"]
            assert said["sec-ch-ua-platform"].strip('"').lower() == platform
            assert said["sec-ch-ua-mobile"] == ("?1" if platform == "android" else "?0")
        checked += 1
    assert checked


# --------------------------------------------------------------------------- profiles by name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Chrome150", "chrome150"),
        ("firefox_152", "firefox152"),
        ("safari-26.4", "safari26.4"),
        ("safari ios 26.2", "safari_ios26.2"),
        ("FirefoxPrivate136", "firefox_private136"),
    ],
)
def test_profiles_are_found_by_any_spelling(text, name):
    assert find_profile(text).name == name


def test_a_browser_without_a_version_is_the_newest():
    versions = [
        int(name.removeprefix("chrome"))
        for name in profile_names()
        if name.startswith("chrome") and name != "chrome"
    ]
    assert find_profile("chrome").name == f"chrome{max(versions)}"


def test_an_unknown_profile_is_refused_with_the_nearest():
    with pytest.raises(SettingError, match="unknown browser profile 'crome'; did you mean 'chrome'"):
        find_profile("crome")
    with pytest.raises(SettingError, match="use one of chrome, edge"):
        find_profile("netscape")
    with pytest.raises(SettingError, match=r"'safari26\.4' does not run on 'windows'; use macos"):
        find_profile("safari26.4", "windows")


# --------------------------------------------------------------------------- where it connects


async def test_names_are_looked_up_here_and_the_checked_address_is_the_connected_one(close_later):
    async with TlsServer(names=NAMES) as server:
        resolver = FixedResolver(["127.0.0.1"])
        fetcher = close_later(fetcher_for(server, resolver=resolver))
        for path in ("one", "two"):
            result = await fetcher.fetch(Request(server.url(path, host="shop.test")))
            assert result.address == "127.0.0.1"
    assert resolver.asked == ["shop.test"], "looked up once, by our resolver alone"


async def test_a_name_that_leads_to_a_private_address_the_second_time_is_not_connected(close_later):
    async with TlsServer(names=NAMES) as server:
        resolver = FixedResolver(["192.0.0.9"], ["127.0.0.1"])
        fetcher = close_later(fetcher_for(server, trusted=(), resolver=resolver, options={"dns_cache_s": 0}))
        for _ in range(3):
            error = await fault_of(fetcher, server.url("page", host="shop.test"))
            assert error.fault is Fault.GUARD
        error = await fault_of(fetcher, server.url("page", host="127.0.0.1"))
        assert error.fault is Fault.GUARD
        assert "name it in start_urls" in error.detail
    assert server.connections == 0


async def test_of_a_public_and_a_private_address_only_the_public_one_is_connected(close_later, monkeypatch):
    clients = ClientPool(HttpOptions())
    fetcher = close_later(fetcher_for(trusted=(), resolver=FixedResolver(["10.0.0.1", "1.1.1.1"])))
    seen = []
    monkeypatch.setattr(
        ClientPool, "client_for", lambda _, key, addresses: seen.append(addresses) or refuse_to_connect()
    )

    def refuse_to_connect():
        raise FetchError(Fault.CONNECT, "not in this test")

    await fault_of(fetcher, "http://shop.test/")
    assert seen == [{"shop.test": ["1.1.1.1"]}]
    clients.close()


async def test_a_port_of_another_service_is_not_connected(close_later):
    error = await fault_of(close_later(fetcher_for(trusted=())), "http://shop.test:25/")
    assert error.fault is Fault.GUARD


def test_a_client_is_kept_for_its_host_addresses_and_profile_and_the_oldest_is_let_go(monkeypatch):
    pool = ClientPool(HttpOptions())
    monkeypatch.setattr(pool, "_max_clients", 2)
    chrome, firefox = find_profile("chrome"), find_profile("firefox")
    one = pool.client_for(ClientKey("a.test", None, chrome), {"a.test": ["127.0.0.1", "127.0.0.2"]})
    assert pool.client_for(ClientKey("a.test", None, chrome), {"a.test": ["127.0.0.2", "127.0.0.1"]}) is one
    moved = pool.client_for(ClientKey("a.test", None, chrome), {"a.test": ["127.0.0.3"]})
    assert moved is not one, "an address that is no longer the host's is not connected"
    other = pool.client_for(ClientKey("a.test", None, firefox), {"a.test": ["127.0.0.3"]})
    assert other is not moved
    pool.client_for(ClientKey("b.test", None, chrome), {"b.test": ["127.0.0.3"]})
    assert repr(pool) == "<ClientPool of 2 clients>"
    assert pool.client_for(ClientKey("a.test", None, firefox), {"a.test": ["127.0.0.3"]}) is other
    pool.close()


COUNTING_THREADS = """
import asyncio
from pathlib import Path

from gossamer.core.errors import FetchError
from gossamer.core.requests import Request
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.runtime.clock import SystemClock


def count_threads():
    return len(list(Path("/proc/self/task").iterdir()))


async def main():
    guard = AddressGuard(["127.0.0.1"])
    before = count_threads()
    fetcher = ImpersonatingFetcher(HttpOptions(), clock=SystemClock(), guard=guard)
    made = count_threads()
    try:
        await fetcher.fetch(Request("http://127.0.0.1:2/"))
    except FetchError:
        print(made - before, count_threads() > before)
    await fetcher.close()


asyncio.run(main())
"""


@pytest.mark.slow
def test_wreq_starts_no_thread_before_the_first_fetch():
    """A process that forks before it fetches must not have any. In one where no other test has left some."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING_THREADS],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "0 True\n", done.stderr


# --------------------------------------------------------------------------- HTTP/2


@pytest.mark.slow
async def test_bodies_by_http2_are_decoded_here_and_bounded(close_later):
    page = b"<p>text</p>" * 200_000

    def answer(hit: TlsHit) -> TlsAnswer:
        if hit.path == "/members":  # two members: libraries that unpack it lose the second
            body = gzip.compress(page[:1_000_000]) + gzip.compress(page[1_000_000:])
            return TlsAnswer(200, [("content-encoding", "gzip")], body)
        if hit.path == "/cut":  # the stream has ended, its compression has not
            return TlsAnswer(200, [("content-encoding", "gzip")], gzip.compress(page)[:-9])
        if hit.path == "/large":
            return TlsAnswer(200, [], page * 3)
        return TlsAnswer(200, [], f"{hit.method} {len(hit.body)}".encode())

    async with TlsServer(answer, names=NAMES) as server:
        fetcher = close_later(fetcher_for(server, options={"max_body_bytes": 3_000_000}))
        members = await fetcher.fetch(Request(server.url("members", host="shop.test")))
        assert (members.body == page, members.flags) == (True, ())
        assert members.wire_bytes < 10_000
        assert (await fetcher.fetch(Request(server.url("cut", host="shop.test")))).flags == (TRUNCATED,)
        assert (await fault_of(fetcher, server.url("large", host="shop.test"))).fault is Fault.TOO_LARGE
        posted = await fetcher.fetch(
            Request(server.url("form", host="shop.test"), method="POST", body=b"x" * 100_000)
        )
        assert posted.body == b"POST 100000"
        head = await fetcher.fetch(Request(server.url("form", host="shop.test"), method="HEAD"))
        assert (head.status, head.body) == (200, b"")
        pages = [Request(server.url(f"{number}", host="shop.test")) for number in range(50)]
        results = await asyncio.gather(*map(fetcher.fetch, pages))
    assert {result.body for result in results} == {b"GET 0"}
    assert server.connections == 1, "HTTP/2 needs one connection"


async def test_cookies_are_kept_and_sent_last_as_browsers_do(close_later):
    async with TlsServer(lambda _: TlsAnswer(200, [("set-cookie", "a=1; Path=/")]), names=NAMES) as server:
        fetcher = close_later(fetcher_for(server))
        for _ in range(2):
            await fetcher.fetch(Request(server.url("page", host="shop.test")))
        await fetcher.fetch(Request(server.url("page", host="shop.test")), Route(session="other"))
    assert server.hits[1].headers[-1] == ("cookie", "a=1")
    assert [hit.header("cookie") for hit in server.hits] == [None, "a=1", None]


async def test_a_connection_that_the_server_has_closed_meanwhile_costs_a_page_nothing(close_later):
    async with TlsServer(names=NAMES) as server:
        fetcher = close_later(fetcher_for(server))
        await fetcher.fetch(Request(server.url("one", host="shop.test")))
        server.drop_connections()
        result = await fetcher.fetch(Request(server.url("two", host="shop.test")))
    assert result.status == 200
    assert server.connections == 2


# --------------------------------------------------------------------------- what goes wrong


async def test_certificates_are_checked_unless_the_settings_say_otherwise(close_later):
    async with TlsServer(names=NAMES) as server:
        stranger = trustme.CA().cert_pem.bytes()
        checked = close_later(fetcher_for(server, authorities=stranger))
        error = await fault_of(checked, server.url("page", host="shop.test"))
        assert error.fault is Fault.TLS
        assert 'http.insecure_hosts = ["shop.test"]' in error.detail
        named = close_later(fetcher_for(server, trusted=("other.test",)))
        assert (await fault_of(named, server.url("page", host="other.test"))).fault is Fault.TLS
        hosts = {"insecure_hosts": frozenset({"shop.test"})}
        unchecked = close_later(fetcher_for(server, authorities=stranger, options=hosts))
        assert (await unchecked.fetch(Request(server.url("page", host="shop.test")))).status == 200
        assert (await fault_of(unchecked, server.url("page", host="localhost"))).fault is Fault.TLS


async def test_failures_are_told_apart_and_hold_neither_urls_nor_passwords(close_later):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        closed = unused.getsockname()[1]
    fetcher = close_later(fetcher_for(options={"connect_s": 0.3}))
    places = {f"http://shop.test:{closed}/se?key=cret": Fault.CONNECT}
    async with Raw(
        {"/junk?key=cret": b"HELLO\r\n\r\n", "/cut?key=cret": b"HTTP/1.1 200 OK\r\nContent-Length: 9"}
    ) as raw:
        places |= {f"{raw.url}/junk?key=cret": Fault.PROTOCOL}
        for url, fault in places.items():
            error = await fault_of(fetcher, url.replace("://", "://user:word@"))
            assert (error.fault, error.rung) == (fault, "impersonate"), url
            assert not {"cret", "word", "http://"} & set(
                error.detail.replace("=", " ").replace("/", " ").split()
            )
            assert "cret" not in str(error)
            assert error.__cause__ is None or "cret" not in str(error.__cause__)


async def test_a_method_that_no_browser_has_is_refused(close_later):
    fetcher = close_later(fetcher_for())
    with pytest.raises(FetchError, match="the method PROPFIND is not impersonated"):
        await fetcher.fetch(Request("http://shop.test/", method="PROPFIND"))


# --------------------------------------------------------------------------- settings


def settings(**values) -> Settings:
    return Settings.model_validate(values)


async def open_way(**values) -> FetchResult:
    fetcher = fetcher_of(settings(**values), AddressGuard(), ManualClock(), ways=["impersonate"])
    await fetcher.close()


async def test_a_wrong_profile_in_the_settings_is_refused_with_the_nearest():
    with pytest.raises(SettingError, match=r"impersonate\.profile = 'crome': .* did you mean 'chrome'"):
        await open_way(impersonate={"profile": "crome"})
    with pytest.raises(SettingError, match=r"sessions\.profiles = 'fierfox': .* did you mean 'firefox'"):
        await open_way(sessions={"profiles": ("chrome", "fierfox")})


async def test_a_user_agent_that_is_not_sent_is_said(caplog):
    with caplog.at_level(logging.WARNING):
        await open_way(contact="me@shop.test")
        assert not caplog.messages
        await open_way(user_agent="mine/1.0")
    assert caplog.messages == [
        f"user_agent = 'mine/1.0' is not sent by the rung 'impersonate': it would not fit the browser "
        f"{find_profile('chrome').name}"
    ]


async def test_without_its_package_the_way_says_what_to_install(monkeypatch):
    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="wreq")

    monkeypatch.setattr(wiring, "import_module", absent)
    with pytest.raises(
        MissingServiceError, match=re.escape(f"wreq is missing): {install_command('impersonate')}")
    ):
        await open_way()


RESETS = {
    "PROTOCOL_ERROR": 1, "INTERNAL_ERROR": 2, "REFUSED_STREAM": 7, "CANCEL": 8, "ENHANCE_YOUR_CALM": 11,
    "INADEQUATE_SECURITY": 12,
}  # fmt: skip


@pytest.mark.parametrize("name", RESETS)
async def test_a_stream_that_is_reset_is_an_error_with_its_code(close_later, name):
    def answer(hit: TlsHit) -> TlsAnswer:
        body = b"<p>half" if hit.path == "/half" else b""
        return TlsAnswer(body=body, reset_code=RESETS[name])

    async with TlsServer(answer, names=NAMES) as server:
        fetcher = close_later(fetcher_for(server))
        whole = await fault_of(fetcher, server.url("x", host="shop.test"))
        half = await fault_of(fetcher, server.url("half", host="shop.test"))
    assert (whole.fault, half.fault) == (Fault.PROTOCOL, Fault.INCOMPLETE)
    assert whole.detail == f"shop.test: the server reset the stream (HTTP/2 {name})"
    assert half.detail == f"shop.test: the server reset the stream of the body (HTTP/2 {name})"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_origin_that_wants_http1_gets_it_from_then_on(close_later, method):
    """Also by POST: a server that says so has not looked at the request. Another port is another origin."""

    def answer(hit: TlsHit) -> TlsAnswer:
        return TlsAnswer(body=b"", reset_code=13) if hit.protocol == "h2" else TlsAnswer()

    async with TlsServer(answer, names=NAMES) as server, TlsServer(names=NAMES) as other:
        fetcher = close_later(fetcher_for(server, authorities=server.authority_pem + other.authority_pem))
        for _ in range(2):
            request = Request(
                server.url("x", host="shop.test"), method=method, body=b"a=1" * (method == "POST")
            )
            assert (await fetcher.fetch(request)).status == 200
        await fetcher.fetch(Request(other.url("x", host="shop.test")))
        assert [hit.protocol for hit in server.hits] == ["h2", "http/1.1", "http/1.1"]
        assert [hit.protocol for hit in other.hits] == ["h2"]


async def test_http1_that_is_wanted_in_the_middle_of_a_body_is_used_by_the_next_try(close_later):
    def answer(hit: TlsHit) -> TlsAnswer:
        return TlsAnswer(body=b"<p>half", reset_code=13) if hit.protocol == "h2" else TlsAnswer()

    async with TlsServer(answer, names=NAMES) as server:
        fetcher = close_later(fetcher_for(server))
        url = server.url("x", host="shop.test")
        assert (await fault_of(fetcher, url)).fault is Fault.INCOMPLETE
        assert (await fetcher.fetch(Request(url))).status == 200
