"""Banners that ask for consent are clicked away, and nothing else is."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer.core.requests import Request
from gossamer.fetch.browser.consent import BANNERS, WORDS
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.fetch.browser.task import TaskOptions
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = pytest.mark.server

SAY = "document.getElementById('said').textContent += this.id + ' '; this.closest('.banner').remove()"
FIXED = "class=banner style='position:fixed;bottom:0'"
HEAD = "<meta charset=utf-8><p id=said></p>"


def banner(reject: str, accept: str, *, words: str = "We use cookies.", attributes: str = FIXED) -> str:
    buttons = [
        f'<button id={name} onclick="{SAY}">{text}</button>'
        for name, text in (("no", reject), ("yes", accept))
        if text
    ]
    return f"<div {attributes}><p>{words}</p>{''.join(buttons)}</div>"


def known(name: str) -> str:
    """A banner of the list, with what its selectors name."""
    row = next(row for row in BANNERS if row.name == name)
    reject, accept = (made_of(one, name) for one, name in ((row.reject, "no"), (row.accept, "yes")))
    parts = [made_of(one, "") for one in row.shown.split(",")[0].split()]
    outer = "".join(part.partition(" onclick")[0].replace("<button", "<div") + ">" for part in parts)
    return f"{outer}<span class=banner>{accept}{reject}</span>{'</div>' * len(parts)}"


def made_of(selectors: str, name: str) -> str:
    """A button that the first of these selectors finds."""
    last = selectors.split(",", maxsplit=1)[0].rsplit(maxsplit=1)[-1]
    found = re.search(r"#([\w-]+)", last)
    kinds = " ".join(re.findall(r"\.([\w-]+)", last))
    pairs = re.findall(r"\[([\w-]+)[*^]?=([\w-]+)\]", last)
    kinds += "".join(f" {value}" for key, value in pairs if key == "class")
    own = " ".join(f"{key}='{value}'" for key, value in pairs if key != "class")
    say = f"document.getElementById('said').textContent += '{name} '; this.closest('.banner').remove()"
    return f"<button {'id=' + found[1] if found else ''} class='{kinds}' {own} onclick=\"{say}\">x</button>"


LISTED = ("OneTrust", "Cookiebot", "Didomi", "consentmanager", "CookieYes", "Termly", "CookieFirst", "Klaro")
PAGES = {
    "words": (banner("Reject all", "Accept all"), "no", "yes"),
    "German": (banner("Alle ablehnen", "Alle akzeptieren", words="Wir verwenden Cookies"), "no", "yes"),
    "French": (
        banner("Continuer sans accepter →", "Tout accepter", words="cookies, vie privée"),
        "no",
        "yes",
    ),
    "a dialog": (
        banner("Decline", "I agree", attributes="class=banner role=dialog aria-label=Consent"),
        "no",
        "yes",
    ),
    "later": (
        "<script>setTimeout(() => document.body.insertAdjacentHTML('beforeend', "
        f"`{banner('Deny', 'OK')}`), 300)</script>",
        "no",
        "yes",
    ),
    "in a shadow root": (
        "<div id=host></div><script>document.getElementById('host').attachShadow({mode: 'open'}).innerHTML = "
        f"`{banner('Reject', 'Accept')}`</script>",
        "no",
        "yes",
    ),
    "in a frame": (
        "<iframe style='width:600px;height:300px' srcdoc=\"<p id=said></p><p>cookies</p>"
        "<div role=dialog class=banner>cookies <button id=no onclick='parent.said.textContent=this.id;"
        "this.closest(`.banner`).remove()'>Reject all</button></div>\"></iframe>",
        "no",
        "left",
    ),
    "no way to refuse": (banner("", "Accept"), "left", "yes"),
    "one that stays": (
        f"<div {FIXED}>cookies <button>Reject</button> <button>Accept</button></div>",
        "left",
        "left",
    ),
    "none": ("<h1>Cookies we bake</h1><p>Our cookies</p>", "", ""),
    "another dialog": (
        "<div role=dialog style='position:fixed'>Terms of the shop "
        "<button onclick=\"said.textContent='bad'\">"
        "I agree</button></div><form><button onclick=\"said.textContent='bad'\">OK</button></form>",
        "",
        "",
    ),
    "a recipe": (
        "<article>Cookies <a href=/bake onclick=\"said.textContent='bad'\">ok</a></article>",
        "",
        "",
    ),
    **{name: (known(name), "no", "yes") for name in LISTED},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["reject", "accept"])
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(tasks=TaskOptions(consent=request.param), timeout_s=20) as fetcher:
        yield fetcher


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_banners_are_clicked_away_and_nothing_else(fetcher: BrowserFetcher) -> None:
    is_reject = fetcher._tasks.consent == "reject"
    pages = {f"/{n}": answer(HEAD + page) for n, (page, *_) in enumerate(PAGES.values())}
    said = {}
    async with Raw(pages) as site:
        for number, name in enumerate(PAGES):
            page = await fetcher.fetch(Request(f"{site.url}/{number}"))
            found = re.search('<p id="said">(.*?)</p>', page.body.decode())
            assert found is not None
            said[name] = "left" if "consent_left" in page.flags else found[1].strip()
    assert said == {name: row[1] if is_reject else row[2] for name, row in PAGES.items()}


@pytest.mark.long
async def test_they_are_left_alone_by_default_and_a_hand_can_click_them() -> None:
    async with Raw({"/": answer(HEAD + banner("Reject", "Accept"))}) as site:
        async with open_fetcher(timeout_s=20) as plain:
            assert b"We use cookies" in (await plain.fetch(Request(f"{site.url}/"))).body
        async with open_fetcher(tasks=TaskOptions(consent="reject", human=True), kind="firefox") as browser:
            page = await browser.fetch(Request(f"{site.url}/"))
            assert b'<p id="said">no </p>' in page.body


def test_the_list_is_well_formed() -> None:
    assert len({row.name for row in BANNERS}) == len(BANNERS) >= 30
    assert all(row.shown and row.accept for row in BANNERS)
    told = {answer: text.split("|") for answer, text in WORDS.items()}
    for words in told.values():
        assert len(set(words)) == len(words)
        assert all(word == word.lower().strip() for word in words)
    assert not set(told["reject"]) & set(told["accept"])
