"""A fetcher, a router and a committer within budgets: they count spending and refuse excess."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.errors import FetchError, MissingServiceError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, Verdict, VisitResult
from gossamer.core.routes import DIRECT, Advice, Detour, Route, RouteReport
from gossamer.fetch.routing.spending import WAIT_S, SpendingMeter
from gossamer.policy.budgets import NOTHING, Spending
from gossamer.policy.urls import host_key
from gossamer.ports.committer import Committer
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.router import Router


class BudgetFetcher:
    """A fetcher that counts every fetch: pages, robots.txt and failures."""

    def __init__(self, fetcher: Fetcher, meter: SpendingMeter) -> None:
        self._fetcher = fetcher
        self._meter = meter
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        spent, began_at = NOTHING, self._meter.clock.now()
        try:
            fetched = await self._fetcher.fetch(request, route)
            spent = Spending(cost=fetched.cost, bytes=fetched.wire_bytes, browser_s=fetched.browser_s)
        except FetchError as error:
            spent = Spending(cost=error.cost, browser_s=error.browser_s)
            raise
        finally:
            took = Spending(busy_s=max(self._meter.clock.now() - began_at, 0.0))
            self._meter.add_spending(host_key(request.url), spent + took, request.url)
        return fetched

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()


class BudgetRouter:
    """Port ``Router``: another one, within the budgets."""

    def __init__(self, router: Router, meter: SpendingMeter) -> None:
        self._router = router
        self._meter = meter
        self.is_fixed = router.is_fixed and not meter.rules.limits_pages  # a claimed page is given back

    def __repr__(self) -> str:
        return f"BudgetRouter({self._router!r}, {self._meter!r})"

    async def choose_route(self, request: Request, host: str) -> Route | Detour:
        """See :class:`~gossamer.ports.router.Router`."""
        await self._meter.prepare_choice(host, request.url)
        if (detour := self._meter.check_places(request, host)) is not None:
            return detour
        route = await self._router.choose_route(request, host)
        if isinstance(route, Detour):
            return route
        try:
            detour = await self._meter.check_rung(host, route.rung) or await self._claim_page(request, host)
        except FetchError:
            await self._router.release_route(request, route, host)  # another request may try it out
            raise
        if detour is not None:
            await self._router.release_route(request, route, host)
        return detour or route

    async def _claim_page(self, request: Request, host: str) -> Detour | None:
        if await self._meter.claim_page(request):
            return None
        self._meter.check_places(request, host)  # others have had the last pages meanwhile
        return Detour(wait_s=WAIT_S, why="all pages that are left of its pattern's budget are under way")

    async def learn_from(self, report: RouteReport) -> Advice | None:
        """See :class:`~gossamer.ports.router.Router`."""
        return await self._router.learn_from(report)

    async def release_route(self, request: Request, route: Route, host: str) -> None:
        """See :class:`~gossamer.ports.router.Router`."""
        self._meter.release_page(request)
        await self._router.release_route(request, route, host)

    def lane_for(self, request: Request, host: str) -> str:
        """See :class:`~gossamer.ports.router.Router`."""
        return self._router.lane_for(request, host)

    def has_ladder(self, request: Request, host: str) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return self._router.has_ladder(request, host)

    def may_render(self, request: Request, host: str) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return self._router.may_render(request, host)

    def skip_rung(self, request: Request, host: str, route: Route, error: MissingServiceError) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return self._router.skip_rung(request, host, route, error)

    async def close(self) -> None:
        """See :class:`~gossamer.ports.router.Router`."""
        await self._router.close()
        await self._meter.save()


class BudgetCommitter:
    """Port ``Committer``: counts the pages, items and errors of results before another committer.

    So a nearly spent budget is not exceeded when a worker is killed; its page is then fetched again, and
    counts twice.
    """

    def __init__(self, committer: Committer, meter: SpendingMeter) -> None:
        self._committer = committer
        self._meter = meter
        self._counted: set[tuple[int, Verdict]] = set()  # by the token of the lease, until it is committed

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """See :class:`~gossamer.ports.committer.Committer`."""
        keys = [(result.outcome.lease.token, result.outcome.verdict) for result in results]
        for key, result in zip(keys, results, strict=True):
            if key not in self._counted:
                self._counted.add(key)
                self._meter.count_result(result)
        await self._meter.save_if_due()
        kept = await self._committer.commit(results)
        self._counted.difference_update(keys)
        return kept
