"""What the settings say of a domain goes to its hosts, and gives way to what a request says."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.core.requests import Request
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.domains import DomainFetcher, DomainOptions
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.testing.clock import ManualClock

SAID = DomainOptions(
    user_agent="shopper",
    headers={"X-Shop": "1", "Accept": "a/b"},
    auth="Bearer token",
    cookies={"currency": "EUR", "size": "M"},
    timeout=5.0,
    max_size=100,
)
TABLE = {"shop.example": SAID, "big.shop.example": DomainOptions(timeout=9.0), "127.0.0.1:81": SAID}


class Recorder:
    touches_network = True

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def fetch(self, request: Request, route: Route = DIRECT) -> Any:
        self.asked.append(request)

    async def close(self) -> None:
        pass


async def sent(request: Request, cookies: CookieJar | None = None, route: Route = DIRECT) -> Request:
    recorder = Recorder()
    fetcher = DomainFetcher(recorder, TABLE, cookies or CookieJar(9), ManualClock())
    await fetcher.fetch(request, route)
    return recorder.asked[0]


@pytest.mark.parametrize("host", ["shop.example", "www.shop.example:8080", "127.0.0.1:81"])
async def test_requests_to_the_domain_say_what_they_lack(host: str) -> None:
    request = await sent(Request(f"https://{host}/", timeout=2, headers={"accept": "own", "X-Me": "1"}))
    assert request.headers == {"accept": "own", "X-Me": "1", "X-Shop": "1", "User-Agent": "shopper"}
    assert (request.auth, request.timeout, request.max_size) == ("Bearer token", 2.0, 100)
    assert request.cookies == {"currency": "EUR", "size": "M"}


async def test_what_a_request_says_or_leaves_out_goes_before_it() -> None:
    own = Request(
        "https://shop.example/", auth="mine", cookies={"a": "b"}, omit_headers=("user-agent", "x-shop")
    )
    request = await sent(own)
    assert request.headers == {"Accept": "a/b"}
    assert (request.auth, request.cookies) == ("Bearer mine", {"a": "b"})


@pytest.mark.parametrize("url", ["https://myshop.example/", "https://other.example/", "https://127.0.0.1/"])
async def test_others_are_left_alone(url: str) -> None:
    request = Request(url)
    assert await sent(request) is request


async def test_the_longest_domain_counts() -> None:
    request = await sent(Request("https://www.big.shop.example/"))
    assert (request.timeout, request.auth, request.headers) == (9.0, None, {})


async def test_a_cookie_that_the_site_has_set_stays() -> None:
    jar, url = CookieJar(9), "https://shop.example/"
    jar.store_cookies("", url, ["currency=USD"], ManualClock().now())
    assert (await sent(Request(url), jar)).cookies == {"size": "M"}


async def test_a_browsers_guise_keeps_its_user_agent() -> None:
    request = await sent(Request("https://shop.example/"), route=Route(rung="impersonate"))
    assert "User-Agent" not in request.headers


def test_no_secret_shows() -> None:
    assert "token" not in repr(SAID)
