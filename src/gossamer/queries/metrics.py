"""Samples for Prometheus about all crawls, from store, frontier and roster."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from gossamer.config.settings import Settings
from gossamer.core.drops import DropKind
from gossamer.core.errors import MissingServiceError, SettingError, StorageError
from gossamer.core.jobs import DueCounts, FrontierStats, Job, JobTotals
from gossamer.core.record import Record
from gossamer.core.series import LATENCY_BOUNDS_MS, OVER
from gossamer.core.shifts import RosterView, ShiftState, WorkerInfo, WorkerState
from gossamer.observe import metrics
from gossamer.observe.metrics import LatencyCounts, MetricSample, code_of, failure_of, state_samples
from gossamer.policy.job_life import shown_state
from gossamer.policy.job_profile import decode_profile
from gossamer.policy.spider_stats import read_spider_stats
from gossamer.policy.troubles import Trouble
from gossamer.queries.observed_jobs import read_current_alerts
from gossamer.queries.places import read_views
from gossamer.queries.proxies import ProxyStatus, list_proxies
from gossamer.version import __version__
from gossamer.wiring.alerts_on import read_place_alerts, read_place_memories, read_profiles_of
from gossamer.wiring.backends import Backends, refresh_job
from gossamer.wiring.rules import lanes_of_job

JOBS = 50
"""Maximum number of jobs exported: open ones and those that ended lately, newest first."""
ENDED_S = 3600.0
"""Seconds for which an ended job is still exported, so that its last counts are scraped."""
FRESH_S = 1.0
"""Seconds for which samples are cached across all clients."""
LISTED_S = 60.0
"""How often all jobs are looked at, for those that began and ended meanwhile."""
PROXIES_S = 60.0
"""How often proxies are looked at: their list may be at a URL."""
DROPS = 50
"""Maximum number of drop reasons exported, the commonest first; users' code makes them."""
ALERTS = 100
"""Maximum number of alerts exported per job."""
SILENT = "silent"
"""The state of a worker that has not been heard of for longer than the supervisor waits."""


class CrawlFacts(Record, frozen=True):
    """One job as its places have it."""

    job: Job
    totals: JobTotals
    stats: FrontierStats | None = None  # None: its requests cannot be read, or are forgotten
    due: tuple[DueCounts, ...] = ()
    lanes: tuple[str, ...] = ()
    at: float = 0.0  # by the frontier's clock
    quality: float | None = None  # of its items, when it ended; None: not known


