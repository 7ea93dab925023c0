"""The limit of a job's pace, and the rates that its hosts allow. Pure: facts and ``now`` in, an answer out.

The answer is one word (:class:`PaceLimit`), the same in the headline of a job, its strip of limits and its
alerts. It is computed every second and changes only when another one has held for :data:`SETTLED_S`. A fact,
as that all hosts are left alone, is shown at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.record import Record
from gossamer.policy.politeness import LEAST_CAP_S, delay_in_force, is_delay_set, is_silent, slots_for

SETTLED_S = 30.0
"""Seconds for which another limit must hold before it is shown."""
FULL_SHARE = 0.9
"""A job that does this share of what its hosts allow goes as fast as they allow."""
LONGEST_LAG_S = 2.0
"""A store that is later than this decides the pace."""
LONGEST_WAIT_SHARE = 0.2
"""... and so does one that workers spend more of their time waiting for than this."""
LEAST_WORK_S = 1.0
"""Due work of fewer seconds than this, at the allowed rate, counts as nothing due."""


class PaceLimit(StrEnum):
    """The limit of a job's pace."""

    HELD = "held"  # all hosts for which requests wait are left alone
    BUDGET = "budget"  # it is spent
    POLITENESS = "politeness"  # its hosts allow no more
    STORE = "store"  # results are stored more slowly than they come
    WORKERS = "workers"  # no slot is free for work that is due
    NOTHING_DUE = "nothing_due"  # waiting requests have later times, or no links are found yet


class PaceFacts(Record, frozen=True, kw_only=True):
    """Facts about a job's pace at one time. Rates are requests per second."""

    is_budget_spent: bool = False
    waiting_hosts: int = 0  # for which requests wait
    held_hosts: int = 0  # of these, left alone for now
    started_per_s: float | None = 0.0  # requests that were begun; None: not known yet
    allowed_per_s: float | None = None  # None: not known yet
    store_lag_s: float = 0.0  # how long finished results wait to be stored
    store_wait_share: float = 0.0  # of the workers' time
    is_slot_free: bool = True  # on each lane on which requests are due
    due: int = 0  # requests that may start now


def find_limit(facts: PaceFacts) -> PaceLimit | None:
    """Return the limit of the pace now; ``None`` if it is unknown, as when a job has just begun."""
    if facts.waiting_hosts and facts.held_hosts >= facts.waiting_hosts:
        return PaceLimit.HELD
    if facts.is_budget_spent:
        return PaceLimit.BUDGET
    started = facts.started_per_s
    if facts.allowed_per_s and started is not None and started >= FULL_SHARE * facts.allowed_per_s:
        return PaceLimit.POLITENESS
    if facts.store_lag_s > LONGEST_LAG_S or facts.store_wait_share > LONGEST_WAIT_SHARE:
        return PaceLimit.STORE
    if facts.due and not facts.is_slot_free:
        return PaceLimit.WORKERS
    is_idle = not facts.due if not facts.allowed_per_s else facts.due < facts.allowed_per_s * LEAST_WORK_S
    # Where the pace is not known it may be all that its hosts allow: then nothing is due either.
    return PaceLimit.NOTHING_DUE if is_idle and started is not None else None


class LimitState(Record, frozen=True, kw_only=True):
    """The limit that is shown, and another one that may replace it soon."""

    limit: PaceLimit | None = None
    since: float = 0.0
    other: PaceLimit | None = None  # the limit found lately, if it differs
    other_since: float = 0.0
    is_begun: bool = False  # something was found at least once


def settle_limit(
    state: LimitState, found: PaceLimit | None, now: float, *, is_certain: bool = False
) -> LimitState:
    """The state after a look: another answer replaces the one that is shown when it has held long enough.

    ``is_certain``: it is a fact and not an estimate, so that it is shown at once.
    """
    if not state.is_begun or (is_certain and found != state.limit):
        return LimitState(limit=found, since=now, is_begun=found is not None)
    if found == state.limit:
        return replace(state, other=None, other_since=0.0)
    if not state.other_since or found != state.other:
        return replace(state, other=found, other_since=now)
    if now - state.other_since < SETTLED_S:
        return state
    return LimitState(limit=found, since=state.other_since, is_begun=True)


