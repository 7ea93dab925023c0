"""A job with all that is known of how it does: what its row, its view and its sentences are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from gossamer.core.errors import LostRequestsError, StorageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DueCounts, FrontierStats, Job, JobTotals
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.record import Record
from gossamer.core.shifts import JobSample, RosterView
from gossamer.core.text import format_count
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alert_readings import (
    describe_left_out,
    describe_longest_trouble,
    describe_refusing,
    describe_unreadable,
    has_lost_proxies,
)
from gossamer.policy.alerts_on import AlertView
from gossamer.policy.goals import read_goals
from gossamer.policy.host_sums import HostSums
from gossamer.policy.job_life import mark_interrupted
from gossamer.policy.job_memory import JobMemory, PlaceMemory
from gossamer.policy.pace_limit import DelayReason, PaceLimit, find_limit
from gossamer.policy.sentences.idle_jobs import describe_lane, describe_refused, describe_unserved
from gossamer.policy.sentences.item_notes import dropped_items
from gossamer.policy.sentences.job_facts import (
    REFUTED,
    YOUNG_S,
    ObservedJobFacts,
    drop_refuted,
    is_end_foreseen,
    is_held_up,
)
from gossamer.policy.sentences.jobs import describe_job
from gossamer.policy.sentences.time_left import shorten_left
from gossamer.policy.sentences.words import Saying
from gossamer.policy.time_left import TimeEstimate
from gossamer.policy.trap_closing import count_left_out
from gossamer.policy.troubles import Severity, Trouble, TroubleKind, make_trouble, order_troubles
from gossamer.queries.hosts import find_closed
from gossamer.queries.job_workers import TakerCounts, workers_of
from gossamer.queries.places import read_place, read_view
from gossamer.queries.remembered_jobs import RememberedFacts
from gossamer.watch.job_look import find_unserved, observe_hosts, pace_facts
from gossamer.watch.memories import load_job_memory
from gossamer.wiring.alerts_on import read_job_alerts
from gossamer.wiring.backends import Backends, refresh_job
from gossamer.wiring.rules import lanes_of_job

REQUESTS_PER_SHIFT = 32
"""Number of requests ready to start that keep one more shift busy."""

NO_PLACE = PlaceMemory()


class ObservedJob(Record, frozen=True, kw_only=True):
    """One job at one time."""

    job: Job
    at: float
    totals: JobTotals
    stats: FrontierStats | None  # None: its requests are forgotten, or cannot be read
    unreadable: str = ""  # why they cannot be read
    rules: FrontierRules = FrontierRules()
    memory: JobMemory = JobMemory()
    alerts: AlertView = AlertView()  # that are on
    hosts: HostSums = HostSums()
    limit: PaceLimit | None = None
    pages_per_s: float | None = None  # lately; None: not known
    left: TimeEstimate = TimeEstimate()
    is_at_work: bool = True
    workers: TakerCounts | None = None  # workers on its lanes; None: no fleet, or not read
    more_workers: int = 0  # shifts that would have something to do
    has_supervisor: bool = True
    place: PlaceMemory = PlaceMemory()  # remembered state of the parts that all jobs need
    closed: str = ""  # the first host that is closed by its robots.txt, while no host may be asked
    unserved: tuple[DueCounts, ...] = ()  # requests ready to start on lanes without workers
    store: str = ""  # what people call it
    is_pace_hidden: bool = False  # its hosts were not read lately

    @property
    def is_running(self) -> bool:
        """Whether a run is under way."""
        return self.job.is_running and self.stats is not None

    @property
    def shifts(self) -> int:
        """Its shifts that are at work."""
        return self.workers.shifts if self.workers else 0

    @property
    def has_workers(self) -> bool:
        """Whether a worker takes one of its lanes, as far as is known."""
        return self.workers is None or self.workers.there > 0

    @property
    def store_lag_s(self) -> float:
        """How long the store took to answer, by a look that is not old."""
        return self.place.look.store_lag_s if self.place.is_fresh(self.at) else 0.0


async def observe_job(
    backends: Backends,
    job: Job,
    *,
    view: RosterView | None = None,
    place: PlaceMemory = NO_PLACE,
) -> ObservedJob:
    """Return the facts about a job. ``view`` is the fleet's roster with its history; ``place`` is the
    remembered state of the parts that all jobs need.
    """
    job = await refresh_job(backends, job)
    totals, now = await backends.store.read_totals(job), backends.clock.now()
    stats, unreadable = await _read_stats(backends, job)
    known = ObservedJob(
        job=job,
        at=now,
        totals=totals,
        stats=stats,
        unreadable=unreadable,
        store=backends.store_name,
        place=place,
    )
    memory = await load_job_memory(backends.requests.shared, job)
    known = replace(known, memory=memory, alerts=await read_job_alerts(backends, job, memory))
    if stats is None or not job.is_running:
        is_spent = job.end_reason is FinishReason.MAX_PAGES  # which budget of pages, its rules tell
        rules = await backends.read_rules(job) if is_spent and not unreadable else known.rules
        return replace(known, rules=rules, is_at_work=False)
    return await _observe_run(backends, known, stats, view)


async def observe_closely(backends: Backends, job: Job) -> ObservedJob:
    """Return the facts about one job, with its fleet and place. Raises ``StorageError``."""
    view = await read_view(backends, job) if job.is_fleet else None
    place = await read_place(backends, backends.settings, [job])
    return await observe_job(backends, job, view=view, place=place)


async def _observe_run(
    backends: Backends, known: ObservedJob, stats: FrontierStats, view: RosterView | None
) -> ObservedJob:
    """Return further facts about a running job."""
    job, now, memory = known.job, known.at, known.memory
    frontier = backends.open_frontier(job)
    rules = await frontier.read_rules()
    hosts, limit = memory.hosts, memory.pace.limit
    if not memory.is_fresh(now):
        hosts = await observe_hosts(frontier, stats, rules, now, memory)
        limit = find_limit(pace_facts(memory, stats, hosts, known.store_lag_s, is_slot_free=True))
    known = replace(
        known,
        rules=rules,
        hosts=hosts,
        limit=limit,
        pages_per_s=memory.pages_per_s_at(now),
        left=memory.left_at(now),
        is_at_work=job.is_fleet or await backends.at_work(job) is not None,
        closed=await find_closed(backends, job) if limit is PaceLimit.HELD else "",
    )
    if view is not None:
        lanes = lanes_of_job(job, backends.settings)
        unserved = await find_unserved(frontier, view, lanes)
        known = _add_fleet(replace(known, unserved=unserved), view, lanes)
    return _foresee(known)


def _foresee(known: ObservedJob) -> ObservedJob:
    """Return the facts without a time left if the job's conditions have changed."""
    return known if is_end_foreseen(facts_of(known)) else replace(known, left=TimeEstimate())


