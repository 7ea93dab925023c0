"""A browser opens a door, and plain requests walk through; and the other way round."""

from __future__ import annotations

import asyncio

import pytest

from gossamer.core.requests import Request
from gossamer.core.routes import Route
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http.fetcher import HttpFetcher
from gossamer.fetch.http.limits import HttpOptions
from gossamer.fetch.sessions.cookies import CookieJar
from gossamer.runtime.clock import SystemClock
from kit.browser_pages import TRUSTED, answer, open_fetcher
from kit.raw_server import Raw

pytestmark = pytest.mark.server

CHALLENGE = "<script>document.cookie = 'passed=yes; path=/'; location.reload()</script>"
DOOR = {"/deleted": answer("<p>x</p>", "Set-Cookie: passed=; Path=/; Max-Age=0")}


class Door(Raw):
    """403 until a script has set a cookie; the page that is shown then sets one that scripts do not see."""

    async def _serve_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                path = head.split()[1].decode()
                if path in self.answers:
                    writer.write(self.answers[path])  # type: ignore[arg-type]
                elif b"passed=yes" in head:
                    writer.write(answer("<p>inside</p>", "Set-Cookie: seen=1; Path=/; HttpOnly; Max-Age=600"))
                else:
                    writer.write(answer(CHALLENGE, status="403 Forbidden"))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@pytest.mark.long
async def test_a_browser_opens_the_door_and_plain_requests_walk_through() -> None:
    cookies, clock = CookieJar(100), SystemClock()
    http = HttpFetcher(HttpOptions(), clock=clock, guard=AddressGuard(TRUSTED), cookies=cookies)
    async with Door(DOOR) as site, open_fetcher(cookies, timeout_s=20) as browser:
        page = Request(f"{site.url}/page", session="s")
        assert (await http.fetch(page)).status == 403
        shown = await browser.fetch(page)
        assert (shown.status, b"inside" in shown.body) == (200, True)
        plain = await http.fetch(page)
        assert (plain.status, plain.rung) == (200, "http")
        assert "seen=1" in site.heads[-1].decode()
        kept = {one.name: one for one in cookies.list_cookies("s", page.url, clock.now())}
        assert (kept["seen"].is_http_only, kept["passed"].is_http_only) == (True, False)
        assert 0 < kept["seen"].expires_at - clock.now() <= 600
        assert kept["passed"].is_host_only

        other = await browser.fetch(page, Route(rung="browser", session="another"))
        assert other.status == 200, "which passed the test for itself"
        assert (await http.fetch(page.replace(session="third"))).status == 403

        await browser.fetch(Request(f"{site.url}/deleted", session="s"))
        assert (await http.fetch(page)).status == 403, "what the browser has deleted is deleted"
    await http.close()


async def test_the_browser_sends_what_plain_requests_were_given() -> None:
    cookies, clock = CookieJar(100), SystemClock()
    async with Raw({"/": answer("<p>x</p>")}) as site, open_fetcher(cookies, timeout_s=20) as browser:
        url = f"{site.url}/"
        lines = ["a=1; Path=/; HttpOnly", "b=2; Path=/deep", 'c="quoted, too"; Path=/', "no name; Path=/"]
        cookies.store_cookies("", url, lines, clock.now())
        await browser.fetch(Request(url))
        assert b'Cookie: a=1; c="quoted, too"\r\n' in site.heads[-1]
        cookies.store_cookies("", url, ["a=; Max-Age=0; Path=/", "c=3; Path=/"], clock.now())
        await browser.fetch(Request(url))
        assert b"Cookie: c=3\r\n" in site.heads[-1], "also those that were taken back meanwhile"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["chromium", "firefox"])
async def test_a_page_without_the_header_cookie_neither_sends_nor_keeps_those_of_its_session(
    kind: str,
) -> None:
    """A bug it would catch: the session's cookies are in the tab since the page before."""
    cookies, clock = CookieJar(100), SystemClock()
    site = Raw({"/": answer("<p>x</p>"), "/set": answer("<p>x</p>", "Set-Cookie: other=2; Path=/")})
    async with site, open_fetcher(cookies, kind=kind, timeout_s=20) as browser:
        url = f"{site.url}/"
        cookies.store_cookies("", url, ["a=1; Path=/"], clock.now())
        await browser.fetch(Request(url))
        assert b"cookie: a=1\r\n" in _head_of(site, "/")
        await browser.fetch(Request(f"{url}set", omit_headers=("cookie",)))
        assert b"cookie:" not in _head_of(site, "/set")
        assert [one.name for one in cookies.list_cookies("", url, clock.now())] == ["a"]
        await browser.fetch(Request(url))
        assert b"cookie: a=1\r\n" in _head_of(site, "/")
        assert [one.name for one in cookies.list_cookies("", url, clock.now())] == ["a"]


def _head_of(site: Raw, path: str) -> bytes:
    return next(head.lower() for head in reversed(site.heads) if head.split()[1] == path.encode())
