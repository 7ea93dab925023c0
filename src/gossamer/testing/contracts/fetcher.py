"""The contract of every :class:`~gossamer.ports.fetcher.Fetcher` of the network, checked on the bad site.

A fetcher under test has small limits (:data:`LIMITS`), trusts ``127.0.0.1`` and ``localhost`` and needs
nothing else. In a test suite, run :data:`FETCHER_CHECKS` one by one; :func:`check_fetcher` runs all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.ports.fetcher import Fetcher
from gossamer.testing.badroutes import PAGE, all_routes
from gossamer.testing.badsite import BadSite
from gossamer.testing.misbehaving.odd import HOPELESS_ANSWERS, ODD_ANSWERS

LIMITS = {"connect_s": 1.0, "headers_s": 0.5, "idle_s": 0.3, "body_s": 0.6, "max_body_bytes": 4_000_000}
"""Limits, by their names in ``HttpOptions``, under which every route ends within :data:`PATIENCE_S`."""

PATIENCE_S = 5.0

Check = Callable[[Fetcher, BadSite], Coroutine[Any, Any, None]]


async def try_fetch(fetcher: Fetcher, request: Request) -> FetchResult | Fault:
    """Return the result or the error of a fetch; other exceptions, including ``TimeoutError``, propagate."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await fetcher.fetch(request)
    except FetchError as error:
        return error.fault


async def _check_misbehaviour(name: str, fetcher: Fetcher, site: BadSite) -> None:
    result = await try_fetch(fetcher, Request(site.url(name)))
    got = result.status if isinstance(result, FetchResult) else result
    wanted = sorted(map(str, all_routes()[name].expected))
    assert got in all_routes()[name].expected, f"{name}: {got}, not {' or '.join(wanted)}"
    if name == "late_answer":
        await asyncio.sleep(5 * site.pace_s)  # until it lies in the idle connection
    good = await try_fetch(fetcher, Request(site.url("good")))
    assert isinstance(good, FetchResult), f"after {name}, a good page fails with {good}"
    assert good.body == PAGE, f"after {name}, a good page is {good.body[:80]!r}"


async def _good_page(fetcher: Fetcher, site: BadSite) -> None:
    fetched = await fetcher.fetch(Request(site.url("good?a=%20b&c=%C3%A9")))
    assert (fetched.status, fetched.body) == (200, PAGE)
    assert fetched.url == site.url("good?a=%20b&c=%C3%A9")
    assert site.log[-1].path == "/good?a=%20b&c=%C3%A9", "the URL must be sent byte for byte"
    assert fetched.header("content-type") == "text/html"
    assert all(name == name.lower() for name, _ in fetched.headers)
    assert fetched.rung, "the answer says which way of fetching gave it"
    assert 0 <= fetched.latency_s <= fetched.elapsed_s
    assert fetched.address in ("", "127.0.0.1")


async def _decoded(fetcher: Fetcher, site: BadSite) -> None:
    for name in ("gzipped", "raw_deflate", "chunked", "until_close"):
        fetched = await fetcher.fetch(Request(site.url(name)))
        assert (fetched.body, fetched.flags) == (PAGE, ()), name
    fetched = await fetcher.fetch(Request(site.url("truncated_gzip")))
    assert "truncated" in fetched.flags
    assert 0 < len(fetched.body) < 256 * 40
    fetched = await fetcher.fetch(Request(site.url("wrong_encoding")))
    assert (fetched.body, fetched.flags) == (PAGE, ("not_encoded",))


async def _methods(fetcher: Fetcher, site: BadSite) -> None:
    fetched = await fetcher.fetch(Request(site.url("echo"), method="POST", body=b"a=b"))
    assert fetched.body.startswith(b"POST /echo")
    assert fetched.body.endswith(b"a=b")
    fetched = await fetcher.fetch(Request(site.url("good"), method="HEAD"))
    assert (fetched.status, fetched.body) == (200, b"")


