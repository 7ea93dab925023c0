"""Problems found at one check: of a job, and of the parts that all jobs need. Pure.

Each rule has two limits: one begins the problem, the other ends it. A limit of 0 turns the rule off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.jobs import DueCounts
from gossamer.core.lifecycle import FinishReason
from gossamer.core.record import Record
from gossamer.core.shifts import JobSample
from gossamer.core.text import format_count
from gossamer.policy.alerts import STILL_S, AlertReading, AlertRules, ReadingState
from gossamer.policy.drift import DriftFinding, FindingKind
from gossamer.policy.job_samples import KEPT_S, covered_s, growth_of
from gossamer.policy.sentences.idle_jobs import describe_lane, describe_refused, describe_unserved
from gossamer.policy.sentences.quality import describe_finding
from gossamer.policy.sentences.words import SentenceFormatter, short_name
from gossamer.policy.trap_closing import warn_of_traps
from gossamer.policy.troubles import LISTED_PROXIES, TroubleKind

WELL_SHARE = 0.5
"""A problem ends at this share of the limit that began it."""
GROWN = 1.1
"""A frontier that has grown by so much within an hour grows."""
BAND = 0.05
"""A share that was bad at its limit is well when it is lower by so much."""


class FailingHost(Record, frozen=True, kw_only=True):
    """Recent results of requests to one host."""

    host: str
    attempts: int
    failed: int


TROUBLED_S = 60.0
"""A host that has answered nothing well for so long is named."""


class TroubledHost(Record, frozen=True, kw_only=True):
    """A host that is asked again and again, and has answered nothing well for some time."""

    host: str
    since: float
    until: float  # when it was last asked in vain
    pending: int  # requests that wait for it; 0: none but those that wait for their next tries
    is_silent: bool  # it does not answer at all
    reason: str = ""  # the fault that most requests to it met lately; empty: not known


class BudgetUse(Record, frozen=True, kw_only=True):
    """How much of one budget of a job is spent."""

    kind: str  # pages, cost, bytes, browser_seconds, time
    used: float
    limit: float

    @property
    def share(self) -> float:
        """Share of the failed requests, from 0 to 1."""
        return self.used / self.limit if self.limit else 1.0


class ProxyPoolState(Record, frozen=True, kw_only=True):
    """How many proxies of a pool can be used."""

    pool: str
    proxies: int
    usable: int


class JobLook(Record, frozen=True, kw_only=True):
    """The facts about a job that runs or ended lately, from one check."""

    id: str
    at: float
    is_running: bool = True
    end_reason: FinishReason | None = None
    end_error: str = ""
    due: int = 0  # requests that may start now
    has_workers: bool = True  # some worker could work on it
    unserved: tuple[DueCounts, ...] = ()  # due requests on lanes without workers, if other lanes have some
    refusal: str | None = None  # why no worker that is there can do it; None: one can, as far as is known
    samples: tuple[JobSample, ...] = ()  # the last one is of this look
    attempted_at: float = 0.0  # when its attempts last grew; 0: never while it was watched
    item_pages: int = 0  # its pages when its items last grew
    failing: tuple[FailingHost, ...] = ()  # the hosts with most failures
    troubled: tuple[TroubledHost, ...] = ()  # the hosts in trouble for which most requests wait
    budgets: tuple[BudgetUse, ...] = ()
    findings: tuple[DriftFinding, ...] = ()  # what of its items is worse than usual
    unreadable: str = ""  # why its requests cannot be read
    store_refusal: str | None = None  # why the store took no change; "": it took one; None: it was not asked
    left_out: int = 0  # links that were not followed since their patterns count as traps


class PlaceLook(Record, frozen=True, kw_only=True):
    """The facts about the parts that all jobs need, from one check."""

    at: float
    is_fleet: bool = False
    has_leader: bool = True
    jobs: int = 0  # that run
    store: str = "the store"
    store_lag_s: float = 0.0  # how long it took to answer
    redis_used: int = 0  # bytes
    redis_max: int = 0  # 0: it has no limit
    pools: tuple[ProxyPoolState, ...] = ()
    idle: tuple[str, ...] = ()  # workers without a shift, although shifts of their lanes are asked for
    away: dict[str, str] = {}  # services that do not answer, with their errors
    refusing: dict[str, str] = {}  # services that answer but refuse changes, with their errors


# --------------------------------------------------------------------------- a job


def has_lost_proxies(look: PlaceLook) -> bool:
    """Whether proxies are listed, and none can be used. Those of a provider may serve a few hosts alone."""
    listed = [pool for pool in look.pools if pool.pool == LISTED_PROXIES and pool.proxies]
    return bool(listed) and not any(pool.usable for pool in listed)


def read_job(look: JobLook, rules: AlertRules, show: SentenceFormatter) -> Iterator[AlertReading]:
    """Yield the readings of a job."""
    if look.end_reason is FinishReason.ERROR:
        yield _reading(look, TroubleKind.FAILED, describe_failure(look.id, look.end_error))
    if look.unreadable:
        yield _reading(look, TroubleKind.UNREADABLE, describe_unreadable(look.id, look.unreadable))
    if look.left_out:
        yield _reading(look, TroubleKind.TRAP, describe_left_out(look.id, look.left_out))
    yield from _read_findings(look, rules, show)
    if not look.is_running:
        return
    yield from _read_work(look, rules, show)
    yield from _read_counts(look, rules, show)
    yield from _read_budgets(look, rules)


def describe_failure(job: str, error: str) -> str:
    """That a job ended with an error."""
    return f"{job} ended with an error{f': {short_name(error, 200)}' if error else ''}."


def describe_unreadable(job: str, why: str) -> str:
    """That the requests of a job cannot be read, and why."""
    return f"The requests of {job} cannot be read: {short_name(why, 200)}."


def describe_left_out(job: str, links: int) -> str:
    """That links of a job are left out, since their patterns count as traps."""
    return f"{job}: {warn_of_traps(job, links)}."


def kind_of_finding(finding: DriftFinding) -> TroubleKind:
    """Which trouble a finding is."""
    return TroubleKind.NO_ITEMS if finding.kind is FindingKind.NO_ITEMS else TroubleKind.DRIFT


def is_reported(kind: TroubleKind, rules: AlertRules) -> bool:
    """Whether the rule of a finding is on."""
    return kind is not TroubleKind.NO_ITEMS or bool(rules.no_items_pages)


def _read_findings(look: JobLook, rules: AlertRules, show: SentenceFormatter) -> Iterator[AlertReading]:
    """Yield readings of items that are worse than usual; after the job's end they count at once."""
    for one in look.findings:
        kind = kind_of_finding(one)
        if is_reported(kind, rules):
            reading = _reading(look, kind, describe_finding(one, look.id, show), who=one.field)
            yield replace(reading, is_certain=not look.is_running)


