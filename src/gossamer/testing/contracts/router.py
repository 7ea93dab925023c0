"""The contract of a router that climbs, as named checks.

Use, for a router of your own::

    @asynccontextmanager
    async def make(clock):
        yield RouterSubject(lambda: MyRouter(shared, RUNGS, clock), clock)

    await check_router(make)                         # all of them, or one by one from ROUTER_CHECKS

Each call of ``open_router`` gives the router of another worker, over what all of them share. Hosts begin on
the first of :data:`RUNGS` and may climb to the last one.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gossamer.core.errors import Fault
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Attempt, FetchResult, Outcome, Verdict, VisitResult
from gossamer.core.routes import Advice, Block, BlockKind, Detour, Route, RouteReport
from gossamer.ports.router import Router
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["ROUTER_CHECKS", "RUNGS", "RouterSubject", "check_router"]

RUNGS = ("http", "impersonate", "browser")
"""The ladder of the routers that are checked."""
HOST = "site.example"
CERTAIN = Block(kind=BlockKind.CLOUDFLARE, detail="cf-mitigated: challenge")
SOON_S = 1.0
"""After so long every worker knows what another one has learnt."""


@dataclass
class RouterSubject:
    """Routers of workers with shared observations."""

    open_router: Callable[[], Router]
    clock: ManualClock
    number: int = 0

    async def choose_rung(self, router: Router, host: str = HOST, **request: Any) -> str:
        """The rung of a request; ``lane:NAME`` if it is to wait for another lane."""
        route = await router.choose_route(Request(f"https://{host}/", **request), host)
        return f"lane:{route.lane}" if isinstance(route, Detour) else route.rung

    async def report(
        self,
        router: Router,
        rung: str,
        *,
        status: int = 200,
        block: Block | None = None,
        fault: Fault | None = None,
        host: str = HOST,
        started_at: float | None = None,
        attempt: int = 1,
        route: Route | None = None,
        path: str = "",
        **request: Any,
    ) -> Advice | None:
        """Tell a router what came of one request, which began just now."""
        self.number += 1
        asked = Request(f"https://{host}/{path or self.number}", **request)
        at = self.clock.now() if started_at is None else started_at
        if block is not None:
            fault = Fault.BLOCKED if block.is_certain else Fault.CLIENT
        result = _make_result(asked, host, at, attempt, fault)
        fetched = _make_answer(asked.url, status, at, rung) if status else None
        return await router.learn_from(
            RouteReport(
                request=asked,
                host=host,
                route=route or Route(rung=rung),
                result=result,
                fetched=fetched,
                block=block,
            )
        )


def _make_result(asked: Request, host: str, at: float, attempt: int, fault: Fault | None) -> VisitResult:
    fingerprint = zlib.crc32(asked.url.encode())
    entry = Entry(request=asked, fingerprint=fingerprint, host=host)
    lease = Lease(entry=entry, token=1, granted_at=at, start_by=at, deadline=at, attempt=attempt)
    reason = fault.value if fault else ""
    verdict = Verdict.DEAD if fault else Verdict.SUCCESS
    row = Attempt(
        at=at, url=asked.url, fingerprint=fingerprint, verdict=verdict, reason=reason, attempt=attempt
    )
    outcome = Outcome(lease=lease, verdict=verdict, reason=reason)
    return VisitResult(outcome=outcome, attempts=(row,))


def _make_answer(url: str, status: int, at: float, rung: str) -> FetchResult:
    return FetchResult(
        url=url,
        status=status,
        headers=(),
        body=b"",
        started_at=at,
        latency_s=0.1,
        elapsed_s=0.1,
        rung=rung,
    )


ROUTER_CHECKS: ContractSuite[RouterSubject] = ContractSuite()
"""The checks by name."""


async def check_router(make: Make[RouterSubject]) -> None:
    """Run every check on fresh routers each. Raises ``AssertionError`` for a broken promise."""
    await ROUTER_CHECKS.run(make)


@ROUTER_CHECKS.register
async def a_host_begins_on_the_cheapest_rung(s: RouterSubject) -> None:
    """And stays there as long as it answers."""
    router = s.open_router()
    assert_equal(await s.choose_rung(router), "http", "the first choice")
    for _ in range(10):
        assert_equal(await s.report(router, "http"), None, "a page is left as it is")
    assert_equal(await s.choose_rung(router), "http", "a host that answers stays")


@ROUTER_CHECKS.register
async def a_refused_request_takes_the_next_rung(s: RouterSubject) -> None:
    """It is advised to be tried again, and its host climbs."""
    router = s.open_router()
    await s.choose_rung(router)
    advice = await s.report(router, "http", status=403, block=CERTAIN)
    assert_holds(advice is not None, "a refused request is tried again")
    assert advice is not None
    assert_holds("http" in advice.detail and "impersonate" in advice.detail, "the advice names both rungs")
    assert_equal(await s.choose_rung(router), "impersonate", "the host has climbed")
    assert_equal(await s.choose_rung(router, host="other.example"), "http", "and no other host")


@ROUTER_CHECKS.register
async def what_one_worker_learns_all_know(s: RouterSubject) -> None:
    """A second later, and without learning it again; the crawl that is resumed knows it too."""
    one, other = s.open_router(), s.open_router()
    await s.choose_rung(one)
    await s.choose_rung(other)
    await s.report(one, "http", status=403, block=CERTAIN)
    s.clock.advance(SOON_S)
    assert_equal(await s.choose_rung(other), "impersonate", "the other worker knows")
    await s.report(other, "impersonate", status=403, block=CERTAIN)
    s.clock.advance(SOON_S)
    assert_equal(await s.choose_rung(one), "browser", "and the first one knows its observations")
    await one.close()
    await other.close()
    assert_equal(await s.choose_rung(s.open_router()), "browser", "a worker that begins later knows")


@ROUTER_CHECKS.register
async def requests_that_are_refused_together_climb_once(s: RouterSubject) -> None:
    """However many are in flight, of however many workers."""
    workers = [s.open_router() for _ in range(4)]
    for worker in workers:
        await s.choose_rung(worker)
    began = s.clock.now()
    s.clock.advance(2)
    advices = await asyncio.gather(
        *(
            s.report(workers[n % 4], "http", status=403, block=CERTAIN, started_at=began + n / 100)
            for n in range(64)
        )
    )
    assert_holds(all(advices), "all are tried again")
    s.clock.advance(SOON_S)
    for worker in workers:
        assert_equal(await s.choose_rung(worker), "impersonate", "the host has climbed one rung")


@ROUTER_CHECKS.register
async def the_highest_rung_is_the_end(s: RouterSubject) -> None:
    """A request that is refused there is left as it is."""
    router = s.open_router()
    for rung in RUNGS:
        assert_equal(await s.choose_rung(router), rung, "one rung after the other")
        advice = await s.report(router, rung, status=403, block=CERTAIN)
        s.clock.advance(SOON_S)
    assert_equal(advice, None, "the highest rung is the last")
    assert_equal(await s.choose_rung(router), RUNGS[-1], "the host stays there")


@ROUTER_CHECKS.register
async def throttling_and_silence_never_climb(s: RouterSubject) -> None:
    """429, 503 and no answer slow a host down; another rung would not help."""
    router = s.open_router()
    await s.choose_rung(router)
    for status, fault in ((429, Fault.THROTTLED), (503, Fault.THROTTLED), (0, Fault.CONNECT)):
        for _ in range(20):
            await s.report(router, "http", status=status, fault=fault)
    assert_equal(await s.choose_rung(router), "http", "the host stays")


@ROUTER_CHECKS.register
async def a_request_that_names_a_rung_stays_on_it(s: RouterSubject) -> None:
    """And says nothing about its host's."""
    router = s.open_router()
    assert_equal(await s.choose_rung(router, fetch="browser"), "browser", "the rung that it names")
    assert_equal(
        await s.report(router, "http", status=403, block=CERTAIN, fetch="http"), None, "its end is its end"
    )
    assert_equal(await s.choose_rung(router), "http", "its host stays where it was")
    assert_equal(await s.choose_rung(router, fetch="auto"), "http", "auto names none")


@ROUTER_CHECKS.register
async def a_host_comes_down_when_it_can(s: RouterSubject) -> None:
    """One request at a time tries the cheaper rung, in time; the others stay."""
    router = s.open_router()
    await s.choose_rung(router)
    await s.report(router, "http", status=403, block=CERTAIN)
    for _ in range(200):
        s.clock.advance(3600)
        rungs = [await s.choose_rung(router) for _ in range(10)]
        assert_holds(rungs.count("http") <= 1 or set(rungs) == {"http"}, "one request at a time")
        for rung in rungs:
            await s.report(router, rung)
        if set(rungs) == {"http"}:
            return
    raise AssertionError("a host that admits the cheaper rung again comes down to it")


@ROUTER_CHECKS.register
async def closing_twice_is_closing_once(s: RouterSubject) -> None:
    """And loses nothing."""
    router = s.open_router()
    await s.choose_rung(router)
    await s.report(router, "http", status=403, block=CERTAIN)
    await router.close()
    await router.close()
    assert_equal(await s.choose_rung(s.open_router()), "impersonate", "observations are kept")
