"""Scrolling down: by one window, or to the end until nothing new comes.

It is the window that scrolls, or else the largest box of the page that can. Lists that show only the rows
which are in sight take the others out of the page; with ``collect`` they are noted as they pass.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from gossamer.core.browsing import Scroll
from gossamer.fetch.browser.hand import Hand
from gossamer.fetch.browser.shown_page import collecting_script

if TYPE_CHECKING:
    from playwright.async_api import Page

SCROLL_LIMIT = "scroll_limit"
"""The flag of a page that still grew when ``max_scrolls`` was reached."""
NOTHING_SCROLLED = "nothing_scrolled"
"""The flag of a page on which nothing could be scrolled, and nothing came."""
RECYCLED_LIST = "recycled_list"
"""The flag of a page that removed elements from its tree while it was scrolled."""
MAX_COLLECTED = 20_000
"""Elements of one page."""
MAX_COLLECTED_CHARACTERS = 32 * 1024 * 1024
_POLL_S = 0.1
_WAITING = frozenset({"xhr", "fetch", "script", "document"})
"""Kinds of requests that may bring something new; an open event stream never ends."""

_PICK = """
  const root = document.scrollingElement || document.documentElement;
  const flow = node => getComputedStyle(node).overflowY;
  const isOpen = flow(document.documentElement) === 'visible';
  const viewport = isOpen && document.body || document.documentElement;
  const canScroll = root.scrollHeight > window.innerHeight + 1 && !/hidden|clip/.test(flow(viewport));
  const boxes = function* (scope) {
    for (const node of scope.querySelectorAll('*')) {
      if (node.shadowRoot) yield* boxes(node.shadowRoot);
      const isOwn = node !== root && !(node === document.body && isOpen) && node.localName !== 'textarea';
      if (isOwn && node.scrollHeight > node.clientHeight + 1 && /auto|scroll|overlay/.test(flow(node))) {
        yield [node.clientWidth * Math.min(node.clientHeight, window.innerHeight), node];
      }
    }
  };
  const pick = () => {
    if (element || canScroll && !isInner) return element || root;
    let found = [0, root];
    for (const box of boxes(document)) if (box[0] > found[0]) found = box;
    const isLarge = 3 * found[0] >= window.innerWidth * window.innerHeight;  // else it may be of a dialog
    return isLarge || root.scrollHeight <= window.innerHeight + 1 ? found[1] : root;
  };
  const box = pick();
  const seen = box === root ? window.innerHeight : box.clientHeight;
