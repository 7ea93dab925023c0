"""Runs the hooks of a crawl's spiders: the only place that calls users' code for a request or an answer.

Every failure of a hook becomes a :class:`~gossamer.core.hooks.HookError` that names the hook and the request:
the request is retried, and ends as a dead letter; none is lost. Hooks get copies of requests, so that changes
in place reach the wire and leave stored requests alone.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from copy import copy, deepcopy
from types import FrameType
from typing import Any

from msgspec.structs import force_setattr, replace

from gossamer.callbacks.hook_loading import Hook, load_hooks
from gossamer.core.errors import Fault, FetchError, IgnoreRequest, UsageError
from gossamer.core.hooks import HOOK_RUNG, INSTEAD_OF_FAILURE, HookError, Replacement
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.storable import as_stored
from gossamer.policy.sent_requests import explain_wrong_change, list_changed_values
from gossamer.ports.clock import Clock
from gossamer.ports.page_examiner import ParseInterruptError, ParseLimitError
from gossamer.runtime.callback_results import results_of
from gossamer.runtime.known_secrets import hide_secrets
from gossamer.runtime.user_code import await_value, ends_task, refuse_failed_opening, traceback_text
from gossamer.spiders.failure import Failure
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider

log = logging.getLogger("gossamer.crawl")

ReadResponse = Callable[[Request, FetchResult], Awaitable[Response]]


async def read_plainly(request: Request, fetched: FetchResult) -> Response:
    """Return the response for hooks if no extractor examines pages first."""
    return Response(request, fetched)


class SpiderHooks:
    """Port ``ExchangeHooks`` over spiders; ``choose`` names the one that a request goes to.

    ``names`` are hooks of the settings, which come after those of each spider. ``read_response`` makes of an
    answer what spiders get; the extractor sets its own.
    """

    def __init__(
        self,
        choose: Callable[[Request], Spider],
        clock: Clock,
        *,
        names: Sequence[str] = (),
        timeout_s: float,
    ) -> None:
        self._choose = choose
        self._clock = clock
        self._names = names
        self._timeout_s = timeout_s
        self._open: dict[int, list[Hook]] = {}
        self._closing: list[tuple[Hook, Spider]] = []
        self._opening = asyncio.Lock()
        self.read_response: ReadResponse = read_plainly
        self.failures: list[str] = []
        """Tracebacks of the hooks that did not close."""

    async def open_hooks(self, spider: Spider) -> list[Hook]:
        """Return a spider's hooks, opened. Raises ``UsageError`` if one raises: the crawl ends."""
        async with self._opening:  # no task uses hooks that are still being opened
            if id(spider) not in self._open:
                with refuse_failed_opening(f"a hook of the spider {spider.name!r}"):
                    hooks = load_hooks(spider, self._names)
                    for hook in hooks:
                        if method := getattr(hook.thing, "open_spider", None):
                            await await_value(method(spider), self._timeout_s)
                        self._closing.append((hook, spider))
                self._open[id(spider)] = hooks
            return self._open[id(spider)]

    async def close(self) -> None:
        """Close all that were opened; hooks that raise are logged and kept in ``failures``. Idempotent."""
        opened, self._closing = self._closing, []
        for hook, spider in reversed(opened):
            try:
                if method := getattr(hook.thing, "close_spider", None):
                    await await_value(method(spider), self._timeout_s)
            except BaseException as error:
                if ends_task(error):
                    raise
                failure = f"in the hook {hook.name}.close_spider():\n{traceback_text(error, __file__)}"
                log.error("%s", failure.rstrip())  # noqa: TRY400 - with the traceback of the hook's code alone
                self.failures.append(failure)

    # ------------------------------------------------------------------ requests and answers

    async def prepare_request(self, request: Request) -> Request | FetchResult:
        """See :class:`~gossamer.ports.exchange_hooks.ExchangeHooks`."""
        sent = request
        for hook in await self._hooks_for(request):
            if "on_request" not in hook.calls:
                continue
            former, sent = sent, _copy_request(sent)
            answer = await self._call(hook, "on_request", request, sent)
            if answer is None and sent == former:
                sent = former
                continue
            if isinstance(answer, Response):
                return self._make_result(request, answer)
            if isinstance(answer, Replacement):
                raise _replaced_by(hook, "on_request", answer.request)
            if answer is not None and not isinstance(answer, Request):
                raise _wrong_answer(hook, "on_request", request, answer)
            sent = self._check_request(hook, request, sent if answer is None else answer)
        return request if sent == request else sent

    async def pass_answer(self, request: Request, fetched: FetchResult) -> FetchResult:
        """See :class:`~gossamer.ports.exchange_hooks.ExchangeHooks`."""
        response: Response | None = None
        for hook in reversed(await self._hooks_for(request)):
            if "on_response" not in hook.calls:
                continue
            if response is None:
                response = await self._read(request, fetched)
            answer = await self._call(hook, "on_response", request, response, fetched=fetched)
            if isinstance(answer, Response):
                fetched = replace(
                    fetched, status=answer.status, headers=answer.headers.pairs, body=answer.body
                )
                response = None
            elif isinstance(answer, Request | Replacement):
                wanted = answer if isinstance(answer, Request) else answer.request
                raise _replaced_by(hook, "on_response", wanted, fetched=fetched)
            elif answer is not None:
                raise _wrong_answer(hook, "on_response", request, answer, fetched=fetched)
        return fetched

    async def pass_failure(self, request: Request, error: FetchError) -> FetchResult | None:
        """See :class:`~gossamer.ports.exchange_hooks.ExchangeHooks`."""
        failure = Failure(request, error.fault.value, error.detail)
        for hook in reversed(await self._hooks_for(request)):
            if "on_error" not in hook.calls:
                continue
            answer = await self._call(hook, "on_error", request, request, failure)
            if isinstance(answer, Response):
                return replace(self._make_result(request, answer), flags=(INSTEAD_OF_FAILURE,))
            if isinstance(answer, Request | Replacement):
                raise _replaced_by(
                    hook, "on_error", answer if isinstance(answer, Request) else answer.request
                )
            if answer is not None:
                raise _wrong_answer(hook, "on_error", request, answer)
        return None

    def _make_result(self, request: Request, response: Response) -> FetchResult:
        """Return an answer that a hook gives itself."""
        return FetchResult(
            url=request.url,
            status=response.status,
            headers=response.headers.pairs,
            body=response.body,
            started_at=self._clock.now(),
            latency_s=0.0,
            elapsed_s=0.0,
            rung=HOOK_RUNG,
        )

    # ------------------------------------------------------------------ a spider's output

    async def pass_start(self, spider: Spider, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass a spider's first requests through its hooks. Raises the hooks' errors."""
        for hook in await self.open_hooks(spider):
            if "on_start" in hook.calls:
                requests = results_of(hook.calls["on_start"](requests))
        async for request in requests:
            yield request

    async def pass_output(
        self, request: Request, response: Response, output: list[Any], most: int
    ) -> list[Any]:
        """Pass a callback's output through the hooks, up to the limit. Raises ``HookError``."""
        for hook in await self._hooks_for(request):
            if "on_output" not in hook.calls:
                continue

            def gather(hook: Hook = hook, given: list[Any] = output) -> Any:
                return _gather_results(hook.calls["on_output"](response, given), given, most)

            output = await self._call(hook, "on_output", request, call=gather)
        return output

    # ------------------------------------------------------------------ users' code

    @staticmethod
    def find_call(frame: FrameType) -> tuple[str, str] | None:
        """Return the hook that a frame has called, in words, and the URL of its request.

        ``None``: it is a frame of something else. For the watchdog, which asks while the hook runs.
        """
        if frame.f_code is not SpiderHooks._call.__code__:
            return None
        called = frame.f_locals
        return f"the hook {called['hook'].name}.{called['method']}() for", called["request"].url

    async def _hooks_for(self, request: Request) -> list[Hook]:
        spider = self._choose(request)
        hooks = self._open.get(id(spider))
        return await self.open_hooks(spider) if hooks is None else hooks

    async def _read(self, request: Request, fetched: FetchResult) -> Response:
        try:
            return await self.read_response(request, fetched)
        except (ParseLimitError, ParseInterruptError):  # reading the page for its callback says so
            return await read_plainly(request, fetched)

    def _check_request(self, hook: Hook, request: Request, sent: Request) -> Request:
        """Return a request that may be sent in the place of another. Raises ``HookError``."""
        try:
            sent.validate()
        except UsageError as error:
            raise HookError(Fault.HOOK, f"{_describe_call(hook, 'on_request', request)}: {error}") from None
        if wrong := explain_wrong_change(request, sent):
            raise HookError(Fault.HOOK, f"{_describe_call(hook, 'on_request', request)}: {wrong}")
        return sent

    async def _call(
        self,
        hook: Hook,
        method: str,
        request: Request,
        *args: Any,
        call: Callable[..., Any] | None = None,
        fetched: FetchResult | None = None,
    ) -> Any:
        """Run one hook; ``find_call`` finds its name and the URL in this frame."""
        try:
            return await await_value((call or hook.calls[method])(*args), self._timeout_s)
        except IgnoreRequest as refusal:
            reason = f"{hook.name}.{method}(): {str(refusal) or 'no reason given'}"
            raise HookError(Fault.IGNORED, reason, fetched=fetched) from None
        except BaseException as raised:
            if ends_task(raised):
                raise
            told = _hide_changes(request, args, traceback_text(raised, __file__))
            between = "\n" if "\n" in told.rstrip() else " "  # one line serves as its headline
            detail = f"{_describe_call(hook, method, request)}:{between}{told}"
            raise HookError(Fault.HOOK, detail, fetched=fetched) from raised


async def _gather_results(returned: Any, given: list[Any], most: int) -> list[Any]:
    """Return the result of ``on_output`` as a list; ``None`` stands for the unchanged output."""
    if inspect.isawaitable(returned):
        returned = await returned
    if returned is None:
        return given
    found: list[Any] = []
    async for result in results_of(returned):
        found.append(result)
        if len(found) >= most:
            break
    return found


def _copy_request(request: Request) -> Request:
    """Return a request that a hook may change in place."""
    copied = copy(request)
    force_setattr(copied, "headers", request.headers.copy())
    force_setattr(copied, "meta", as_stored(request.meta, "meta") if request.meta else {})
    force_setattr(copied, "cb_kwargs", as_stored(request.cb_kwargs, "cb_kwargs") if request.cb_kwargs else {})
    if request.cookies is not None:
        force_setattr(copied, "cookies", deepcopy(request.cookies))
    return copied


def _replaced_by(
    hook: Hook, method: str, wanted: Request, *, fetched: FetchResult | None = None
) -> HookError:
    detail = f"{hook.name}.{method}() wants another request in its place: {wanted.url[:300]}"
    return HookError(Fault.HOOK, detail, fetched=fetched, request=wanted)


def _wrong_answer(
    hook: Hook, method: str, request: Request, answer: Any, *, fetched: FetchResult | None = None
) -> HookError:
    can = "None, a Request, a Response or a Replacement, or raise IgnoreRequest"
    detail = f"{_describe_call(hook, method, request)} returned a {type(answer).__name__}: return {can}"
    return HookError(Fault.HOOK, detail, fetched=fetched)


def _describe_call(hook: Hook, method: str, request: Request) -> str:
    return f"the hook {hook.name}.{method}() for {request.method} {request.url[:300]}"


def _hide_changes(request: Request, args: Iterable[Any], text: str) -> str:
    """Return a text without a request's additions by hooks."""
    changed = [arg for arg in args if isinstance(arg, Request)]
    return hide_secrets(text, [value for sent in changed for value in list_changed_values(request, sent)])
