"""What a job spends, counted by all its workers together in shared state, and kept for its next run.

A worker saves what it has spent, and reads what others have, at most once a second or when it has spent a
fiftieth of a budget: a page costs no round trip. So a budget is overrun by a fiftieth for each worker at
most, and by what its requests in flight cost; what a worker that is killed has not saved is not counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec

from gossamer.core.errors import Fault, FetchError, MissingServiceError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Advice, Detour, Route, RouteReport
from gossamer.policy.budgets import (
    NOTHING,
    BudgetKind,
    BudgetRules,
    Spending,
    allowed_rungs,
    find_ending,
    forbidden_by,
)
from gossamer.policy.urls import host_key
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.router import Router
from gossamer.ports.shared_state import SharedState

SPACE = "spending"
KEPT_S = 400 * 86_400.0
"""For so long after the last request of a job what it has spent is known, in seconds."""
SAVED_EVERY_S = 1.0
WAIT_S = 1.0
"""How long a host waits whose request has no rung left, while the job is about to end."""
SAVED_AT_ONCE = 32
"""Hosts whose spending is saved together."""
MAX_HOSTS = 10_000
"""Hosts that a worker remembers between two saves."""


async def read_spending(shared: SharedState, job: str, host: str = "") -> Spending:
    """What was spent by a job (its tag), or on one of its hosts. Raises ``StorageError``."""
    return _decode(await shared.get(SPACE, _key(job, host)))


class SpendingMeter:
    """What a job and its hosts have spent, as one of its workers knows it. ``job`` is the tag of the job."""

    def __init__(self, shared: SharedState, clock: Clock, job: str, rules: BudgetRules) -> None:
        self._shared = shared
        self._clock = clock
        self._job = job
        self._rules = rules
        self._saved: dict[str, Spending] = {}  # by host, the job's own under ""
        self._unsaved: dict[str, Spending] = {}
        self._saved_at = float("-inf")
        self._saving = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<SpendingMeter of {self._job}: {self._known('')}>"

    def add_spending(self, host: str, spent: Spending) -> None:
        """So much was spent on a host; never waits."""
        if spent == NOTHING:
            return
        for place in ("", host) if self._rules.limits_hosts else ("",):
            self._unsaved[place] = self._unsaved.get(place, NOTHING) + spent

    def allowed_rungs(self, host: str, rungs: Sequence[str]) -> tuple[str, ...]:
        """Those of the rungs that may still be used on a host, by what this worker knows; never waits."""
        return allowed_rungs(rungs, self._rules, self._known(""), self._known(host))

    async def prepare_choice(self, host: str) -> None:
        """Know what others have spent, as far as it is time to. Raises ``StorageError``."""
        if self._is_due():
            async with self._saving:
                if self._is_due():
                    await self._save_and_read()
        if self._rules.limits_hosts and host not in self._saved:
            self._saved[host] = await read_spending(self._shared, self._job, host)

    async def check_rung(self, host: str, rung: str) -> Detour | None:
        """``None``: the rung may be used. Raises ``FetchError`` for a request that has none left.

        A request that the job's budget forbids waits: the job ends, and may be resumed with a larger one.
        """
        of_job, of_host = forbidden_by(rung, self._rules, self._known(""), self._known(host))
        if of_job:
            stuck = Spending(stuck=tuple(sorted(of_job)))
            if set(of_job) - set(self._known("").stuck):
                self._unsaved[""] = self._unsaved.get("", NOTHING) + stuck
                await self.save()
            return Detour(wait_s=WAIT_S, why=f"the budget of {_words(of_job)} is spent")
        if of_host:
            raise FetchError(Fault.BUDGET, f"the budget of {host} is spent: {_words(of_host, '_per_host')}")
        return None

    async def save(self) -> None:
        """Save what is not saved yet. Raises ``StorageError``: then it is still to be saved."""
        async with self._saving:
            if self._unsaved:
                await self._save_and_read()

    def _is_due(self) -> bool:
        unsaved = self._unsaved.get("", NOTHING)
        return (
            self._clock.now() - self._saved_at >= SAVED_EVERY_S
            or self._rules.job.fills_a_batch(unsaved)
            or (self._rules.limits_hosts and any(map(self._rules.host.fills_a_batch, self._unsaved.values())))
        )

    async def _save_and_read(self) -> None:
        batch = list(self._unsaved)
        for start in range(0, len(batch), SAVED_AT_ONCE):
            saving = map(self._save_place, batch[start : start + SAVED_AT_ONCE])
            for end in await asyncio.gather(
                *saving, return_exceptions=True
            ):  # all ended: none is saved twice
                if end is not None:
                    raise end
        if "" not in batch:
            self._saved[""] = await read_spending(self._shared, self._job)
        self._saved_at = self._clock.now()
        if len(self._saved) > MAX_HOSTS:
            self._saved = {"": self._saved[""]}

    async def _save_place(self, place: str) -> None:
        spent = self._unsaved[place]
        changed = await self._shared.update(SPACE, _key(self._job, place), partial(_add_to, spent), KEPT_S)
        self._saved[place] = _decode(changed)
        left = self._unsaved.pop(place) - spent  # what was spent while it was being saved
        if left != NOTHING:
            self._unsaved[place] = left

    def _known(self, place: str) -> Spending:
        return self._saved.get(place, NOTHING) + self._unsaved.get(place, NOTHING)


class BudgetFetcher:
    """A fetcher whose every fetch is counted: pages, robots.txt, and what fails."""

    def __init__(self, fetcher: Fetcher, meter: SpendingMeter) -> None:
        self._fetcher = fetcher
        self._meter = meter
        self.touches_network = fetcher.touches_network

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`."""
        spent = NOTHING
        try:
            fetched = await self._fetcher.fetch(request, route)
            spent = Spending(cost=fetched.cost, bytes=fetched.wire_bytes, browser_s=fetched.browser_s)
        except FetchError as error:
            spent = Spending(cost=error.cost, browser_s=error.browser_s)
            raise
        finally:
            self._meter.add_spending(host_key(request.url), spent)
        return fetched

    async def close(self) -> None:
        """Let go of connections."""
        await self._fetcher.close()


