"""A device, a place and a saved log-in: pages see what the settings name."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.browsing import Browsing
from gossamer.core.errors import MissingServiceError, SettingError
from gossamer.core.requests import Request
from gossamer.fetch.browser.saved_state import SavedState
from gossamer.fetch.sessions.cookies import CookieJar
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = pytest.mark.server

TELLS = """<meta name=viewport content="width=device-width"><pre id=told></pre><script>
const told = {width: innerWidth, touch: navigator.maxTouchPoints > 0, agent: navigator.userAgent,
    token: localStorage.getItem("token"), cookie: document.cookie};
const say = () => { document.getElementById("told").textContent = JSON.stringify(told);
    document.body.append(Object.assign(document.createElement("p"), {id: "done", textContent: "done"})) };
navigator.geolocation.getCurrentPosition(
    place => { told.place = [place.coords.latitude, place.coords.longitude]; say() }, say);
setTimeout(say, 2000)
</script>"""


async def told_by(site: Raw, browser: Any, session: str = "") -> dict[str, Any]:
    browsing = Browsing(wait_for="#done")
    page = await browser.fetch(Request(f"{site.url}/", browser=browsing, session=session))
    assert page.failure is None
    found = re.search('<pre id="told">(.*?)</pre>', page.body.decode())
    assert found is not None
    told: dict[str, Any] = json.loads(unescape(found[1]))
    return told


@pytest.mark.long
@pytest.mark.parametrize("kind", ["chromium", "firefox"])
async def test_pages_see_the_device_the_place_and_the_log_in(kind: str, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    options: dict[str, Any] = {"kind": kind, "timeout_s": 20, "is_open": False}
    async with Raw({"/": answer(TELLS)}) as site:
        saved = {
            "cookies": [{"name": "sid", "value": "1", "domain": "127.0.0.1", "path": "/", "expires": -1}],
            "origins": [{"origin": site.url, "localStorage": [{"name": "token", "value": "✓"}]}],
        }
        state.write_text(json.dumps(saved))
        cookies = CookieJar(10)
        async with open_fetcher(
            cookies, device="Pixel 7", geolocation=(52.5, 13.25), storage_state=str(state), **options
        ) as browser:
            told = await told_by(site, browser)
            assert told["width"] < 500
            assert told["touch"] == (kind == "chromium")
            assert "Pixel 7" in told["agent"] or "Android" in told["agent"]
            assert told["place"] == [52.5, 13.25]
            assert (told["token"], told["cookie"]) == ("✓", "sid=1")
            assert (await told_by(site, browser, "other"))["token"] == "✓", "every session begins with it"
        async with open_fetcher(**options) as browser:
            told = await told_by(site, browser)
            assert (told["width"], told["touch"], told["token"], told["cookie"]) == (1366, False, None, "")
            assert "place" not in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read: No such file or directory"),
        ("[]", "is not a storage state as Playwright saves it"),
        ("{", "is not a storage state as Playwright saves it"),
        ('{"cookies": [{"name": "a"}]}', "is not a storage state as Playwright saves it"),
    ],
)
def test_a_state_that_cannot_be_read_says_so(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / "state.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingError, match=words):
        SavedState(str(path))


def test_a_state_goes_behind_what_a_session_has(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    one = {"name": "sid", "value": "1", "domain": ".a.example", "secure": True, "httpOnly": True}
    path.write_text(json.dumps({"cookies": [one, {**one, "domain": "b.example"}]}))
    state, cookies, url = SavedState(str(path)), CookieJar(10), "https://www.a.example/"
    cookies.store_cookies("mine", url, ["own=9; Path=/"], 0.0)
    for session in ("mine", "new"):
        state.begin(cookies, session, url, 0.0)
    assert cookies.cookie_header("mine", url, 0.0) == "own=9"
    assert cookies.cookie_header("new", url, 0.0) == "sid=1"
    assert cookies.cookie_header("new", "https://b.example/", 0.0) == "", "not before it is asked for"


async def test_an_unknown_device_is_named() -> None:
    async with Raw({"/": answer(TELLS)}) as site, open_fetcher(device="iPhon 15") as browser:
        with pytest.raises(MissingServiceError, match="unknown device; did you mean 'iPhone 15"):
            await browser.fetch(Request(f"{site.url}/"))
