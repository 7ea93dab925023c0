"""The rung ``impersonate`` through proxies: whom it trusts, and what it learns of them."""

import ssl

import pytest
import trustme

from gossamer.core.errors import Fault, FetchError, SettingError
from gossamer.core.requests import Request
from gossamer.core.routes import Proxy, Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.http.proxied import ProxyJudge, place_of
from gossamer.fetch.http.target import parse_target
from gossamer.fetch.http.tunnel import UnclearProxyError
from gossamer.fetch.impersonate.fetcher import ImpersonatingFetcher
from gossamer.testing.clock import ManualClock
from kit.fake_proxy import FakeProxy, Forwarding, hang_up, say
from kit.fixed_resolver import FixedResolver

HOST = "shop.test"
NAMES = (HOST, "localhost", "127.0.0.1")


def open_fetcher(*insecure_hosts, resolver=None, trusted=NAMES):
    return ImpersonatingFetcher(
        HttpOptions(headers_s=3.0, idle_s=3.0, insecure_hosts=frozenset(insecure_hosts)),
        clock=ManualClock(),
        guard=AddressGuard(trusted),
        resolver=resolver or FixedResolver(["127.0.0.1"]),
    )


async def fail(fetcher, url, proxy):
    with pytest.raises((FetchError, SettingError)) as caught:
        await fetcher.fetch(Request(url), Route(rung="impersonate", proxy=proxy))
    return caught.value


async def test_no_password_is_told_to_a_proxy_whose_certificate_does_not_verify():
    told, tls = Forwarding(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(tls)
    async with FakeProxy(told, scheme="https", tls=tls) as fake:
        fetcher, proxy = open_fetcher(HOST), fake.proxy("user", "hunter2secret")
        refused = await fail(fetcher, f"https://{HOST}/", proxy)
        assert isinstance(refused, SettingError)
        assert "add 127.0.0.1 to http.insecure_hosts" in str(refused)
        assert "hunter2secret" not in str(refused)
        assert fake.connections == 0
        assert (await fail(fetcher, f"http://{HOST}/", proxy)).fault is Fault.PROXY
        assert not told.heads, "neither for a request that it forwards"
        await fetcher.close()
        trusting = open_fetcher(HOST, "127.0.0.1")
        await fail(trusting, f"https://{HOST}:1/", proxy)
        assert told.heads, "the operator said that it need not be checked"
        await trusting.close()


async def test_a_proxy_is_looked_up_again_after_a_failure():
    resolver = FixedResolver(["127.0.0.1"])
    fetcher = open_fetcher(resolver=resolver)
    async with FakeProxy(hang_up) as fake:
        proxy = Proxy(scheme="http", host="proxy.test", port=fake.port)
        for _ in range(2):
            await fail(fetcher, f"https://{HOST}/", proxy)
    assert resolver.asked == ["proxy.test"] * 2
    await fetcher.close()


@pytest.mark.parametrize("scheme", ["https", "http"])
async def test_a_tunnel_that_is_refused_may_be_the_proxys_doing(scheme):
    """A bug it would catch: the page and its host are charged for a proxy that has worked before."""
    answer = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
    fetcher = open_fetcher()
    async with FakeProxy(say(answer) if scheme == "https" else hang_up) as fake:
        fetcher._judge.note_answer(fake.proxy())
        failed = await fail(fetcher, f"{scheme}://{HOST}/", fake.proxy())
    assert (failed.fault, failed.is_unclear) == (Fault.CONNECT, scheme == "https")
    await fetcher.close()


async def test_a_private_address_in_disguise_is_not_asked_for():
    fetcher = open_fetcher(trusted=())
    async with FakeProxy(hang_up) as fake:
        for host in ("127%2E0%2E0%2E1", "%31%32%37.0.0.1", "loc%61lhost"):
            assert (await fail(fetcher, f"http://{host}/", fake.proxy())).fault is Fault.GUARD
        assert fake.connections == 0
    await fetcher.close()


@pytest.mark.parametrize("fault", [Fault.GUARD, Fault.BAD_URL])
def test_a_refusal_of_our_own_says_nothing_of_the_proxy(fault):
    proxy = Proxy(scheme="http", host="p.test", port=1)
    place = place_of(parse_target("http://shop.test/").origin, proxy)
    judge = ProxyJudge()
    judge.attribute_failure(FetchError(fault, "no"), "http://127.0.0.1/", place)
    silent = UnclearProxyError(proxy, "does not answer", Fault.TIMEOUT_HEADERS)
    assert judge.attribute_failure(silent, "http://shop.test/", place).fault is Fault.PROXY


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127%2E0%2E0%2E1/a%2Fb", "127.0.0.1"),
        ("http://u%40:p@ex%61mple.com:81/", "example.com"),
        ("http://u%40:p@example.com/", "example.com"),
    ],
)
def test_hosts_are_decoded(url, host):
    assert parse_target(url).origin.host == host
    for bad in ("http://a%00b/", "http://%zz/"):
        with pytest.raises(FetchError) as caught:
            parse_target(bad)
        assert caught.value.fault is Fault.BAD_URL
