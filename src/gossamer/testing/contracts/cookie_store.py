"""The contract of a cookie store as fetchers use it, as named checks.

Use: ``await check_cookie_store(make)``, or one by one from ``COOKIE_STORE_CHECKS``; ``make(clock)`` is an
async context manager that gives a :class:`CookieSubject` without cookies.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from gossamer.core.cookies import Cookie
from gossamer.ports.cookie_store import CookieStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["COOKIE_STORE_CHECKS", "CookieSubject", "check_cookie_store"]

SHOP = "https://www.shop.example/"


@dataclass
class CookieSubject:
    """The store under test and its clock."""

    cookies: CookieStore
    clock: ManualClock

    def answer(self, *lines: str, url: str = SHOP, session: str = "") -> None:
        """A response sets these cookies."""
        self.cookies.store_cookies(session, url, lines, self.clock.now())

    def sent(self, url: str = SHOP, session: str = "") -> str:
        """The Cookie header of a request."""
        return self.cookies.cookie_header(session, url, self.clock.now())


COOKIE_STORE_CHECKS: ContractSuite[CookieSubject] = ContractSuite()
"""The checks by name."""


async def check_cookie_store(make: Make[CookieSubject]) -> None:
    """Run every check on a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await COOKIE_STORE_CHECKS.run(make)


@COOKIE_STORE_CHECKS.register
async def what_was_set_is_sent(s: CookieSubject) -> None:
    """Replaced by name, and deleted when the site says so."""
    assert_equal((s.sent(), len(s.cookies)), ("", 0), "there is none yet")
    s.answer("a=1; Path=/", "b=2; Path=/")
    assert_equal(s.sent(), "a=1; b=2", "all of them")
    s.answer("a=3; Path=/", "b=; Max-Age=0; Path=/")
    assert_equal(s.sent(), "a=3", "as they are now")
    assert_equal(len(s.cookies), 1, "in one jar")


@COOKIE_STORE_CHECKS.register
async def sessions_are_apart(s: CookieSubject) -> None:
    """Each has a jar of its own."""
    s.answer("a=1; Path=/", session="one")
    s.answer("a=2; Path=/", session="two")
    assert_equal([s.sent(session=name) for name in ("one", "two", "")], ["a=1", "a=2", ""], "each its own")


@COOKIE_STORE_CHECKS.register
async def sites_are_apart(s: CookieSubject) -> None:
    """A host may set cookies for its own domain only."""
    s.answer("own=1; Path=/", "all=2; Domain=shop.example; Path=/")
    assert_equal(s.sent("https://img.shop.example/"), "all=2", "another host of the domain")
    assert_equal(s.sent("https://shop.test/"), "", "another domain")
    s.answer("a=1; Domain=other.example; Path=/", "b=1; Domain=example; Path=/", url="https://x.example/")
    assert_equal(s.sent("https://other.example/"), "", "nothing is set for others")


@COOKIE_STORE_CHECKS.register
async def paths_and_schemes_are_kept_to(s: CookieSubject) -> None:
    """A cookie goes where its attributes say."""
    s.answer("deep=1; Path=/a", "safe=2; Secure; Path=/")
    assert_equal(s.sent(SHOP + "a/b"), "deep=1; safe=2", "below its path")
    assert_equal(s.sent(SHOP + "ab"), "safe=2", "and not beside it")
    assert_equal(s.sent("http://www.shop.example/a"), "deep=1", "a secure cookie is not sent in the clear")


@COOKIE_STORE_CHECKS.register
async def cookies_expire(s: CookieSubject) -> None:
    """At their time."""
    s.answer("short=1; Max-Age=10; Path=/", "long=2; Max-Age=1000; Path=/")
    s.clock.advance(9)
    assert_equal(s.sent(), "short=1; long=2", "until then")
    s.clock.advance(1)
    assert_equal(s.sent(), "long=2", "and not longer")