async def _headers(fetcher: Fetcher, site: BadSite) -> None:
    await fetcher.fetch(Request(site.url("echo"), headers={"user-agent": "own", "X-Mine": "yes"}))
    assert site.log[-1].headers["user-agent"] == "own", "a request's headers go before the defaults"
    assert site.log[-1].headers["x-mine"] == "yes"
    await fetcher.fetch(Request(site.url("echo")))
    assert site.log[-1].headers["user-agent"] != "own"
    assert "gzip" in site.log[-1].headers["accept-encoding"]


async def _redirects_are_returned(fetcher: Fetcher, site: BadSite) -> None:
    for name in ("redirect_loop", "redirect_chain", "redirect_other_host", "redirect_private"):
        fetched = await fetcher.fetch(Request(site.url(name)))
        assert fetched.status == 302
        assert fetched.header("location")
    assert len(site.log) == 4, "a redirect must not be followed"


async def _cookies(fetcher: Fetcher, site: BadSite) -> None:
    await fetcher.fetch(Request(site.url("some_cookies"), session="a"))
    await fetcher.fetch(Request(site.url("echo"), session="a"))
    assert site.log[-1].headers.get("cookie") == "good=1"
    await fetcher.fetch(Request(site.url("echo"), session="b"))
    assert "cookie" not in site.log[-1].headers, "sessions do not share cookies"
    await fetcher.fetch(Request(site.url("echo", host="localhost"), session="a"))
    assert "cookie" not in site.log[-1].headers, "hosts do not share cookies"
    await fetcher.fetch(Request(site.url("echo"), session="a", headers={"Cookie": "mine=1"}))
    assert site.log[-1].headers["cookie"] == "mine=1"


async def _own_cookies(fetcher: Fetcher, site: BadSite) -> None:
    await fetcher.fetch(Request(site.url("echo"), session="o", cookies={"mine": "1"}))
    assert site.log[-1].headers.get("cookie") == "mine=1"
    await fetcher.fetch(Request(site.url("some_cookies"), session="o"))
    assert site.log[-1].headers.get("cookie") == "mine=1", "the session has them from now on"
    await fetcher.fetch(Request(site.url("echo", host="localhost"), session="o"))
    assert "cookie" not in site.log[-1].headers, "they are their host's"
    await fetcher.fetch(Request(site.url("echo"), session="p"))
    assert "cookie" not in site.log[-1].headers, "they are their session's"
    listed = [{"name": "a", "value": "2"}, {"name": "b", "value": "3", "domain": "other.example"}]
    await fetcher.fetch(
        Request(site.url("echo"), session="q", cookies=[*listed, {"name": "c", "value": "4", "path": "/no"}])
    )
    assert site.log[-1].headers["cookie"] == "a=2", "a site sets no cookies for others"


async def _own_authorization(fetcher: Fetcher, site: BadSite) -> None:
    await fetcher.fetch(Request(site.url("echo"), auth=("me", "word")))
    assert site.log[-1].headers.get("authorization") == "Basic bWU6d29yZA=="
    await fetcher.fetch(Request(site.url("echo"), auth="token", headers={"Authorization": "Own x"}))
    assert site.log[-1].headers["authorization"] == "Own x"
    await fetcher.fetch(Request(site.url("echo")))
    assert "authorization" not in site.log[-1].headers


async def _omitted_headers(fetcher: Fetcher, site: BadSite) -> None:
    names: dict[str, Any] = {
        "User-Agent": None,
        "Accept": None,
        "Accept-Language": None,
        "Accept-Encoding": None,
    }
    await fetcher.fetch(Request(site.url("echo"), headers={**names, "X-Mine": "yes"}))
    sent = site.log[-1].headers
    assert sent["x-mine"] == "yes"
    assert not {name.lower() for name in names} & sent.keys()


