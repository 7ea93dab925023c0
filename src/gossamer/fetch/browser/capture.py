"""Keeps responses to requests that a page itself makes: those whose URLs match the patterns of a spider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gossamer.core.browsing import CapturedResponse
from gossamer.fetch.browser.firefox_bodies import restore_bytes
from gossamer.runtime.cancelling import end_soon

if TYPE_CHECKING:
    from playwright.async_api import Page, Request, Response

MAX_CAPTURED = 200
"""Responses of one page."""
CAPTURE_LIMIT = "capture_limit"
"""The flag of a page of which not everything could be captured that matched."""


def compile_patterns(patterns: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that matches a whole URL: any of ``patterns``, in which ``*`` stands for any
    characters."""
    return re.compile("|".join(re.escape(pattern).replace(r"\*", ".*") for pattern in patterns), re.DOTALL)


class ResponseCapture:
    """Listens to one page from before it is loaded until :meth:`collect`. ``max_bytes`` bounds all bodies."""

    def __init__(self, page: Page, patterns: Iterable[str], *, max_bytes: int) -> None:
        self._page = page
        self._pattern = compile_patterns(patterns)
        self._left = max_bytes
        self._found: dict[Request, asyncio.Task[CapturedResponse | None] | None] = {}  # in their order
        self._has_ended = asyncio.Event()
        self._is_full = False
        self._is_listening = True
        browser = page.context.browser
        self._is_firefox = browser is not None and browser.browser_type.name == "firefox"
        page.on("request", self._begin)
        page.on("requestfinished", self._end)
        page.on("requestfailed", self._fail)

    async def collect(self, timeout_s: float) -> tuple[CapturedResponse, ...]:
        """Return the captured responses after waiting up to ``timeout_s`` for open requests; release the
        page."""
        try:
            async with asyncio.timeout(timeout_s):
                while any(task is None for task in self._found.values()):
                    self._has_ended.clear()
                    await self._has_ended.wait()
                await asyncio.gather(*filter(None, self._found.values()))
        except TimeoutError:
            self._is_full = True
        self.stop()
        done = [task for task in self._found.values() if task is not None and task.done()]
        return tuple(got for task in done if not task.cancelled() and (got := task.result()) is not None)

    @property
    def flags(self) -> tuple[str, ...]:
        """``capture_limit`` where something that matched is missing, or came without its body."""
        return (CAPTURE_LIMIT,) if self._is_full else ()

    def stop(self) -> None:
        """Listen no more, and read nothing more. Idempotent."""
        if not self._is_listening:
            return
        self._is_listening = False
        self._page.remove_listener("request", self._begin)
        self._page.remove_listener("requestfinished", self._end)
        self._page.remove_listener("requestfailed", self._fail)
        end_soon(*self._found.values())

    def _begin(self, request: Request) -> None:
        is_own = request.is_navigation_request() and request.frame == self._page.main_frame
        if is_own or self._pattern.fullmatch(request.url) is None:
            return
        if len(self._found) >= MAX_CAPTURED:
            self._is_full = True
            return
        self._found[request] = None

    def _end(self, request: Request) -> None:
        if request in self._found:
            self._found[request] = asyncio.get_running_loop().create_task(self._read(request))
            self._has_ended.set()

    def _fail(self, request: Request) -> None:
        self._found.pop(request, None)
        self._has_ended.set()

    async def _read(self, request: Request) -> CapturedResponse | None:
        """Return the response of a request; without its body where that is too large or was not kept."""
        response = await request.response()
        if response is None or 300 <= response.status < 400:
            return None
        body = await self._read_body(request, response)
        if body is None:
            self._is_full = True
        return CapturedResponse(
            url=request.url,
            status=response.status,
            content_type=response.headers.get("content-type", ""),
            body=body or b"",
            is_cut=body is None,
        )

    async def _read_body(self, request: Request, response: Response) -> bytes | None:
        """Return a body; ``None`` if it is too large or no longer in the browser's bounded buffer."""
        try:
            if (await request.sizes())["responseBodySize"] > self._left:
                return None
            body = await response.body()
            if self._is_firefox:
                body = restore_bytes(body, response.headers)
        except Exception:  # noqa: BLE001 - any error of the browser means a lost body
            return None
        if len(body) > self._left:
            return None
        self._left -= len(body)
        return body
