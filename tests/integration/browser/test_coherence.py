"""Everything that a browser says of itself and of where it comes from agrees."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from gossamer.core.browsing import Browsing
from gossamer.core.requests import Request
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.parametrize("kind", ["chromium", "firefox"])]

SAYS = """<p id=said></p><script>said.textContent = document.referrer</script>"""
TELLS = """<pre id=told></pre><script>
const tell = "[navigator.language, navigator.languages.join()]";
const worker = new Worker(URL.createObjectURL(new Blob(
    [`fetch("${location.origin}/worker").then(() => postMessage(${tell}))`])));
worker.onmessage = async event => {
    await fetch("/page");
    const number = (1234.5).toLocaleString();
    document.getElementById("told").textContent = JSON.stringify([eval(tell), event.data, number]);
    document.body.append(Object.assign(document.createElement("p"), {id: "done", textContent: "done"}));
};
</script>"""
SITE: dict[str, Any] = {
    "/": answer(SAYS),
    "/item?a=1": answer(SAYS),
    "/moved": answer("", "Location: /item", status="302 Found"),
    "/data": answer("{}", kind="application/json"),
    "/post": answer(SAYS),
    "/tells": answer(TELLS),
    "/page": answer("x"),
    "/worker": answer("x", "Access-Control-Allow-Origin: *"),
}


def fields_of(head: bytes) -> dict[str, str]:
    lines = (line.partition(": ") for line in head.decode().split("\r\n")[1:])
    return {name.lower(): value for name, _, value in lines}


@pytest.mark.long
async def test_the_referer_is_where_the_browser_says_that_it_comes_from(kind: str) -> None:
    async with (
        Raw(SITE) as site,
        Raw(SITE) as other,
        open_fetcher(kind=kind, says_referer=True, timeout_s=20) as browser,
    ):
        here, list_page = f"{site.url}/item?a=1", f"{site.url}/list?q=%C3%A9"
        rows: dict[str, tuple[Request, str, str, int]] = {
            "a start URL": (Request(here), "", "none", 200),
            "the same origin": (Request(here, via=list_page), list_page, "same-origin", 200),
            "another port": (Request(f"{other.url}/", via=list_page), f"{site.url}/", "same-site", 200),
            "another site": (
                Request(here, via="http://shop.example/list"),
                "http://shop.example/",
                "cross-site",
                200,
            ),
            "from https": (Request(here, via="https://shop.example/list"), "", "none", 200),
            "a redirect": (Request(f"{site.url}/moved", via=list_page), list_page, "same-origin", 302),
            "no HTML": (Request(f"{site.url}/data", via=list_page), list_page, "same-origin", 200),
            "a form": (
                Request(f"{site.url}/post", method="POST", body=b"a=1", headers={"Referer": list_page}),
                list_page,
                "same-origin",
                200,
            ),
            "itself": (Request(here, via=here), "", "none", 200),
            "left out": (Request(here, via=list_page, omit_headers=("referer",)), "", "none", 200),
        }
        for name, (request, referrer, place, status) in rows.items():
            result = await browser.fetch(request)
            assert result.status == status, name
            (head,) = site.heads + other.heads
            said = fields_of(head)
            assert said.get("referer", "") == referrer, name
            assert said.get("sec-fetch-site") == place, name
            assert said.get("sec-fetch-dest") == "document", name
            if b"said" in result.body:
                shown = re.search('<p id="said">(.*?)</p>', result.body.decode())
                assert shown is not None
                assert unescape(shown[1]) == referrer, name
            site.heads.clear()
            other.heads.clear()


@pytest.mark.long
@pytest.mark.parametrize("locale", ["en-US", "de-DE"])
async def test_languages_are_the_browsers_own_in_pages_and_workers(kind: str, locale: str) -> None:
    languages = {"en-US": ["en-US", "en"], "de-DE": ["de-DE", "de", "en-US", "en"]}[locale]
    async with Raw(SITE) as site, open_fetcher(kind=kind, locale=locale, timeout_s=30) as browser:
        page = await browser.fetch(Request(f"{site.url}/tells", browser=Browsing(wait_for="#done")))
        assert page.failure is None
        told = re.search('<pre id="told">(.*?)</pre>', page.body.decode())
        assert told is not None
        in_page, in_worker, number = json.loads(unescape(told[1]))
        assert in_page == in_worker == [locale, ",".join(languages)]
        heads = {head.split()[1]: fields_of(head) for head in site.heads}
        sent = {heads[path]["accept-language"] for path in (b"/tells", b"/page", b"/worker")}
        assert len(sent) == 1, "the page, its requests and its worker's say the same"
        assert [part.partition(";")[0] for part in sent.pop().split(",")] == languages
        if kind == "chromium":
            assert number == {"en-US": "1,234.5", "de-DE": "1.234,5"}[locale]
