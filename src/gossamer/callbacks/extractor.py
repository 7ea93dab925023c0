"""Runs a spider's callbacks: the only place that calls users' code for a page.

Whatever a callback does - raise, return junk, call ``sys.exit``, yield without end, wait forever - ends as a
record of that page, with everything it had yielded until then. Only Ctrl-C and the end of the task pass
through. Suspicious pages are examined in another process first.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from functools import partial
from types import FrameType
from typing import Any

from gossamer.callbacks.page_text import read_page
from gossamer.core.drops import DropKind
from gossamer.core.errors import Fault, FetchError, SelectorError, UsageError
from gossamer.core.record import Record
from gossamer.core.requests import Request
from gossamer.core.results import NOT_READ, ExtractResult, FetchResult
from gossamer.core.routes import Block, BlockKind
from gossamer.parse.html_engine import HTML
from gossamer.parse.isolation.limits import MAX_INLINE_BYTES, is_suspicious
from gossamer.parse.links import MAX_LINKS
from gossamer.parse.mime import is_html, is_media
from gossamer.policy.log_in import is_behind_log_in
from gossamer.policy.urls import canonicalise_url
from gossamer.ports.page_examiner import PageExaminer, ParseInterruptError, ParseLimitError
from gossamer.ports.selector_engine import SelectorEngine
from gossamer.runtime.callback_results import as_results
from gossamer.runtime.user_code import await_endable, ends_task, traceback_text
from gossamer.spiders.failure import Failure
from gossamer.spiders.response import Response
from gossamer.spiders.rules import follows_rules
from gossamer.spiders.spider import Spider

MAX_REFRESH_S = 5.0
"""The longest delay at which a meta refresh counts as a redirect, as for search engines."""


_TURN_S = 0.05
"""Seconds after which a callback that yields lets others run."""


PassOutput = Callable[[Request, Response, list[Any], int], Awaitable[list[Any]]]
"""Arguments: the request, its response, the callback's output, and the limit for it."""


class ExtractorOptions(Record, frozen=True, kw_only=True):
    """The limits for one page."""

    follow_nofollow: bool = False
    keeps_fragment: Callable[[str], bool] | None = None  # of a link; None: none does
    max_links: int = MAX_LINKS  # of a page; also the requests, and the items, that a callback may give
    max_inline_bytes: int = MAX_INLINE_BYTES
    callback_timeout_s: float = 60.0
    guesses_charset: bool = True  # of pages that name none


