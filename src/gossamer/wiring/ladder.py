"""The router of a crawl that has something to choose, by the settings; imported where there is."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import MissingServiceError
from gossamer.core.jobs import Job, tag_of
from gossamer.fetch.routing.compared import ComparingFetcher
from gossamer.fetch.routing.guises import GuisePlanner
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.proxies import ProxyPool
from gossamer.fetch.routing.router import LadderRouter
from gossamer.fetch.sessions.pool import SessionPool
from gossamer.policy.blocks import find_block
from gossamer.policy.ladder import LadderRules
from gossamer.policy.proxy_rotation import RotationOrder
from gossamer.policy.rung_plan import RungPlan
from gossamer.policy.sessions import SessionRules
from gossamer.ports.clock import Clock
from gossamer.ports.fetcher import Fetcher
from gossamer.ports.shared_state import SharedState
from gossamer.wiring.proxies import open_proxy_pool
from gossamer.wiring.routing import RouteParts
from gossamer.wiring.rules import block_rules_of


async def compare_proxies(parts: RouteParts, fetcher: Fetcher) -> tuple[RouteParts, Fetcher]:
    """Return the parts with proxies, and a fetcher that compares their answers. Raises as their lists do."""
    pool = await _open_pool(parts)
    if pool is None:
        return parts, fetcher
    rules = block_rules_of(parts.settings)
    compared = ComparingFetcher(fetcher, pool, lambda fetched: find_block(fetched, rules) is not None)
    return replace(parts, proxies=pool), compared


async def _open_pool(parts: RouteParts) -> ProxyPool | None:
    return await open_proxy_pool(
        parts.settings, parts.shared, parts.clock, parts.sink, is_alone=parts.is_alone
    )


async def open_ladder_router(
    parts: RouteParts, plan: RungPlan, missing: Mapping[str, MissingServiceError]
) -> LadderRouter:
    """Raises the errors of reading the lists of proxies."""
    settings, shared, clock = parts.settings, parts.shared, parts.clock
    ladder, proxies = settings.ladder, settings.proxies
    rules = LadderRules(
        climb_after=ladder.climb_after,
        probe_after_s=ladder.probe_after,
        longest_probe_s=max(ladder.remember, ladder.probe_after),
    )
    guises = GuisePlanner(
        session_pool_of(settings, shared, clock, parts.job, is_alone=parts.is_alone),
        parts.proxies or await _open_pool(parts),
        always=proxies.always,
        is_sticky=RotationOrder(proxies.rotation) is RotationOrder.STICKY,
    )
    store = LadderStore(shared, clock, remember_s=ladder.remember, is_alone=parts.is_alone)
    return LadderRouter(
        store,
        plan,
        rules,
        clock,
        parts.sink,
        lanes=parts.lanes,
        missing=missing,
        guises=guises,
        within_budget=None if parts.spending is None else parts.spending.allowed_rungs,
        is_bound=bool(proxies.only) and not parts.is_alone,
    )


def session_pool_of(
    settings: Settings,
    shared: SharedState,
    clock: Clock,
    job: Job,
    *,
    is_alone: bool = False,
) -> SessionPool:
    """Return the identities of a job."""
    wanted = settings.sessions
    rules = SessionRules(
        per_host=wanted.per_host,
        max_uses=wanted.max_uses,
        max_age_s=wanted.max_age,
        max_errors=wanted.max_errors,
        profiles=wanted.profiles,
    )
    return SessionPool(shared, clock, tag_of(job), rules, is_alone=is_alone)