async def glance_at_job(
    backends: Backends,
    job: Job,
    remembered: RememberedFacts,
    *,
    view: RosterView | None = None,
    place: PlaceMemory = NO_PLACE,
) -> ObservedJob:
    """Return the remembered facts about a job, at a part of the cost of a close look.

    Counts and pace come from the process that watches it; requests of an unwatched job are counted.
    """
    if job.is_running and not job.is_fleet and await backends.at_work(job) is None:
        job = mark_interrupted(job)
    memory, now = remembered.memories[job.id], backends.clock.now()
    known = ObservedJob(
        job=job,
        at=now,
        totals=JobTotals(),
        stats=FrontierStats(state=job.state),
        store=backends.store_name,
        place=place,
        memory=memory,
        alerts=await read_job_alerts(backends, job, memory, remembered.profiles),
    )
    if not job.is_running:
        return replace(known, is_at_work=False)
    if memory.is_fresh(now):
        known = _recall_run(known)
    else:
        stats, unreadable = remembered.stats.get(job.id), ""
        if stats is None:
            stats, unreadable = await _read_stats(backends, job)
        known = replace(known, stats=stats, unreadable=unreadable, is_pace_hidden=True)
    if view is not None:
        known = _add_fleet(known, view, lanes_of_job(job, backends.settings))
    return _foresee(known)