class MetricsReader:
    """Reads the samples of one place of crawls."""

    def __init__(self, settings: Settings, backends: Backends) -> None:
        self._settings = settings
        self._backends = backends
        self._proxies: Sequence[ProxyStatus] = ()
        self._proxies_at: float | None = None
        self._told: list[Job] = []  # those of the latest look
        self._listed_at: float | None = None
        self._latest: tuple[float, list[MetricSample]] | None = None  # since when, by the loop's time
        self._reading = asyncio.Lock()

    async def read_samples(self) -> list[MetricSample]:
        """All samples, at most ``FRESH_S`` old. Raises ``StorageError`` when store or roster is away."""
        now = asyncio.get_running_loop().time
        async with self._reading:
            if self._latest is None or now() >= self._latest[0] + FRESH_S:
                began = now()
                samples = await self._read_all()
                samples.append(MetricSample(metrics.SCRAPE_DURATION, now() - began))
                self._latest = now(), samples
            return self._latest[1]

    async def _read_all(self) -> list[MetricSample]:
        found = [MetricSample(metrics.BUILD_INFO, 1, (__version__,))]
        fleet = self._backends.requests.fleet
        # First: where it is away, jobs would be waited for one by one.
        view = None if fleet is None else await fleet.roster.read_roster()
        jobs = [await refresh_job(self._backends, job) for job in await self._list_jobs()]
        profiles = await read_profiles_of(self._backends, jobs)
        views = await read_views(self._backends, jobs, view)
        for job in jobs:
            snapshot = await self._read_job(job, profiles)
            found += (sample._replace(labels=(job.id, *sample.labels)) for sample in job_samples(snapshot))
            alerts = await read_current_alerts(self._backends, job, views.view_of(job), profiles)
            found += alert_samples(alerts.troubles)
        found += await self._read_places(jobs, view)
        if view is not None:
            found += roster_samples(view, self._settings.cluster.lanes)
        found += proxy_samples(await self._read_proxies())
        return found

    async def _list_jobs(self) -> list[Job]:
        """Those that are not over, and those that ended lately; all jobs of a place are rarely looked at."""
        now, book = self._backends.clock.now(), self._backends.book
        if self._listed_at is None or now >= self._listed_at + LISTED_S:
            self._listed_at, self._told = now, await book.list_jobs()
        told = {job.id: job for job in await book.list_jobs(unfinished=True)}
        for job in self._told:
            if job.id not in told and job.is_unfinished:  # it has ended since all were looked at
                told[job.id] = await book.get(job.id) or job
            told.setdefault(job.id, job)
        since = now - ENDED_S
        lately = [job for job in told.values() if job.is_unfinished or (job.finished_at or 0.0) >= since]
        self._told = sorted(lately, key=lambda job: job.created_at, reverse=True)[:JOBS]
        return self._told

    async def _read_job(self, job: Job, profiles: Mapping[str, bytes]) -> CrawlFacts:
        totals = await self._backends.store.read_totals(job)
        quality = _score_items(job, profiles)
        try:
            frontier = self._backends.open_frontier(job)
            stats, due = await frontier.read_stats(), await frontier.count_due()
        except StorageError:  # the process that watches it reports this
            return CrawlFacts(job=job, totals=totals, quality=quality)
        lanes = lanes_of_job(job, self._settings) if job.is_unfinished else ()
        now = self._backends.clock.now()
        return CrawlFacts(
            job=job, totals=totals, stats=stats, due=tuple(due), lanes=lanes, at=now, quality=quality
        )

    async def _read_places(self, jobs: Sequence[Job], view: RosterView | None) -> Sequence[MetricSample]:
        """Return samples about the parts that all jobs need; of several stores, the slowest."""
        now = self._backends.clock.now()
        memories = await read_place_memories(self._backends, jobs, view)
        alerts = await read_place_alerts(self._backends, jobs, view, memories)
        lags_s = [memory.look.store_lag_s for memory in memories if memory.is_fresh(now)]
        lag = [MetricSample(metrics.STORE_LAG, max(lags_s))] if lags_s else []
        return [*alert_samples(alerts.troubles), *lag]

    async def _read_proxies(self) -> Sequence[ProxyStatus]:
        now = self._backends.clock.now()
        if self._settings.proxies.are_there and (
            self._proxies_at is None or now >= self._proxies_at + PROXIES_S
        ):
            self._proxies_at = now
            try:
                self._proxies = await list_proxies(self._settings, self._backends)
            except (SettingError, MissingServiceError):  # the crawls that need them say so
                self._proxies = ()
        return self._proxies


def _score_items(job: Job, profiles: Mapping[str, bytes]) -> float | None:
    profile = decode_profile(profiles.get(job.id)) if job.end_reason is not None else None
    return profile.score if profile is not None and profile.items else None


def job_samples(found: CrawlFacts) -> Iterator[MetricSample]:
    """Yield the samples of a job, without its label."""
    yield from total_samples(found.totals)
    if found.quality is not None:
        yield MetricSample(metrics.ITEM_QUALITY, found.quality)
    if found.stats is None:
        yield MetricSample(metrics.JOB_INFO, 1, (shown_state(found.job),))
        return
    yield from state_samples(found.stats, shown_state(found.job))
    due = {count.lane: count.requests for count in found.due}
    for lane in dict.fromkeys((*found.lanes, *due)):
        yield MetricSample(metrics.DUE_REQUESTS, due.get(lane, 0), (lane,))
    waits = [found.at - count.since for count in found.due if count.since is not None]
    yield MetricSample(metrics.OLDEST_WAITING, max((0.0, *waits)))