def _reading(
    look: JobLook, kind: TroubleKind, text: str, state: ReadingState = ReadingState.BAD, *, who: str = ""
) -> AlertReading:
    return AlertReading(kind=kind, who=who or look.id, job=look.id, text=text, state=state)


def _judge(value: float, bad: float, well: float) -> ReadingState:
    """Whether a value is bad, or well, or in the band between."""
    if value >= bad:
        return ReadingState.BAD
    return ReadingState.WELL if value < well else ReadingState.UNSURE


def _percent(share: float) -> str:
    """A share in per cent; one that is not whole is never said to be."""
    return f"{share:.0%}" if share < 0.995 else "99%" if share < 1 else "100%"


def _read_work(look: JobLook, rules: AlertRules, show: SentenceFormatter) -> Iterator[AlertReading]:
    """Yield readings about due requests without a worker."""
    is_seeded = bool(look.samples) and look.samples[-1].is_seeded
    if not look.has_workers and (look.due or not is_seeded):
        yield _reading(look, TroubleKind.NO_WORKER, describe_unserved(look.id, look.due))
        return
    if look.refusal is not None:
        yield _reading(look, TroubleKind.NO_WORKER, describe_refused(look.id, look.refusal))
        return
    for lane in look.unserved:
        yield _reading(look, TroubleKind.NO_WORKER, describe_lane(look.id, lane), who=lane.lane)
    idle_s = look.at - look.attempted_at if look.attempted_at else 0.0
    if rules.stalled_s and look.due and idle_s >= max(rules.stalled_s - STILL_S, rules.stalled_s / 2):
        text = f"{look.id} stands still: work is due, and nothing was tried for {show.span(idle_s)}."
        yield _reading(look, TroubleKind.STALLED, text)
    for host in look.troubled:
        if rules.no_success_s and host.until - host.since >= rules.no_success_s:
            text = f"{short_name(host.host)} {describe_silence(host, show)}, in {look.id}."
            yield _reading(look, TroubleKind.NO_SUCCESS, text, who=host.host)


_ANSWERS = {Fault.THROTTLED.value: "429 or 503", Fault.GATEWAY.value: "502 or 504"}
"""The statuses of a refusal, by its fault."""


def describe_silence(host: TroubledHost, show: SentenceFormatter) -> str:
    """Describe a host in trouble, without its name: "has answered nothing but 429 or 503 since 14:20"."""
    since, waits = show.time(host.since), format_count(host.pending, "request")
    wait = f"{waits} {'waits' if host.pending == 1 else 'wait'} for it"
    if not host.pending:  # they wait for their next tries, or the last one was given up
        wait = f"it was last asked at {show.time(host.until)}"
    if host.reason == Fault.ROBOTS_UNREACHABLE:
        return f"has been closed since {since}, since its robots.txt cannot be fetched; {wait}"
    if host.is_silent:
        return f"has not answered since {since}; {wait}"
    answers = _ANSWERS.get(host.reason, "refusals (429, 502, 503, 504)")
    return f"has answered nothing but {answers} since {since}; {wait}"


def describe_longest_trouble(hosts: Sequence[TroubledHost], now: float, show: SentenceFormatter) -> str:
    """The host that has answered nothing well for longest, if that is worth a word."""
    longest = min(hosts, key=lambda host: host.since, default=None)
    if longest is None or now - longest.since < TROUBLED_S:
        return ""
    return f"{short_name(longest.host)} {describe_silence(longest, show)}"


