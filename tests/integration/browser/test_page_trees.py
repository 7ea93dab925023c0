"""What is read of a page when it stands still: its address, and all of its tree that a visitor sees."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer.core.browsing import Browsing, Click
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.spiders.response import Response
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.asyncio(loop_scope="module")]

PUSH = "<a href=rel>on</a><button onclick=\"history.pushState({}, '', '%s')\">go</button>"
MOVES = {
    "absolute path": ("/shop/list", PUSH % "/deep/er", "/deep/er", "/deep/rel"),
    "relative path": ("/shop/list", PUSH % "more/item", "/shop/more/item", "/shop/more/rel"),
    "query": ("/shop/list", PUSH % "?page=2", "/shop/list?page=2", "/shop/rel"),
    "fragment": ("/shop/list", PUSH % "#part", "/shop/list", "/shop/rel"),
    "path and fragment": ("/shop/list", PUSH % "/a/b#part", "/a/b", "/a/rel"),
    "base element": ("/shop/list", "<base href=/base/>" + PUSH % "/deep/er", "/deep/er", "/base/rel"),
    "replaced while it loads": (
        "/shop/list?from=mail",
        "<a href=rel>on</a><script>history.replaceState({}, '', '/clean/')</script>",
        "/clean/",
        "/clean/rel",
    ),
    "as the browser writes it": ("/a%7eb/./c", "<a href=rel>on</a>", "/a%7eb/./c", "/a%7eb/rel"),
}
"""A page at a path; the path of ``response.url`` in the end, and that of its link."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["chromium", "firefox"])
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(timeout_s=20, max_body_bytes=2_000_000, kind=request.param) as fetcher:
        yield fetcher


async def show(fetcher: BrowserFetcher, url: str, browsing: Browsing | None = None) -> Response:
    request = Request(url, fetch="browser", browser=browsing)
    fetched: FetchResult = await fetcher.fetch(request)
    assert fetched.failure is None
    return Response(request, fetched)


@pytest.mark.parametrize("move", MOVES)
async def test_the_url_of_a_page_is_that_of_its_document_when_it_is_read(
    fetcher: BrowserFetcher, move: str
) -> None:
    path, body, shown, link = MOVES[move]
    async with Raw({path.replace("/./", "/"): answer(body)}) as site:
        clicks = Browsing(actions=[Click("button")]) if "button" in body else None
        response = await show(fetcher, site.url + path, clicks)
        assert (response.url, response.links()) == (site.url + shown, [site.url + link])


