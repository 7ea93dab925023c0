"""Pages made to be slow: they are noticed, judged in another process, cut, and then parsed quickly."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import signal
import subprocess
import termios
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import nullcontext

import pytest

from gossamer.parse.html import HtmlPage
from gossamer.parse.isolation.limits import ParseLimits, is_suspicious
from gossamer.parse.isolation.process import IsolatedExaminer
from gossamer.parse.isolation.reduce import reduce_html
from gossamer.ports.page_examiner import ParseInterruptError, ParseLimitError, TruncatedPage
from gossamer.queries.reasons import FLAGS
from kit.large_pages import busy_machine, index_page, reference_page

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
async def isolation() -> AsyncIterator[IsolatedExaminer]:
    isolation = IsolatedExaminer(ParseLimits())
    yield isolation
    isolation.close()


@pytest.mark.long
async def test_hostile_pages_are_parsed_quickly_and_keep_their_links(isolation: IsolatedExaminer) -> None:
    for name, make in HOSTILE.items():
        body = make().encode()
        assert is_suspicious(body), name
        cut, lag_s = await _with_lag(isolation.examine(body, HTML))
        page = HtmlPage(cut.body if cut else body, "http://h/", HTML)
        began = time.process_time()
        assert page.links.urls == ["http://h/after"], name
        page.visible_text()
        assert time.process_time() - began < 0.5, name
        assert lag_s < 0.5, name


async def _with_lag(work: Coroutine[None, None, TruncatedPage | None]) -> tuple[TruncatedPage | None, float]:
    """What the work gives, and the longest time for which the event loop worked without a turn meanwhile.

    In its thread's own CPU time: on a busy machine it waits, too, without fault of its own.
    """
    task = asyncio.ensure_future(work)
    worst, last = 0.0, time.thread_time()
    while not task.done():
        await asyncio.sleep(0)
        now = time.thread_time()
        worst, last = max(worst, now - last), now
    return task.result(), worst


async def test_a_large_harmless_page_is_left_as_it_is(isolation: IsolatedExaminer) -> None:
    body = ("<p>some text</p>" * 20 + "x" * 100_000).encode() * 40
    assert is_suspicious(body)
    assert await isolation.examine(body, HTML) is None


@pytest.mark.slow
async def test_a_cut_page_remembers_the_encoding_it_came_in(isolation: IsolatedExaminer) -> None:
    body = ("<p>äöü" + "<body a=1 b=2>" + "".join(f"<p><font a={n}>" for n in range(12_000))).encode(
        "latin-1"
    )
    cut = await isolation.examine(body, "text/html; charset=iso-8859-1")
    assert cut is not None
    assert cut.encoding == "windows-1252"
    assert cut.cuts["formatting"] > 10_000
    assert "äöü" in cut.body.decode()


LARGE: dict[str, tuple[Callable[[], str], int]] = {
    "an index": (index_page, 30_000),
    "a reference": (reference_page, 28_000),
    "a page full of pictures": (lambda: f'<p><img src="data:{"x" * 900_000}">' * 5 + END, 1),
    "a page nobody closed anything in": (lambda: "<p><font color=red>text</i><br>" * 1000 + END, 1),
    "a long text": (lambda: "text and more of it " * 250_000 + END, 1),
}
"""Pages that take their time and are nobody's attack, with the number of their links."""


async def _outcome(isolation: IsolatedExaminer, page: str) -> str:
    """What becomes of a page, told by its bytes."""
    cut = await isolation.examine(page.encode(), HTML)
    return "whole" if cut is None else f"{sorted(cut.cuts)} {hashlib.sha256(cut.body).hexdigest()}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
async def test_a_large_ordinary_page_is_parsed_whole(isolation: IsolatedExaminer, name: str) -> None:
    page = LARGE[name][0]()
    assert is_suspicious(page.encode())
    assert await _outcome(isolation, page) == "whole"


@pytest.mark.thorough
async def test_the_same_page_is_the_same_page_however_busy_the_machine_is(
    isolation: IsolatedExaminer,
) -> None:
    hostile = ("100,000 nested divs", "open fonts, each another", "bodies with attributes")
    pages = [index_page(), reference_page(), *(HOSTILE[name]() for name in hostile)]
    runs = []
    for machine in (nullcontext(), nullcontext(), busy_machine()):
        with machine:
            runs.append([await _outcome(isolation, page) for page in pages])
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][:2] == ["whole", "whole"]
    assert [outcome.split()[0] for outcome in runs[0][2:]] == ["['depth']", "['formatting']", "['roots']"]


@pytest.mark.parametrize("name", LARGE)
def test_a_large_ordinary_page_is_parsed_quickly_where_it_is(name: str) -> None:
    make, links = LARGE[name]
    body = make().encode()
    began = time.process_time()
    page = HtmlPage(body, "http://h/", HTML)
    assert page.document.root is not None
    took_s = time.process_time() - began
    assert len(page.links.urls) == links
    assert took_s < 0.3, "the event loop is held for so long (the aim is 0.2; a busy machine is slower)"


