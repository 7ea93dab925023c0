"""The task of one page, from before it is loaded until its content is read."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from gossamer.core.browsing import Browsing, CapturedResponse, LoadState, PageFailure
from gossamer.core.errors import Fault
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.fetch.browser.capture import ResponseCapture
from gossamer.fetch.browser.consent import CONSENT_LEFT, ConsentAnswer, answer_consent
from gossamer.fetch.browser.hand import Hand
from gossamer.fetch.browser.screenshots import take_screenshot
from gossamer.fetch.browser.steps import See, StepPerformer, is_page_gone
from gossamer.ports.page_guide import PageGuide

if TYPE_CHECKING:
    from playwright.async_api import Dialog, Page

ScreenshotMode = Literal["never", "failure", "always"]
_PSEUDO = re.compile(r"::[\w-]+(?:\([^)]*\))?")
PICTURE_S = 3.0
"""Seconds that a picture may take."""


async def _accept_dialog(dialog: Dialog) -> None:
    with suppress(Exception):  # it was closed with its page
        await dialog.accept(*([dialog.default_value] if dialog.type == "prompt" else []))


class TaskOptions(Record, frozen=True, kw_only=True):
    """Options for all pages."""

    screenshots: ScreenshotMode = "failure"
    human: bool = False
    consent: ConsentAnswer | None = None  # to banners that ask for it; None: they are left alone
    max_capture_bytes: int = 16 * 1024 * 1024


class TaskReport(Record, frozen=True, kw_only=True):
    """Results of a task, besides the page itself."""

    captured: tuple[CapturedResponse, ...] = ()
    screenshot: bytes = b""
    pdf: bytes = b""
    failure: PageFailure | None = None
    flags: tuple[str, ...] = ()


class PageTask:
    """A request's actions on its page. ``guide`` knows those of its spider."""

    def __init__(
        self, request: Request, guide: PageGuide | None, options: TaskOptions, *, random: Random
    ) -> None:
        self._page: Page
        self._request = request
        self._guide = guide
        self._options = options
        self._random = random
        self._failure: PageFailure | None = None
        self._picture = self._pdf = b""
        self._flags: tuple[str, ...] = ()
        self.collected: dict[str, dict[str, str]] = {}  # elements that were scrolled past, by selector
        self._capture: ResponseCapture | None = None
        self._is_robots = urlsplit(request.url).path == "/robots.txt"  # no spider sees it
        self._browsing = request.browser or Browsing()
        self._required: tuple[str, ...] = ()
        if guide is not None and not self._is_robots:
            self._browsing = guide.browsing_for(request)
            self._required = tuple(map(_without_pseudo, guide.required_for(request)))

    @property
    def load_state(self) -> LoadState:
        """Load state that :meth:`perform` requires."""
        state = self._browsing.wait_until
        return "load" if state == "networkidle" else state

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to perform."""
        is_plain = self._browsing.is_plain and self._browsing.wait_until != "networkidle"
        asks_nothing = self._options.consent is None or self._is_robots
        return is_plain and asks_nothing and not self._required

    @property
    def may_leave(self) -> bool:
        """Whether actions on the page may lead to another page, as their author intends."""
        return bool(self._browsing.actions or self._browsing.script)

    @property
    def is_left_alone(self) -> bool:
        """Whether the page is loaded to its end, and nothing is done on it but to look."""
        return self.load_state == "load" and not self.may_leave

    @property
    def may_follow_page(self) -> bool:
        """Whether the page may replace another of its site that may still send requests."""
        return self._request.method == "GET" and not self._browsing.capture

    def start(self, page: Page) -> None:
        """Begin to listen to the tab's page, before the one that is wanted is loaded."""
        self._page = page
        if self._browsing.dialogs == "accept":  # without a listener the driver dismisses them
            page.on("dialog", _accept_dialog)
        if self._browsing.capture:
            limit = self._options.max_capture_bytes
            self._capture = ResponseCapture(self._page, self._browsing.capture, max_bytes=limit)

    async def perform(self, deadline: float, see: See) -> None:
        """Run the task on the loaded page until ``deadline``, by the loop's time.

        ``see`` checks quickly for elements in the tab. Failures are in the report. Errors that end the page
        are passed on.
        """
        hand = Hand(self._page, self._random)
        steps = StepPerformer(self._page, self._browsing, hand, see, human=self._options.human)
        left: tuple[str, ...] = ()
        try:
            if self._options.consent is not None and not await self._answer_consent(hand, deadline):
                left = (CONSENT_LEFT,)
            self._failure = await steps.perform(deadline, self._run_script, self._required)
        finally:
            self._pdf = steps.pdf
            self._picture, self._flags = steps.screenshot, (*left, *steps.flags)
            self.collected = steps.collected

    async def _answer_consent(self, hand: Hand, deadline: float) -> bool:
        """Answer a banner; whether none is left. Whatever a page does with it costs no more than its time."""
        assert self._options.consent is not None
        human = self._options.human if self._browsing.human is None else self._browsing.human
        try:
            async with asyncio.timeout_at(deadline):
                return await answer_consent(self._page, self._options.consent, hand, human=human)
        except TimeoutError:
            return False

    async def finish(self, deadline: float, status: int) -> TaskReport:
        """Return the results, with the screenshot that the settings request.

        ``status`` is the answer's status, 0 without an answer.
        """
        captured: tuple[CapturedResponse, ...] = ()
        if self._capture is not None:
            left_s = deadline - asyncio.get_running_loop().time()
            captured = await self._capture.collect(max(left_s, 0.0))
            self._flags = (*self._flags, *self._capture.flags)
        mode = self._options.screenshots
        is_failure = self._failure is not None or not 200 <= status < 400
        if (mode == "always" or (mode == "failure" and is_failure)) and not self._is_robots:
            self._picture = await self._take_picture() or self._picture
        return TaskReport(
            captured=captured,
            screenshot=self._picture,
            pdf=self._pdf,
            failure=self._failure,
            flags=self._flags,
        )

    def stop(self) -> None:
        """Release the page, whatever the result. Idempotent."""
        if self._capture is not None:
            self._capture.stop()
        if self._browsing.dialogs == "accept":
            self._page.remove_listener("dialog", _accept_dialog)

    async def picture_failure(self) -> bytes:
        """Return a screenshot of a page that has failed."""
        return b"" if self._options.screenshots == "never" else await self._take_picture()

    async def _take_picture(self) -> bytes:
        try:
            async with asyncio.timeout(PICTURE_S):
                return await take_screenshot(self._page, PICTURE_S)
        except Exception as error:  # noqa: BLE001 - a page without its picture is better than none
            if is_page_gone(self._page, error):
                return b""
            self._flags = (*self._flags, "no_screenshot")
            return b""

    async def _run_script(self) -> PageFailure | None:
        if self._guide is None:
            return None
        run = partial(self._guide.run_script, self._request, self._browsing.script)
        failure = await run(self._page)
        if not self._page.is_closed():
            return failure
        browser = self._page.context.browser
        if browser is None or not browser.is_connected():
            raise ConnectionAbortedError("the browser ended while the spider's script ran")
        told = f"{self._browsing.script}() closed its page"
        return PageFailure(fault=Fault.CALLBACK, detail=failure.detail if failure else told)


def _without_pseudo(selector: str) -> str:
    """Return a selector without the parts that only spiders' selectors have (``::text``)."""
    return _PSEUDO.sub("", selector)