ATTACH = (
    "<div id=h></div><script>const at = (e, html) => { const r = e.attachShadow({mode: 'open'});"
    "r.innerHTML = html; return r };%s</script>"
)
TREES: dict[str, tuple[str, str, list[str], set[str]]] = {
    "open root": (
        "<div id=h></div><script>h.attachShadow({mode:'open'}).innerHTML='<b class=price>9</b>'</script>",
        ".price::text",
        ["9"],
        set(),
    ),
    "declarative root": (
        "<div><template shadowrootmode=open><b class=price>9</b></template></div>",
        ".price::text",
        ["9"],
        set(),
    ),
    "nested roots": (
        ATTACH % "at(at(at(h, '<p><i></i>').querySelector('i').parentNode, '<section></section>')"
        ".querySelector('section'), '<b class=price>9</b>')",
        "#h section .price::text",
        ["9"],
        set(),
    ),
    "a link in a root": (
        ATTACH % "at(h, '<a href=more?a=1>more</a>')",
        "#h a::attr(href)",
        ["more?a=1"],
        set(),
    ),
    "slots in their order": (
        "<x-card><b slot=price>9</b><h2>lamp</h2>text<u slot=none>left</u></x-card><script>"
        "customElements.define('x-card', class extends HTMLElement { constructor() { super();"
        "this.attachShadow({mode:'open'}).innerHTML = '<h1>Offer</h1><p><slot>empty</slot></p><em>"
        "<slot name=price>none</slot></em><slot name=old>was 10</slot>' } })</script>",
        "x-card ::text",
        ["Offer", "lamp", "text", "9", "was 10", "left"],
        set(),
    ),
    "a slot that is passed on": (
        "<div id=h><b>9</b></div><script>"
        "const r = h.attachShadow({mode:'open'}); r.innerHTML = '<section><slot></slot></section>';"
        "r.firstChild.attachShadow({mode:'open'}).innerHTML = '<i>costs</i><slot>nothing</slot>'</script>",
        "#h ::text",
        ["costs", "9"],
        set(),
    ),
    "a direct child that is shown": (
        "<div id=h><h2>lamp</h2></div>"
        "<script>h.attachShadow({mode:'open'}).innerHTML = '<slot></slot>'</script>",
        "#h > h2::text",
        ["lamp"],
        set(),
    ),
    "a custom element whose root is closed": (
        "<x-shut></x-shut><script>customElements.define('x-shut', class extends HTMLElement { constructor() {"
        "super(); this.attachShadow({mode:'closed'}).innerHTML = '<p>secret</p>' } })</script>",
        "x-shut ::text",
        [],
        {"unread_shadow"},
    ),
    "a closed root of a plain element": (
        "<div id=h></div><script>h.attachShadow({mode:'closed'}).innerHTML = '<b>9</b>'</script>",
        "#h ::text",
        [],
        {"closed"},
    ),
    "a closed root that is declared": (
        "<section><template shadowrootmode=closed><b>9</b></template></section>",
        "section ::text",
        [],
        {"closed"},
    ),
    "elements that their style makes large": (
        "<style>x-icon { display: inline-block; width: 9px; height: 9px; background: red }"
        "x-bar { display: block; height: 9px } x-mark::before { content: '*' }</style>"
        "<x-icon></x-icon><x-bar></x-bar><x-mark></x-mark><div style='height: 9px'></div>"
        "<div style='padding: 9px'></div><div style='display: flex; height: 9px'><p></p><div></div></div>"
        "<div contenteditable></div><p style='display: list-item'></p><script>"
        "for (const name of ['x-icon', 'x-mark']) customElements.define(name, class extends HTMLElement {})"
        "</script>",
        "x-icon ::text",
        [],
        set(),
    ),
    "blocks of a root in a paragraph": (
        ATTACH.replace("<div id=h></div>", "<p>a <span id=h></span> b</p>")
        % "at(h, '<div><p class=price>9</p></div>')",
        "p #h div > .price::text",
        ["9"],
        set(),
    ),
    "a link of a root in a link": (
        ATTACH.replace("<div id=h></div>", "<a href=/x><span id=h></span></a>")
        % "at(h, '<a class=price href=/y>9</a>')",
        "a #h .price::text",
        ["9"],
        set(),
    ),
    "rows and buttons of a root in their like": (
        ATTACH.replace("<div id=h></div>", "<ul><li><button><span id=h></span></button></li></ul>")
        % "at(h, '<li><button class=price>9</button></li>')",
        "li > button > #h .price::text",
        ["9"],
        set(),
    ),
    "a list of a root in a row": (
        ATTACH.replace("<div id=h></div>", "<ul><li><div id=h></div></li></ul>")
        % "at(h, '<ul><li>9</li></ul>')",
        "li > #h > ul > li::text",
        ["9"],
        set(),
    ),
    "a block in a slot of a paragraph": (
        ATTACH.replace("<div id=h>", "<div id=h><div class=price>9</div>")
        % "at(h, '<p>costs <slot></slot></p>')",
        "#h p .price::text",
        ["9"],
        set(),
    ),
    "a form of a frame": (
        "<iframe src=/framed></iframe>",
        "object form::attr(action)",
        ["SITE/framed"],
        {"frame"},
    ),
    "custom elements without a root": (
        "<x-plain>text</x-plain><x-empty></x-empty><x-unknown></x-unknown><script>"
        "for (const name of ['x-plain', 'x-empty']) customElements.define(name, class extends HTMLElement {})"
        "</script>",
        "x-plain::text",
        ["text"],
        set(),
    ),
    "a frame of the same origin": (
        "<p><iframe src=/framed></iframe> after</p>",
        "p .price::text, p object a::attr(href)",
        ["9", "SITE/framed/rel"],
        {"frame"},
    ),
    "a frame of its own text": (
        "<iframe srcdoc='<div id=f></div><script>f.attachShadow({mode:`open`}).innerHTML = "
        "`<b class=price>9</b>`</script>'></iframe>",
        ".price::text",
        ["9"],
        set(),
    ),
    "a set of frames": (
        "<frameset cols='*,*'><frame src=/framed><frame src=/nothing></frameset>",
        "body .price::text",
        ["9"],
        {"frame"},
    ),
    "a frame that may not be read": ("<iframe sandbox src=/framed></iframe>", ".price", [], {"unread_frame"}),
    "a frame that is not seen": ("<iframe hidden sandbox src=/framed></iframe>", ".price", [], set()),
    "what is in noscript": (
        ATTACH % "at(h, '<b>9</b>')" + "<noscript><img src=x.png></noscript>",
        "noscript img::attr(src), #h b::text",
        ["9", "x.png"],
        set(),
    ),
}
"""A page; a selector, what it finds in the order of the page, and the flags."""


