"""One look at one job: its counts, its hosts, the limit of its pace, its problems."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from math import inf

from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DueCounts, FrontierStats, Job, JobTotals
from gossamer.core.series import ALLOWED, ATTEMPTS, BUCKET_S, HOUR_S, HourlyKind
from gossamer.core.shifts import EndReason, JobSample, LaneHealth, RosterView, ShiftState, WorkerState
from gossamer.policy.alert_readings import FailingHost, JobLook, TroubledHost
from gossamer.policy.goals import sum_goals
from gossamer.policy.host_sums import HostSums, is_asked_still, settle_pace, sum_hosts, troubled_hosts
from gossamer.policy.job_memory import JobMemory, fill_look, remember_findings, remember_sample, wants_items
from gossamer.policy.job_samples import mean_latency_s, rate_of
from gossamer.policy.pace_limit import PaceFacts, find_limit
from gossamer.policy.time_left import LeftFacts, estimate_time_left
from gossamer.policy.trap_closing import count_left_out
from gossamer.ports.job_frontier import JobFrontier
from gossamer.ports.series import Series
from gossamer.watch.parts import WatchedJob, WatchParts

HOSTS_LOOKED_AT = 2000
"""Hosts of a job that are read one by one, those with most requests; others count as average."""
RATE_S = 60.0
"""Seconds over which rates are measured."""
FAILING_HOSTS = 10
"""Number of hosts with most failures to read."""
STORED_S = 3.0
"""Seconds after which a store that answers, but stores nothing, counts as refusing changes."""


async def look_at_job(
    parts: WatchParts, watched: WatchedJob, memory: JobMemory, view: RosterView | None, store_lag_s: float
) -> tuple[JobLook, JobMemory]:
    """Return the findings about a running job, and its new memory. Raises ``StorageError``."""
    job, now = watched.job, parts.clock.now()
    is_noted = now // BUCKET_S == memory.at // BUCKET_S
    stats = await watched.frontier.read_stats()
    totals = await parts.store.read_totals(job)
    memory = remember_sample(memory, _make_sample(stats, totals, now, is_seeded=watched.is_seeded(stats)))
    rules = await watched.frontier.read_rules()
    hosts = await observe_hosts(watched.frontier, stats, rules, now, memory)
    note = partial(parts.series.set_gauges, job, now, gauges_of_hosts(hosts))
    refusal = None if is_noted else await find_refusal(note)
    facts = pace_facts(
        memory, stats, hosts, store_lag_s, is_slot_free=is_slot_free(watched, stats, view, now)
    )
    left = estimate_time_left(left_facts(memory, stats, rules, hosts), memory.left)
    if parts.report_left is not None:
        parts.report_left(job, left)
    memory = replace(
        memory, hosts=hosts, pace=settle_pace(memory.pace, find_limit(facts), hosts, now), left=left
    )
    if parts.find_findings is not None and wants_items(memory, now):
        with contextlib.suppress(StorageError):  # that the job itself cannot be read would be another matter
            memory = remember_findings(memory, await parts.find_findings(job), now)
    failing = await find_failing(parts.series, job, now, parts.rules.window_s)
    look = JobLook(
        id=job.id,
        at=now,
        due=hosts.due,
        has_workers=view is None or bool(takers_of(view, watched.lanes)),
        unserved=await find_unserved(watched.frontier, view, watched.lanes),
        refusal=None if view is None else find_common_refusal(view, job.id, watched.lanes),
        failing=failing,
        troubled=await find_troubled(parts, watched, hosts, rules=rules, failing=failing),
        budgets=tuple(await watched.read_budgets() if watched.read_budgets else ()),
        left_out=count_left_out(totals.dropped),
        store_refusal=refusal,
    )
    return fill_look(look, memory), memory


def _make_sample(stats: FrontierStats, totals: JobTotals, now: float, *, is_seeded: bool) -> JobSample:
    """The counts of one look."""
    listed, listed_done = sum_goals(totals)
    return JobSample(
        at=now,
        pages=stats.pages,
        waiting=stats.waiting,
        settled=stats.done + stats.dead,
        is_seeded=is_seeded,
        attempts=totals.attempts,
        items=totals.items + totals.duplicates,
        dead=stats.dead,
        answers=sum(totals.by_latency.values()),
        latency_sum_s=totals.latency_sum_s,
        listed=listed,
        listed_done=listed_done,
    )


async def find_refusal(write: Callable[[], Awaitable[None]]) -> str:
    """Return why a readable place takes no changes; empty: it takes them. Does not raise its errors."""
    try:
        async with asyncio.timeout(STORED_S):
            await write()
    except TimeoutError as error:
        return _find_reason(error) or f"nothing was stored within {STORED_S:g} seconds"
    except StorageError as error:
        return str(error)
    return ""


def _find_reason(error: BaseException) -> str:
    """Return the error of the last try of work whose time is over; empty: none has failed."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, StorageError):
        cause = cause.__cause__
    return "" if cause is None else str(cause)