"""
_MEASURE = f"""([element, isInner, sample]) => {{ {_PICK}
  const area = box === root ? {{left: 0, width: window.innerWidth, top: 0}} : box.getBoundingClientRect();
  const lines = sample ? [] : [1, 3, 5, 7, 9, 11].map(part => {{
    const node = document.elementFromPoint(area.left + area.width / 2, area.top + seen * part / 12);
    return node ? node.textContent.trim() : '';
  }}).filter(text => text.length > 2 && text.length < 500);
  const all = sample ? box.textContent : '';
  return {{
    height: box.scrollHeight, elements: box.getElementsByTagName('*').length, top: Math.round(box.scrollTop),
    left: box.scrollHeight - box.scrollTop - seen, seen, is_window: box === root,
    share: box.clientWidth * seen / (window.innerWidth * window.innerHeight),
    lines: sample ? sample.filter(line => all.includes(line)) : lines,
  }};
}}"""
_MOVE = f"""([element, isInner, isWhole]) => {{ {_PICK}
  const top = isWhole ? box.scrollHeight : box.scrollTop + Math.round(0.9 * seen);
  box.scrollTo({{top, behavior: 'instant'}});
}}"""
_FIND = f"([element, isInner]) => {{ {_PICK} return box === root ? null : box; }}"

_TURN = """() => new Promise(done => {
  setTimeout(done, 1000);
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));
})"""
"""Wait until the page has handled the scroll, however busy the machine is, and has begun its requests."""
_LARGE = 1 / 3
"""The share of the window from which a box is taken for the content, where the window shows no more."""


class _Measure(msgspec.Struct):
    """The scrolled element at one moment."""

    height: float
    elements: int  # in it
    top: float  # how far it is scrolled
    left: float  # how far it can still be
    seen: float  # the visible height
    is_window: bool
    share: float  # of the window that it takes
    lines: list[str]  # some of its text, or those of the given lines that it still has


class PageScroller:
    """Scrolls one page. ``collected`` holds the collected elements, by selector and by key."""

    def __init__(self, page: Page, hand: Hand, collected: dict[str, dict[str, str]]) -> None:
        self._page = page
        self._hand = hand
        self._collected = collected
        self._is_inner = False  # the window is no longer queried
        self._left = 0  # scrolls
        self.flags: set[str] = set()

    async def scroll(self, action: Scroll, *, human: bool, timeout: float) -> set[str]:
        """Scroll; the flags that the page is given for it."""
        target = self._page.locator(action.selector).first if action.selector else None
        element = await target.element_handle(timeout=timeout) if target is not None else None
        pending = _PendingRequests(self._page)
        self._left = action.max_scrolls if action.until_still else 1
        try:
            start = await self._measure(element)
            has_grown = await self._scroll_down(action, element, start, pending, human=human)
            if not has_grown and action.until_still and element is None and start.is_window:
                self._is_inner = True
                inner = await self._measure(element)
                if not inner.is_window and inner.share >= _LARGE and inner.left > 1:
                    await self._scroll_down(action, element, inner, pending, human=human)
        finally:
            pending.stop()
        return self.flags

    async def _scroll_down(
        self, action: Scroll, element: Any, start: _Measure, pending: _PendingRequests, *, human: bool
    ) -> bool:
        """Scroll one thing as far as it is to be; whether anything new came."""
        before, has_grown = start, False
        while self._left > 0:
            self._left -= 1
            await self._collect(action)
            is_whole = action.until_still and not action.collect
            await self._scroll_once(element, before, human=human, is_whole=is_whole)
            still_s = action.still_s if action.until_still else 0.0
            now, grew = await self._wait_for_more(element, before, pending, still_s, is_whole=is_whole)
            has_grown = has_grown or grew
            is_over = not (grew or (action.collect and now.top != before.top and now.left > 1))
            before = now
            if is_over:
                break
        else:
            if action.until_still:
                self.flags.add(SCROLL_LIMIT)
        await self._collect(action)
        await self._judge(action, element, start, before, has_grown=has_grown)
        return has_grown

    async def _judge(
        self, action: Scroll, element: Any, start: _Measure, end: _Measure, *, has_grown: bool
    ) -> None:
        if start.top == end.top and not has_grown:
            self.flags.add(NOTHING_SCROLLED)
            return
        self.flags.discard(NOTHING_SCROLLED)
        if action.until_still and not action.collect and start.lines:
            kept = await self._measure(element, start.lines)
            if 2 * len(kept.lines) < len(start.lines):
                self.flags.add(RECYCLED_LIST)

    async def _scroll_once(self, element: Any, now: _Measure, *, human: bool, is_whole: bool) -> None:
        if human:
            handle: Any = await self._page.evaluate_handle(_FIND, [element, self._is_inner])
            distance = max(now.left, 0) if is_whole else 0.9 * now.seen
            await self._hand.scroll_down(distance, handle.as_element())
        else:
            await self._page.evaluate(_MOVE, [element, self._is_inner, is_whole])
        await self._page.evaluate(_TURN)

    async def _wait_for_more(
        self, element: Any, before: _Measure, pending: _PendingRequests, still_s: float, *, is_whole: bool
    ) -> tuple[_Measure, bool]:
        """Return the next measure and whether it has grown, within a time after the last request has ended.

        In the middle of a list, it does not wait for more.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + still_s
        while True:
            now = await self._measure(element)
            if (now.height, now.elements) != (before.height, before.elements) and is_whole:
                return now, True
            if pending.count and still_s:
                end = loop.time() + still_s
            elif loop.time() >= end or (not is_whole and now.left > 1):
                return now, now.height > before.height
            await asyncio.sleep(min(_POLL_S, still_s))

    async def _measure(self, element: Any, sample: list[str] | None = None) -> _Measure:
        found = await self._page.evaluate(_MEASURE, [element, self._is_inner, sample])
        return msgspec.convert(found, _Measure, strict=False)

    async def _collect(self, action: Scroll) -> None:
        """Collect the elements that the selector finds now, in place of earlier versions of them."""
        if not action.collect:
            return
        known = self._collected.setdefault(action.collect, {})
        known.update(await self._page.evaluate(collecting_script(action.collect)))
        if len(known) > MAX_COLLECTED or sum(map(len, known.values())) > MAX_COLLECTED_CHARACTERS:
            self.flags.add(SCROLL_LIMIT)
            self._left = 0


class _PendingRequests:
    """Counts the open requests that may add content."""

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
