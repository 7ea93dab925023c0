"""What a spider does by itself on a page is that page's trouble alone, and has a name."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from gossamer import Browsing, Request, Spider
from gossamer.callbacks.page_scripts import SpiderGuide
from gossamer.core.errors import Fault, UsageError
from gossamer.testing.clock import run_virtual

OWN, WIDE, DETAILS = Browsing(wait_for="h1"), Browsing(wait_for="h2"), Browsing(wait_for=".price")


class Scripted(Spider):
    name = "scripted"
    browser: Any = WIDE

    async def opens(self, page: list[str]) -> None:
        await asyncio.sleep(1)
        page.append("opened")

    async def raises(self, page: Any) -> None:
        raise LookupError("no menu here")

    async def exits(self, page: Any) -> None:
        sys.exit(3)

    async def cancels(self, page: Any) -> None:
        raise asyncio.CancelledError

    async def hangs(self, page: Any) -> None:
        await asyncio.sleep(3600)

    async def ignores_its_end(self, page: Any) -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except BaseException:
                continue

    def waits_for_nothing(self, page: Any) -> None: ...


def run(script: str, page: Any = None) -> Any:
    guide = SpiderGuide(lambda _: Scripted(), timeout_s=5)
    return run_virtual(lambda _: guide.run_script(Request("http://a/"), script, page))


def test_it_gets_the_page():
    page: list[str] = []
    assert run("opens", page) is None
    assert page == ["opened"]


@pytest.mark.parametrize(
    ("script", "fault", "words"),
    [
        ("raises", Fault.CALLBACK, "LookupError: no menu here"),
        ("exits", Fault.CALLBACK, "SystemExit: 3"),
        ("cancels", Fault.CALLBACK, "CancelledError"),
        ("hangs", Fault.CALLBACK_TIMEOUT, "hangs() took longer than 5 s"),
        ("ignores_its_end", Fault.CALLBACK_TIMEOUT, "ignores_its_end() took longer than 5 s"),
        ("waits_for_nothing", Fault.CALLBACK, "no method `async def waits_for_nothing(self, page)`"),
        ("forgotten", Fault.CALLBACK, "Scripted has no method `async def forgotten(self, page)`"),
    ],
)
def test_what_goes_wrong_is_told(script, fault, words):
    failure = run(script)
    assert failure.fault is fault
    assert words in failure.detail
    assert "callbacks/page_scripts.py" not in failure.detail  # it begins with the spider's own code


async def test_the_end_of_the_task_passes_through():
    guide = SpiderGuide(lambda _: Scripted())
    task = asyncio.create_task(guide.run_script(Request("http://a/"), "hangs", None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_requests_own_word_goes_before_the_spiders():
    spider = Scripted()
    guide = SpiderGuide(lambda _: spider)
    assert guide.browsing_for(Request("http://a/", browser=OWN)) == OWN
    assert guide.browsing_for(Request("http://a/")) == WIDE
    spider.browser = {"parse_product": DETAILS}
    assert guide.browsing_for(Request("http://a/", "parse_product")) == DETAILS
    assert guide.browsing_for(Request("http://a/")) == Browsing()
    spider.browser = None
    assert guide.browsing_for(Request("http://a/")) == Browsing()
    for wrong in ("h1", {"parse": "h1"}):
        spider.browser = wrong
        with pytest.raises(UsageError, match=r"`browser` of the spider 'scripted' must be a Browsing"):
            guide.browsing_for(Request("http://a/"))
