"""Hooks as fetchers call them: what they may answer, in which order, and that nothing of theirs gets out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.callbacks.hooks import SpiderHooks
from gossamer.callbacks.watchdog import describe_hold
from gossamer.core.errors import Fault, FetchError, IgnoreRequest, UsageError
from gossamer.core.hooks import HOOK_RUNG, HookError, Replacement
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, RawExchange
from gossamer.core.routes import DIRECT, Route
from gossamer.fetch.hooked import RequestHookFetcher, ResponseHookFetcher
from gossamer.observe.text import error_headline
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider, may_have_hooks
from gossamer.testing.clock import LoopClock, ManualClock, run_virtual

URL = "http://shop.example/page"


def answer(request: Request, body: bytes = b"<p>fine</p>", status: int = 200) -> FetchResult:
    return FetchResult(
        url=request.url,
        status=status,
        headers=(("content-type", "text/html"),),
        body=body,
        started_at=0.0,
        latency_s=0.1,
        elapsed_s=0.1,
        rung="http",
        raw=RawExchange(request_header=str(request.headers).encode(), response_header=b"", body=body),
    )


class Wire:
    """A fetcher that notes what it was asked, and fails at URLs that say so."""

    touches_network = True

    def __init__(self) -> None:
        self.asked: list[tuple[Request, Route]] = []

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        self.asked.append((request, route))
        if "fails" in request.url:
            raise FetchError(Fault.CONNECT, f"no way to {request.url} with {request.headers}")
        return answer(request)

    async def close(self) -> None:
        """Nothing to close."""


def run(work: Awaitable[Any]) -> Any:
    """What comes of it, on a clock that does not wait."""

    async def main(clock: LoopClock) -> Any:
        return await work

    return run_virtual(main)


def open_way(
    *hooks: Any, spider: Spider | None = None, timeout_s: float = 5.0
) -> tuple[Wire, Any, SpiderHooks]:
    spider = spider or Spider()
    spider.hooks = hooks
    made = SpiderHooks(lambda _: spider, ManualClock(), timeout_s=timeout_s)
    wire = Wire()
    return wire, ResponseHookFetcher(RequestHookFetcher(wire, made), made), made


def fetch(
    *hooks: Any, request: Request | None = None, spider: Spider | None = None
) -> tuple[Wire, FetchResult]:
    wire, way, _ = open_way(*hooks, spider=spider)
    return wire, run(way.fetch(request or Request(URL)))


def failure_of(*hooks: Any, url: str = URL) -> tuple[Wire, HookError]:
    wire, way, _ = open_way(*hooks)
    with pytest.raises(HookError) as raised:
        run(way.fetch(Request(url)))
    return wire, raised.value


class Named:
    """A hook that notes when it is called."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self.name, self.calls = name, calls

    def on_request(self, request: Request) -> None:
        self.calls.append(f"{self.name} request")

    async def on_response(self, response: Response) -> None:
        self.calls.append(f"{self.name} response")

    def on_error(self, request: Request, failure: Any) -> None:
        self.calls.append(f"{self.name} {failure.fault}")


def test_requests_go_down_and_answers_come_up() -> None:
    calls: list[str] = []
    fetch(Named("a", calls), Named("b", calls))
    assert calls == ["a request", "b request", "b response", "a response"]
    _, way, _ = open_way(Named("a", calls), Named("b", calls))
    with pytest.raises(FetchError, match="connect"):
        run(way.fetch(Request("http://shop.example/fails")))
    assert calls[4:] == ["a request", "b request", "b connect", "a connect"]


def test_what_is_changed_in_place_is_sent_and_not_kept() -> None:
    def sign(request: Request) -> None:
        request.headers["X-Key"] = "secret"
        request.meta["deep"].append("secret")

    request = Request(URL, meta={"deep": []})
    wire, fetched = fetch(sign, request=request)
    assert (request.headers, request.meta) == ({}, {"deep": []})
    assert wire.asked[0][0].headers == {"X-Key": "secret"}
    assert fetched.raw is not None
    assert fetched.raw.request_header == b""


def test_a_request_in_its_place_keeps_its_url_for_all_others() -> None:
    wire, fetched = fetch(
        lambda request: request.replace(url=request.url + "?sig=1", method="POST", body=b"x")
    )
    assert wire.asked[0][0].url == f"{URL}?sig=1"
    assert wire.asked[0][0].body == b"x"
    assert fetched.url == URL


def test_nothing_is_copied_where_nothing_is_changed() -> None:
    request = Request(URL, headers={"A": "b"})
    wire, fetched = fetch(lambda request: None, request=request)
    assert wire.asked[0][0] is request
    assert fetched.raw is not None
    assert fetched.raw.request_header


