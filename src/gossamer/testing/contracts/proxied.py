"""The contract of every :class:`~gossamer.ports.fetcher.Fetcher` that uses the proxy of a route.

The fetcher under test trusts ``127.0.0.1``, and has the limits of the suite ``fetcher`` or longer ones. The
proxy is a real one that accepts only its user. In a test suite, run :data:`PROXIED_CHECKS` one by one;
:func:`check_proxied` runs all.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import Proxy, Route
from gossamer.ports.fetcher import Fetcher
from gossamer.testing.badsite import BadSite

Check = Callable[[Fetcher, BadSite, Proxy], Coroutine[Any, Any, None]]


async def _fetch_through(fetcher: Fetcher, request: Request, proxy: Proxy) -> FetchResult:
    fetched = await fetcher.fetch(request, Route(proxy=proxy))
    assert fetched.proxy == proxy.name, "the answer says through which proxy it came"
    assert fetched.address == "", "the proxy looked the name up, so the host's address is not known"
    return fetched


async def _fail_through(fetcher: Fetcher, url: str, proxy: Proxy) -> Fault:
    """The fault of a fetch that has to fail, without a secret in any text."""
    try:
        fetched = await fetcher.fetch(Request(url), Route(proxy=proxy))
    except FetchError as error:
        failed = error
    else:
        raise AssertionError(f"there is an answer: {fetched.status}")
    assert failed.proxy == proxy.name, "a failure says through which proxy it was tried"
    assert failed.rung, "and by which way"
    for text in (str(failed), repr(failed), failed.detail):
        for secret in filter(None, (proxy.password, proxy.user)):
            assert secret not in text, f"{text} shows a user or password"
    return failed.fault


async def _pages_come_through(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    """Some proxies pass on a second request of a connection as it is, with the password."""
    names = ("good", "echo", "redirect_chain", "echo", "no_such_page", "good")
    for name in names:
        fetched = await _fetch_through(fetcher, Request(site.url(name)), proxy)
        assert fetched.status == {"no_such_page": 404, "redirect_chain": 302}.get(name, 200)
    assert [hit.path for hit in site.log] == [f"/{name}" for name in names]
    for hit in site.log:
        assert not any(name.startswith("proxy-") for name in hit.headers), "said to the proxy alone"


async def _answers_are_the_hosts(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    assert (await _fetch_through(fetcher, Request(site.url("no_such_page")), proxy)).status == 404
    redirect = await _fetch_through(fetcher, Request(site.url("redirect_chain")), proxy)
    assert (redirect.status, len(site.log)) == (302, 2), "a redirect must not be followed"
    posted = await _fetch_through(fetcher, Request(site.url("echo"), method="POST", body=b"a=b"), proxy)
    assert b"a=b" in posted.body


async def _cookies_are_the_sessions(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    await _fetch_through(fetcher, Request(site.url("some_cookies"), session="a"), proxy)
    await _fetch_through(fetcher, Request(site.url("echo"), session="a"), proxy)
    assert "good=1" in site.log[-1].headers.get("cookie", "")


async def _wrong_passwords_are_the_proxys_fault(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    for other in (replace(proxy, password="canary-wrong"), replace(proxy, user="", password="")):  # noqa: S106
        assert await _fail_through(fetcher, site.url("good"), other) is Fault.PROXY
    assert not site.log


async def _one_who_is_let_in_lets_in_nobody_else(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    await _fetch_through(fetcher, Request(site.url("good")), proxy)
    for other in (replace(proxy, user="canary-other"), replace(proxy, user="", password="")):
        assert await _fail_through(fetcher, site.url("good"), other) is Fault.PROXY
    assert site.hits("good") == 1


async def _a_proxy_that_is_not_there(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    assert await _fail_through(fetcher, site.url("good"), replace(proxy, port=_closed_port())) is Fault.PROXY
    nowhere = replace(proxy, host="nowhere.invalid")
    assert await _fail_through(fetcher, site.url("good"), nowhere) is Fault.PROXY
    assert not site.log


async def _a_host_that_is_not_there_is_no_fault_of_the_proxy(
    fetcher: Fetcher, site: BadSite, proxy: Proxy
) -> None:
    await _fetch_through(fetcher, Request(site.url("good")), proxy)
    fault = await _fail_through(fetcher, f"http://127.0.0.1:{_closed_port()}/", proxy)
    assert fault is Fault.CONNECT


async def _private_addresses_are_refused(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    for host in ("127.0.0.2", "[::1]", "169.254.169.254", "10.0.0.1"):
        fault = await _fail_through(fetcher, site.url("good", host=host), proxy)
        assert fault is Fault.GUARD, f"{host}: {fault}"
    assert not site.log


async def _routes_do_not_mix(fetcher: Fetcher, site: BadSite, proxy: Proxy) -> None:
    await _fetch_through(fetcher, Request(site.url("good")), proxy)
    fetched = await fetcher.fetch(Request(site.url("good")))
    assert (fetched.proxy, fetched.address) == ("", "127.0.0.1")
    await _fetch_through(fetcher, Request(site.url("good")), proxy)


def _closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


_CHECKS: tuple[Check, ...] = (
    _pages_come_through,
    _answers_are_the_hosts,
    _cookies_are_the_sessions,
    _wrong_passwords_are_the_proxys_fault,
    _one_who_is_let_in_lets_in_nobody_else,
    _a_proxy_that_is_not_there,
    _a_host_that_is_not_there_is_no_fault_of_the_proxy,
    _private_addresses_are_refused,
    _routes_do_not_mix,
)
PROXIED_CHECKS: dict[str, Check] = {check.__name__.lstrip("_"): check for check in _CHECKS}
"""Every check by name; each wants a fresh site."""


async def check_proxied(make: Callable[[], Fetcher], proxy: Proxy) -> None:
    """Run all checks, each on a fetcher of its own; raises ``AssertionError`` at the first that fails."""
    for check in PROXIED_CHECKS.values():
        async with BadSite() as site:
            fetcher = make()
            try:
                await check(fetcher, site, proxy)
            finally:
                await fetcher.close()