def total_samples(totals: JobTotals) -> Iterator[MetricSample]:
    """Yield the store's totals of a job."""
    yield MetricSample(metrics.PAGES, totals.pages)
    known = 0
    for key, number in totals.by_outcome.items():
        outcome, _, rung = key.partition(":")
        known += number
        yield MetricSample(metrics.ATTEMPTS, number, (outcome, rung))
    if totals.attempts > known:  # of a version that did not tell them apart
        yield MetricSample(metrics.ATTEMPTS, totals.attempts - known, (metrics.OTHER, ""))
    codes, failures = Counter[str](), Counter[str]()
    for status, number in totals.by_status.items():
        codes[code_of(int(status) // 100)] += number
    codes[metrics.NO_ANSWER] = totals.attempts - codes.total()
    for reason, number in totals.by_reason.items():
        failures[failure_of(reason)] += number
    yield from (MetricSample(metrics.RESPONSES, number, (code,)) for code, number in codes.items())
    yield from (MetricSample(metrics.FAILURES, number, (why,)) for why, number in failures.items() if why)
    latencies = tuple(totals.by_latency.get(str(bound), 0) for bound in (*LATENCY_BOUNDS_MS, OVER))
    yield MetricSample(metrics.FETCH_DURATION, LatencyCounts(latencies, totals.latency_sum_s))
    yield MetricSample(metrics.RECEIVED_BYTES, totals.bytes)
    yield MetricSample(metrics.ITEMS, totals.items + totals.duplicates)
    yield MetricSample(metrics.ITEM_DUPLICATES, totals.duplicates)
    yield MetricSample(metrics.RETRIES, totals.retries)
    dropped: Counter[str] = Counter()
    for reason, number in DropKind.ITEM.select_from(totals.dropped).items():
        dropped[metrics.drop_label(reason)] += number
    shown = dropped.most_common(DROPS)
    yield from (MetricSample(metrics.ITEMS_DROPPED, number, (reason,)) for reason, number in shown)
    yield from metrics.spider_samples(read_spider_stats(totals))
    if rest := dropped.total() - sum(number for _, number in shown):
        yield MetricSample(metrics.ITEMS_DROPPED, rest, (metrics.OTHER,))


def roster_samples(view: RosterView, lanes: Sequence[str]) -> Iterator[MetricSample]:
    """Yield samples about workers and shifts, including lanes of the fleet without workers."""
    states = Counter(_state_of(worker, view.at) for worker in view.workers)
    for state in (*WorkerState, SILENT):
        yield MetricSample(metrics.WORKERS, states[state], (state,))
    slots = Counter[str](dict.fromkeys(lanes, 0))
    for worker in view.workers:
        if _state_of(worker, view.at) == WorkerState.WORKING:
            slots.update(dict.fromkeys(worker.lanes, worker.slots))
    yield from (MetricSample(metrics.WORKER_SLOTS, number, (lane,)) for lane, number in slots.items())
    shifts = Counter((shift.job, shift.lane, ShiftState(shift.state).value) for shift in view.shifts)
    yield from (MetricSample(metrics.SHIFTS, number, labels) for labels, number in shifts.items())


def _state_of(worker: WorkerInfo, now: float) -> str:
    return SILENT if worker.is_silent(now) else worker.state.value


def alert_samples(alerts: Sequence[Trouble]) -> Iterator[MetricSample]:
    """The alerts that are on."""
    for alert in alerts[:ALERTS]:
        yield MetricSample(metrics.ALERT_ACTIVE, 1, (alert.kind.value, alert.job, alert.who))


def proxy_samples(proxies: Sequence[ProxyStatus]) -> Iterator[MetricSample]:
    """How many proxies of each provider are in use, and how many are left alone."""
    found = Counter(
        (proxy.provider, "quarantined" if proxy.quarantined_until is not None else "in_use")
        for proxy in proxies
    )
    yield from (MetricSample(metrics.PROXIES, number, labels) for labels, number in found.items())