def test_a_failure_does_not_tell_what_was_added() -> None:
    _, way, _ = open_way(
        lambda request: request.replace(url=request.url + "?sig=topsecret", headers={"X": "hidden1"})
    )
    with pytest.raises(FetchError) as raised:
        run(way.fetch(Request("http://shop.example/fails")))
    assert "topsecret" not in raised.value.detail
    assert "hidden1" not in raised.value.detail


def test_neither_does_a_hook_that_raises_later() -> None:
    def first(request: Request) -> None:
        request.headers["X"] = "topsecret"

    def second(request: Request) -> None:
        raise ValueError(f"what is {request.headers['X']}?")

    _, error = failure_of(first, second)
    assert error.fault is Fault.HOOK
    assert "the hook second.on_request() for GET http://shop.example/page:" in error.detail
    assert "topsecret" not in error.detail.replace('"topsecret"', "")


def test_a_request_that_is_assigned_to_is_told_how_another_is_made() -> None:
    def move(request: Request) -> None:
        request.url = "http://shop.example/other"

    _, error = failure_of(move)
    assert error_headline(error.detail) == (
        "AttributeError: immutable type: 'Request': a request cannot be changed; "
        "make another one: request.replace(url=...)"
    )


@pytest.mark.parametrize("junk", [5, None])
def test_a_hook_that_raises_may_have_put_anything_into_a_request(junk: Any) -> None:
    def fail(request: Request) -> None:
        request.headers["X"] = request.cookies["a"] = junk
        raise ValueError("no way")

    _, way, _ = open_way(fail)
    with pytest.raises(HookError, match="ValueError: no way"):
        run(way.fetch(Request(URL, cookies={"a": "b"})))


def test_a_proxy_is_named_for_the_wire_alone() -> None:
    def choose(request: Request) -> None:
        request.meta["proxy"] = "http://me:word@127.0.0.1:8080"

    wire, _ = fetch(choose)
    proxy = wire.asked[0][1].proxy
    assert proxy is not None
    assert (proxy.host, proxy.user, proxy.password) == ("127.0.0.1", "me", "word")
    _, error = failure_of(lambda request: request.replace(meta={"proxy": "no proxy at all"}))
    assert "no proxy at all" not in error.detail


def test_a_response_is_the_answer_and_passes_the_others() -> None:
    seen = []

    class Look:
        def on_response(self, response: Response) -> None:
            seen.append(response.body)

    wire, fetched = fetch(Look(), lambda request: Response(request, answer(request, b"own", 203)))
    assert not wire.asked
    assert (fetched.rung, fetched.status, fetched.body) == (HOOK_RUNG, 203, b"own")
    assert seen == [b"own"]


@pytest.mark.parametrize("as_what", [lambda wanted: wanted, Replacement])
def test_another_request_from_an_answer(as_what: Any) -> None:
    class Again:
        def on_response(self, response: Response) -> Any:
            return as_what(Request("http://other.example/"))

    _, error = failure_of(Again())
    assert error.request is not None
    assert error.request.url == "http://other.example/"
    assert error.fetched is not None


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"url": "http://other.example/page"}, "from http://shop.example to http://other.example"),
        ({"url": "https://shop.example/page"}, "from http://shop.example to https://shop.example"),
        ({"priority": 7, "callback": "other"}, "changed callback, priority"),
    ],
)
def test_what_cannot_be_changed_any_more(changes: dict[str, Any], told: str) -> None:
    wire, error = failure_of(lambda request: request.replace(**changes))
    assert told in error.detail
    assert "Replacement(request)" in error.detail
    assert not wire.asked


def test_refusals() -> None:
    def refuse(request: Request) -> None:
        raise IgnoreRequest("closed on Sundays")

    wire, error = failure_of(refuse)
    assert (error.fault, error.detail) == (Fault.IGNORED, "refuse.on_request(): closed on Sundays")
    assert error.fetched is None
    assert not wire.asked


@pytest.mark.parametrize("raised", [SystemExit(3), asyncio.CancelledError(), LookupError("x")])
def test_whatever_is_raised_is_a_failure_of_the_hook(raised: BaseException) -> None:
    def fail(request: Request) -> None:
        raise raised

    _, error = failure_of(fail)
    assert error.fault is Fault.HOOK
    assert type(raised).__name__ in error.detail


def test_a_hook_that_waits_has_its_time() -> None:
    async def wait(request: Request) -> None:
        await asyncio.sleep(1e6)

    _, error = failure_of(wait)
    assert "longer than 5 s" in error_headline(error.detail), "logs and listings show one line"


