"""Failures of a job by reason, host and hour; requests skipped on purpose are separate."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gossamer.core.drops import DropKind
from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time
from gossamer.core.results import Attempt, AttemptFilter, Verdict
from gossamer.core.series import ATTEMPTS, EVERYBODY, HOUR_S, ChartRange, HourlyKind, HourlyRow
from gossamer.observe.sentences import formatter_at
from gossamer.policy import urls
from gossamer.policy.chart_range import fold_limits, plan_hours
from gossamer.policy.sentences.errors import FailureFacts, advise_on, describe_errors, fate_of, words_for
from gossamer.queries.reasons import describe_refusal
from gossamer.wiring.backends import Backends

HOURS = 24
GROUPS = 50
SAMPLES, FEW_SAMPLES, WELL_SHOWN = 3, 1, 10
"""Attempts shown of each of the largest groups, of the others, and how many are large."""
MOST_HOSTS = 1000
ROWS_COUNTED = 5000
"""Rows, of a host and an hour each, that are looked at to count the hosts of a reason."""
DETAIL = 400
HEAT_ROWS = 25
PLURALS = {HourlyKind.HOST: "hosts", HourlyKind.PROXY: "proxies"}
CANDIDATES, FEW = 50, 10
"""Hosts or proxies among which those with most failures are looked for; where only the worst is wanted."""


class ErrorSample(Record, frozen=True, kw_only=True):
    """One attempt of a group."""

    url: str
    status: int  # 0: no response
    at: Time
    detail: str = ""  # at most 400 characters


class ErrorGroup(Record, frozen=True, kw_only=True):
    """Attempts that failed for one reason."""

    reason: str
    title: str  # the same in words
    count: int
    hosts: int  # at which it was met, of those that are still remembered
    has_more_hosts: bool = False  # there are more than were counted
    host: str = ""  # if it is one
    dead: int  # of its requests that were given up
    first_at: Time
    last_at: Time
    hours: tuple[int, ...]  # failures of the last 24 hours
    fate: str = ""  # what becomes of its requests
    advice: str = ""  # what to do
    detail: str = ""  # the latest message
    samples: tuple[ErrorSample, ...] = ()  # the latest


class LeftOutReason(Record, frozen=True, kw_only=True):
    """Pages or links that were left out on purpose, for one reason."""

    reason: str
    text: str
    count: int
    is_attempt: bool  # there are rows of the ledger


class ErrorView(Record, frozen=True, kw_only=True):
    """Failures of a job, in whole hours."""

    at: Time
    since: Time
    say: tuple[str, str]
    attempts: int
    failed: int
    groups: tuple[ErrorGroup, ...]  # those with most failures first
    more_groups: int = 0
    left_out: tuple[LeftOutReason, ...]


class HeatRow(Record, frozen=True, kw_only=True):
    """One host or proxy over the hours."""

    name: str
    is_rest: bool = False  # all others together
    cells: tuple[tuple[int, int], ...]  # failed, attempts


class HeatView(Record, frozen=True, kw_only=True):
    """Failures by host or proxy and hour."""

    at: Time
    hours: tuple[Time, ...]  # when each begins
    rows: tuple[HeatRow, ...]  # those with most failures first


async def read_errors(backends: Backends, job: Job, range_: ChartRange) -> ErrorView:
    """Return a job's failures by reason, and its requests skipped on purpose."""
    now = backends.clock.now()
    since, until = plan_hours(range_, job.created_at, job.finished_at, now)
    rows = await backends.series.list_reasons(job, since)
    everybody = await backends.series.read_hours(job, HourlyKind.HOST, since, until, (EVERYBODY,))
    attempts = sum(row.value for row in everybody if row.label == ATTEMPTS)
    failures: defaultdict[str, list[HourlyRow]] = defaultdict(list)
    skipped: Counter[str] = Counter()
    for row in rows:
        if row.label == Verdict.SKIPPED:
            skipped[row.who] += row.value
        elif row.value > 0:
            failures[row.who].append(row)
    ranked = sorted(failures, key=lambda reason: (-_sum(failures[reason]), reason))
    groups = [
        await _make_group(backends, job, failures[reason], until, now, is_large=place < WELL_SHOWN)
        for place, reason in enumerate(ranked[:GROUPS])
    ]
    failed = sum(map(_sum, failures.values()))
    facts = _facts_of(
        attempts, failed, len(ranked), groups, await _find_worst_host(backends, job, since, until)
    )
    saying = describe_errors(facts, formatter_at(now))
    return ErrorView(
        at=now,
        since=max(since, job.created_at),
        say=(saying.answer, saying.reason),
        attempts=attempts,
        failed=failed,
        groups=tuple(groups),
        more_groups=max(0, len(ranked) - GROUPS),
        left_out=(*_skipped_pages(skipped), *await _skipped_links(backends, job, range_)),
    )


