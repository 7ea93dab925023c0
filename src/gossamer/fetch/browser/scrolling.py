"""Scrolling down: by one window, or to the end until nothing new comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gossamer.core.browsing import Scroll
from gossamer.fetch.browser.hand import Hand

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

SCROLL_LIMIT = "scroll_limit"
"""The flag of a page that still grew when ``max_scrolls`` was reached."""
_POLL_S = 0.1
_WAITING = frozenset({"xhr", "fetch", "script", "document"})
"""Kinds of requests that may bring something new; an open event stream never ends."""

_ELEMENT = "const box = element || document.scrollingElement || document.documentElement;"
_MEASURE = f"""element => {{ {_ELEMENT}
  const visible = element ? box.clientHeight : window.innerHeight;
  return [box.scrollHeight, box.getElementsByTagName('*').length, Math.round(box.scrollTop),
          box.scrollHeight - box.scrollTop - visible, visible];
}}"""
_JUMP = f"(element) => {{ {_ELEMENT} box.scrollTop = box.scrollHeight; }}"
_STEP = f"""element => {{ {_ELEMENT}
  box.scrollTop += Math.round(0.9 * (element ? box.clientHeight : window.innerHeight)); }}"""

_TURN = """() => new Promise(done => {
  setTimeout(done, 1000);
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));
})"""
"""Until the page has heard of it, however busy the machine is: what it requests for it has begun then."""


class PageScroller:
    """Scrolls one page."""

    def __init__(self, page: Page, hand: Hand) -> None:
        self._page = page
        self._hand = hand

    async def scroll(self, action: Scroll, *, human: bool, timeout: float) -> bool:
        """Scroll; ``False``: the page still grew when it had been scrolled as often as it may be."""
        target = self._page.locator(action.selector).first if action.selector else None
        handle = await target.element_handle(timeout=timeout) if target is not None else None
        if not action.until_still:
            await self._scroll_once(target, handle, human=human, is_whole=False)
            return True
        pending = _PendingRequests(self._page)
        try:
            for _ in range(action.max_scrolls):
                before = await self._measure(handle)
                await self._scroll_once(target, handle, human=human, is_whole=True)
                if not await self._has_grown(handle, before, pending, action.still_s):
                    return True
            return False
        finally:
            pending.stop()

    async def _scroll_once(self, target: Locator | None, handle: Any, *, human: bool, is_whole: bool) -> None:
        if human:
            *_, left, visible = await self._measure(handle)
            await self._hand.scroll_down(max(left, 0) if is_whole else 0.9 * visible, target)
        else:
            await self._page.evaluate(_JUMP if is_whole else _STEP, handle)
        await self._page.evaluate(_TURN)

    async def _has_grown(
        self, handle: Any, before: list[float], pending: _PendingRequests, still_s: float
    ) -> bool:
        """Whether anything new came, within so long after the last request has ended."""
        loop = asyncio.get_running_loop()
        end = loop.time() + still_s
        while True:
            now = await self._measure(handle)
            if now[:2] != before[:2]:
                return True
            if pending.count:
                end = loop.time() + still_s
            elif loop.time() >= end:
                return False
            await asyncio.sleep(min(_POLL_S, still_s))

    async def _measure(self, handle: Any) -> list[float]:
        """Its height, its elements, how far it is scrolled, how far it still can be, and what is visible."""
        found: list[float] = await self._page.evaluate(_MEASURE, handle)
        return found


class _PendingRequests:
    """How many requests are under way that may bring something new."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._open: set[Any] = set()
        page.on("request", self._begin)
        page.on("requestfinished", self._end)
        page.on("requestfailed", self._end)

    @property
    def count(self) -> int:
        """How many there are now."""
        return len(self._open)

    def stop(self) -> None:
        """Count no more."""
        self._page.remove_listener("request", self._begin)
        self._page.remove_listener("requestfinished", self._end)
        self._page.remove_listener("requestfailed", self._end)

    def _begin(self, request: Any) -> None:
        if request.resource_type in _WAITING:
            self._open.add(request)

    def _end(self, request: Any) -> None:
        self._open.discard(request)