def test_time_that_hooks_take_is_not_the_hosts() -> None:
    async def think(request: Request) -> None:
        await asyncio.sleep(2)

    _, fetched = fetch(think)
    assert fetched.held_s == pytest.approx(2)


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        (7, "has none of on_start()"),
        ("nowhere:Hook", "cannot be imported"),
        ("nowhere", "not written as module:Name"),
        (
            type("Odd", (), {"on_error": lambda self, request: None}),
            "cannot be called as on_error(request, failure)",
        ),
        (type("Odd", (), {"open_spider": lambda self, s: 1 / 0, "on_request": len}), "ZeroDivisionError"),
    ],
)
def test_what_is_no_hook_is_said_before_the_first_request(hook: Any, told: str) -> None:
    spider = Spider()
    spider.hooks = [hook]
    hooks = SpiderHooks(lambda _: spider, ManualClock(), timeout_s=1.0)
    with pytest.raises(UsageError) as raised:
        run(hooks.open_hooks(spider))
    assert told in str(raised.value)


def test_callbacks_of_the_same_names_are_no_hooks() -> None:
    class Mine(Spider):
        name = "mine"

        def on_response(self, response: Response) -> Any:
            yield {"a": 1}

        def on_error(self, failure: Any) -> Any:
            return None

    hooks = SpiderHooks(lambda _: Mine(), ManualClock(), timeout_s=1.0)
    assert run(hooks.open_hooks(Mine())) == []
    assert not may_have_hooks(Spider)
    assert may_have_hooks(Mine)


def test_hooks_are_opened_and_closed_once() -> None:
    calls = []

    class Open:
        on_request = staticmethod(len)

        def open_spider(self, spider: Spider) -> None:
            calls.append("open")

        async def close_spider(self, spider: Spider) -> None:
            calls.append("close")
            raise ValueError("no door")

    spider = Spider()
    spider.hooks = [Open]
    hooks = SpiderHooks(lambda _: spider, ManualClock(), timeout_s=1.0)

    async def use() -> None:
        await asyncio.gather(hooks.open_hooks(spider), hooks.open_hooks(spider))
        await hooks.close()
        await hooks.close()

    run(use())
    assert calls == ["open", "close"]
    (failure,) = hooks.failures
    assert failure.startswith("in the hook Open.close_spider():")


def test_output_is_bounded_and_passes_in_order() -> None:
    class Endless:
        def on_output(self, response: Response, output: list[Any]) -> Any:
            while True:
                yield {"n": len(output)}

    class Double:
        async def on_output(self, response: Response, output: list[Any]) -> list[Any]:
            return [*output, *output]

    _, _, hooks = open_way(Double(), Endless())
    request = Request(URL)
    response = Response(request, answer(request))
    assert run(hooks.pass_output(request, response, [{"a": 1}], 5)) == [{"n": 2}] * 5
    _, _, hooks = open_way(Named("a", []))
    assert run(hooks.pass_output(request, response, [{"a": 1}], 5)) == [{"a": 1}]


def test_the_watchdog_names_a_hook_that_holds_the_loop() -> None:
    told = []

    def hold(request: Request) -> None:
        told.append(describe_hold(sys._getframe(), 10.0, [SpiderHooks.find_call]))

    fetch(hold)
    assert told[0].startswith(f"the hook hold.on_request() for {URL} has held up everything else for 10 s")


def test_an_answer_that_a_hook_changes_keeps_how_it_came() -> None:
    class Change:
        def on_response(self, response: Response) -> Response:
            return Response(response.request, replace(answer(response.request), status=418, body=b"tea"))

    _, fetched = fetch(Change())
    assert (fetched.status, fetched.body, fetched.rung, fetched.latency_s) == (418, b"tea", "http", 0.1)


def test_credentials_and_cookies_of_a_request_are_changed_for_the_wire_alone() -> None:
    def add(request: Request) -> Request:
        assert request.cookies is not None
        request.cookies["sid"] = "topsecret"  # type: ignore[call-overload]
        return request.replace(auth=("me", "hunter222"), timeout=3.0)

    request = Request("http://shop.example/fails", cookies={"sid": "given"})
    wire, way, _ = open_way(add)
    with pytest.raises(FetchError):
        run(way.fetch(request))
    sent = wire.asked[0][0]
    assert (sent.cookies, sent.timeout, bool(sent.auth)) == ({"sid": "topsecret"}, 3.0, True)
    assert (request.cookies, request.timeout, request.auth) == ({"sid": "given"}, None, None)