async def _own_bounds(fetcher: Fetcher, site: BadSite) -> None:
    small = await try_fetch(fetcher, Request(site.url("good"), max_size=len(PAGE) - 1))
    assert small is Fault.TOO_LARGE
    packed = await try_fetch(fetcher, Request(site.url("gzipped"), max_size=len(PAGE) - 1))
    assert packed is Fault.TOO_LARGE, "the unpacked size counts"
    fetched = await fetcher.fetch(Request(site.url("good"), max_size=2 * len(PAGE)))
    assert fetched.body == PAGE
    loop = asyncio.get_running_loop()
    for name in ("no_answer", "slow_headers", "slow_body"):
        began = loop.time()
        result = await try_fetch(fetcher, Request(site.url(name), timeout=0.9))
        assert result in (Fault.TIMEOUT_HEADERS, Fault.TIMEOUT_BODY), f"{name}: {result}"
        assert loop.time() - began > 0.85, f"{name}: a request's timeout may be longer than the limits"


async def _nameless_cookies(fetcher: Fetcher, site: BadSite) -> None:
    await fetcher.fetch(Request(site.url("nameless_cookie"), session="n"))
    await fetcher.fetch(Request(site.url("echo"), session="n"))
    assert site.log[-1].headers.get("cookie") == "no name"


async def _connections_are_kept(fetcher: Fetcher, site: BadSite) -> None:
    for _ in range(5):
        await fetcher.fetch(Request(site.url("good")))
    assert site.connections == 1


async def _closed_idle_is_retried_once(fetcher: Fetcher, site: BadSite) -> None:
    await fetcher.fetch(Request(site.url("close_idle")))
    fetched = await fetcher.fetch(Request(site.url("close_idle")))
    assert fetched.status == 200
    assert (site.hits("close_idle"), site.connections) == (3, 2)
    await fetcher.fetch(Request(site.url("close_idle/again")))
    hits = site.hits("close_idle")
    result = await try_fetch(fetcher, Request(site.url("close_idle"), method="POST", body=b"x"))
    assert result is Fault.CONNECT, "a POST is not sent twice"
    assert site.hits("close_idle") == hits + 1


async def _fresh_failure_is_not_retried(fetcher: Fetcher, site: BadSite) -> None:
    assert await try_fetch(fetcher, Request(site.url("hang_up"))) is Fault.CONNECT
    assert site.hits("hang_up") == 1


async def _unread_is_not_reused(fetcher: Fetcher, site: BadSite) -> None:
    assert await try_fetch(fetcher, Request(site.url("endless_body"))) is Fault.TOO_LARGE
    await fetcher.fetch(Request(site.url("good")))
    assert site.connections == 2


async def _odd_answers(fetcher: Fetcher, site: BadSite) -> None:
    """Each is read whole or refused, and never spoils the next one."""
    for name in ODD_ANSWERS:
        result = await try_fetch(fetcher, Request(site.url(f"odd_answer/{name}")))
        refused = result in (Fault.PROTOCOL, Fault.INCOMPLETE, Fault.TIMEOUT_BODY, Fault.BAD_ENCODING)
        assert refused or (isinstance(result, FetchResult) and result.body == PAGE), f"{name}: {result}"
    good = await fetcher.fetch(Request(site.url("good")))
    assert good.body == PAGE


async def _hopeless_answers(fetcher: Fetcher, site: BadSite) -> None:
    for name in HOPELESS_ANSWERS:
        result = await try_fetch(fetcher, Request(site.url(f"hopeless_answer/{name}")))
        assert isinstance(result, Fault), f"{name}: {result}"
    good = await fetcher.fetch(Request(site.url("good")))
    assert good.body == PAGE


async def _head_keeps_its_connection(fetcher: Fetcher, site: BadSite) -> None:
    for _ in range(3):
        await fetcher.fetch(Request(site.url("bare_head"), method="HEAD"))
    assert site.connections == 1, "an answer to HEAD has no body that could end it"


