"""Runs a spider's callbacks: the only place where users' code is called for a page.

Whatever a callback does - raise, return junk, call ``sys.exit`` - ends as a record of that page, with
what it had yielded until then.
"""

from __future__ import annotations

import asyncio
import inspect
import traceback
from collections.abc import AsyncIterator, Callable, MappingView
from typing import Any

from gossamer.policy.urls import canonicalise
from gossamer.response import Response
from gossamer.spider import Spider
from gossamer.words.errors import Fault
from gossamer.words.model import Extraction, Fetched, Request

MAX_REFRESH_S = 5.0
"""A meta refresh up to so many seconds is a redirect, as search engines read it; a later one is not."""


class SpiderExtractor:
    """Port ``Extractor`` over spiders; ``choose`` names the one that a request goes to."""

    def __init__(self, choose: Callable[[Request], Spider], *, follow_nofollow: bool = False) -> None:
        self._choose = choose
        self._follow_nofollow = follow_nofollow

    def wants_status(self, request: Request, status: int) -> bool:
        """Whether the spider handles this status itself."""
        if request.meta.get("handle_httpstatus_all") is True:
            return True
        wanted = request.meta.get("handle_httpstatus_list")
        return status in (self._choose(request).handle_httpstatus_list if wanted is None else wanted)

    async def extract(self, request: Request, fetched: Fetched) -> Extraction:
        """Run the request's callback on the response."""
        spider = self._choose(request)
        response = Response(request, fetched, follow_nofollow=self._follow_nofollow)
        refresh = _refresh(response)
        if refresh:
            return Extraction(refresh_to=refresh)
        name = request.callback or "parse"
        missing = [query for query in spider.required(name) if not response.css(query)]
        if missing:
            return Extraction(fault=Fault.MISSING, error=f"the page has no {', '.join(missing)}")
        return await self._run(spider, name, (response,), request.cb_kwargs, response)

    async def give_up(self, request: Request, fault: str, detail: str) -> Extraction | None:
        """Run the request's errback with a :class:`Failure`."""
        if not request.errback:
            return None
        failure = Failure(request, fault, detail)
        return await self._run(self._choose(request), request.errback, (failure,), {}, None)

    async def _run(
        self,
        spider: Spider,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        response: Response | None,
    ) -> Extraction:
        items: list[Any] = []
        requests: list[Request] = []
        error = ""
        try:
            callback = getattr(spider, name)
            async for result in results(callback(*args, **kwargs)):
                if isinstance(result, Request):
                    result.validate()  # its meta may have been changed since it was made
                    requests.append(result)
                elif result is not None:
                    items.append(result)
        except BaseException as raised:
            if _ends_us(raised):
                raise
            error = _explain(spider, name, raised)  # users' code: one page, not the crawl
        return self._extraction(items, requests, error, response)

    def _extraction(
        self, items: list[Any], requests: list[Request], error: str, response: Response | None
    ) -> Extraction:
        dropped = dict(response.dropped) if response else {}
        return Extraction(
            items=tuple(items),
            requests=tuple(requests),
            dropped=dropped,
            fault=Fault.CALLBACK if error else "",
            error=error,
            is_parsed=bool(items or requests or (response and response.is_html)),
            title=response.page.title if response and response.is_html else "",
            content_type=response.content_type if response else "",
        )


class Failure:
    """What an errback gets: the request, the fault's name and what exactly happened."""

    def __init__(self, request: Request, fault: str, detail: str) -> None:
        self.request = request
        self.fault = fault
        self.detail = detail

    def __repr__(self) -> str:
        return f"<Failure {self.fault} {self.request.url}>"


async def results(returned: Any) -> AsyncIterator[Any]:
    """Everything a callback gives: generators of both kinds, lists, single things, awaitables of them."""
    if inspect.isawaitable(returned):
        returned = await returned
    if hasattr(returned, "__aiter__"):
        async for result in returned:
            yield result
    elif isinstance(returned, list | tuple | set | MappingView) or hasattr(returned, "__next__"):
        for result in returned:
            yield result
    else:
        yield returned


def _ends_us(raised: BaseException) -> bool:
    """Whether somebody ends this task or the process; a callback may raise the same for no such reason."""
    if isinstance(raised, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(raised, KeyboardInterrupt)


def _refresh(response: Response) -> str:
    """The target of a meta refresh that acts as a redirect."""
    head = response.body[:4096].lower()
    if b"http-equiv" not in head or b"refresh" not in head or not response.is_html:
        return ""
    refresh = response.page.meta_refresh
    if refresh is None or refresh[0] > MAX_REFRESH_S:
        return ""
    return "" if canonicalise(refresh[1]) == canonicalise(response.url) else refresh[1]


def _explain(spider: Spider, name: str, raised: BaseException) -> str:
    """The traceback, from the callback's frame down: what a spider's author needs."""
    if isinstance(raised, AttributeError) and not hasattr(spider, name):
        return f"{type(spider).__name__} has no method {name!r}, which the request names as its callback"
    frames = raised.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(raised), raised, frames))