@pytest.mark.parametrize("tree", TREES)
async def test_selectors_find_all_that_a_visitor_sees(fetcher: BrowserFetcher, tree: str) -> None:
    body, selector, found, flags = TREES[tree]
    framed = answer("<base href=/framed/><b class=price>9</b><a href=rel>on</a><form></form>")
    async with Raw({"/": answer(body), "/framed": framed, "/nothing": answer("")}) as site:
        response = await show(fetcher, f"{site.url}/")
        assert response.css(selector).getall() == [text.replace("SITE", site.url) for text in found]
        if "closed" in flags:  # by the name of a plain element nothing tells it; Firefox says too little
            flags = {"unread_shadow"} if fetcher._options.kind == "chromium" else set()
        assert set(response.flags) == flags - {"frame"}
        if "frame" in flags:
            assert f"{site.url}/framed/rel" in response.links()


async def test_a_link_is_written_in_the_charset_of_its_page(fetcher: BrowserFetcher) -> None:
    body = '<a href="/s?q=中文">1</a><a href="/中?q=a#文">2</a>'.encode("gbk")
    async with Raw({"/": answer(body, kind="text/html; charset=gbk")}) as site:
        response = await show(fetcher, f"{site.url}/")
        paths = [url.removeprefix(site.url) for url in response.links()]
        assert paths == ["/s?q=%D6%D0%CE%C4", "/%E4%B8%AD?q=a"]


@pytest.mark.long
async def test_an_element_that_is_waited_for_is_found(fetcher: BrowserFetcher) -> None:
    late = (
        "<div id=h></div><script>setTimeout(() => { const r = h.attachShadow({mode: 'open'});"
        "r.innerHTML = '<ul><li class=price>9</li></ul>' }, 300)</script>"
    )
    async with Raw({"/": answer(late)}) as site:
        for selector in (".price", "#h ul > li", "#h .price"):
            response = await show(fetcher, f"{site.url}/", Browsing(wait_for=selector))
            assert response.css(selector).css("::text").getall() == ["9"]


@pytest.mark.long
async def test_a_setting_leaves_the_tree_as_it_is() -> None:
    pages = {name: answer(TREES[name][0]) for name in ("open root", "a frame of its own text")}
    async with open_fetcher(is_flattened=False) as plain, Raw({}) as site:
        for site.answers["/"] in pages.values():
            response = await show(plain, f"{site.url}/")
            assert (response.css(".price").getall(), response.flags) == ([], ())


async def test_each_route_of_an_application_is_a_page_of_its_own(fetcher: BrowserFetcher) -> None:
    app = "<p></p><script>document.querySelector('p').textContent = location.hash</script>"
    tidy = "<p></p><script>location.hash = location.hash.replace('x', 'y')</script>"
    async with Raw({"/app": answer(app), "/tidy": answer(tidy)}) as site:
        for rest, shown in (("/app#/p1", "/app#/p1"), ("/app#/p2", "/app#/p2"), ("/tidy#/x", "/tidy#/y")):
            response = await show(fetcher, site.url + rest)
            assert response.url == site.url + shown
            assert response.css("p::text").get() in (None, shown[4:])
        assert not [head for head in site.heads if b"#" in head or b"p1" in head]


async def test_an_element_of_css_is_waited_for_without_the_driver(
    fetcher: BrowserFetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which would put a program of its own into the page first."""
    if fetcher._options.kind == "firefox":
        return
    monkeypatch.setattr("playwright.async_api.Locator.wait_for", None)
    pages = {"/plain": answer("<p class=price>9"), "/shadow": answer(TREES["open root"][0])}
    async with Raw(pages) as site:
        for path in pages:
            response = await show(fetcher, site.url + path, Browsing(wait_for=".price"))
            assert response.css(".price::text").getall() == ["9"]
