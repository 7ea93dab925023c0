"""Assembles the watch of a fleet or of a crawl on one machine, by the settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from gossamer.config.settings import Settings
from gossamer.core.events import TimeLeftEvent
from gossamer.core.jobs import FrontierStats, Job
from gossamer.core.routes import Proxy
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alert_readings import ProxyPoolState
from gossamer.policy.drift import DriftFinding
from gossamer.policy.sentences.time_left import describe_left
from gossamer.policy.time_left import TimeEstimate
from gossamer.policy.troubles import LISTED_PROXIES
from gossamer.ports.job_store import JobStore
from gossamer.ports.sink import Sink
from gossamer.watch.item_quality import ensure_profile, make_profile
from gossamer.watch.memories import job_of_place, place_of_crawl, place_of_fleet
from gossamer.watch.parts import WatchedJob, WatchParts
from gossamer.watch.watch import AlertWatch
from gossamer.wiring.alert_targets import alert_rules_of, alert_targets_of, name_watched, wanted_severities
from gossamer.wiring.backends import Backends, name_place
from gossamer.wiring.budgets import read_budgets
from gossamer.wiring.proxies import read_listed, read_proxy_health
from gossamer.wiring.quality import quality_parts_of
from gossamer.wiring.rules import lanes_of, lanes_of_job

POOLS_READ_S = 600.0
"""Seconds between two readings of the lists of proxies."""


def watch_fleet(
    settings: Settings, backends: Backends, book: JobStore, *, is_leading: Callable[[], bool]
) -> AlertWatch:
    """Assemble the watch of a fleet with the jobs of ``book``. Raises as ``alert_targets_of`` does."""
    fleet = backends.require_fleet()

    def open_job(job: Job) -> WatchedJob:
        return WatchedJob(
            job=job,
            frontier=backends.open_frontier(job),
            lanes=lanes_of_job(job, settings),
            read_budgets=partial(read_budgets, settings, fleet.shared, job),
        )

    parts = _make_parts(
        settings,
        backends,
        name=place_of_fleet(settings.cluster.fleet),
        title=name_watched(settings),
        list_jobs=partial(book.list_jobs, unfinished=True),
        list_all=book.list_jobs,
        open_job=open_job,
    )

    async def is_left(place: str) -> bool:
        left = await book.get(job_of_place(place))
        return left is not None and left.is_fleet and not left.is_running

    read_roster = partial(fleet.roster.read_roster, history=True)  # whose shift just ended is not idle
    parts = replace(
        parts,
        read_roster=read_roster,
        read_memory=fleet.read_memory,
        try_writing=fleet.try_writing,
        is_left=is_left,
    )
    return AlertWatch(parts, is_leading=is_leading)


def watch_crawl(
    settings: Settings,
    backends: Backends,
    job: Job,
    sink: Sink,
    is_seeded: Callable[[FrontierStats], bool],
) -> AlertWatch:
    """Assemble the watch of a crawl on one machine, in its process; ``sink`` receives its estimates.

    Raises as :func:`watch_fleet` does.
    """

    def report_left(job: Job, left: TimeEstimate) -> None:
        event = TimeLeftEvent(
            at=left.at, job=job.id, least_s=left.least_s, most_s=left.most_s, text=describe_left(left)
        )
        sink.emit(event)

    async def list_jobs() -> Sequence[Job]:
        return [found] if (found := await backends.book.get(job.id)) else []

    def open_job(job: Job) -> WatchedJob:
        return WatchedJob(
            job=job,
            frontier=backends.open_frontier(job),
            lanes=lanes_of(settings, job),
            concurrency=settings.concurrency,
            read_budgets=partial(read_budgets, settings, backends.requests.shared, job),
            is_seeded=is_seeded,
        )

    async def is_left(place: str) -> bool:
        left = await backends.book.get(job_of_place(place))
        return left is None or (not left.is_fleet and await backends.at_work(left) is None)

    parts = _make_parts(
        settings,
        backends,
        name=place_of_crawl(job),
        title=name_watched(settings, job),
        list_jobs=list_jobs,
        open_job=open_job,
    )
    return AlertWatch(replace(parts, report_left=report_left, is_left=is_left))


def _make_parts(
    settings: Settings,
    backends: Backends,
    *,
    name: str,
    title: str,
    list_jobs: Callable[[], Awaitable[Sequence[Job]]],
    list_all: Callable[[], Awaitable[Sequence[Job]]] | None = None,
    open_job: Callable[[Job], WatchedJob],
) -> WatchParts:
    quality = quality_parts_of(settings, backends)

    async def find_findings(job: Job) -> Sequence[DriftFinding]:
        if job.end_reason is None:
            return (await make_profile(quality, job, looks_closer=False)).losses
        return (await ensure_profile(quality, job)).losses

    return WatchParts(
        name=name,
        title=title,
        list_jobs=list_jobs,
        list_all=list_all,
        refresh=lambda job: backends.book.get(job.id),
        open_job=open_job,
        shared=backends.requests.shared,
        store=backends.store,
        series=backends.series,
        clock=backends.clock,
        show=formatter_at,
        rules=alert_rules_of(settings.alerts),
        find_findings=find_findings,
        read_pools=PoolReader(settings, backends).read_pools if settings.proxies.are_there else None,
        requests_name=name_place(settings.frontier.url),
        store_name=name_place(settings.store.url),
        targets=alert_targets_of(settings),
        wanted=wanted_severities(settings.alerts),
    )


class PoolReader:
    """Counts the proxies of each provider that can be used; their lists are read now and then."""

    def __init__(self, settings: Settings, backends: Backends) -> None:
        self._settings = settings
        self._clock = backends.clock
        self._shared = backends.requests.shared
        self._proxies: tuple[Proxy, ...] = ()
        self._read_at: float | None = None

    async def read_pools(self) -> Sequence[ProxyPoolState]:
        """Return the state of each pool. Raises ``OperatorError``."""
        now = self._clock.now()
        if self._read_at is None or now - self._read_at > POOLS_READ_S:
            self._proxies = await read_listed(self._settings, self._clock)
            self._read_at = now
        healths = await read_proxy_health(self._shared, self._proxies)
        pools: dict[str, list[bool]] = {}
        for proxy, health in zip(self._proxies, healths, strict=True):
            whole = health.whole
            is_out = whole is not None and not whole.ended_at  # in quarantine, or in an unknown state
            pools.setdefault(proxy.provider or LISTED_PROXIES, []).append(not is_out)
        return [
            ProxyPoolState(pool=pool, proxies=len(usable), usable=sum(usable))
            for pool, usable in pools.items()
        ]