def left_facts(memory: JobMemory, stats: FrontierStats, rules: FrontierRules, hosts: HostSums) -> LeftFacts:
    """Return the facts for the time left; the last sample of the memory is the current one."""
    return LeftFacts(
        now=memory.at,
        is_seeded=memory.samples[-1].is_seeded,
        samples=memory.samples,
        delayed=stats.delayed,
        pending=stats.pending,
        max_pages=rules.max_pages,
        hosts=hosts.end,
    )


async def observe_hosts(
    frontier: JobFrontier, stats: FrontierStats, rules: FrontierRules, now: float, memory: JobMemory
) -> HostSums:
    """Return the sums over the hosts of a job for which requests wait."""
    reports = await frontier.busiest_hosts(HOSTS_LOOKED_AT) if stats.hosts else []
    usual_s = mean_latency_s(memory.samples, RATE_S)
    return sum_hosts(reports, rules, now, hosts=stats.hosts, p50_s=usual_s)


def gauges_of_hosts(hosts: HostSums) -> dict[str, int]:
    """Return the gauges of the hosts: requests that may start now, and the allowed rate."""
    allowed = {} if hosts.allowed_per_s is None else {ALLOWED: round(hosts.allowed_per_s * 1000)}
    return {"due": int(hosts.due), **allowed}


def pace_facts(
    memory: JobMemory, stats: FrontierStats, hosts: HostSums, store_lag_s: float, *, is_slot_free: bool
) -> PaceFacts:
    """Return the facts that decide the pace, as far as one look shows them."""
    return PaceFacts(
        is_budget_spent=stats.budget_spent,
        waiting_hosts=hosts.hosts,
        held_hosts=hosts.held_hosts,
        started_per_s=rate_of(memory.samples, "attempts", RATE_S),
        allowed_per_s=hosts.allowed_per_s,
        store_lag_s=store_lag_s,
        is_slot_free=is_slot_free,
        due=hosts.due,
    )


def is_slot_free(watched: WatchedJob, stats: FrontierStats, view: RosterView | None, now: float) -> bool:
    """Return whether a worker could begin another request now, on each lane with due requests."""
    if view is None:
        return watched.concurrency is None or stats.leased < watched.concurrency
    due = [lane for lane in watched.lanes if stats.next_by_lane.get(lane, inf) <= now]
    served = [lane for lane in due if takers_of(view, (lane,))]
    return (
        all(_has_free_slot(view, (lane,)) for lane in served)
        if served
        else _has_free_slot(view, watched.lanes)
    )


def _has_free_slot(view: RosterView, lanes: Sequence[str]) -> bool:
    takers = takers_of(view, lanes)
    ids = {worker_id for worker_id, _ in takers}
    taken = sum(shift.worker in ids for shift in view.shifts if shift.state is ShiftState.WORKING)
    return taken < sum(slots for _, slots in takers)


def takers_of(view: RosterView, lanes: Sequence[str]) -> list[tuple[str, int]]:
    """Return the present workers that take shifts of one of these lanes, with their slots."""
    return [
        (worker.id, worker.slots)
        for worker in view.workers
        if worker.state is WorkerState.WORKING
        and not worker.is_silent(view.at)
        and not set(lanes).isdisjoint(worker.lanes)
    ]


