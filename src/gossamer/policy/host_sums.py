"""Totals over a job's hosts: allowed rates, paused hosts, and the hosts that finish last. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf

from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.jobs import HostReport
from gossamer.core.record import Record
from gossamer.policy.alert_readings import TroubledHost
from gossamer.policy.domains import adopt_domain
from gossamer.policy.pace_limit import (
    STOPPED,
    DelayReason,
    LimitState,
    PaceLimit,
    allowed_per_s,
    empties_in_s,
    reason_of_delay,
    settle_limit,
    sum_allowed,
)
from gossamer.policy.politeness import (
    LEAST_CAP_S,
    delay_in_force,
    is_delay_set,
    is_silent,
    may_start,
    slots_for,
)
from gossamer.policy.sentences.job_facts import SlowHost
from gossamer.policy.time_left import HostEstimate

LATE_HOSTS = 6
"""Hosts that are kept of those that decide when a job is done."""


BRIEF_S = 10.0
"""A first pause of a host that is no longer than this changes little."""
HELD_FOR_A_TIME = frozenset({DelayReason.HOLD, DelayReason.RETRY_AFTER})
"""Reasons of holds whose ends are known."""
TROUBLED_HOSTS = 5
"""Hosts in trouble that are kept."""

HORIZONS_S = (0.0, 60.0, 600.0, 3600.0)
"""Times, in seconds, for which the number of requests that may start is given."""


class HostPace(Record, frozen=True, kw_only=True):
    """The pace of one host, and the pace it allows. Rates are requests per second."""

    host: str
    pending: int
    delay_s: float  # in force
    why: DelayReason
    allowed_per_s: float | None  # None: neither a delay nor a response time says anything
    empties_s: float | None  # seconds until its queue is empty; None: unknown
    slots: int  # requests that it may have in flight at once


class HostSums(Record, frozen=True, kw_only=True):
    """All hosts of a job for which requests wait."""

    hosts: int = 0
    looked_at: int = 0  # of them; the others are taken for average ones
    allowed_per_s: float | None = None
    held: dict[DelayReason, int] = {}  # hosts that are not asked for now, by the reason
    held_until: float | None = None  # when the first of those may be asked again
    robots: int = 0  # hosts whose robots.txt decides the delay
    slowed: int = 0  # hosts that refused faster requests
    due: int = 0  # requests of hosts whose turn has come and that have a free slot
    pending: int = 0  # requests that wait for the hosts that were looked at
    starts: tuple[int, ...] = ()  # of these, those that may start within ``HORIZONS_S``
    latest: tuple[SlowHost, ...] = ()  # those that decide the end, the last one first
    troubled: tuple[TroubledHost, ...] = ()  # those in trouble for which most requests wait
    end: HostEstimate = HostEstimate()  # when the last host's queue is empty

    @property
    def held_hosts(self) -> int:
        """How many are not asked for now; at least, where not all were looked at."""
        return sum(self.held.values())


def pace_of(report: HostReport, rules: FrontierRules, now: float, p50_s: float | None) -> HostPace:
    """How a host is asked; ``p50_s``: its usual response time, or that of all hosts, where it is known.

    Where the delay follows the answers, it says that better than an average of all hosts.
    """
    state = adopt_domain(report.state, report.host, rules)
    is_fixed = is_delay_set(state, rules)
    p50_s = p50_s if is_fixed else None
    allowed = allowed_per_s(state, rules, now, p50_s)
    return HostPace(
        host=report.host,
        pending=report.pending,
        delay_s=delay_in_force(state, rules),
        why=reason_of_delay(state, rules, now),
        allowed_per_s=allowed,
        empties_s=empties_in_s(report.pending, allowed),
        slots=slots_for(state, rules),
    )


def sum_hosts(
    reports: Iterable[HostReport],
    rules: FrontierRules,
    now: float,
    *,
    hosts: int,
    p50_s: float | None = None,
) -> HostSums:
    """Return totals over the hosts with waiting requests, among ``hosts`` in all.

    ``p50_s`` is the usual response time of all of them.
    """
    reports = list(reports)
    paces = [pace_of(report, rules, now, p50_s) for report in reports]
    held = Counter(pace.why for pace in paces if pace.why in STOPPED)
    ends = [
        report.state.hold_until
        for report, pace in zip(reports, paces, strict=True)
        if pace.why in STOPPED and report.state.hold_until > now
    ]
    return HostSums(
        hosts=max(hosts, len(reports)),
        looked_at=len(reports),
        allowed_per_s=sum_allowed((pace.allowed_per_s for pace in paces), hosts),
        held=dict(held),
        held_until=min(ends, default=None),
        robots=sum(pace.why is DelayReason.ROBOTS for pace in paces),
        slowed=sum(pace.why is DelayReason.PACE for pace in paces),
        due=sum(report.pending for report in reports if may_start(report.state, rules, now)),
        pending=sum(report.pending for report in reports),
        starts=tuple(
            sum(
                _starts_within(report, pace, now, horizon_s)
                for report, pace in zip(reports, paces, strict=True)
            )
            for horizon_s in HORIZONS_S
        ),
        latest=_latest_hosts(paces),
        troubled=troubled_hosts(reports),
        end=_estimate_end(zip(reports, paces, strict=True), rules, now),
    )


def settle_pace(state: LimitState, found: PaceLimit | None, hosts: HostSums, now: float) -> LimitState:
    """Return the limit to show after a look.

    That all hosts are left alone for longer than ``BRIEF_S`` is shown at once, and so is the end of that.
    """
    is_skipped = 0 < hosts.hosts <= hosts.held.get(DelayReason.SKIPPED, 0)
    is_brief = hosts.held_until is not None and hosts.held_until <= now + BRIEF_S and not is_skipped
    is_over = state.limit is PaceLimit.HELD and found is not PaceLimit.HELD
    return settle_limit(state, found, now, is_certain=is_over or (found is PaceLimit.HELD and not is_brief))


def _estimate_end(
    hosts: Iterable[tuple[HostReport, HostPace]], rules: FrontierRules, now: float
) -> HostEstimate:
    """Return when the last host's queue is empty, and the requests of hosts for which that is unknown.

    A host that refused faster requests may allow them again, so it does not bound the earliest end.
    """
    sure_s, longest_s, stopped, given_up_at = [0.0], [0.0], 0, 0.0
    for report, pace in hosts:
        state = report.state
        if not report.pending or pace.why is DelayReason.BUDGET:
            continue
        if pace.empties_s:
            longest_s.append(pace.empties_s)
            sure_s.append(0.0 if pace.why is DelayReason.PACE else pace.empties_s)
        elif pace.why in HELD_FOR_A_TIME and state.hold_until < inf:
            held_s = state.hold_until - now + report.pending * pace.delay_s
            longest_s.append(held_s)
            sure_s.append(held_s)
        elif pace.why is DelayReason.SKIPPED:
            stopped, given_up_at = stopped + report.pending, inf
        elif pace.why in STOPPED and (state.incidents > 1 or state.hold_until - now > BRIEF_S):
            stopped += report.pending
            given_up_at = max(given_up_at, (state.troubled_since or now) + rules.host_patience_s)
    for_s = given_up_at - now if stopped and given_up_at < inf else None
    return HostEstimate(
        least_s=max(sure_s), most_s=max(longest_s), stopped_requests=stopped, stopped_for_s=for_s
    )


def is_asked_still(state: HostState, rules: FrontierRules, now: float) -> bool:
    """Whether a host in trouble was asked so lately that more requests for it are to come."""
    last_at = max(state.hold_until, state.incident_at)
    return state.troubled_since > 0 and now <= last_at + max(rules.backoff_cap_s, LEAST_CAP_S)


def troubled_hosts(reports: Iterable[HostReport]) -> tuple[TroubledHost, ...]:
    """The hosts that were asked in vain more than once, those first for which most requests wait."""
    found = [
        TroubledHost(
            host=report.host,
            since=report.state.troubled_since,
            until=report.state.incident_at,
            pending=report.pending,
            is_silent=is_silent(report.state),
        )
        for report in reports
        if report.state.troubled_since and report.state.incidents > 1
    ]
    return tuple(sorted(found, key=lambda host: -host.pending)[:TROUBLED_HOSTS])


def _starts_within(report: HostReport, pace: HostPace, now: float, horizon_s: float) -> int:
    """Return the number of a host's requests that may start within a time at its present pace."""
    first_in_s = max(report.state.next_at, report.state.hold_until) - now
    if pace.why in FOR_GOOD or first_in_s > horizon_s:
        return 0
    free = max(pace.slots - report.state.in_flight, 0)
    rate = 1 / pace.delay_s if pace.delay_s > 0 else pace.allowed_per_s
    if rate is None:
        return report.pending if horizon_s else min(free, report.pending)
    at_once = min(1 if pace.delay_s > 0 else pace.slots, free)
    return min(report.pending, at_once + int((horizon_s - max(first_in_s, 0.0)) * rate))


FOR_GOOD = frozenset({DelayReason.SKIPPED, DelayReason.BUDGET})
"""Reasons for which a host is not asked at whatever time."""


def _latest_hosts(paces: Iterable[HostPace]) -> tuple[SlowHost, ...]:
    """The hosts that are empty last; each knows when those before it are through."""
    known = sorted(((pace.empties_s, pace) for pace in paces if pace.empties_s), key=lambda found: -found[0])
    ends = [empties_s for empties_s, _ in known[1:]] + [None]
    return tuple(
        SlowHost(
            host=pace.host,
            pending=pace.pending,
            delay_s=pace.delay_s,
            why=pace.why,
            empties_s=empties_s,
            others_s=others_s,
        )
        for (empties_s, pace), others_s in zip(known[:LATE_HOSTS], ends[:LATE_HOSTS], strict=False)
    )
