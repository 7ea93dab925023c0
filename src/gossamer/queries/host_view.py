"""The hosts of a job and how each does: which one holds it up, and why?"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec.structs import asdict, replace

from gossamer.core.errors import NotThereError, UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter, FrontierStats, HostReport, Job
from gossamer.core.record import Record, Time
from gossamer.core.series import ATTEMPTS, HOUR_S, HourlyKind
from gossamer.observe.sentences import formatter_at
from gossamer.policy.host_sums import HostPace, HostSums, pace_of, sum_hosts
from gossamer.policy.job_memory import JobMemory
from gossamer.policy.job_samples import mean_latency_s, rate_of
from gossamer.policy.latencies import times_by_host
from gossamer.policy.pace_limit import STOPPED
from gossamer.policy.politeness import is_down
from gossamer.policy.sentences.hosts import (
    HostFacts,
    HostsFacts,
    describe_delay,
    describe_host,
    describe_hosts,
)
from gossamer.watch.job_look import HOSTS_LOOKED_AT, RATE_S
from gossamer.watch.memories import load_job_memory
from gossamer.wiring.backends import Backends
from gossamer.wiring.robots import find_robots

SLOW_S = 3600.0
"""A host that needs longer than this is slow."""
DEAD_COUNTED = 1000
"""More dead letters are not counted one by one."""
TIMED_ATTEMPTS = 500
"""Number of recent attempts used for response times of hosts."""
LOWEST_RUNG = "http"


class HostPaceRow(Record, frozen=True, kw_only=True):
    """One host of a job. ``None`` means unknown. Rates are requests per second."""

    host: str
    pending: int
    in_flight: int
    per_host: int  # requests that may be in flight at once
    delay_s: float  # in force
    set_delay_s: float | None  # a person's setting for this host
    why: str  # why it is asked so often, in a word: a ``DelayReason``
    why_text: str  # the same in a few words
    hold_until: Time
    next_at: Time
    success: float | None  # share of the attempts of this hour and the one before that did not fail
    p50_s: float | None  # of its latest answers, if there were enough among the latest of the job
    p95_s: float | None
    rung: str
    pages: int
    dead: int | None  # None: the job has too many to count those of a host
    incidents: int
    silences: int
    allowed_per_s: float | None
    started_per_s: float | None
    empties_s: float | None  # until nothing waits for it


class HostKindCounts(Record, frozen=True, kw_only=True):
    """How many hosts of each kind have waiting requests."""

    work: int
    held: int
    slow: int  # that need more than an hour
    rung: int | None  # above the lowest rung; None: the job does not climb


class HostList(Record, frozen=True, kw_only=True):
    """A part of the hosts of a job for which requests wait."""

    at: Time
    say: tuple[str, str]
    hosts: tuple[HostPaceRow, ...]
    total: int  # that fit the filter; those beyond the busiest 2,000 are not looked at
    totals: HostKindCounts
    next_cursor: str | None  # the host behind which the next part begins


class RobotsFacts(Record, frozen=True, kw_only=True):
    """Facts about a host's robots.txt."""

    read_at: Time
    crawl_delay_s: float | None


class HostView(HostPaceRow, frozen=True, kw_only=True):
    """One host of a job, with sentences about it."""

    say: tuple[str, str]
    robots: RobotsFacts | None


class HostFilter(Record, frozen=True, kw_only=True):
    """Which hosts, and in which order."""

    only: str = ""  # held, slow, rung
    why: str = ""  # a reason of the delay
    q: str = ""  # a part of the name
    sort: str = "pending"
    descending: bool = True


SORTS: dict[str, Callable[[HostPaceRow], float | str]] = {
    "host": lambda row: row.host,
    "pending": lambda row: row.pending,
    "delay": lambda row: row.delay_s,
    "next": lambda row: row.next_at,
    "used": lambda row: row.started_per_s or 0.0,
    "allowed": lambda row: row.allowed_per_s or 0.0,
    "success": lambda row: 2.0 if row.success is None else row.success,
    "pages": lambda row: row.pages,
    "dead": lambda row: row.dead or 0,
    "empties": lambda row: float("inf") if row.empties_s is None else row.empties_s,
}
"""The orders in which hosts are listed."""
KINDS: dict[str, Callable[[HostPaceRow], bool]] = {
    "": lambda row: True,
    "held": lambda row: row.why in STOPPED,
    "slow": lambda row: (row.empties_s or 0.0) > SLOW_S,
    "rung": lambda row: row.rung != LOWEST_RUNG,
}
"""The kinds of hosts that may be asked for."""