@pytest.mark.slow
async def test_a_page_that_uses_up_its_cpu_time_is_given_up_and_the_next_one_is_not(
    isolation: IsolatedExaminer,
) -> None:
    short = IsolatedExaminer(ParseLimits(cpu_s=0.05))
    with pytest.raises(ParseLimitError, match=r"more than 0.05 s of CPU time \(parse.timeout\)"):
        await short.examine(b"<p>" * 300_000, HTML)
    assert await short.examine(b"<p>", HTML) is None
    short.close()


async def test_a_page_that_needs_more_memory_says_so() -> None:
    small = IsolatedExaminer(ParseLimits(memory_bytes=128 * 1024 * 1024))
    with pytest.raises(ParseLimitError, match=r"more than 128 MB \(parse.max_memory_mb\)"):
        await small.examine("\U0001f600".encode() + b"x" * 40_000_000, HTML)
    small.close()


async def has_been_sent(process: subprocess.Popen[bytes]) -> None:
    """Wait until a page is on its way to a process that is stopped."""
    assert process.stdin is not None
    waiting = bytearray(4)
    while not (any(waiting) or process.stdin.closed):
        fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, waiting)
        await asyncio.sleep(0.001)


async def test_a_process_that_is_stopped_or_killed_says_nothing_of_its_page() -> None:
    isolation = IsolatedExaminer(ParseLimits(), patience_s=0.2)
    for sign in (signal.SIGSTOP, signal.SIGKILL):
        process = isolation._ensure_process()
        os.kill(process.pid, signal.SIGSTOP)
        examining = asyncio.ensure_future(isolation.examine(b"<p>", HTML))
        await has_been_sent(process)  # one that is killed before is replaced, and says nothing of its end
        os.kill(process.pid, sign)
        with pytest.raises(ParseInterruptError, match="killed"):
            await examining
    isolation.close()


async def test_pages_that_wait_for_their_turn_take_no_threads_from_others(
    isolation: IsolatedExaminer,
) -> None:
    process = isolation._ensure_process()
    os.kill(process.pid, signal.SIGSTOP)
    waiting = [asyncio.ensure_future(isolation.examine(b"<p>", HTML)) for _ in range(50)]
    await asyncio.sleep(0)
    assert await asyncio.wait_for(asyncio.to_thread(lambda: "done"), 20) == "done"
    os.kill(process.pid, signal.SIGCONT)
    assert await asyncio.gather(*waiting) == [None] * 50


async def test_a_process_that_died_between_two_pages_is_replaced(isolation: IsolatedExaminer) -> None:
    await isolation.examine(b"<p>", HTML)
    assert isolation._process is not None
    isolation._process.kill()
    isolation._process.wait()
    assert await isolation.examine(b"<p>", HTML) is None


async def test_closing_gives_up_what_is_being_tried_and_ends_the_process(isolation: IsolatedExaminer) -> None:
    await isolation.examine(b"<p>", HTML)
    process = isolation._process
    assert process is not None
    isolation.close()
    assert process.poll() is not None
    with pytest.raises(ParseInterruptError):
        await isolation.examine(b"<p>", HTML)


async def test_closing_waits_for_no_process_that_is_being_started(
    isolation: IsolatedExaminer, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = isolation._ensure_process

    def closed_meanwhile() -> subprocess.Popen[bytes]:
        process = start()
        process.send_signal(signal.SIGSTOP)  # it would answer later than anybody waits
        isolation._is_closed = True  # by close(), which has found no process
        return process

    monkeypatch.setattr(isolation, "_ensure_process", closed_meanwhile)
    monkeypatch.setattr(isolation, "_patience_s", 5.0)
    began = time.monotonic()
    with pytest.raises(ParseInterruptError):
        await isolation.examine(b"<p>", HTML)
    assert time.monotonic() - began < 4.0


def test_the_process_ends_when_its_input_does() -> None:
    isolation = IsolatedExaminer(ParseLimits())
    process = isolation._ensure_process()
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


@pytest.mark.long
def test_every_kind_of_cut_has_words_for_people() -> None:
    kinds = {"attributes", "depth", "end_tags", "formatting", "rest", "roots"}
    found = {
        kind
        for make in HOSTILE.values()
        for kind in reduce_html(make(), max_depth=256, max_tags=99_999, max_chars=4_000_000).cuts
    }
    assert found == kinds
    assert set(TruncatedPage(b"", "UTF-8", dict.fromkeys(kinds, 1)).flags) <= set(FLAGS)


def test_a_cut_stops_after_so_many_elements_and_says_so() -> None:
    reduced = reduce_html("<p>x" * 9000, max_depth=9, max_tags=100, max_chars=99_999)
    assert (reduced.cuts, reduced.tags) == ({"rest": 1}, 100)
    assert reduced.html == "<p>x" * 100


def test_a_long_tail_of_nothing_is_not_looked_at_to_its_end() -> None:
    reduced = reduce_html("<p>x" + "</b>" * 9000, max_depth=9, max_tags=100, max_chars=99_999)
    assert reduced.html == "<p>x"
    assert reduced.cuts["rest"] == 1