async def _make_group(
    backends: Backends, job: Job, rows: Sequence[HourlyRow], until: int, now: float, *, is_large: bool
) -> ErrorGroup:
    reason = rows[0].who
    first = int(min(row.hour for row in rows))
    limit = SAMPLES if is_large else FEW_SAMPLES
    found = await backends.ledger.find_attempts(job, limit, AttemptFilter(reason=reason))
    remembered = max(first, fold_limits(now)[1])
    hosts = await backends.series.count_hosts(job, reason, remembered, ROWS_COUNTED)
    by_hour: Counter[int] = Counter()
    for row in rows:
        by_hour[int(row.hour)] += row.value
    latest = found[0] if found else None
    last_at = min(max(by_hour) + HOUR_S, now if job.finished_at is None else job.finished_at)
    return ErrorGroup(
        reason=reason,
        title=words_for(reason),
        count=_sum(rows),
        hosts=min(hosts, MOST_HOSTS),
        has_more_hosts=hosts > MOST_HOSTS,
        host=urls.host_key(latest.url) if hosts == 1 and latest is not None else "",
        dead=_sum(row for row in rows if row.label == Verdict.DEAD),
        first_at=max(first, job.created_at),
        last_at=last_at if latest is None else min(last_at, latest.at + latest.elapsed_ms / 1000),
        hours=tuple(by_hour[hour] for hour in range(until - HOURS * HOUR_S, until, HOUR_S)),
        fate=fate_of(reason),
        advice=advise_on(reason),
        detail=latest.detail[:DETAIL] if latest is not None else "",
        samples=tuple(map(_sample_of, found)),
    )


def _sample_of(attempt: Attempt) -> ErrorSample:
    return ErrorSample(url=attempt.url, status=attempt.status, at=attempt.at, detail=attempt.detail[:DETAIL])


def _sum(rows: Iterable[HourlyRow]) -> int:
    return sum(row.value for row in rows)


class _WorstHost(NamedTuple):
    name: str = ""
    failures: int = 0
    reason: str = ""
    since: float | None = None


async def _find_worst_host(backends: Backends, job: Job, since: int, until: int) -> _WorstHost:
    """The host with most failures, of the last day."""
    since = max(since, until - HOURS * HOUR_S)
    ranked = await backends.series.rank_failures(job, HourlyKind.HOST, since, until, FEW)
    if not ranked:
        return _WorstHost()
    rows = await backends.series.read_hours(job, HourlyKind.HOST, since, until, ranked[:1])
    failed = [row for row in rows if row.label != ATTEMPTS and row.value > 0]
    by_reason: Counter[str] = Counter()
    for row in failed:
        by_reason[row.label] += row.value
    reason = max(sorted(by_reason), key=by_reason.__getitem__, default="")
    begun = min((row.hour for row in failed), default=None)
    return _WorstHost(ranked[0], _sum(failed), reason, None if begun is None else max(begun, job.created_at))


def _facts_of(
    attempts: int, failed: int, reasons: int, groups: Sequence[ErrorGroup], worst: _WorstHost
) -> FailureFacts:
    largest = groups[0] if groups else None
    return FailureFacts(
        attempts=attempts,
        failures=failed,
        reasons=reasons,
        largest=largest.reason if largest else "",
        largest_count=largest.count if largest else 0,
        largest_hosts=largest.hosts if largest else 0,
        host=worst.name,
        host_failures=worst.failures,
        host_reason=worst.reason,
        host_since=worst.since,
        dead=sum(group.dead for group in groups),
    )


def _skipped_pages(skipped: Counter[str]) -> list[LeftOutReason]:
    return [
        LeftOutReason(reason=reason, text=words_for(reason), count=count, is_attempt=True)
        for reason, count in skipped.most_common(GROUPS)
        if count > 0
    ]


async def _skipped_links(backends: Backends, job: Job, range_: ChartRange) -> list[LeftOutReason]:
    """Links are counted for the whole job only."""
    if range_ is not ChartRange.ALL:
        return []
    dropped = Counter(DropKind.LINK.select_from((await backends.store.read_totals(job)).dropped))
    return [
        LeftOutReason(
            reason=reason,
            text=f"links {describe_refusal(reason)}",
            count=count,
            is_attempt=False,
        )
        for reason, count in dropped.most_common(GROUPS)
    ]


async def read_heat(backends: Backends, job: Job, by: HourlyKind) -> HeatView:
    """The hosts, or proxies, with most failures in the last 24 hours, by hour; all others are one row."""
    now = backends.clock.now()
    _, until = plan_hours(ChartRange.DAY, job.created_at, job.finished_at, now)
    since = until - HOURS * HOUR_S
    ranked = await backends.series.rank_failures(job, by, since, until, CANDIDATES)
    rows = await backends.series.read_hours(job, by, since, until, (*ranked, EVERYBODY))
    failed: defaultdict[str, Counter[int]] = defaultdict(Counter)
    tried: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        (tried if row.label == ATTEMPTS else failed)[row.who][int(row.hour)] += row.value
    hours = range(since, until, HOUR_S)
    worst = sorted(ranked, key=lambda who: (-failed[who].total(), who))[:HEAT_ROWS]
    shown = [HeatRow(name=who, cells=_cells_of(failed[who], tried[who], hours)) for who in worst]
    for who in worst:
        failed[EVERYBODY].subtract(failed[who])
        tried[EVERYBODY].subtract(tried[who])
    if tried[EVERYBODY].total() > 0:
        name = f"all other {PLURALS[by]}" if shown else f"all {PLURALS[by]}"
        rest = HeatRow(name=name, is_rest=True, cells=_cells_of(failed[EVERYBODY], tried[EVERYBODY], hours))
        shown.append(rest)
    return HeatView(at=now, hours=tuple(map(float, hours)), rows=tuple(shown))


def _cells_of(failed: Counter[int], tried: Counter[int], hours: range) -> tuple[tuple[int, int], ...]:
    return tuple((max(0, failed[hour]), max(0, tried[hour])) for hour in hours)
