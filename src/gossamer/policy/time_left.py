"""How long a job still takes: a range, or the reason why that is not known. Pure.

The estimate rests on requests found against requests settled, over as long as the rest would take if no link
were found any more, and over a third of that: the past says as much about the future as it is long. The lower
end of the range assumes that nothing further is found, the upper end that as much is found as lately. A range
that is too wide to be of use, or that contradicts the one of a moment ago, is not shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from math import sqrt

from msgspec.structs import replace

from gossamer.core.record import Record, Time
from gossamer.core.shifts import JobSample

LEAST_S = 10.0
"""A shorter time says nothing about a rate."""
LEAST_WINDOW_S = 15.0
"""Rates are taken over at least so long, as far as the job has been watched."""
NEAR_SHARE = 1 / 3
"""The nearer of the two windows has this share of the time that the rest would take."""
MOST_FOUND = 0.5
"""A job that finds more requests than this for each one that it settles has no foreseeable end."""
WIDEST = 2.25
"""Largest ratio of a range's ends at which it is shown."""
FIRM_S = 10.0
"""Estimates within so long must agree."""
FIRM_RATIO = 2.0
"""... up to this factor."""
SOON_S = 5.0
"""Times that are shorter than this count as equal."""
RETRIES_S = 60.0
"""Requests that wait for their next try may decide an end that is nearer than this."""


class LeftReason(StrEnum):
    """Why the time left is not known."""

    KNOWN = "known"  # it is
    UNWATCHED = "unwatched"  # the job was not checked lately, or does not run
    SEEDING = "seeding"  # its start still gives requests
    EARLY = "early"  # it has not been watched for long enough
    GROWING = "growing"  # it finds requests as fast as it settles them
    STOPPED = "stopped"  # requests wait for hosts that are not asked for now
    RETRIES = "retries"  # all waiting requests wait for a retry
    IDLE = "idle"  # nothing was settled lately
    UNSTEADY = "unsteady"  # estimates do not agree


class LeftLimit(StrEnum):
    """The event that ends the time left."""

    WORK = "work"  # nothing waits any more
    HOST = "host"  # the slowest host is through
    BUDGET = "budget"  # the budget of pages is spent
    LISTED = "listed"  # everything is there that the site announces


class HostEstimate(Record, frozen=True, kw_only=True):
    """When the last host of a job has finished its present queue."""

    least_s: float = 0.0
    most_s: float = 0.0
    stopped_requests: int = 0  # those for hosts of which it is not known when they may be asked
    stopped_for_s: float | None = None  # until those are given up at the latest; None: that is not known


class LeftFacts(Record, frozen=True, kw_only=True):
    """The facts on which an estimate rests, all of one moment."""

    now: float
    is_seeded: bool = True  # its start gives no further requests
    samples: Sequence[JobSample] = ()  # oldest first; the last one is of now
    delayed: int = 0  # requests that wait for a time of their own
    pending: int = 0  # requests that wait for the turn of their host
    max_pages: int | None = None
    hosts: HostEstimate = HostEstimate()


class TimeEstimate(Record, frozen=True, kw_only=True):
    """How long a job still takes from ``at`` on."""

    at: Time = 0.0
    reason: LeftReason = LeftReason.UNWATCHED
    least_s: float | None = None  # None: not known, for that reason
    most_s: float | None = None
    limit: LeftLimit = LeftLimit.WORK
    requests: int = 0  # those that wait for stopped hosts, or for their next try
    recent: tuple[tuple[Time, float], ...] = ()  # when was estimated how long, shown or not

    @property
    def is_known(self) -> bool:
        """Whether there is an estimate."""
        return self.least_s is not None

    @property
    def seconds(self) -> float | None:
        """The middle of the range, by factors; ``None``: not known."""
        if self.least_s is None or self.most_s is None:
            return None
        return sqrt(max(self.least_s, 0.0) * max(self.most_s, 0.0))

    def seen_at(self, now: float) -> TimeEstimate:
        """The same estimate as it is to be shown a moment later."""
        if self.least_s is None or self.most_s is None or now <= self.at:
            return self
        gone_s = now - self.at
        return replace(
            self, at=now, least_s=max(self.least_s - gone_s, 0.0), most_s=max(self.most_s - gone_s, 0.0)
        )


class _Rates(Record, frozen=True, kw_only=True):
    """The extremes of what several windows say, per second."""

    settled: tuple[float, float]
    pages: tuple[float, float]
    listed: tuple[float, float]
    found: float  # requests found for each one that was settled, at most


_Range = tuple[float, float, LeftLimit]


def estimate_time_left(facts: LeftFacts, before: TimeEstimate | None = None) -> TimeEstimate:
    """How long a job takes until nothing waits, its budget of pages is spent or all that is listed is there.

    ``before`` is the estimate of the look before.
    """
    unknown = TimeEstimate(at=facts.now)
    if not facts.is_seeded:
        return replace(unknown, reason=LeftReason.SEEDING)
    samples = [sample for sample in facts.samples if sample.is_seeded]
    if not samples or samples[-1].at - samples[0].at < LEAST_S:
        return replace(unknown, reason=LeftReason.EARLY)
    found, hosts = _estimate_range(facts, samples), facts.hosts
    least_s = 0.0 if isinstance(found, LeftReason) else found[0]
    if hosts.stopped_requests and (hosts.stopped_for_s is None or hosts.stopped_for_s > least_s):
        return replace(unknown, reason=LeftReason.STOPPED, requests=hosts.stopped_requests)
    if facts.delayed and (not facts.pending or 0 < least_s < RETRIES_S):
        return replace(unknown, reason=LeftReason.RETRIES, requests=facts.delayed)
    if isinstance(found, LeftReason):
        return replace(unknown, reason=found)
    least_s, most_s, limit = found
    left = replace(unknown, reason=LeftReason.KNOWN, least_s=least_s, most_s=most_s, limit=limit)
    return _firm(left, before)