async def _unsent_is_not_reused(fetcher: Fetcher, site: BadSite) -> None:
    upload = Request(site.url("early_answer"), method="POST", body=bytes(16_000_000))
    assert (await fetcher.fetch(upload)).status == 200
    good = await try_fetch(fetcher, Request(site.url("good")))
    assert isinstance(good, FetchResult), f"the rest of an upload reached the next request: {good}"


async def _redirects_do_not_wait(fetcher: Fetcher, site: BadSite) -> None:
    fetched = await fetcher.fetch(Request(site.url("redirect_stalled")))
    assert (fetched.status, fetched.header("location")) == (302, "/good")


async def _bad_urls(fetcher: Fetcher, site: BadSite) -> None:
    ports = [f"http://a:{port}/" for port in ("99999", "9" * 5000)]
    for url in ("x:y", "http://", "http:///", "ftp://127.0.0.1/", "file:///etc/passwd", *ports):
        result = await try_fetch(fetcher, Request(url))
        assert result is Fault.BAD_URL, f"{url[:40]!r}: {result}"
    line = site.url("echo\r\nX-Injected: yes")
    await try_fetch(fetcher, Request(line))
    assert all("x-injected" not in hit.headers for hit in site.log)


async def _failures_say_their_rung(fetcher: Fetcher, site: BadSite) -> None:
    for url in (site.url("hang_up"), site.url("endless_body"), "x:y"):
        rung = None
        try:
            await fetcher.fetch(Request(url))
        except FetchError as error:
            rung = error.rung
        assert rung, f"{url}: a failure says which way of fetching failed"


async def _private_is_refused(fetcher: Fetcher, site: BadSite) -> None:
    for host in ("127.0.0.2", "[::ffff:127.0.0.1]", "0.0.0.0", "[::1]", "0x7f.1", "169.254.169.254"):  # noqa: S104
        result = await try_fetch(fetcher, Request(site.url("good", host=host)))
        assert result in (Fault.GUARD, Fault.BAD_URL), f"{host}: {result}"
    assert not site.log


async def _concurrent(fetcher: Fetcher, site: BadSite) -> None:
    requests = [Request(site.url(f"echo/{number}")) for number in range(50)]
    results = await asyncio.gather(*(fetcher.fetch(request) for request in requests))
    assert [r.body.split(b" ")[1].split(b"\n")[0] for r in results] == [b"/echo/%d" % n for n in range(50)]


async def _close_is_idempotent(fetcher: Fetcher, site: BadSite) -> None:
    await fetcher.fetch(Request(site.url("good")))
    await fetcher.close()
    await fetcher.close()


_CHECKS: tuple[Check, ...] = (
    _good_page,
    _decoded,
    _methods,
    _headers,
    _redirects_are_returned,
    _cookies,
    _own_cookies,
    _own_authorization,
    _omitted_headers,
    _own_bounds,
    _nameless_cookies,
    _connections_are_kept,
    _closed_idle_is_retried_once,
    _fresh_failure_is_not_retried,
    _unread_is_not_reused,
    _odd_answers,
    _hopeless_answers,
    _head_keeps_its_connection,
    _unsent_is_not_reused,
    _redirects_do_not_wait,
    _bad_urls,
    _failures_say_their_rung,
    _private_is_refused,
    _concurrent,
    _close_is_idempotent,
)
FETCHER_CHECKS: dict[str, Check] = {
    **{check.__name__.lstrip("_"): check for check in _CHECKS},
    **{f"misbehaviour_{name}": partial(_check_misbehaviour, name) for name in all_routes()},
}
"""Every check by name; each wants a fresh fetcher and a fresh site."""


async def check_fetcher(make: Callable[[], Fetcher]) -> None:
    """Run all checks, each on a fetcher of its own; raises ``AssertionError`` at the first that fails."""
    for check in FETCHER_CHECKS.values():
        async with BadSite() as site:
            fetcher = make()
            try:
                await check(fetcher, site)
            finally:
                await fetcher.close()
