"""What hooks cost a host, a route and a request: nothing without a request, and nothing without an end."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from gossamer.callbacks.hooks import SpiderHooks
from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.core.routes import Advice, Route, RouteReport
from gossamer.engine.fixed_router import FixedRouter
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.hooked import RequestHookFetcher, ResponseHookFetcher
from gossamer.spiders.response import Response
from gossamer.spiders.spider import Spider
from kit.engine import CALM, URL, Kit, virtually

SPACED = FrontierRules(delay_s=4.0, per_host=1)


class Learner(FixedRouter):
    """A router that notes what it learns of, and what is given back."""

    is_fixed = False

    def __init__(self) -> None:
        super().__init__()
        self.learnt: list[str] = []
        self.released: list[str] = []

    async def learn_from(self, report: RouteReport) -> Advice | None:
        self.learnt.append(report.request.url)
        return None

    async def release_route(self, request: Request, route: Route, host: str) -> None:
        self.released.append(request.url)


def crawl(hook: Any, *urls: str, rules: FrontierRules = CALM, router: FixedRouter | None = None) -> Kit:
    """A crawl on virtual time whose requests pass a hook."""

    async def main() -> Kit:
        kit, spider = Kit(rules), Spider()
        spider.hooks = [hook]
        hooks = SpiderHooks(lambda _: spider, kit.clock, timeout_s=100.0)
        fetcher = ResponseHookFetcher(RequestHookFetcher(kit.site, hooks), hooks)
        parts = kit.with_parts(fetcher=fetcher, router=router or FixedRouter())
        await Supervisor(parts, Worker(parts, kit.shift)).run(kit.seeds_of(*urls))
        return kit

    return virtually(main)


def own_answer(request: Request, status: int = 200) -> Response:
    return Response.from_html(request.url, "<p>own</p>", status=status)


def test_answers_of_a_hook_take_no_turn_of_the_host() -> None:
    def answer(request: Request) -> Response | None:
        return own_answer(request) if "own" in request.url else None

    kit = crawl(answer, *(f"{URL}own{n}" for n in range(50)), f"{URL}a", f"{URL}b", rules=SPACED)
    (first, _), (second, _) = kit.site.log
    assert second - first == 4.0
    times = [attempt.at for result in kit.ledger.results for attempt in result.attempts]
    assert max(times) - min(times) <= 4.1
    assert len(kit.ledger.verdicts) == 52


def test_an_answer_after_a_failure_takes_its_turn() -> None:
    class Save:
        def on_error(self, request: Request, failure: Any) -> Response:
            return own_answer(request)

    async def main() -> Kit:
        kit, spider = Kit(SPACED), Spider()
        spider.hooks = [Save]
        kit.site.replies = {f"{URL}{n}": FetchError(Fault.INCOMPLETE, "half") for n in range(3)}
        hooks = SpiderHooks(lambda _: spider, kit.clock, timeout_s=100.0)
        parts = kit.with_parts(fetcher=ResponseHookFetcher(kit.site, hooks))
        await Supervisor(parts, Worker(parts, kit.shift)).run(kit.seeds_of(*(f"{URL}{n}" for n in range(3))))
        return kit

    kit = virtually(main)
    times = [at for at, _ in kit.site.log]
    assert [later - sooner >= 4.0 for sooner, later in pairwise(times)] == [True, True]
    assert [verdict for _, verdict, _ in kit.ledger.verdicts] == ["success"] * 3


def test_the_delay_of_a_host_begins_when_it_is_asked() -> None:
    """Not when a hook began to think; else the next request, whose hook is quicker, would follow at once."""
    waits = iter([3.0, 0.0, 3.0, 0.0])

    async def think(request: Request) -> None:
        await asyncio.sleep(next(waits))

    kit = crawl(think, *(f"{URL}{n}" for n in range(4)), rules=SPACED)
    times = [at for at, _ in kit.site.log]
    assert all(later - sooner >= 4.0 * 0.95 for sooner, later in pairwise(times)), times


def test_routes_learn_nothing_of_what_nobody_was_asked_for() -> None:
    router = Learner()

    def answer(request: Request) -> Response | None:
        if "wrong" in request.url:
            raise ValueError("no token")
        return own_answer(request, status=403) if "own" in request.url else None

    crawl(answer, f"{URL}own", f"{URL}asked", f"{URL}wrong", router=router)
    assert router.learnt == [f"{URL}asked"]
    assert set(router.released) == {f"{URL}own", f"{URL}wrong"}


def test_the_same_request_once_more_has_an_end() -> None:
    class Again:
        def on_response(self, response: Response) -> Request:
            return response.request

    kit = crawl(Again, f"{URL}a")
    assert len(kit.site.log) == kit.shift.max_redirects + 1
    *hops, last = kit.ledger.verdicts
    assert {verdict for _, verdict, _ in hops} == {"redirect"}
    assert last[1:] == ("dead", "redirect_limit")


def test_what_is_not_asked_any_more_is_tried_again_later() -> None:
    tries: list[float] = []

    def fail(request: Request) -> None:
        tries.append(asyncio.get_running_loop().time())
        raise ValueError("no token")

    kit = crawl(fail, f"{URL}a")
    assert kit.site.log == []
    assert [verdict for _, verdict, _ in kit.ledger.verdicts] == ["retry"] * 3 + ["dead"]
    pauses = [later - sooner for sooner, later in pairwise(tries)]
    assert pauses == sorted(pauses)
    assert pauses[0] > 0