def _firm(left: TimeEstimate, before: TimeEstimate | None) -> TimeEstimate:
    """The estimate, if those of the last seconds agree with it and it is narrow enough; else unknown."""
    least_s, most_s, seconds = left.least_s or 0.0, left.most_s or 0.0, left.seconds or 0.0
    recent = [one for one in (before.recent if before else ()) if one[0] > left.at - FIRM_S - SOON_S]
    agree = [max(known_s - (left.at - at), SOON_S) / max(seconds, SOON_S) for at, known_s in recent]
    known = replace(left, recent=(*recent, (left.at, seconds)))
    is_narrow = max(most_s, SOON_S) <= WIDEST * max(least_s, SOON_S)
    if is_narrow and agree and max(agree) <= FIRM_RATIO and min(agree) >= 1 / FIRM_RATIO:
        return known
    return replace(known, reason=LeftReason.UNSTEADY, least_s=None, most_s=None)


def _estimate_range(facts: LeftFacts, samples: Sequence[JobSample]) -> _Range | LeftReason:
    """The range by the rates of two windows; or why there is none."""
    last = samples[-1]
    if not last.waiting:
        return 0.0, 0.0, LeftLimit.WORK
    near = _rates_over(samples, [LEAST_WINDOW_S])
    if not near.settled[0]:
        return _by_hosts(facts, samples)
    alone_s = last.waiting / near.settled[0]  # if nothing further is found
    rates = _rates_over(samples, [max(alone_s * NEAR_SHARE, LEAST_WINDOW_S), max(alone_s, LEAST_WINDOW_S)])
    ended = _by_work(facts, last, rates) or _by_listing(last, rates)
    return _by_budget(facts, last, rates, ended) or ended or LeftReason.GROWING


def _rates_over(samples: Sequence[JobSample], spans_s: Sequence[float]) -> _Rates:
    last = samples[-1]
    firsts = [
        next((one for one in reversed(samples) if one.at <= last.at - span_s), samples[0])
        for span_s in spans_s
    ]

    def range_of(counter: str) -> tuple[float, float]:
        grown = [(getattr(last, counter) - getattr(first, counter), last.at - first.at) for first in firsts]
        rates = [max(count, 0) / took_s for count, took_s in grown]
        return min(rates), max(rates)

    return _Rates(
        settled=range_of("settled"),
        pages=range_of("pages"),
        listed=range_of("listed_done"),
        found=max(_found_share(first, last) for first in firsts),
    )


def _found_share(first: JobSample, last: JobSample) -> float:
    """How many requests were found for each one that was settled."""
    found = last.settled + last.waiting - first.settled - first.waiting
    return max(found, 0) / max(last.settled - first.settled, 1)


def _by_work(facts: LeftFacts, last: JobSample, rates: _Rates) -> _Range | None:
    """Until nothing waits: not before the slowest host is through."""
    slow, fast = rates.settled
    if rates.found > MOST_FOUND or not slow:
        return None
    hosts, least_s = facts.hosts, last.waiting / fast
    limit = LeftLimit.HOST if hosts.least_s > least_s else LeftLimit.WORK
    most_s = max(last.waiting / slow, hosts.most_s) / (1 - rates.found)
    return max(least_s, hosts.least_s), most_s, limit


def _by_hosts(facts: LeftFacts, samples: Sequence[JobSample]) -> _Range | LeftReason:
    """Until the last host is through, where all of them are waited for and none is at work."""
    found, hosts = _found_share(samples[0], samples[-1]), facts.hosts
    if not hosts.least_s or facts.delayed:
        return LeftReason.IDLE
    if found > MOST_FOUND:
        return LeftReason.GROWING
    return hosts.least_s, hosts.most_s / (1 - found), LeftLimit.HOST


def _by_listing(last: JobSample, rates: _Rates) -> _Range | None:
    """Estimate the time until all announced items are there, including the present queue."""
    left = last.listed - last.listed_done
    (slow, fast), (slow_done, fast_done) = rates.settled, rates.listed
    if left <= 0 or not slow or not slow_done:
        return None
    return (
        max(left / fast_done, last.waiting / fast),
        max(left / slow_done, last.waiting / slow),
        LeftLimit.LISTED,
    )


def _by_budget(facts: LeftFacts, last: JobSample, rates: _Rates, ended: _Range | None) -> _Range | None:
    """Until the budget of pages is spent, where that is before the end."""
    slow, fast = rates.pages
    if facts.max_pages is None or not slow:
        return None
    pages = max(facts.max_pages - last.pages, 0)
    least_s, most_s = pages / fast, pages / slow
    share = slow / max(rates.settled[1], slow)  # share of pages among the settled requests
    is_enough = last.waiting * share >= pages
    if ended is None:
        return (least_s, most_s, LeftLimit.BUDGET) if is_enough else None
    if ended[0] <= least_s:
        return None
    return least_s, min(most_s, ended[1]), LeftLimit.BUDGET