def refusers_of(view: RosterView, health: LaneHealth) -> list[str]:
    """Return the present workers that refuse a job on a lane."""
    if health.why is not EndReason.REFUSED:
        return []
    there = {worker.id for worker in view.workers if not worker.is_silent(view.at)}
    return [worker for worker in health.refused_by if worker in there]


def find_common_refusal(view: RosterView, job_id: str, lanes: Sequence[str]) -> str | None:
    """Return why all present workers refuse a job; ``None``: one may take it, as far as is known."""
    ids = {worker_id for worker_id, _ in takers_of(view, lanes)}
    refusals = [one for one in view.standings if one.job == job_id and refusers_of(view, one)]
    refused_by = {worker for one in refusals for worker in one.refused_by}
    if not ids or not ids <= refused_by:
        return None
    return next((one.detail for one in refusals if one.detail), "")


async def find_unserved(
    frontier: JobFrontier, view: RosterView | None, lanes: Sequence[str]
) -> tuple[DueCounts, ...]:
    """Return due requests on lanes that no worker takes, if others are taken. Raises ``StorageError``."""
    if view is None or not takers_of(view, lanes):
        return ()
    without = [lane for lane in lanes if not takers_of(view, (lane,))]
    due = await frontier.count_due() if without else []
    return tuple(one for one in due if one.lane in without and one.requests)


async def find_troubled(
    parts: WatchParts,
    watched: WatchedJob,
    hosts: HostSums,
    *,
    rules: FrontierRules,
    failing: Sequence[FailingHost],
) -> tuple[TroubledHost, ...]:
    """Return the hosts in trouble that are reported, also those with nothing but waiting retries.

    Those are not among the busiest hosts.
    """
    now, least_s = parts.clock.now(), parts.rules.no_success_s
    if least_s <= 0:
        return ()
    known = {host.host for host in hosts.troubled}
    found = [await watched.frontier.find_host(one.host) for one in failing if one.host not in known]
    retried = troubled_hosts(
        report
        for report in found
        if report is not None and not report.pending and is_asked_still(report.state, rules, now)
    )
    long = [host for host in (*hosts.troubled, *retried) if host.until - host.since >= least_s]
    return await find_reasons(parts.series, watched.job, now, long)


async def find_reasons(
    series: Series, job: Job, now: float, hosts: Sequence[TroubledHost]
) -> tuple[TroubledHost, ...]:
    """Hosts with the fault that most requests to them met since their trouble began; few, if any."""
    if not hosts:
        return ()
    since, until = int(min(host.since for host in hosts) // HOUR_S * HOUR_S), int(now) + 1
    counts: dict[str, Counter[str]] = {host.host: Counter() for host in hosts}
    since = max(since, until - int(24 * HOUR_S))
    for row in await series.read_hours(job, HourlyKind.HOST, since, until, [*counts]):
        if row.label != ATTEMPTS:
            counts[row.who][row.label] += row.value
    return tuple(
        replace(host, reason=max(counts[host.host], key=counts[host.host].__getitem__, default=""))
        for host in hosts
    )


async def find_failing(series: Series, job: Job, now: float, window_s: float) -> tuple[FailingHost, ...]:
    """Return the hosts with most failed attempts in the hours that the window touches."""
    since, until = int((now - window_s) // HOUR_S * HOUR_S), int(now) + 1
    worst = await series.rank_failures(job, HourlyKind.HOST, since, until, FAILING_HOSTS)
    if not worst:
        return ()
    attempts, failed = dict.fromkeys(worst, 0), dict.fromkeys(worst, 0)
    for row in await series.read_hours(job, HourlyKind.HOST, since, until, worst):
        counted = attempts if row.label == ATTEMPTS else failed
        counted[row.who] += row.value
    return tuple(FailingHost(host=host, attempts=attempts[host], failed=failed[host]) for host in worst)
