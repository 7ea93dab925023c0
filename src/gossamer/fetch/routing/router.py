"""The router of a crawl with several ways to fetch: a fixed one, or one per host as needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError, MissingServiceError
from gossamer.core.events import NoticeEvent
from gossamer.core.requests import Request
from gossamer.core.routes import Advice, Detour, Route, RouteReport
from gossamer.core.rungs import BROWSER_WAY, way_of
from gossamer.core.shifts import BROWSER_LANE, PAGE_LANE
from gossamer.fetch.routing.guises import GuisePlanner
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.policy.ladder import (
    LadderDecision,
    LadderRules,
    LadderState,
    climb,
    is_probe_due,
    learn_from_report,
    lower_rung,
    move_probe,
    present_rung,
    read_report,
    release_probe,
    send_probe,
)
from gossamer.policy.rung_plan import RungPlan
from gossamer.ports.clock import Clock
from gossamer.ports.sink import Sink

MOST_REFUSALS = 2
"""Refusals to all proxies, with a rest between, after which a request is given up."""
MOST_REFUSALS_OF_BOUND = 4
"""The same limit in a worker that has not all of the proxies, since others may succeed."""
OTHERS_TURN_S = 5.0
"""Seconds for which such a worker lets a host wait if it has no proxy for it."""
MAX_TRIES = 20
"""A request with this number of tries changes its route only after a probe or a climb."""

PARDON_S = 3.0
"""Seconds after a climb until every worker knows the pardoned proxies of the host."""
LOOK_AGAIN_S = 0.5
"""Seconds until the next request for a proxy meanwhile."""
ProbeClaim = Callable[[LadderState, LadderRules, float], LadderState]
"""Returns the state with a claim on the probe, or the same state without one."""


class LadderRouter:
    """Port ``Router``: each host on its rung, except for requests that name one.

    ``rules`` are those of every ladder, whose rungs are the plan's. ``lanes`` are the lanes of the job: where
    there is one for browsers, requests that need a browser wait there. ``missing`` says which ways cannot be
    used here, and why. ``guises`` completes the routes. ``within_budget`` picks from rungs those that a host
    may still use. ``is_bound``: other workers may have other proxies.
    """

    is_fixed = False

    def __init__(
        self,
        store: LadderStore,
        plan: RungPlan,
        rules: LadderRules,
        clock: Clock,
        sink: Sink,
        *,
        lanes: Sequence[str] = (PAGE_LANE,),
        missing: Mapping[str, MissingServiceError] | None = None,
        guises: GuisePlanner | None = None,
        within_budget: Callable[[str, Sequence[str]], tuple[str, ...]] | None = None,
        is_bound: bool = False,
    ) -> None:
        self._store = store
        self._plan = plan
        self._rules = rules
        self._clock = clock
        self._sink = sink
        self._has_lane = BROWSER_LANE in lanes
        self._guises = guises or GuisePlanner()
        self._within_budget = within_budget
        self._is_bound = is_bound
        self._missing: set[str] = set()  # ways
        self._rules_by_ladder: dict[tuple[tuple[str, ...], tuple[str, ...]], LadderRules] = {}
        for way, error in (missing or {}).items():
            self._skip_way(way, error)
        for rung in plan.all_rungs:
            if not self._guises.can_take(rung):
                self._tell("error", f"the rung {rung} is skipped: the crawl has no proxy of its kind")

    def __repr__(self) -> str:
        return f"LadderRouter({self._plan!r}, {self._store!r})"

    async def choose_route(self, request: Request, host: str) -> Route | Detour:
        """See :class:`~gossamer.ports.router.Router`."""
        rung = self._settled_rung(request, host)
        if rung:
            route = self._wait_or_give_up(await self._take_rung(request, host, rung))
            named = self._plan.named_rung(request, host)
            if isinstance(route, Route) or not named or named == self._plan.common_rung(host):
                return route
            return replace(route, is_own=route.wait_s is not None)
        rules = self._rules_for(host)
        state = await self._store.read_state(host)
        if request.method == "GET" and is_probe_due(state, rules, self._clock.now()):
            lower = lower_rung(state, rules)
            claim = send_probe if self._lane_of(lower, request) == request.lane else move_probe
            if await self._claim_probe(host, rules, claim):
                probe = await self._take_rung(request, host, lower)
                if isinstance(probe, Route) or probe.lane:
                    return probe  # otherwise no proxy is free for it: a probe does not wait
            state = self._store.known_state(host)
        route = await self._take_rung(request, host, present_rung(state, rules))
        route = self._await_pardon(route, state)
        if isinstance(route, Detour) and (route.refusals or route.refused >= rules.climb_after):
            higher = await self._leave_rung(host, state, rules)
            if higher:
                route = await self._take_rung(request, host, higher)
                route = self._await_pardon(route, self._store.known_state(host))
        return self._wait_or_give_up(route)

    async def learn_from(self, report: RouteReport) -> Advice | None:
        """See :class:`~gossamer.ports.router.Router`."""
        request, host, proxy = report.request, report.host, report.route.proxy
        settled = self._settled_rung(request, host)
        if settled and proxy is None:
            return await self._guises.learn_from(report, is_blamed=False)
        named = self._plan.named_rung(request, host)
        rules = replace(self._rules, rungs=(named,)) if named else self._rules_for(host)
        told = read_report(report)
        place = f"{host} {named}" if named else host  # it says nothing of the rung that the host is on
        decision = await self._change_rung(
            place, lambda state, now: learn_from_report(state, rules, told, now)
        )
        advice = await self._guises.learn_from(report, is_blamed=told.guise in decision.state.guises)
        if decision.step:
            await self._guises.begin_rung(host)
        rung = present_rung(decision.state, rules)
        is_probe = rung != told.rung and told.started_at >= decision.state.since
        is_tired = report.result.outcome.lease.attempt >= MAX_TRIES and not (decision.step or is_probe)
        if not decision.is_again or is_tired:
            return advice
        lane = self._lane_of(rung, request)
        return Advice(
            due_at=self._clock.now() + decision.wait_s if decision.wait_s else 0.0,
            lane="" if lane == request.lane else lane,
            detail=decision.step or f"tried again by {rung}{' through another proxy' if told.guise else ''}",
        )

    async def release_route(self, request: Request, route: Route, host: str) -> None:
        """See :class:`~gossamer.ports.router.Router`."""
        await self._guises.release_route(route, host)
        rules = self._rules_for(host)
        await self._store.change_state(
            host, lambda state: LadderDecision(state=release_probe(state, rules, route.rung))
        )

    def lane_for(self, request: Request, host: str) -> str:
        """See :class:`~gossamer.ports.router.Router`."""
        if not self._has_lane:
            return request.lane
        rung = self._settled_rung(request, host)
        return self._lane_of(
            rung or present_rung(self._store.known_state(host), self._rules_for(host)), request
        )

    def has_ladder(self, request: Request, host: str) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        return not self._settled_rung(request, host)

    def may_render(self, request: Request, host: str) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        rungs = () if self._settled_rung(request, host) else self._rules_for(host).rungs
        return any(way_of(rung) == BROWSER_WAY for rung in rungs)

    def skip_rung(self, request: Request, host: str, route: Route, error: MissingServiceError) -> bool:
        """See :class:`~gossamer.ports.router.Router`."""
        if self._plan.named_rung(request, host) or (self._has_lane and route.way == BROWSER_WAY):
            return False
        usable = filter(self._is_usable, self._plan.rungs_for(host))
        if all(way_of(rung) == route.way for rung in usable):
            return False
        if route.way not in self._missing:
            self._skip_way(route.way, error)
        return True

    async def close(self) -> None:
        """See :class:`~gossamer.ports.router.Router`."""
        await self._guises.close()

    # ------------------------------------------------------------------ the ladder

    def _settled_rung(self, request: Request, host: str) -> str:
        """Return the fixed rung of a request; empty if the rung depends on the host."""
        named = self._plan.named_rung(request, host)
        if named:
            return named
        rungs = self._rules_for(host).rungs
        return rungs[0] if len(rungs) == 1 else ""

    def _rules_for(self, host: str) -> LadderRules:
        """Return the ladder of a host, without rungs that are unusable here or over its budget."""
        ladder = self._plan.rungs_for(host)
        rungs = tuple(filter(self._is_usable, ladder)) or ladder
        if self._within_budget is not None:
            rungs = self._within_budget(host, rungs) or rungs
        rules = self._rules_by_ladder.get((ladder, rungs))
        if rules is None:
            order = tuple(dict.fromkeys((*self._plan.all_rungs, *ladder)))
            rules = replace(self._rules, rungs=rungs, order=order)
            self._rules_by_ladder[ladder, rungs] = rules
        return rules

    def _is_usable(self, rung: str) -> bool:
        return way_of(rung) not in self._missing and self._guises.can_take(rung)

    async def _take_rung(self, request: Request, host: str, rung: str) -> Route | Detour:
        """Return the route of a request on a rung, or the lane where such requests wait."""
        lane = self._lane_of(rung, request)
        if lane != request.lane:
            return Detour(lane=lane, why=f"it is to be fetched by {rung}, on the lane {lane}")
        return await self._guises.complete_route(request, host, rung)

    async def _change_rung(
        self, host: str, decide: Callable[[LadderState, float], LadderDecision]
    ) -> LadderDecision:
        """Change a host's state, and report a change of its rung."""
        now = self._clock.now()
        decision = await self._store.change_state(host, lambda state: decide(state, now))
        if decision.step:
            self._tell("info", f"{host} {decision.step}")
        return decision

    async def _leave_rung(self, host: str, seen: LadderState, rules: LadderRules) -> str:
        """Return the next rung of a host that refuses all proxies on this one; empty without one."""

        def decide(state: LadderState, now: float) -> LadderDecision:
            if state.steps != seen.steps:
                return LadderDecision(state=state)
            return climb(state, rules, "no proxy is left that is not refused", now)

        decision = await self._change_rung(host, decide)
        if decision.step:
            await self._guises.begin_rung(host)
        return "" if decision.state.steps == seen.steps else present_rung(decision.state, rules)

    def _wait_or_give_up(self, route: Route | Detour) -> Route | Detour:
        """Return the route or wait; raises ``FetchError`` if waiting for another proxy has not helped."""
        if not isinstance(route, Detour) or route.wait_s is None:
            return route
        if route.refusals >= (MOST_REFUSALS_OF_BOUND if self._is_bound else MOST_REFUSALS):
            raise FetchError(Fault.BLOCKED, "the host has refused every proxy, and again after their rest")
        return replace(route, wait_s=min(route.wait_s, OTHERS_TURN_S)) if self._is_bound else route

    def _await_pardon(self, route: Route | Detour, state: LadderState) -> Route | Detour:
        """Return a short wait if a host has just climbed, since its proxies are about to be pardoned."""
        if not isinstance(route, Detour) or route.wait_s is None:
            return route
        if not state.since or self._clock.now() >= state.since + PARDON_S:
            return route
        return replace(route, wait_s=min(route.wait_s, LOOK_AGAIN_S), refusals=0, refused=0)

    async def _claim_probe(self, host: str, rules: LadderRules, claim: ProbeClaim) -> bool:
        """Return whether this request tries the next lower rung, or moves to the lane for it."""
        now, is_claimed = self._clock.now(), False

        def decide(state: LadderState) -> LadderDecision:
            nonlocal is_claimed
            claimed = claim(state, rules, now)
            is_claimed = claimed is not state
            return LadderDecision(state=claimed)

        await self._store.change_state(host, decide)
        return is_claimed

    def _lane_of(self, rung: str, request: Request) -> str:
        """Return the lane in which a request for a rung waits. Lanes with other names belong to their
        authors."""
        if not self._has_lane or request.lane not in (PAGE_LANE, BROWSER_LANE):
            return request.lane
        return BROWSER_LANE if way_of(rung) == BROWSER_WAY else PAGE_LANE

    def _skip_way(self, way: str, error: MissingServiceError) -> None:
        self._missing.add(way)
        self._tell("error", f"the rung {way} is skipped, since it cannot be used here: {error}")

    def _tell(self, level: str, text: str) -> None:
        self._sink.emit(NoticeEvent(at=self._clock.now(), level=level, text=text))
