"""Pages made to be slow: they are noticed, judged in another process, cut, and then parsed quickly."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine

import pytest

from gossamer.parse.html import parse_html
from gossamer.parse.isolate import Cut, Isolation, ParseKilled
from gossamer.parse.isolate_limits import ParseLimits, is_suspicious
from gossamer.parse.isolate_reduce import reduce_html

HTML = "text/html; charset=utf-8"
END = '<a href="/after">the link after it</a>'


def repeated(unit: str, size: int) -> str:
    return unit * (size // len(unit))


HOSTILE: dict[str, Callable[[], str]] = {
    "100,000 nested divs": lambda: "<div>" * 100_000 + END,
    "500,000 nested spans": lambda: "<span>" * 500_000 + END,
    "open fonts, each another": lambda: "".join(f"<p><font a={n}>" for n in range(12_000)) + END,
    "fonts, then paragraphs": lambda: "".join(f"<font a={n}>" for n in range(600)) + "<p>x" * 12_000 + END,
    "bodies with attributes": lambda: "".join(f"<body a{n}=b>" for n in range(16_000)) + END,
    "stray end tags, deep down": lambda: "<svg>" + "<g>" * 2000 + "</x>" * 300_000 + END,
    "a tag with many attributes": lambda: "<i " + "".join(f"a{n}=b " for n in range(500_000)) + ">" + END,
    "a 5 MB attribute": lambda: f'<p title="{"x" * 5_000_000}">{END}',
    "tables in tables": lambda: repeated("<table><tr><td>", 2_000_000) + END,
    "an unclosed comment": lambda: END + "<!--" + "x" * 4_000_000,
    "an unclosed script": lambda: END + "<script>" + "x<" * 2_000_000,
}


@pytest.fixture
async def isolation() -> AsyncIterator[Isolation]:
    isolation = Isolation(ParseLimits(timeout_s=20.0))
    yield isolation
    isolation.close()


async def test_hostile_pages_are_parsed_quickly_and_keep_their_links(isolation: Isolation) -> None:
    for name, make in HOSTILE.items():
        body = make().encode()
        assert is_suspicious(body), name
        cut, lag_s = await _with_lag(isolation.examine(body, HTML))
        page = parse_html(cut.body if cut else body, "http://h/", HTML)
        began = time.process_time()
        assert page.links.urls == ["http://h/after"], name
        page.visible_text()
        assert time.process_time() - began < 0.5, name
        assert lag_s < 0.5, name


async def _with_lag(work: Coroutine[None, None, Cut | None]) -> tuple[Cut | None, float]:
    """What the work gives, and the longest time for which the event loop did not turn meanwhile."""
    task = asyncio.ensure_future(work)
    worst, last = 0.0, time.perf_counter()
    while not task.done():
        await asyncio.sleep(0)
        now = time.perf_counter()
        worst, last = max(worst, now - last), now
    return task.result(), worst


async def test_a_large_harmless_page_is_left_as_it_is(isolation: Isolation) -> None:
    body = ("<p>some text</p>" * 20 + "x" * 100_000).encode() * 40
    assert is_suspicious(body)
    assert await isolation.examine(body, HTML) is None


async def test_a_cut_page_remembers_the_encoding_it_came_in(isolation: Isolation) -> None:
    body = ("<p>äöü" + "<body a=1 b=2>" + "".join(f"<p><font a={n}>" for n in range(12_000))).encode(
        "latin-1"
    )
    cut = await isolation.examine(body, "text/html; charset=iso-8859-1")
    assert cut is not None
    assert cut.encoding == "windows-1252"
    assert cut.cuts["formatting"] > 10_000
    assert "äöü" in cut.body.decode()


async def test_a_page_that_kills_its_process_is_given_up_and_the_next_one_is_not(
    isolation: Isolation,
) -> None:
    short = Isolation(ParseLimits(timeout_s=0.001))
    with pytest.raises(ParseKilled):
        await short.examine(b"<p>" * 300_000, HTML)
    short.close()
    await isolation.examine(b"<p>", HTML)
    assert isolation._process is not None
    isolation._process.kill()
    isolation._process.wait()
    assert await isolation.examine(b"<p>", HTML) is None


async def test_closing_gives_up_what_is_being_tried_and_ends_the_process(isolation: Isolation) -> None:
    await isolation.examine(b"<p>", HTML)
    process = isolation._process
    assert process is not None
    isolation.close()
    assert process.poll() is not None
    with pytest.raises(ParseKilled):
        await isolation.examine(b"<p>", HTML)


def test_the_process_ends_when_its_input_does() -> None:
    isolation = Isolation(ParseLimits())
    process = isolation._running()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == 0
    isolation.close()


@pytest.mark.parametrize(
    "body",
    [
        b"<p>text</p>" * 1000,
        b"<ul>" + b'<li><a href="/x">text</a></li>' * 20_000 + b"</ul>",
        b"<p>" + b"text<br>\n" * 4000,
        b"x" * 2_000_000,
    ],
    ids=["small", "many links", "many line breaks", "text"],
)
def test_ordinary_pages_are_not_suspicious(body: bytes) -> None:
    assert not is_suspicious(body)


def test_what_is_ordinary_comes_through_a_cut_unchanged() -> None:
    html = (
        '<!DOCTYPE html><html lang="en"><head><title>a &amp; b</title>'
        '<script>if (a < b) "</p>"</script></head><body class="x"><p>one <b>two</b> &lt; three<br>'
        '<ul><li>a<li>b</ul><svg><path d="M0"/></svg></body></html>'
    )
    reduced = reduce_html(html, max_depth=50, max_tags=1000, max_chars=10_000)
    assert reduced.html == html
    assert reduced.cuts == {}


def test_a_cut_stops_when_it_is_late_and_says_so() -> None:
    reduced = reduce_html("<p>x" * 9000, max_depth=9, max_tags=99_999, max_chars=99_999, is_late=lambda: True)
    assert reduced.cuts == {"rest": 1}
    assert sys.getsizeof(reduced.html) < 1000