def _read_counts(look: JobLook, rules: AlertRules, show: SentenceFormatter) -> Iterator[AlertReading]:
    """Yield readings from a job's counters: dead letters, items, queue length, single hosts."""
    dead = growth_of(look.samples, "dead", rules.window_s)
    attempts = growth_of(look.samples, "attempts", rules.window_s)
    if rules.dead_letters and dead > 0:
        letters = format_count(dead, "new dead letter")
        text = f"{look.id} has {letters} within {show.span(rules.window_s)}."
        state = _judge(dead, rules.dead_letters, rules.dead_letters * WELL_SHARE)
        if dead <= rules.dead_share * attempts:
            state = ReadingState.WELL
        yield _reading(look, TroubleKind.DEAD_LETTERS, text, state)
    latest = look.samples[-1] if look.samples else None
    if latest is None:
        return
    barren = latest.pages - look.item_pages
    if rules.no_items_pages and barren >= rules.no_items_pages:
        text = f"{look.id} has found no item on its latest {format_count(barren, 'page')}."
        yield _reading(look, TroubleKind.NO_ITEMS, text)
    if rules.growing and latest.waiting >= rules.growing and covered_s(look.samples) >= KEPT_S:
        before = latest.waiting - growth_of(look.samples, "waiting", KEPT_S)
        waiting = format_count(latest.waiting, "request")
        text = f"{look.id} finds pages faster than it fetches them: {waiting} wait."
        state = _judge(latest.waiting, before * GROWN, before)
        yield _reading(look, TroubleKind.GROWING, text, state)
    for host in look.failing:
        if rules.host_failures and host.attempts >= rules.host_attempts:
            share = host.failed / host.attempts
            text = f"{_percent(share)} of the requests to {short_name(host.host)} fail, in {look.id}."
            state = _judge(share, rules.host_failures, rules.host_failures * WELL_SHARE)
            yield _reading(look, TroubleKind.HOST_FAILS, text, state, who=host.host)


def _read_budgets(look: JobLook, rules: AlertRules) -> Iterator[AlertReading]:
    for budget in look.budgets if rules.budget_share else ():
        used, kind = _percent(budget.share), budget.kind.replace("_", " ")
        text = f"{look.id} has used {used} of its budget of {kind}."
        state = _judge(budget.share, rules.budget_share, rules.budget_share - BAND)
        yield _reading(look, TroubleKind.BUDGET, text, state, who=budget.kind)


# --------------------------------------------------------------------------- what all jobs need


def describe_absence(service: str, error: str) -> str:
    """Describe a service that does not answer, with its error."""
    return f"{service} does not answer{f': {short_name(error, 200)}' if error else ''}."


def describe_refusing(service: str, error: str) -> str:
    """That a service takes no changes, and why: it is read-only, or its disk or its memory is full."""
    return f"{service} takes no changes{f': {short_name(error, 200)}' if error else ''}."


def read_place(look: PlaceLook, rules: AlertRules, show: SentenceFormatter) -> Iterator[AlertReading]:
    """Yield the readings of services, supervisors and proxies."""
    for service, error in look.away.items():
        yield AlertReading(kind=TroubleKind.AWAY, who=service, text=describe_absence(service, error))
    for service, error in look.refusing.items():
        text = describe_refusing(service, error)
        yield AlertReading(kind=TroubleKind.AWAY, who=service, text=text)
    if look.is_fleet and look.jobs and not look.has_leader:
        jobs = format_count(look.jobs, "job")
        text = f"No supervisor leads the fleet, and {jobs} {'runs' if look.jobs == 1 else 'run'}."
        yield AlertReading(kind=TroubleKind.NO_SUPERVISOR, who="fleet", text=text)
    if rules.store_lag_s:
        state = _judge(look.store_lag_s, rules.store_lag_s, rules.store_lag_s * WELL_SHARE)
        text = f"{look.store} takes {show.span(look.store_lag_s)} to answer; crawls go as fast as it does."
        yield AlertReading(kind=TroubleKind.STORE_LAG, who=look.store, text=text, state=state)
    if rules.redis_memory_share and look.redis_max:
        share = look.redis_used / look.redis_max
        used, most = show.size(look.redis_used), show.size(look.redis_max)
        state = _judge(share, rules.redis_memory_share, rules.redis_memory_share - BAND)
        text = f"Redis uses {used} of the {most} that it may have."
        yield AlertReading(kind=TroubleKind.REDIS_MEMORY, who="Redis", text=text, state=state)
    for worker in look.idle:
        text = f"{short_name(worker)} takes no shift, although shifts are asked for: restart it."
        yield AlertReading(kind=TroubleKind.IDLE_WORKER, who=worker, text=text)
    for pool in look.pools:
        if pool.proxies and not pool.usable:
            proxies = format_count(pool.proxies, "proxy", "proxies")
            text = f"All {proxies} of {short_name(pool.pool)} are out of use."
            yield AlertReading(kind=TroubleKind.PROXIES, who=pool.pool, text=text)
