"""Cookies stay where they belong, in bounded number."""

from __future__ import annotations

import pytest
from yarl import URL

from gossamer.fetch.cookies import MAX_COOKIE_BYTES, CookieBook

SHOP = URL("https://www.shop.co.uk/a/b")


def book(*lines: str, url: URL = SHOP, session: str = "") -> CookieBook:
    made = CookieBook(100)
    made.take(session, url, lines)
    return made


async def test_a_cookie_comes_back_to_its_host_and_session() -> None:
    made = book('a=1; Path=/; HttpOnly, b="x y"', "c=2; Path=/; Max-Age=100")
    assert made.header("", SHOP).split("; ")[-1] == "c=2"
    assert made.header("other", SHOP) == ""
    assert made.header("", URL("https://shop.co.uk/")) == ""


async def test_a_domain_cookie_reaches_the_whole_registrable_domain_and_no_more() -> None:
    made = book("a=1; Domain=.shop.co.uk; Path=/")
    assert made.header("", URL("https://api.shop.co.uk/x")) == "a=1"
    assert made.header("", URL("https://other.co.uk/")) == ""
    assert made.header("", URL("https://xshop.co.uk/")) == ""


@pytest.mark.parametrize(
    "line",
    [
        "a=1; Domain=co.uk",
        "a=1; Domain=uk",
        "a=1; Domain=other.co.uk",
        "a=1; Domain=www.shop.co.uk.evil.example",
        "__Host-a=1; Path=/",
        "__Host-a=1; Secure; Path=/a",
        "__Host-a=1; Secure; Path=/; Domain=shop.co.uk",
        "__Secure-a=1; Path=/",
        "a=" + "x" * MAX_COOKIE_BYTES,
        "no value at all",
        "",
    ],
)
async def test_refused(line: str) -> None:
    made = book(line)
    assert len(made) == 0
    assert made.header("", SHOP) == ""


async def test_prefixes_with_what_they_ask_for() -> None:
    made = book("__Host-a=1; Secure; Path=/", "__Secure-b=2; Secure; Path=/")
    assert made.header("", SHOP) == "__Host-a=1; __Secure-b=2"
    assert made.header("", SHOP.with_scheme("http")) == ""


async def test_secure_cookies_cannot_be_set_in_the_clear() -> None:
    assert len(book("a=1; Secure", url=SHOP.with_scheme("http"))) == 0


async def test_sites_below_a_private_suffix_do_not_share() -> None:
    made = book("a=1; Domain=github.io; Path=/", "b=2; Path=/", url=URL("https://me.github.io/"))
    assert made.header("", URL("https://me.github.io/")) == "b=2"
    assert made.header("", URL("https://you.github.io/")) == ""


async def test_addresses_have_cookies_of_their_own() -> None:
    made = book("a=1; Path=/", url=URL("http://127.0.0.1:8000/"))
    assert made.header("", URL("http://127.0.0.1:9000/")) == "a=1"  # RFC 6265, 8.5: ports do not isolate
    assert made.header("", URL("http://127.0.0.2/")) == ""


async def test_numbers_are_bounded() -> None:
    made = CookieBook(3)
    made.take("", SHOP, [f"c{n}=v; Path=/" for n in range(10_000)])
    assert len(made.header("", SHOP).split("; ")) <= 180
    for number in range(10):
        made.take(f"s{number}", SHOP, ["a=1; Path=/"])
    assert len(made) == 3
    assert made.header("s9", SHOP) == "a=1"
    assert made.header("", SHOP) == ""
