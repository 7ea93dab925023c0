"""Runs a spider's own code on a page in a browser, and reports the actions that it asks for."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gossamer.core.browsing import Browsing, PageFailure, PageStepError
from gossamer.core.errors import Fault
from gossamer.core.requests import Request
from gossamer.runtime.user_code import await_endable, ends_task, traceback_text
from gossamer.spiders.spider import Spider


class SpiderGuide:
    """Port ``PageGuide`` over spiders; ``choose`` names the one that a request goes to."""

    def __init__(self, choose: Callable[[Request], Spider], *, timeout_s: float = 60.0) -> None:
        self._choose = choose
        self._timeout_s = timeout_s

    def browsing_for(self, request: Request) -> Browsing:
        """See :class:`~gossamer.ports.page_guide.PageGuide`."""
        if request.browser is not None:
            return request.browser
        return self._choose(request).browsing_for(request.callback or "parse") or Browsing()

    def required_for(self, request: Request) -> Sequence[str]:
        """See :class:`~gossamer.ports.page_guide.PageGuide`."""
        return self._choose(request).required(request.callback or "parse")

    async def run_script(self, request: Request, script: str, page: Any) -> PageFailure | None:
        """See :class:`~gossamer.ports.page_guide.PageGuide`."""
        spider = self._choose(request)
        method = spider.find_script(script, request)
        if not inspect.iscoroutinefunction(method):
            return _failure_of(f"{type(spider).__name__} has no method `async def {script}(self, page)`")
        timer = asyncio.timeout(self._timeout_s)
        try:
            async with timer:
                await await_endable(method(page))
        except BaseException as raised:
            if ends_task(raised):
                raise
            if timer.expired():
                told = f"{script}() took longer than {self._timeout_s:g} s"
                return PageFailure(fault=Fault.CALLBACK_TIMEOUT, detail=told)
            if isinstance(raised, PageStepError):
                return PageFailure(fault=Fault.MISSING, detail=str(raised))
            return _failure_of(traceback_text(raised, __file__))
        return None


def _failure_of(detail: str) -> PageFailure:
    return PageFailure(fault=Fault.CALLBACK, detail=detail)
