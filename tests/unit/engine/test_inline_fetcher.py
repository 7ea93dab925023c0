"""Pages that callbacks ask for while they run: the rules of the crawl hold for them, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import HostSignal
from gossamer.core.requests import Request
from gossamer.engine.inline_fetcher import InlineFetcher
from kit.engine import URL, Answer, Kit, virtually

Check = Callable[[Kit, InlineFetcher], Coroutine[Any, Any, Any]]


def with_fetcher(check: Check, *, delay_s: float = 0.0) -> Any:
    async def main() -> Any:
        kit = Kit()
        return await check(kit, InlineFetcher(kit.parts, delay_s=delay_s, max_redirects=3))

    return virtually(main)


def test_redirects_are_followed_to_the_answer_whatever_its_status() -> None:
    async def check(kit: Kit, inline: InlineFetcher) -> None:
        kit.site.replies[URL] = (302, {"location": "/there"})
        kit.site.replies[f"{URL}there"] = 404
        asked, fetched = await inline.fetch_page(Request(f"{URL}#part"))
        assert (asked.url, fetched.status) == (f"{URL}there", 404)
        assert asked.redirects == (URL,)
        kit.pages.statuses = {302}
        _, fetched = await inline.fetch_page(Request(URL))
        assert fetched.status == 302, "a status that the spider wants is an answer"
        kit.pages.statuses = set()
        kit.site.replies[URL] = (302, {"location": "/"})
        with pytest.raises(FetchError) as endless:
            await inline.fetch_page(Request(URL))
        assert endless.value.fault is Fault.REDIRECT_LIMIT

    with_fetcher(check)


def test_a_route_that_a_request_keeps_is_asked_for() -> None:
    """A bug it would catch: a callback that asks for a view of an application gets its first one."""

    async def check(kit: Kit, inline: InlineFetcher) -> None:
        for wish in ({"keep_fragment": True}, {"fetch": "browser"}):
            asked, _ = await inline.fetch_page(Request(f"{URL}#/items/5", **wish))
            assert asked.url == f"{URL}#/items/5"
        asked, _ = await inline.fetch_page(Request(f"{URL}#/items/5"))
        assert asked.url == URL
        kit.site.replies[f"{URL}#/items/5"] = (302, {"location": "/there"})
        asked, _ = await inline.fetch_page(Request(f"{URL}#/items/5", keep_fragment=True))
        assert asked.url == f"{URL}there#/items/5"

    with_fetcher(check)


def test_pages_of_a_host_come_one_after_the_other_with_its_delay() -> None:
    async def check(kit: Kit, inline: InlineFetcher) -> None:
        asked = [Request(f"{URL}{number}") for number in range(3)]
        await asyncio.gather(*map(inline.fetch_page, [*asked, Request("http://other.test/")]))
        begun = kit.clock.now()
        times = {url: at for at, url in kit.site.log}
        assert [round(times[request.url] - times[f"{URL}0"], 3) for request in asked] == [0.0, 2.0, 4.0]
        assert times["http://other.test/"] == times[f"{URL}0"]
        assert begun - times[f"{URL}0"] == pytest.approx(4.0)

    with_fetcher(check, delay_s=2.0)


def test_robots_txt_is_waited_for_and_obeyed() -> None:
    async def check(kit: Kit, inline: InlineFetcher) -> None:
        kit.gate.answers[URL] = [Answer(signal=HostSignal()), Answer(signal=HostSignal()), Answer()]
        await inline.fetch_page(Request(URL))
        kit.gate.answers[f"{URL}no"] = [Answer(allowed=False, reason="robots")]
        with pytest.raises(FetchError) as refused:
            await inline.fetch_page(Request(f"{URL}no"))
        assert refused.value.fault is Fault.ROBOTS
        assert [url for _, url in kit.site.log] == [URL], "nobody was asked for what is not allowed"

    with_fetcher(check)


def test_what_cannot_be_fetched_says_why() -> None:
    async def check(kit: Kit, inline: InlineFetcher) -> None:
        kit.site.replies[URL] = FetchError(Fault.CONNECT, "refused")
        for url, fault in ((URL, Fault.CONNECT), ("http://", Fault.BAD_URL)):
            with pytest.raises(FetchError) as failed:
                await inline.fetch_page(Request(url))
            assert failed.value.fault is fault

    with_fetcher(check)