class SpiderExtractor:
    """Port ``Extractor`` over spiders; ``choose`` returns the spider of a request.

    Without ``isolation`` no page is examined before it is parsed. ``pass_output`` runs the hooks over a
    callback's output. ``engine`` runs selectors on HTML.
    """

    def __init__(
        self,
        choose: Callable[[Request], Spider],
        options: ExtractorOptions | None = None,
        *,
        isolation: PageExaminer | None = None,
        pass_output: PassOutput | None = None,
        engine: SelectorEngine = HTML,
    ) -> None:
        self._choose = choose
        self._options = options or ExtractorOptions()
        self._isolation = isolation
        self._pass_output = pass_output
        self._engine = engine

    def wants_status(self, request: Request, status: int) -> int:
        """Whether the spider handles this status itself."""
        return self._choose(request).wants_status(request, status)

    async def find_block(self, request: Request, fetched: FetchResult) -> Block | None:
        """Return the verdict of the spider's ``is_blocked`` on the response, if it has one."""
        spider = self._choose(request)
        if type(spider).is_blocked is Spider.is_blocked:
            return None
        try:
            response = await self.read_response(request, fetched, is_selected=True)
        except (ParseLimitError, ParseInterruptError):
            return None  # reading the page for its callback says so
        try:
            said = spider.is_blocked(response)
        except BaseException as raised:
            if ends_task(raised):
                raise
            raise FetchError(Fault.CALLBACK, _describe_error(spider, "is_blocked", raised)) from raised
        if not said:
            return None
        return Block(kind=BlockKind.SPIDER, detail=said if isinstance(said, str) else "is_blocked() says so")

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        """Run the request's callback on the response."""
        spider, name = self._choose(request), request.callback or "parse"
        try:
            if spider.reads_pages:
                response = await self.read_response(request, fetched, is_selected=spider.selects(name))
            else:
                response = Response(request, fetched)
        except ParseLimitError as error:
            return ExtractResult(fault=Fault.PARSE_TIMEOUT, error=str(error), is_parsed=False)
        except ParseInterruptError as error:
            return ExtractResult(fault=Fault.PARSE_INTERRUPTED, error=str(error), is_parsed=False)
        refresh = _refresh_target(response)
        if refresh:
            return ExtractResult(refresh_to=refresh)
        failed = _find_failure(spider, name, response)
        if failed is not None:
            return failed
        return await self._run(spider, name, (response,), request.cb_kwargs, response)

    async def read_response(
        self, request: Request, fetched: FetchResult, *, is_selected: bool = True
    ) -> Response:
        """Return the response for the spider; raises :class:`ParseLimitError` and
        :class:`ParseInterruptError`."""
        cut, is_examined, options = None, False, self._options
        if self._isolation is not None and is_suspicious(fetched.body, options.max_inline_bytes):
            content_type = fetched.content_type
            is_examined = not is_media(content_type) and (is_selected or is_html(content_type, fetched.body))
            if is_examined:
                cut = await self._isolation.examine(fetched.body, content_type)
        response = Response(
            request,
            fetched,
            follow_nofollow=options.follow_nofollow,
            keeps_fragment=options.keeps_fragment,
            cut=cut,
            max_links=options.max_links,
            guesses_charset=options.guesses_charset,
            engine=self._engine,
        )
        if is_examined and response.is_html:
            _ = response.page.document
            await asyncio.sleep(0)  # others have their turn before the callback holds the loop again
        return response

    async def give_up(
        self, request: Request, fault: str, detail: str, fetched: FetchResult | None = None
    ) -> ExtractResult | None:
        """Run the request's errback with a :class:`Failure`."""
        if not request.errback:
            return None
        response = None if fetched is None else Response(request, fetched)
        failure = Failure(request, fault, detail, response)
        return await self._run(self._choose(request), request.errback, (failure,), {}, None)

    async def _run(
        self,
        spider: Spider,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        response: Response | None,
    ) -> ExtractResult:
        given = _CallbackResult(self._options.max_links)
        fault = error = ""
        timer: asyncio.Timeout | None = None
        limit_s = self._options.callback_timeout_s
        try:
            returned = spider.find_callback(name)(*args, **kwargs)
            if _may_wait(returned):
                async with asyncio.timeout(limit_s) as timer:
                    await await_endable(given.await_and_take(returned, limit_s))
            else:  # nothing that a timer could interrupt
                await given.take_results(returned, limit_s)
            if response is not None and spider.rules and follows_rules(response.request):
                async with asyncio.timeout(limit_s) as timer:
                    await await_endable(given.await_and_take(spider.follow_rules(response), limit_s))
        except BaseException as raised:
            if ends_task(raised):
                raise
            # Users' code: one page, not the crawl.
            fault, error = Fault.CALLBACK, _describe_error(spider, name, raised)
            if isinstance(raised, _CallbackTimeoutError) or (timer is not None and timer.expired()):
                fault, error = Fault.CALLBACK_TIMEOUT, f"{name}() took longer than {limit_s:g} s"
        if self._pass_output is not None and response is not None:
            try:
                given = await self._pass_through(self._pass_output, response, given)
            except FetchError as failed:
                return ExtractResult(fault=failed.fault, error=failed.detail, is_parsed=False)
        return self._make_extraction(given, fault, error, response, is_read=spider.reads_pages)

    async def _pass_through(
        self, pass_output: PassOutput, response: Response, given: _CallbackResult
    ) -> _CallbackResult:
        """Return a callback's output after the hooks. Raises ``HookError``."""
        limit = self._options.max_links
        passed = _CallbackResult(limit)
        output = [*given.items, *given.requests]
        found = await pass_output(response.request, response, output, 2 * limit + 1)
        try:
            passed.add_results(found)
        except UsageError as error:
            raise FetchError(
                Fault.HOOK, f"a hook's on_output() gave what cannot be stored: {error}"
            ) from None
        passed.dropped.update(given.dropped)
        return passed

    def _make_extraction(
        self, given: _CallbackResult, fault: str, error: str, response: Response | None, *, is_read: bool
    ) -> ExtractResult:
        items, requests = tuple(given.items), tuple(given.requests)
        dropped = given.dropped
        for reason, count in response.dropped.items() if response else ():
            dropped[reason] = dropped.get(reason, 0) + count
        is_html = response is not None and response.is_html
        is_page = is_html or (response is not None and response.is_text)
        is_read = is_read and is_page
        flags = response.flags if response is not None else ()
        if response is not None and not (items or requests or fault or dropped) and response.is_unread:
            flags, dropped[DropKind.PAGE.key_of(NOT_READ)] = (*flags, NOT_READ), 1
        return ExtractResult(
            items=items,
            requests=requests,
            dropped=dropped,
            fault=fault,
            error=error,
            is_parsed=bool(items or requests or is_page),
            title=response.page.title if response is not None and is_html and is_read else "",
            content_type=response.content_type if response else "",
            flags=flags,
            response=response,
            read_text=partial(read_page, response) if is_read and response is not None else None,
            expected=response.expected if response is not None else {},
            stop=response.stopped if response is not None else "",
        )