# --------------------------------------------------------------------------- what hosts allow


class DelayReason(StrEnum):
    """Why a host is asked as often as it is."""

    ADAPTIVE = "adaptive"  # the delay follows its answers
    ROBOTS = "robots"  # its robots.txt asks for it
    SET = "set"  # the operator set it
    PACE = "pace"  # it refused faster requests
    RETRY_AFTER = "retry_after"  # it asked for time
    BACKOFF = "backoff"  # it refuses, and is asked again after pauses that grow
    DOWN = "down"  # it does not answer
    HOLD = "hold"  # a person put it on hold
    SKIPPED = "skipped"  # a person wants nothing of it
    BUDGET = "budget"  # its own budget of pages is spent


STOPPED = frozenset(
    {
        DelayReason.RETRY_AFTER,
        DelayReason.BACKOFF,
        DelayReason.DOWN,
        DelayReason.HOLD,
        DelayReason.SKIPPED,
        DelayReason.BUDGET,
    }
)
"""A host with such a reason is not asked at all for now."""


def reason_of_delay(host: HostState, rules: FrontierRules, now: float) -> DelayReason:
    """Why a host is asked as often as it is, or not at all."""
    if host.is_skipped:
        return DelayReason.SKIPPED
    if rules.max_pages_per_host is not None and host.pages >= rules.max_pages_per_host:
        return DelayReason.BUDGET
    if host.hold_until > now:
        return _reason_of_hold(host, rules)
    delay_s = delay_in_force(host, rules)
    if (host.crawl_delay_s or 0.0) >= delay_s > 0:
        return DelayReason.ROBOTS
    if host.pace_s >= delay_s > 0:
        return DelayReason.PACE
    return DelayReason.SET if is_delay_set(host, rules) else DelayReason.ADAPTIVE


def _reason_of_hold(host: HostState, rules: FrontierRules) -> DelayReason:
    """Whose wish a hold is: pauses of ours are never longer than the cap of the back-off."""
    if host.is_held:
        return DelayReason.HOLD
    if is_silent(host):
        return DelayReason.DOWN
    is_asked_for = host.hold_until - host.incident_at > max(rules.backoff_cap_s, LEAST_CAP_S)
    return DelayReason.RETRY_AFTER if is_asked_for else DelayReason.BACKOFF


def allowed_per_s(host: HostState, rules: FrontierRules, now: float, p50_s: float | None) -> float | None:
    """Return the requests per second that a host allows; 0 while it gets none.

    ``p50_s`` is its median response time. Returns ``None`` if neither it nor a delay is known, or if the
    queue has no host.
    """
    if host.is_free:
        return None
    if reason_of_delay(host, rules, now) in STOPPED:
        return 0.0
    delay_s = delay_in_force(host, rules)
    by_delay = 1 / delay_s if delay_s > 0 else None
    by_slots = slots_for(host, rules) / p50_s if p50_s else None
    known = [rate for rate in (by_delay, by_slots) if rate is not None]
    return min(known, default=None)


def sum_allowed(rates: Iterable[float | None], hosts: int) -> float | None:
    """Return the rate that all hosts allow together, from a sample of them.

    ``hosts`` is the number of all hosts: hosts outside the sample count as average ones.
    """
    looked_at = list(rates)
    known = [rate for rate in looked_at if rate is not None]
    if not known:
        return None if looked_at else 0.0
    return sum(known) * max(hosts, len(looked_at)) / len(known)


def empties_in_s(pending: int, allowed: float | None) -> float | None:
    """Return the seconds until a host's queue is empty at its present pace; ``None`` if unknown."""
    if not pending:
        return 0.0
    return pending / allowed if allowed else None