@COOKIE_STORE_CHECKS.register
async def nonsense_does_no_harm(s: CookieSubject) -> None:
    """Whatever a site sends: it is ignored or kept, and the header stays one line of Latin-1."""
    lines = (
        "",
        "=",
        ";",
        "\x00",
        "a\r\nX-Injected: 1",
        "n=" + "x" * 100_000,
        "é=\u20ac",
        "a=b; Max-Age=zzz",
        "=;=;",
    )
    s.answer(*lines, *[f"c{number}=1" for number in range(5000)])
    s.answer("good=1; Path=/", url="mailto:me@shop.example")
    header = s.sent()
    header.encode("latin-1")
    assert_holds("\r" not in header and "\n" not in header, "nothing can be injected")
    assert_holds(len(header) < 100_000, "and there is an end to it")


@COOKIE_STORE_CHECKS.register
async def a_browser_gets_them_all(s: CookieSubject) -> None:
    """All of the domain, for other hosts and paths too, with what their lines said."""
    s.answer("a=1; Path=/; Domain=shop.example; HttpOnly; Secure; Max-Age=60", "b=2; Path=/deep")
    s.answer("c=3", session="other")
    s.answer("d=4", url="https://elsewhere.example/")
    listed = {one.name: one for one in s.cookies.list_cookies("", SHOP, s.clock.now())}
    assert_equal(sorted(listed), ["a", "b"], "of this session and domain alone")
    a, b = listed["a"], listed["b"]
    assert_equal(
        (a.domain, a.is_host_only, a.is_http_only, a.is_secure), ("shop.example", False, True, True), "a"
    )
    assert_equal(
        (b.domain, b.is_host_only, b.is_http_only, b.path), ("www.shop.example", True, False, "/deep"), "b"
    )
    s.clock.advance(61)
    left = [one.name for one in s.cookies.list_cookies("", SHOP, s.clock.now())]
    assert_equal(left, ["b"], "not those that have ended")


@COOKIE_STORE_CHECKS.register
async def what_a_browser_has_is_kept(s: CookieSubject) -> None:
    """Set, replaced and deleted, but for no other domain."""
    now = s.clock.now()
    s.answer("a=1; Path=/", "b=2; Path=/")
    changed = [
        Cookie("a", "", "www.shop.example", "/", True, False, 0.0, now),
        Cookie("b", "5", "www.shop.example", "/", True, False, now + 60, now),
        Cookie("c", "6", "shop.example", "/", False, False, now + 60, now, True),
        Cookie("d", "7", "elsewhere.example", "/", True, False, now + 60, now),
    ]
    s.cookies.keep_cookies("", SHOP, changed, now)
    assert_equal(s.sent(), "b=5; c=6", "as the browser has them")
    assert_equal(s.sent("https://elsewhere.example/"), "", "no other site's")


@COOKIE_STORE_CHECKS.register
async def entries_of_web_storage_are_kept_beside_cookies(s: CookieSubject) -> None:
    """For their origin and session; they are neither sent nor listed among cookies."""
    now = s.clock.now()
    place = ("www.shop.example", "localStorage https://www.shop.example", True, False, inf)
    s.answer("a=1; Path=/")
    s.cookies.keep_cookies("", SHOP, [Cookie("token", "5", *place, now), Cookie("b", "6", *place, now)], now)
    assert_equal(s.sent(), "a=1", "only cookies are sent")
    assert_equal([one.name for one in s.cookies.list_cookies("", SHOP, now)], ["a"], "or listed")

    def entries(url: str = SHOP, session: str = "") -> list[tuple[str, str]]:
        return [(one.name, one.value) for one in s.cookies.list_entries(session, url, now)]

    assert_equal(entries(), [("token", "5"), ("b", "6")], "as they were stored")
    assert_equal(entries("https://www.shop.example:8443/"), [], "another origin has its own")
    assert_equal(entries(session="other"), [], "another session, too")
    s.cookies.keep_cookies("", SHOP, [Cookie("b", "", *place[:-1], -inf, now)], now)
    assert_equal(entries(), [("token", "5")], "cookies that a page has removed are gone")