def _recall_run(known: ObservedJob) -> ObservedJob:
    """Return the run as its watching process last saw it."""
    memory, now = known.memory, known.at
    latest = memory.samples[-1] if memory.samples else JobSample(at=now)
    return replace(
        known,
        totals=JobTotals(pages=latest.pages, attempts=latest.attempts, items=latest.items),
        stats=FrontierStats(
            state=known.job.state,
            pages=latest.pages,
            pending=latest.waiting,
            dead=latest.dead,
            seeded=latest.is_seeded,
        ),
        hosts=memory.hosts,
        limit=memory.pace.limit,
        pages_per_s=memory.pages_per_s_at(now),
        left=memory.left_at(now),
    )


async def read_current_alerts(
    backends: Backends, job: Job, view: RosterView | None, profiles: Mapping[str, bytes] | None = None
) -> AlertView:
    """The alerts that are on for a job, without those that one look at it refutes. Raises ``StorageError``.

    A job is looked at only where that could refute one of its alerts. ``profiles`` (by job) where those were
    read already.
    """
    found = await read_job_alerts(backends, job, profiles=profiles)
    if all(one.kind not in REFUTED for one in found.troubles):
        return found
    known = await observe_job(backends, job, view=view)
    return replace(found, troubles=tuple(drop_refuted(_calm_facts(known), found.troubles)))


async def _read_stats(backends: Backends, job: Job) -> tuple[FrontierStats | None, str]:
    """The counts of a job's requests, or why there are none."""
    try:
        return await backends.open_frontier(job).read_stats(), ""
    except LostRequestsError as error:
        return None, "" if job.finished_at is not None else str(error)
    except StorageError as error:
        return None, str(error)


