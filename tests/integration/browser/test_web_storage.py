"""What pages store belongs to the session, like cookies: it survives the browser that stored it."""

from __future__ import annotations

import re

import pytest

from gossamer.core.browsing import Browsing, Click
from gossamer.core.requests import Request
from gossamer.fetch.browser.web_storage import MAX_CHARACTERS
from gossamer.fetch.sessions.cookies import CookieJar
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.parametrize("kind", ["chromium", "firefox"])]

SHOW = (
    "<p id=said></p><script>said.textContent = "
    "[localStorage.getItem('token'), sessionStorage.getItem('step'), localStorage.length]</script>"
)
SIGN_IN = "localStorage.setItem('token', '<\\u2713 \\'\\ud83d\\ude00>'); sessionStorage.setItem('step', 2)"
SITE = {
    "/": answer(SHOW),
    "/in": answer(f"<script>{SIGN_IN}</script>"),
    "/in-and-on": answer("<script>localStorage.setItem('token', 'gone on'); location = '/'</script>"),
    "/click": answer("<button onclick=\"localStorage.setItem('token', 'clicked')\">in</button>"),
    "/again": answer(f"<script>localStorage.token = (localStorage.token || '') + 'x'</script>{SHOW}"),
    "/reloads": answer(
        "<script>if (localStorage.n !== '2') { localStorage.n = 1 + +(localStorage.n || 0);"
        "location.reload() }</script>" + SHOW
    ),
    "/out": answer("<script>localStorage.clear(); sessionStorage.clear()</script>"),
    "/hoards": answer(
        f"<script>localStorage.setItem('cache', 'x'.repeat({MAX_CHARACTERS + 1}));"
        "localStorage.setItem('token', 'kept')</script>"
    ),
    "/sandboxed": answer(SHOW, "Content-Security-Policy: sandbox allow-scripts"),
}
STORED = "&lt;✓ '😀&gt;,2,1"


@pytest.mark.long
async def test_what_pages_store_is_there_in_a_new_browser(kind: str) -> None:
    cookies = CookieJar(100)
    shown: dict[str, str] = {}
    async with Raw(SITE) as site, Raw(SITE) as neighbour:
        async with open_fetcher(cookies, kind=kind, timeout_s=20) as browser:
            await browser.fetch(Request(f"{site.url}/in", session="s"))
            await browser.fetch(Request(f"{site.url}/again", session="two"))
            redirect = await browser.fetch(Request(f"{site.url}/in-and-on", session="on"))
            assert redirect.status == 302
            act = Browsing(actions=[Click("button")])
            await browser.fetch(Request(f"{site.url}/click", session="acts", browser=act))
            hoarder = await browser.fetch(Request(f"{site.url}/hoards", session="hoards"))
            assert hoarder.flags == ("storage_limit",)
            assert (await browser.fetch(Request(f"{site.url}/sandboxed", session="s"))).status == 200
        count = len(site.heads)
        async with open_fetcher(cookies, kind=kind, timeout_s=20) as browser:

            async def show(name: str, url: str, session: str) -> None:
                page = (await browser.fetch(Request(url, session=session))).body.decode()
                found = re.search('<p id="said">(.*?)</p>', page)
                shown[name] = found[1] if found else ""

            await show("same session", f"{site.url}/", "s")
            await show("another session", f"{site.url}/", "other")
            await show("another origin", f"{neighbour.url}/", "s")
            await show("changed again", f"{site.url}/again", "two")
            await show("before a redirect", f"{site.url}/", "on")
            await show("after a click", f"{site.url}/", "acts")
            await show("not too large", f"{site.url}/", "hoards")
            assert len(site.heads) == count + 6, "the site is asked for nothing more"
            await browser.fetch(Request(f"{site.url}/out", session="s"))
            await show("reloaded", f"{site.url}/reloads", "two")
        async with open_fetcher(cookies, kind=kind, timeout_s=20) as browser:
            await show("deleted", f"{site.url}/", "s")
    assert shown == {
        "same session": STORED,
        "another session": ",,0",
        "another origin": ",,0",
        "changed again": "xx,,1",
        "before a redirect": "gone on,,1",
        "after a click": "clicked,,1",
        "not too large": "kept,,1",
        "reloaded": "xx,,2",
        "deleted": ",,0",
    }
