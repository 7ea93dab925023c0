"""Lists that grow, and lists that recycle their rows, in a browser: whatever it is that scrolls."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from gossamer.core.browsing import Browsing, Scroll
from gossamer.core.requests import Request
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.spiders.response import Response
from kit.browser_pages import answer, open_fetcher
from kit.raw_server import Raw

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

STYLE = "<!doctype html><style>html, body { margin: 0 } li { height: 120px } %s</style>"
GROW = """<script>
let n = 0;
const root = %s, list = root.querySelector('ul');
const more = () => { for (const end = Math.min(n + 10, 50); n < end; n++) {
    list.append(Object.assign(document.createElement('li'), {textContent: 'item ' + n})); } };
const load = () => fetch('/more').then(more);
more();
%s
</script>"""
ON_SCROLL = """const at = %s; at.addEventListener('scroll', () => {
    const box = at === window ? document.scrollingElement : at;
    if (box.scrollTop + box.clientHeight > box.scrollHeight - 50) load(); });"""
ON_SIGHT = "new IntersectionObserver(all => all.some(one => one.isIntersecting) && load()).observe(end)"
FULL = "{ height: 100vh; overflow: auto }"
GROWING = {
    "the window": STYLE % "" + "<ul></ul>" + GROW % ("document", ON_SCROLL % "window"),
    "the window, by what comes into sight": STYLE % "#end { height: 1px }"
    + "<ul></ul><div id=end></div>"
    + GROW % ("document", ON_SIGHT),
    "a box": STYLE % f"#box {FULL}" + "<div id=box><ul></ul></div>" + GROW % ("box", ON_SCROLL % "box"),
    "a box beside a smaller one": STYLE % f"#box {FULL} nav {{ height: 200px; width: 90px; overflow: auto }}"
    + "<nav><p style='height: 900px'>menu</nav><div id=box><ul></ul></div>"
    + GROW % ("box", ON_SCROLL % "box"),
    "the body": STYLE % "html { height: 100%; overflow: hidden } body { height: 100%; overflow: auto }"
    + "<ul></ul>"
    + GROW % ("document", ON_SCROLL % "document.body"),
    "a box in a shadow root": STYLE % ""
    + "<div id=h></div><script>h.attachShadow({mode: 'open'}).innerHTML = "
    + f"'<style>li {{ height: 120px }} #box {FULL}</style><div id=box><ul></ul></div>'</script>"
    + GROW % ("h.shadowRoot", ON_SCROLL % "h.shadowRoot.firstElementChild.nextSibling"),
    "smoothly": STYLE % "html { scroll-behavior: smooth }"
    + "<ul></ul>"
    + GROW % ("document", ON_SCROLL % "window"),
    "a box below a header that is out of sight soon": STYLE % f"#box {FULL}"
    + "<header style='height: 90px'>head</header><div id=box><ul></ul></div>"
    + GROW % ("box", ON_SCROLL % "box"),
    "a window that a dialog has locked": STYLE % "body { overflow: hidden }"
    + "<div style='position: fixed; width: 300px; height: 90px; overflow: auto'><p style='height: 500px'>"
    + "cookies?</div><ul></ul>"
    + GROW % ("document", ON_SCROLL % "window"),
}
"""Pages whose lists have fifty items in the end; what it is that scrolls."""

RECYCLING = """<!doctype html><style>#box { height: 600px; overflow: auto; position: relative }
.row { position: absolute; height: 100px; width: 100%% }</style>
<div id=box><div id=all style='height: 6000px'></div></div><script>
const draw = () => {
    const first = Math.floor(box.scrollTop / 100), rows = [];
    for (let n = first; n < Math.min(first + 7, 60); n++)
        rows.push(`<div class=row %s style="top: ${n * 100}px"><a href="/p${n}">row ${n}</a></div>`);
    all.innerHTML = rows.join('');
};
box.addEventListener('scroll', () => requestAnimationFrame(draw));
draw();
</script>"""
ROWS = [f"row {n}" for n in range(60)]


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=["chromium", pytest.param("firefox", marks=pytest.mark.thorough)],
)
async def fetcher(request: pytest.FixtureRequest) -> AsyncIterator[BrowserFetcher]:
    async with open_fetcher(timeout_s=30, kind=request.param) as fetcher:
        yield fetcher


async def scroll(fetcher: BrowserFetcher, page: str, **options: object) -> Response:
    action = Scroll(**({"until_still": True, "still_s": 0.3} | options))  # type: ignore[arg-type]
    async with Raw({"/": answer(page)}) as site:
        request = Request(f"{site.url}/", browser=Browsing(actions=[action]))
        fetched = await fetcher.fetch(request)
        assert fetched.failure is None
        return Response(request, fetched)


@pytest.mark.parametrize("kind", GROWING)
async def test_a_list_is_scrolled_to_its_end_whatever_scrolls(fetcher: BrowserFetcher, kind: str) -> None:
    response = await scroll(fetcher, GROWING[kind])
    assert response.css("li::text").getall() == [f"item {n}" for n in range(50)]
    assert response.flags == ()


@pytest.mark.parametrize("mark", ["", 'data-index="${n}"'])
async def test_rows_that_are_recycled_are_collected_as_they_pass(fetcher: BrowserFetcher, mark: str) -> None:
    response = await scroll(fetcher, RECYCLING % mark, collect=".row")
    assert response.css("#all > .row a::text").getall() == ROWS
    assert [url.rpartition("/")[2] for url in response.links()] == [f"p{n}" for n in range(60)]
    assert response.flags == ()


async def test_rows_that_are_lost_are_flagged(fetcher: BrowserFetcher) -> None:
    response = await scroll(fetcher, RECYCLING % "")
    assert response.css(".row a::text").getall() == ROWS[54:]
    assert response.flags == ("recycled_list",)


async def test_a_list_that_is_longer_than_may_be_collected_is_flagged(fetcher: BrowserFetcher) -> None:
    response = await scroll(fetcher, RECYCLING % "", collect=".row", max_scrolls=2)
    assert response.css(".row a::text").getall() == ROWS[: 2 * 5 + 7]
    assert response.flags == ("scroll_limit",)


@pytest.mark.long
@pytest.mark.parametrize("human", [False, True])
async def test_a_page_on_which_nothing_scrolls_is_flagged(fetcher: BrowserFetcher, human: bool) -> None:
    still = "<p>short</p><div style='height: 50px; overflow: hidden'><p style='height: 500px'>cut"
    assert (await scroll(fetcher, still, human=human)).flags == ("nothing_scrolled",)
    assert (await scroll(fetcher, still, until_still=False, human=human)).flags == ("nothing_scrolled",)


async def test_a_window_is_scrolled_once(fetcher: BrowserFetcher) -> None:
    for kind in ("the window", "a box", "the body", "a box in a shadow root"):
        response = await scroll(fetcher, GROWING[kind], until_still=False)
        assert response.flags == ()


async def test_a_person_scrolls_the_box_that_scrolls(fetcher: BrowserFetcher) -> None:
    response = await scroll(fetcher, GROWING["a box"], human=True, max_scrolls=1)
    assert len(response.css("li")) == 20