def _add_fleet(known: ObservedJob, view: RosterView, lanes: Sequence[str]) -> ObservedJob:
    """With who works on it, or could."""
    more = 0
    if known.limit is PaceLimit.WORKERS:
        more = max(1, min(known.hosts.due // REQUESTS_PER_SHIFT, known.hosts.hosts))
    return replace(
        known,
        workers=workers_of(view, known.job.id, lanes),
        more_workers=more,
        has_supervisor=bool(view.leader),
    )


# --------------------------------------------------------------------------- sentences


def say_of(known: ObservedJob) -> Saying:
    """The two sentences about a job."""
    return describe_job(facts_of(known), formatter_at(known.at))


def facts_of(known: ObservedJob) -> ObservedJobFacts:
    """Return the facts for the sentences about a job."""
    needs = tuple(one for one in troubles_of(known) if one.severity is Severity.NEEDS_YOU)
    return replace(_calm_facts(known), needs=needs)


def _calm_facts(known: ObservedJob) -> ObservedJobFacts:
    """The same without its troubles."""
    job, stats, place = known.job, known.stats, known.place
    facts = ObservedJobFacts(
        id=job.id,
        state=job.state,
        now=known.at,
        created_at=job.created_at,
        end_reason=job.end_reason,
        end_error=job.end_error,
        unreadable=known.unreadable,
        unwritable=next((describe_refusing(*item) for item in place.look.refusing.items()), ""),
        away=next(iter(place.look.away), "") if place.is_fresh(known.at) else "",
        has_lost_proxies=place.is_fresh(known.at) and has_lost_proxies(place.look),
        is_fleet=job.is_fleet,
        is_at_work=known.is_at_work,
        is_forgotten=stats is None and not known.unreadable,
        limit=known.limit,
        attempts=known.totals.attempts,
        answered=known.totals.successes,
        pages=known.totals.pages,
        items=known.totals.items,
        dropped=dropped_items(known.totals),
        waiting=stats.waiting if stats else 0,
        dead=stats.dead if stats else 0,
        max_pages=known.rules.max_pages,
        pages_per_s=known.pages_per_s,
        left=known.left,
        next_at=stats.next_at if stats else None,
        store=known.store,
        store_lag_s=known.store_lag_s,
        goals=read_goals(known.totals),
    )
    return _add_hosts(_add_workers(facts, known), known)


def _add_workers(facts: ObservedJobFacts, known: ObservedJob) -> ObservedJobFacts:
    """With who works on it, or could."""
    workers, place = known.workers or TakerCounts(), known.place
    return replace(
        facts,
        has_supervisor=known.has_supervisor,
        led_s_ago=known.at - place.at if place.look.is_fleet else None,
        has_roster=known.workers is not None,
        has_workers=known.has_workers,
        silent_workers=workers.silent,
        paused_workers=workers.paused,
        refusing=workers.refusing,
        refusal=workers.refusal,
        slots=workers.slots,
        more_workers=known.more_workers,
        unserved=known.unserved,
    )


def _add_hosts(facts: ObservedJobFacts, known: ObservedJob) -> ObservedJobFacts:
    """With what its hosts allow."""
    hosts = known.hosts
    return replace(
        facts,
        allowed_per_s=hosts.allowed_per_s,
        held_until=hosts.held_until,
        hosts=hosts.hosts,
        held=hosts.held,
        slowed=hosts.slowed,
        closed=known.closed,
        troubled=describe_longest_trouble(hosts.troubled, known.at, formatter_at(known.at)),
        due=hosts.due,
        slowest=hosts.latest[0] if hosts.latest else None,
    )


def is_job_held_up(known: ObservedJob) -> bool:
    """Whether a running job is slowed without needing a person."""
    return is_held_up(facts_of(known), troubles_of(known))


def left_text(known: ObservedJob) -> str:
    """The time that a job still takes, for a column, or a word that says why it is not known."""
    if known.is_running and known.limit is PaceLimit.HELD and known.hosts.held_until:
        at, _, _ = formatter_at(known.at).time(known.hosts.held_until).rpartition(" ")  # without the zone
        return f"from {at}"
    return shorten_left(known.left)


def note_on_state(known: ObservedJob) -> str:
    """Since when a job that does not run is as it is, and why."""
    job, show = known.job, formatter_at(known.at)
    if job.state is JobState.PAUSED:
        return "paused"
    if job.finished_at is None or known.is_running:
        return ""
    reason = job.end_reason.value if job.end_reason else job.state.value
    return f"{reason.replace('_', ' ')} {show.time(job.finished_at)}"


# --------------------------------------------------------------------------- problems


def troubles_of(known: ObservedJob) -> list[Trouble]:
    """Return the problems of a job: its alerts, and problems visible at one look."""
    told = {alert.id for alert in (*known.alerts.troubles, *known.alerts.acknowledged)}
    found = [one for one in _seen_troubles(known) if one.id not in told]
    return order_troubles([*drop_refuted(_calm_facts(known), known.alerts.troubles), *found])


def _seen_troubles(known: ObservedJob) -> list[Trouble]:
    job, at, found = known.job.id, known.at, []
    if known.unreadable:
        found.append((TroubleKind.UNREADABLE, job, describe_unreadable(job, known.unreadable), at))
    if links := count_left_out(known.totals.dropped):
        found.append((TroubleKind.TRAP, job, describe_left_out(job, links), at))
    if known.is_running and at - known.job.created_at >= YOUNG_S:
        found += ((kind, job, text, since) for kind, text, since in _running_troubles(known))
        found += (
            (TroubleKind.NO_WORKER, one.lane, describe_lane(job, one), one.since or at)
            for one in known.unserved
        )
    return [make_trouble(kind, who, text, since=since, job=job) for kind, who, text, since in found]


def _running_troubles(known: ObservedJob) -> list[tuple[TroubleKind, str, float]]:
    job, since = known.job, known.memory.pace.since or known.at
    stats, found = known.stats, []
    if job.is_fleet and stats and (stats.waiting or not stats.seeded) and not known.has_workers:
        found.append((TroubleKind.NO_WORKER, describe_unserved(job.id, known.hosts.due), known.at))
    if known.workers is not None and known.workers.refusing:
        found.append((TroubleKind.NO_WORKER, describe_refused(job.id, known.workers.refusal), known.at))
    if known.limit is PaceLimit.HELD and known.hosts.held_hosts:
        hosts, held = known.hosts.held_hosts, known.hosts.held
        who = "Its one host is" if hosts == 1 else f"All of its {hosts:,} hosts are"
        why = ", as it asked" if hosts == 1 and DelayReason.RETRY_AFTER in held else ""
        is_skipped = held.get(DelayReason.SKIPPED, 0) == hosts
        found.append((TroubleKind.HELD, f"{who} {'skipped' if is_skipped else f'left alone{why}'}.", since))
    if known.limit is PaceLimit.WORKERS:
        more = f" {format_count(known.more_workers, 'more shift')} would help." if known.more_workers else ""
        found.append((TroubleKind.LACKS_WORKERS, f"Slower than allowed: all slots are busy.{more}", since))
    return found