def find_callback(frame: FrameType) -> tuple[str, str] | None:
    """The callback that a frame has called, in words, and the URL of its page, empty for a failed request.

    ``None``: it is a frame of something else. For the watchdog, which asks while the callback runs.
    """
    if frame.f_code is not SpiderExtractor._run.__code__:
        return None
    called = frame.f_locals
    response: Response | None = called["response"]
    what = f"the callback {type(called['spider']).__name__}.{called['name']}() of"
    return what, response.url if response else ""


class _CallbackTimeoutError(Exception):
    """A callback that yields has had its time."""


class _CallbackResult:
    """The output of a callback so far, with a limit."""

    def __init__(self, limit: int) -> None:
        self.items: list[Any] = []
        self.requests: list[Request] = []
        self.dropped: dict[str, int] = {}
        self._limit = limit

    async def await_and_take(self, returned: Any, limit_s: float) -> None:
        """Take all that a callback gives which has to be awaited, within its caller's time limit."""
        if inspect.isawaitable(returned):
            returned = await returned
        if hasattr(returned, "__aiter__"):
            await self._take_waiting(returned)
        else:
            await self.take_results(returned, limit_s)

    async def take_results(self, returned: Any, limit_s: float) -> None:
        """Take all that a callback gives, or as much as there may be; others have their turn meanwhile."""
        turn = time.monotonic()
        end = turn + limit_s
        for result in as_results(returned):
            if not self._add_result(result):
                return
            now = time.monotonic()
            if now - turn > _TURN_S:
                await asyncio.sleep(0)
                turn = time.monotonic()
                if now > end:
                    raise _CallbackTimeoutError

    async def _take_waiting(self, returned: AsyncGenerator[Any, None]) -> None:
        """Collect the results of an async callback within its caller's time limit."""
        turn = time.monotonic()
        try:
            async for result in returned:
                if not self._add_result(result):
                    return
                if time.monotonic() - turn > _TURN_S:
                    await asyncio.sleep(0)
                    turn = time.monotonic()
        finally:
            if hasattr(returned, "aclose"):
                await returned.aclose()

    def add_results(self, results: Iterable[Any]) -> None:
        """Take all, or as much as there may be."""
        for result in results:
            if not self._add_result(result):
                return

    def _add_result(self, result: Any) -> bool:
        """Whether there is room for more."""
        if isinstance(result, Request):
            if len(self.requests) >= self._limit:
                self.dropped[DropKind.LINK.key_of("too_many")] = 1
                return False
            if result.meta or result.cb_kwargs or result.headers:  # changed, perhaps, since it was made
                result.validate()
            self.requests.append(result)
        elif result is not None:
            if len(self.items) >= self._limit:
                self.dropped[DropKind.ITEM.key_of("too_many")] = 1
                return False
            self.items.append(result)
        return True


def _may_wait(returned: Any) -> bool:
    return inspect.isawaitable(returned) or hasattr(returned, "__aiter__")


def _find_failure(spider: Spider, name: str, response: Response) -> ExtractResult | None:
    """Return a failure if the page is a visitors' page, or lacks an element that the spider requires."""
    try:
        if spider.log_in is not None and _is_for_visitors(spider, response):
            return ExtractResult(fault=Fault.LOGGED_OUT, error="is_logged_in() says no to the page")
    except BaseException as raised:
        if ends_task(raised):
            raise
        return ExtractResult(fault=Fault.CALLBACK, error=_describe_error(spider, "is_logged_in", raised))
    try:
        missing = [query for query in spider.required(name) if not response.css(query)]
    except SelectorError as error:
        return ExtractResult(fault=Fault.CALLBACK, error=f"in `require` of the spider: {error}")
    if missing:
        return ExtractResult(fault=Fault.MISSING, error=f"the page has no {', '.join(missing)}")
    return None


def _is_for_visitors(spider: Spider, response: Response) -> bool:
    """Whether the spider says of a page behind its log-in that it is not one for members."""
    if not spider.logs_in or type(spider).is_logged_in is Spider.is_logged_in or not response.is_html:
        return False
    return is_behind_log_in(response.url, spider.login_url) and not spider.is_logged_in(response)


def _refresh_target(response: Response) -> str:
    """Return the target of a meta refresh that acts as a redirect."""
    head = response.body[:4096].lower()
    if b"http-equiv" not in head or b"refresh" not in head or not response.is_html:
        return ""
    refresh = response.page.meta_refresh
    if refresh is None or refresh[0] > MAX_REFRESH_S:
        return ""
    return "" if canonicalise_url(refresh[1]) == canonicalise_url(response.url) else refresh[1]


def _describe_error(spider: Spider, name: str, raised: BaseException) -> str:
    """Return the traceback from the callback's frame down: the part that concerns the spider's author."""
    if name == "parse" and type(spider).parse is Spider.parse and isinstance(raised, NotImplementedError):
        return str(raised)
    if isinstance(raised, AttributeError) and not spider.has_callback(name):
        return f"{type(spider).__name__} has no method {name!r}, which the request names as its callback"
    return traceback_text(raised, __file__)
