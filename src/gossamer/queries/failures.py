"""Failed attempts of a job by host, proxy, hour, reason or rung, or by several of them.

Groups by one of host, proxy and rung, alone or with hour and reason, come from counters, which are exact for
jobs of any size; those of hosts and proxies cover the last 48 hours. Groups by two or three of them count
the latest rows of the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from gossamer.core.errors import LedgerReason, UsageError
from gossamer.core.jobs import Job
from gossamer.core.record import Record, Time
from gossamer.core.results import Attempt, AttemptFilter, Verdict
from gossamer.core.series import ATTEMPTS, EVERYBODY, HOUR_S, NAMED_S, ChartRange, HourlyKind, HourlyRow
from gossamer.core.text import format_count
from gossamer.policy import urls
from gossamer.policy.chart_range import fold_limits, plan_hours
from gossamer.wiring.backends import Backends

LEDGER_ROWS = 10_000
"""Rows of the ledger that are counted; each reason has the same share of them."""
ROWS_AT_ONCE = 1000
RANKED = 500
"""Hosts or proxies of which the hours are read, those with most failures."""
_FAILED = frozenset({Verdict.DEAD, Verdict.RETRY, Verdict.EXPIRED})


class FailureKind(StrEnum):
    """By what failures are counted."""

    HOST = "host"
    PROXY = "proxy"
    HOUR = "hour"
    REASON = "reason"
    RUNG = "rung"


_KINDS = {
    FailureKind.HOST: HourlyKind.HOST,
    FailureKind.PROXY: HourlyKind.PROXY,
    FailureKind.RUNG: HourlyKind.RUNG,
}
"""Those whose counts are kept by the hour, each by itself."""


class FailureCounts(Record, frozen=True, kw_only=True):
    """Failed attempts of one group; dimensions outside the query are empty."""

    host: str = ""
    proxy: str = ""  # empty: without one
    hour: Time | None = None  # when it begins
    reason: str = ""
    rung: str = ""
    failed: int
    attempts: int | None = None  # of the group, where no reason is asked for


class FailureReport(Record, frozen=True, kw_only=True):
    """Failed attempts of a job by group."""

    job: str
    at: Time
    by: tuple[str, ...]
    since: Time  # the attempts that are counted are not older
    is_whole: bool  # all attempts of the job are counted
    counted_rows: int | None  # rows of the ledger that were counted; None: the counters answered
    failed: int  # of all groups
    rows: tuple[FailureCounts, ...]  # those with most failures first; hours in their order
    more: int = 0  # groups beyond those


class _Place(NamedTuple):
    """Where an attempt is counted."""

    host: str = ""
    proxy: str = ""
    hour: int = 0
    reason: str = ""
    rung: str = ""


def split_dimensions(text: str) -> tuple[FailureKind, ...]:
    """Parse dimensions such as ``host,reason``. Raises ``UsageError`` for an unknown word."""
    known = [dimension.value for dimension in FailureKind]
    words = list(dict.fromkeys(word.strip().lower() for word in text.split(",") if word.strip()))
    unknown = [word for word in words if word not in known]
    if unknown or not words:
        what = f"{unknown[0]!r} is unknown" if unknown else "nothing is named"
        raise UsageError(f"--by {text!r}: {what}; failures are counted by {', '.join(known)}")
    return tuple(map(FailureKind, words))


class _Tally:
    """Counts with their source and start."""

    def __init__(self, since: int) -> None:
        self.failed: Counter[_Place] = Counter()
        self.tried: Counter[_Place] = Counter()
        self.since = since
        self.rows: int | None = None  # of the ledger
        self.is_whole = True


async def report_failures(
    backends: Backends, job: Job, by: Sequence[FailureKind], limit: int
) -> FailureReport:
    """The failures of a job by some of their dimensions. Raises ``StorageError``."""
    kinds = [_KINDS[one] for one in by if one in _KINDS]
    count = _count_rows if len(kinds) > 1 else _count_hours
    tally = await count(backends, job, by)
    has_attempts = tally.rows is None and FailureKind.REASON not in by
    places = _order_places(tally.failed)
    return FailureReport(
        job=job.id,
        at=backends.clock.now(),
        by=tuple(one.value for one in by),
        since=max(tally.since, job.created_at),
        is_whole=tally.is_whole,
        counted_rows=tally.rows,
        failed=sum(tally.failed[place] for place in places),
        rows=tuple(
            _count_of(place, by, tally.failed[place], tally.tried[place] if has_attempts else None)
            for place in places[:limit]
        ),
        more=max(0, len(places) - limit),
    )


async def _count_hours(backends: Backends, job: Job, by: Sequence[FailureKind]) -> _Tally:
    """Count by the hourly counters."""
    now = backends.clock.now()
    since, until = plan_hours(ChartRange.ALL, job.created_at, job.finished_at, now)
    tally = _Tally(since)
    kind = next((_KINDS[one] for one in by if one in _KINDS), None)
    if kind in (HourlyKind.HOST, HourlyKind.PROXY):
        remembered = fold_limits(now)[1]
        tally.since, tally.is_whole = max(since, remembered), since >= remembered
    who = await _list_who(backends, job, kind, tally.since, until)
    of = kind or HourlyKind.HOST
    for row in await backends.series.read_hours(job, of, tally.since, until, who):
        counter = tally.tried if row.label == ATTEMPTS else tally.failed
        counter[_pick_place(_place_of_hour(row, of), by)] += row.value
    return tally


async def _count_rows(backends: Backends, job: Job, by: Sequence[FailureKind]) -> _Tally:
    """Count the latest rows of the ledger; an index finds failures by their reasons."""
    tally = _Tally(int(job.created_at))
    tally.rows = 0
    names = (await backends.store.read_totals(job)).by_reason.keys() - {LedgerReason.STALE.value}
    for reason in names:
        left, before = LEDGER_ROWS // len(names), None
        oldest = backends.clock.now()
        while left > 0:
            some = min(ROWS_AT_ONCE, left)
            part = await backends.ledger.page_attempts(job, some, AttemptFilter(reason=reason), before)
            for row in part.attempts:
                oldest = min(oldest, row.at)
                if row.verdict in _FAILED:
                    tally.failed[_pick_place(_place_of(row), by)] += 1
                    tally.rows += 1
            left, before = left - len(part.attempts), part.next_before
            if before is None:
                break
        if left <= 0 and before is not None:
            tally.is_whole, tally.since = False, max(tally.since, int(oldest))
    return tally


async def _list_who(
    backends: Backends, job: Job, kind: HourlyKind | None, since: int, until: int
) -> Collection[str]:
    if kind is None:
        return (EVERYBODY,)
    if kind is HourlyKind.RUNG:
        outcomes = (await backends.store.read_totals(job)).by_outcome
        return {name.partition(":")[2] for name in outcomes} - {""}
    return await backends.series.rank_failures(job, kind, since, until, RANKED)


def _place_of(row: Attempt) -> _Place:
    hour = int((row.at + row.elapsed_ms / 1000) // HOUR_S) * HOUR_S
    return _Place(host=urls.host_key(row.url), proxy=row.proxy, hour=hour, reason=row.reason, rung=row.rung)


def _place_of_hour(row: HourlyRow, kind: HourlyKind) -> _Place:
    return _Place(hour=int(row.hour), reason=row.label, **{kind.value: row.who})


def _pick_place(place: _Place, by: Iterable[FailureKind]) -> _Place:
    """Return the group for the dimensions of the query."""
    return _Place(**{one.value: getattr(place, one.value) for one in by})


def _order_places(failed: Counter[_Place]) -> list[_Place]:
    """Those with most failures first; by hours, the latest hour first."""
    places = [place for place, number in failed.items() if number > 0]
    return sorted(places, key=lambda place: (-place.hour, -failed[place], place))


def _count_of(place: _Place, by: Sequence[FailureKind], failed: int, attempts: int | None) -> FailureCounts:
    hour = float(place.hour) if FailureKind.HOUR in by else None
    return FailureCounts(
        host=place.host,
        proxy=place.proxy,
        hour=hour,
        reason=place.reason,
        rung=place.rung,
        failed=failed,
        attempts=attempts,
    )


def describe_report(report: FailureReport) -> Iterator[str]:
    """Yield remarks about a report beside its rows."""
    hours = f"the last {NAMED_S // HOUR_S} hours"
    if not report.rows:
        what = "no attempt through a proxy" if FailureKind.PROXY in report.by else "nothing"
        yield f"{what} has failed in {report.job}" + ("" if report.is_whole else f" in {hours}")
    if report.more:
        yield f"{format_count(report.more, 'more group')}: --limit shows them"
    if report.is_whole:
        return
    if report.counted_rows is not None:
        rows = format_count(report.counted_rows, "failed attempt")
        yield f"counted from the ledger's latest {rows}; earlier ones are left out"
    else:
        yield f"counted from {hours}: single hosts and proxies are not remembered for longer"