class _HostReader:
    """Reads the hosts of one job once for all views."""

    def __init__(self, backends: Backends, job: Job) -> None:
        self._backends = backends
        self._job = job
        self._frontier = backends.open_frontier(job)
        self.now = backends.clock.now()
        self.show = formatter_at(self.now)
        self.rules = FrontierRules()
        self.stats: FrontierStats | None = None
        self.memory = JobMemory()
        self.climbs = False

    async def open(self) -> None:
        self.stats = await self._backends.read_stats(self._job)
        if self.stats is None:
            return
        self.rules = await self._backends.read_rules(self._job)
        self.memory = await load_job_memory(self._backends.requests.shared, self._job)
        self.climbs = bool((await self._backends.store.read_totals(self._job)).by_rung)

    async def read_reports(self) -> list[HostReport]:
        """The busiest hosts."""
        return [] if self.stats is None else await self._frontier.busiest_hosts(HOSTS_LOOKED_AT)

    async def find_report(self, name: str) -> HostReport | None:
        """A host of that name, whether anything waits for it or not."""
        return None if self.stats is None else await self._frontier.find_host(name.lower())

    def sum(self, reports: Sequence[HostReport]) -> HostSums:
        """All of them together."""
        hosts = self.stats.hosts if self.stats else 0
        return sum_hosts(reports, self.rules, self.now, hosts=hosts, p50_s=self._usual_s())

    def row_of(self, report: HostReport) -> HostPaceRow:
        """A host as its frontier knows it."""
        state, pace = report.state, pace_of(report, self.rules, self.now, self._usual_s())
        return HostPaceRow(
            host=report.host,
            pending=report.pending,
            in_flight=state.in_flight,
            per_host=pace.slots,
            delay_s=pace.delay_s,
            set_delay_s=state.delay_s if state.is_paced else None,
            why=pace.why,
            why_text=describe_delay(self.facts_of(report, pace), self.show),
            hold_until=state.hold_until if state.hold_until > self.now else 0.0,
            next_at=max(state.next_at, state.hold_until),
            success=None,
            p50_s=None,
            p95_s=None,
            rung=LOWEST_RUNG,
            pages=state.pages,
            dead=None,
            incidents=state.incidents,
            silences=state.silences,
            allowed_per_s=pace.allowed_per_s,
            started_per_s=None,
            empties_s=pace.empties_s,
        )

    def facts_of(self, report: HostReport, pace: HostPace) -> HostFacts:
        """Return the facts for the sentences about a host."""
        state = report.state
        return HostFacts(
            host=report.host,
            now=self.now,
            pending=report.pending,
            delay_s=pace.delay_s,
            why=pace.why,
            hold_until=state.hold_until,
            troubled_since=state.troubled_since,
            incidents=state.incidents,
            empties_s=pace.empties_s,
            is_given_up=is_down(state, self.rules),
        )

    async def add_counts(self, rows: Sequence[HostPaceRow]) -> list[HostPaceRow]:
        """Return the rows with recent counts and rungs of their hosts."""
        since = int(self.now // HOUR_S - 1) * HOUR_S
        names = [row.host for row in rows]
        attempts, failed = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
        until = int(self.now) + 1
        found = (
            await self._backends.series.read_hours(self._job, HourlyKind.HOST, since, until, names)
            if names
            else []
        )
        for counted in found:
            sums = attempts if counted.label == ATTEMPTS else failed
            sums[counted.who] += counted.value
        dead = await self._count_letters()
        passed_s = max(self.now - max(since, self._job.created_at), 1.0)
        rungs = await self._read_rungs(names)
        return [
            replace(
                row,
                success=round(1 - failed[row.host] / attempts[row.host], 4) if attempts[row.host] else None,
                started_per_s=round(attempts[row.host] / passed_s, 4),
                rung=rungs.get(row.host, LOWEST_RUNG),
                dead=None if dead is None else dead.get(row.host, 0),
            )
            for row in rows
        ]

    async def add_times(self, rows: Sequence[HostPaceRow]) -> list[HostPaceRow]:
        """The rows with how fast their hosts answered lately, if they were among those that were asked."""
        found = await self._backends.ledger.page_attempts(self._job, TIMED_ATTEMPTS) if rows else None
        times = times_by_host(found.attempts) if found else {}
        return [
            replace(row, p50_s=times[row.host].p50_s, p95_s=times[row.host].p95_s)
            if row.host in times
            else row
            for row in rows
        ]

    async def _count_letters(self) -> Counter[str] | None:
        """The dead letters of each host; ``None``: there are too many to be counted."""
        if self.stats is None or self.stats.dead > DEAD_COUNTED:
            return None
        letters = (
            await self._frontier.dead_letters(DeadLetterFilter(), DEAD_COUNTED) if self.stats.dead else []
        )
        return Counter(letter.entry.host for letter in letters)

    async def _read_rungs(self, names: Sequence[str]) -> dict[str, str]:
        if not self.climbs:
            return {}
        states = await asyncio.gather(*map(self._backends.find_ladder, names))
        return {name: state.rung or LOWEST_RUNG for name, state in zip(names, states, strict=True)}

    def _usual_s(self) -> float | None:
        return mean_latency_s(self.memory.samples, RATE_S)


async def read_hosts(
    backends: Backends, job: Job, which: HostFilter, *, cursor: str = "", limit: int = 100
) -> HostList:
    """The hosts of a job that fit, behind a host; at most ``limit``. Raises ``LostRequestsError``."""
    if which.sort not in SORTS or which.only not in KINDS:
        raise UsageError(
            f"hosts are sorted by {', '.join(SORTS)}, and kinds are {', '.join(filter(None, KINDS))}"
        )
    reader = _HostReader(backends, job)
    await reader.open()
    reports = await reader.read_reports()
    named = await reader.find_report(which.q) if which.q else None
    is_beyond = named is not None and named.host not in {report.host for report in reports}
    rows = [reader.row_of(report) for report in ((*reports, named) if named and is_beyond else reports)]
    if reader.climbs or which.sort in ("success", "used", "dead"):
        rows = await reader.add_counts(rows)
    fitting = [row for row in rows if _fits(row, which)]
    fitting.sort(key=lambda row: row.host)
    fitting.sort(key=SORTS[which.sort], reverse=which.descending)
    first = next((number for number, row in enumerate(fitting, start=1) if row.host == cursor), 0)
    part = fitting[first : first + limit]
    hosts = reader.stats.hosts if reader.stats else 0
    is_everything = which == HostFilter(sort=which.sort, descending=which.descending)
    return HostList(
        at=reader.now,
        say=_say(reader, job, reader.sum(reports)),
        hosts=tuple(await reader.add_times(await reader.add_counts(part))),
        total=max(hosts, len(fitting)) if is_everything else len(fitting),
        totals=HostKindCounts(
            work=max(hosts, len(rows)),
            held=sum(map(KINDS["held"], rows)),
            slow=sum(map(KINDS["slow"], rows)),
            rung=sum(map(KINDS["rung"], rows)) if reader.climbs else None,
        ),
        next_cursor=part[-1].host if part and len(fitting) > first + limit else None,
    )


def _fits(row: HostPaceRow, which: HostFilter) -> bool:
    return KINDS[which.only](row) and which.why in ("", row.why) and which.q.lower() in row.host


def _say(reader: _HostReader, job: Job, sums: HostSums) -> tuple[str, str]:
    latest = sums.latest[0] if sums.latest else None
    facts = HostsFacts(
        job=job.id,
        hosts=sums.hosts,
        held=sums.held,
        robots=sums.robots,
        slowest=latest.host if latest else "",
        slowest_s=latest.empties_s if latest else None,
        allowed_per_s=sums.allowed_per_s,
        started_per_s=rate_of(reader.memory.samples, "attempts", RATE_S),
    )
    said = describe_hosts(facts, reader.show)
    return said.answer, said.reason


async def read_host(backends: Backends, job: Job, host: str) -> HostView:
    """One host of a job. Raises ``NotThereError`` for a name that none of its hosts has."""
    reader = _HostReader(backends, job)
    await reader.open()
    report = await reader.find_report(host)
    if report is None:
        raise NotThereError(f"{job.id} has no request to the host {host!r}")
    (row,) = await reader.add_times(await reader.add_counts([reader.row_of(report)]))
    letters = await backends.open_frontier(job).count_letters(DeadLetterFilter(host=report.host))
    dead = sum(letters.by_reason.values()) if letters.is_all else None
    record = await find_robots(backends, report.host)
    pace = pace_of(report, reader.rules, reader.now, None)
    said = describe_host(reader.facts_of(report, pace), reader.show)
    robots = (
        RobotsFacts(read_at=record.fetched_at, crawl_delay_s=report.state.crawl_delay_s) if record else None
    )
    return HostView(**{**asdict(row), "dead": dead}, say=(said.answer, said.reason), robots=robots)