class BudgetRouter:
    """Port ``Router``: another one, within the budgets."""

    def __init__(self, router: Router, meter: SpendingMeter) -> None:
        self._router = router
        self._meter = meter
        self.is_fixed = router.is_fixed

    def __repr__(self) -> str:
        return f"BudgetRouter({self._router!r}, {self._meter!r})"

    async def choose_route(self, request: Request, host: str) -> Route | Detour:
        """See :class:`~gossamer.ports.router.Router`."""
        await self._meter.prepare_choice(host)
        route = await self._router.choose_route(request, host)
        if isinstance(route, Detour):
            return route
        try:
            detour = await self._meter.check_rung(host, route.rung)
        except FetchError:
            await self._router.release_route(route, host)  # another may try out what it was to try out
            raise
        if detour is not None:
            await self._router.release_route(route, host)
        return detour or route

    async def learn_from(self, report: RouteReport) -> Advice | None:
        """See :class:`~gossamer.ports.router.Router`."""
        return await self._router.learn_from(report)

    async def release_route(self, route: Route, host: str) -> None:
        """See :class:`~gossamer.ports.router.Router`."""
        await self._router.release_route(route, host)

    def lane_for(self, request: Request, host: str) -> str:
        """See :class:`~gossamer.ports.router.Router`."""
        return self._router.lane_for(request, host)

    def skip_rung(self, request: Request, host: str, route: Route, error: MissingServiceError) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return self._router.skip_rung(request, host, route, error)

    async def close(self) -> None:
        """See :class:`~gossamer.ports.router.Router`."""
        await self._router.close()
        await self._meter.save()


async def read_ending(shared: SharedState, job: str, rules: BudgetRules) -> frozenset[BudgetKind]:
    """The spent budgets for which a job (its tag) is over; empty: it goes on. Raises ``StorageError``."""
    return find_ending(rules, await read_spending(shared, job))


def _key(job: str, host: str) -> str:
    return f"{job} {host}" if host else job


def _add_to(spent: Spending, value: bytes | None) -> bytes:
    return msgspec.json.encode(_decode(value) + spent)


def _decode(value: bytes | None) -> Spending:
    """What was saved; what another version wrote, and cannot be read, counts as nothing."""
    try:
        return msgspec.json.decode(value, type=Spending) if value else NOTHING
    except msgspec.DecodeError:
        return NOTHING


def _words(kinds: frozenset[BudgetKind], whose: str = "") -> str:
    return ", ".join(f"budgets.{kind}{whose}" for kind in sorted(kinds))
