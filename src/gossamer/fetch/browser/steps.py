"""Run the steps of a ``Browsing`` on a page, each in bounded time.

A failed step is a failure of the page, in words: the step and its reason. Only errors that end the page
itself (its tab crashed, its browser ended) are raised.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, assert_never

from gossamer.core.browsing import (
    AnyAction,
    Browsing,
    Click,
    PageFailure,
    Pdf,
    Press,
    Screenshot,
    Scroll,
    Type,
    Wait,
)
from gossamer.core.errors import Fault
from gossamer.fetch.browser.hand import Hand, HandError
from gossamer.fetch.browser.page_world import run_in_page
from gossamer.fetch.browser.screenshots import take_screenshot
from gossamer.fetch.browser.scrolling import PageScroller

if TYPE_CHECKING:
    from playwright.async_api import Locator, Page

RunScript = Callable[[], Awaitable[PageFailure | None]]
See = Callable[[str, float], Awaitable[bool]]
"""Looks for an element for some seconds; ``False`` proves nothing."""

_GLANCE_S = 1.0
_LOOK_S = 0.1
_HAS = """required => {
  const has = (scope, selector) => scope.querySelector(selector)
    || [...scope.querySelectorAll('*')].some(node => node.shadowRoot && has(node.shadowRoot, selector));
  return required.every(selector => {
    try { return has(document, selector); } catch { return true; }  // the spider has selectors of its own
  });
}"""
_DRIVERS = frozenset({"playwright", "patchright"})
_GONE = ("has been closed", "Target crashed", "Target closed", "Page crashed", "Connection closed")
_MOVED_ON = ("context was destroyed", "navigating", "Frame was detached", "not attached to the DOM")


_POLL_S = 0.05
_CONDITION = "() => { try { return Boolean(%s\n) } catch { return false } }"
_STAY = """() => {
    const here = node => { if (node && node.target && node.target !== "_self") node.target = "_self"; };
    for (const base of document.querySelectorAll("base[target]")) base.removeAttribute("target");
    addEventListener("click", event => {
        const path = event.composedPath();
        path.filter(node => ["a", "area", "form"].includes(node.localName)).forEach(here);
        path.forEach(node => node.formTarget && node.removeAttribute("formtarget"));
        path.forEach(node => here(node.form));
    }, true);
    self.open = url => {
        if (url) location.href = url;
        return self;
    };
    const write = document.open;  // with three arguments it opens a window, as from onclick="open(...)"
    document.open = (...given) => given.length > 2 ? self.open(given[0]) : write.apply(document, given);
}"""
"""Make links, forms and ``open()`` load in this tab instead of a new window."""


class StepError(Exception):
    """A step that cannot be done, in words for people."""


class StepPerformer:
    """Performs the steps of one page. ``human``: where neither an action nor the page says it."""

    def __init__(self, page: Page, browsing: Browsing, hand: Hand, see: See, *, human: bool) -> None:
        self._page = page
        self._see = see
        self._browsing = browsing
        self._hand = hand
        self._human = human if browsing.human is None else browsing.human
        self._deadline = 0.0
        self.screenshot = b""
        self.pdf = b""
        self.collected: dict[str, dict[str, str]] = {}
        self.flags: tuple[str, ...] = ()

    async def perform(
        self, deadline: float, run_script: RunScript, required: Sequence[str] = ()
    ) -> PageFailure | None:
        """Run all steps until ``deadline``, by the loop's time; ``None`` if all are done.

        At the end, wait for ``required`` elements; the caller judges whether they are there. Errors that
        end the page are passed on.
        """
        self._deadline = deadline
        for words, step in self._list_steps():
            failure = await self._perform_step(words, step)
            if failure is not None:
                return failure
        failure = await self._perform_script(run_script) if self._browsing.script else None
        if required and failure is None and not self._page.is_closed():
            await self._await_required(required)
        return failure

    def _list_steps(self) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
        """Return all steps except the script, with their words, in order."""
        browsing = self._browsing
        steps: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        if browsing.wait_until == "networkidle":
            steps.append(("wait_until 'networkidle'", self._wait_for_idle))
        if browsing.wait_for:
            steps.append((f"wait_for {browsing.wait_for!r}", lambda: self._wait_for(browsing.wait_for)))
        if browsing.wait_s:
            steps.append((f"wait_s {browsing.wait_s:g}", lambda: self._sleep(browsing.wait_s)))
        for number, action in enumerate(browsing.actions, 1):
            words = f"action {number}, {action.describe()}"
            steps.append((words, lambda action=action: self._act(action)))  # type: ignore[misc]
        return steps

    async def _perform_step(self, words: str, step: Callable[[], Awaitable[None]]) -> PageFailure | None:
        timer = asyncio.timeout_at(self._deadline)
        try:
            async with timer:
                await step()
        except TimeoutError:
            if not timer.expired():
                raise
            told = f"{words}: the time of the page (browser.timeout) was over"
            return PageFailure(fault=Fault.MISSING, detail=told)
        except StepError as error:
            return PageFailure(fault=Fault.MISSING, detail=f"{words}: {error}")
        except Exception as error:
            if not _is_of_driver(error) or is_page_gone(self._page, error):
                raise
            return _explain(words, error)
        return None

    async def _perform_script(self, run_script: RunScript) -> PageFailure | None:
        words = f"script {self._browsing.script!r}"
        failure: PageFailure | None = None

        async def run() -> None:
            nonlocal failure
            failure = await run_script()

        return await self._perform_step(words, run) or failure

    # ------------------------------------------------------------------ steps

    async def _wait_for_idle(self) -> None:
        limit_s = self._limit_s()
        try:
            await self._page.wait_for_load_state("networkidle", timeout=limit_s * 1000)
        except Exception as error:
            if not _is_timeout(error):
                raise
            raise StepError(f"the page was still loading after {limit_s:.3g} s; wait_for is surer") from error

    async def _wait_for(self, selector: str) -> None:
        """Wait until an element is seen; the driver, which knows more than CSS, waits for a slow one."""
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        if not await self._see(selector, min(self._limit_s() / 2, _GLANCE_S)):
            target = self._page.locator(selector).first
            await self._bounded(
                target,
                lambda timeout: target.wait_for(state="visible", timeout=timeout),
                spent_s=loop.time() - began_at,
            )

    async def _await_required(self, required: Sequence[str]) -> None:
        """Wait until the page has its required elements, at most for the time of one step."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limit_s()):
                while True:
                    try:
                        if await self._page.evaluate(_HAS, list(required)):
                            return
                    except Exception as error:
                        if not _is_of_driver(error) or is_page_gone(self._page, error):
                            raise
                    await asyncio.sleep(_LOOK_S)

    async def _wait_until(self, condition: str) -> None:
        loop = asyncio.get_running_loop()
        limit_s = self._limit_s()
        end = loop.time() + limit_s
        while True:
            try:
                if await run_in_page(self._page, _CONDITION % condition):
                    return
            except Exception as error:
                if not any(mark in str(error) for mark in _MOVED_ON):
                    raise
            if loop.time() >= end:
                raise StepError(f"it was not true after {limit_s:.3g} s")
            await asyncio.sleep(_POLL_S)

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _act(self, action: AnyAction) -> None:
        match action:
            case Click():
                await self._click(action)
            case Type(selector=selector, text=text, human=human):
                field = self._page.locator(selector).first
                is_human = self._human if human is None else human
                await self._bounded(
                    field, lambda timeout: self._hand.type_text(field, text, human=is_human, timeout=timeout)
                )
            case Press(key=key, selector=""):
                await (self._hand.press(key) if self._human else self._page.keyboard.press(key))
                await self._settle()
            case Press(key=key, selector=selector):
                target = self._page.locator(selector).first
                press = self._hand.press_on if self._human else type(target).press
                await self._bounded(target, lambda timeout: press(target, key, timeout=timeout))
                await self._settle()
            case Scroll():
                await self._scroll(action)
            case Wait(selector="", condition="", seconds=seconds):
                await self._sleep(seconds)
            case Wait(selector="", condition=condition):
                await self._wait_until(condition)
            case Wait(selector=selector):
                await self._wait_for(selector)
            case Screenshot(full_page=full_page):
                self.screenshot = await take_screenshot(self._page, self._limit_s(), full_page=full_page)
            case Pdf(background=background):
                async with asyncio.timeout(self._limit_s()):
                    self.pdf = await self._page.pdf(print_background=background)
            case _:
                assert_never(action)

    async def _click(self, action: Click) -> None:
        target = self._page.locator(action.selector).first
        if action.optional and not await target.is_visible():
            return
        human = self._human if action.human is None else action.human
        if action.popup:
            await run_in_page(self._page, _STAY)
        await self._bounded(target, lambda timeout: self._hand.click(target, human=human, timeout=timeout))
        await self._settle()

    async def _scroll(self, action: Scroll) -> None:
        scroller = PageScroller(self._page, self._hand, self.collected)
        human = self._human if action.human is None else action.human
        timeout = self._limit_s() * 1000
        if action.selector:
            await self._bounded(
                self._page.locator(action.selector).first,
                lambda timeout: self._page.wait_for_selector(action.selector, timeout=timeout),
            )
        flags = await scroller.scroll(action, human=human, timeout=timeout)
        self.flags = tuple(dict.fromkeys((*self.flags, *sorted(flags))))

    async def _settle(self) -> None:
        """Wait for the page that a click or a key has led to, if any."""
        state = self._browsing.wait_until
        if state in ("domcontentloaded", "load", "networkidle"):
            wanted = "load" if state == "networkidle" else state
            await self._page.wait_for_load_state(wanted, timeout=self._limit_s() * 1000)

    # ------------------------------------------------------------------ bounds

    def _limit_s(self) -> float:
        """Return the time limit of a step that begins now."""
        left_s = self._deadline - asyncio.get_running_loop().time()
        return max(min(self._browsing.step_timeout_s, left_s), 0.001)

    async def _bounded(
        self, target: Locator, work: Callable[[float], Awaitable[object]], *, spent_s: float = 0.0
    ) -> None:
        """Work on an element; raises :class:`StepError` if it cannot be used in time."""
        limit_s = self._limit_s()
        try:
            await work(max(limit_s - spent_s, 0.001) * 1000)
        except HandError as error:
            raise StepError(f"{error} after {limit_s:.3g} s") from error
        except Exception as error:
            if not _is_timeout(error):
                raise
            what = "no such element" if not await target.count() else "it is there, but cannot be used"
            raise StepError(f"{what} after {limit_s:.3g} s") from error


# --------------------------------------------------------------------------- errors of the driver


def is_page_gone(page: Page, error: BaseException) -> bool:
    """Return whether a page, its tab or its browser has ended."""
    return page.is_closed() or any(words in str(error) for words in _GONE)


def _is_of_driver(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in _DRIVERS for kind in type(error).__mro__)


def _is_timeout(error: BaseException) -> bool:
    return _is_of_driver(error) and type(error).__name__ == "TimeoutError"


def _explain(words: str, error: Exception) -> PageFailure:
    """Explain a step that the driver refuses: the page has left, or the spider's step is wrong."""
    said = str(error).splitlines()[0]
    if _is_timeout(error) or any(mark in str(error) for mark in _MOVED_ON):
        return PageFailure(fault=Fault.MISSING, detail=f"{words}: {said}")
    return PageFailure(fault=Fault.CALLBACK, detail=f"{words}: {said}")
