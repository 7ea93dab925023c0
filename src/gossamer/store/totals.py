"""Counters that a batch of results adds to a job; the same for every store.

A total is a named counter: ``pages``, ``bytes``, ``status:200``, ``reason:timeout_body``,
``dropped:link:scheme``, ``outcome:success:http`` (attempts by outcome and rung), ``lat:250`` (see
``store/counters.py``, which also has the counters over time). Most are sums; the exceptions are in
``policy/counter_rules.py``. Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from gossamer.core.drops import KEY_LENGTH, DropKind
from gossamer.core.freshness import UNCHANGED
from gossamer.core.jobs import JobTotals
from gossamer.core.results import DEFERRED, Attempt, Verdict, VisitResult
from gossamer.policy.counter_rules import EXPECTED, merge_count
from gossamer.policy.goals import keep_largest
from gossamer.policy.validators import NOT_MODIFIED
from gossamer.store.counters import COST_UNITS, LABEL, BatchCounts, count_attempts
from gossamer.store.series import bucket_of


def count_results(results: Sequence[VisitResult]) -> BatchCounts:
    """Return a batch's counts, except for pages, items and duplicates: only the store knows the new ones."""
    changes = count_attempts(attempt for result in results for attempt in result.attempts)
    total = changes.total
    if results and not changes.series:  # none of them was tried
        changes.bucket_at(bucket_of(max(map(seen_at, results))))
    for result in results:
        for reason, number in result.dropped.items():
            total[f"dropped:{reason[:KEY_LENGTH]}"] += number
        if result.expected:
            for name, number in result.expected.items():
                keep_largest(total, EXPECTED + name, number)
        if result.stats:
            for name, number in result.stats.items():
                merge_count(total, name, number)
        if unchanged := sum(map(_is_unchanged, result.attempts)):
            total["unchanged"] += unchanged
        if any(map(_has_run, result.attempts)):
            _count_callback(total, result)
    return changes


def _has_run(attempt: Attempt) -> bool:
    """Whether its callback has run; the attempt of a lost lease has a reason."""
    is_whole = attempt.verdict is Verdict.SUCCESS and not attempt.reason and DEFERRED not in attempt.flags
    return is_whole and not _is_unchanged(attempt)


def _is_unchanged(attempt: Attempt) -> bool:
    """Whether a page was not sent again; of a file that is as it was, nothing is left out."""
    return attempt.status == NOT_MODIFIED and UNCHANGED in attempt.flags


def _count_callback(total: defaultdict[str, int], result: VisitResult) -> None:
    """Count the results of a callback's pages, so that a callback without any can be named."""
    name = (result.outcome.lease.entry.request.callback or "parse")[:LABEL]
    items = len(result.items)
    if result.dropped:
        items += DropKind.ITEM.count_in(result.dropped)
    total[f"callback_pages:{name}"] += 1
    total[f"callback_items:{name}"] += items
    total[f"callback_requests:{name}"] += len(result.outcome.outlinks)


def totals_of(total: Mapping[str, int]) -> JobTotals:
    """Return the record of a job's counters."""
    groups: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for name, value in sorted(total.items()):
        group, colon, label = name.partition(":")
        if colon and (value or group == "stat"):
            groups[group][label] = value
    return JobTotals(
        pages=total.get("pages", 0),
        items=total.get("items", 0),
        attempts=total.get("attempts", 0),
        successes=total.get("successes", 0),
        unchanged=total.get("unchanged", 0),
        retries=total.get("retries", 0),
        duplicates=total.get("duplicates", 0),
        bytes=total.get("bytes", 0),
        dropped=groups["dropped"],
        by_status=groups["status"],
        by_reason=groups["reason"],
        by_rung=groups["rung"],
        cost_by_rung={rung: units / COST_UNITS for rung, units in groups["cost"].items()},
        callback_pages=groups["callback_pages"],
        callback_items=groups["callback_items"],
        callback_requests=groups["callback_requests"],
        by_outcome=groups["outcome"],
        by_latency=groups["lat"],
        latency_sum_s=total.get("lat_sum", 0) / 1_000_000,
        expected=groups["expected"],
        stats=groups["stat"],
    )


def visit_of(result: VisitResult) -> tuple[int, bool]:
    """Return which of the pages of its request a result's page is, and whether it may be there already.

    A request brings one page, number 0, however often it is fetched. One with ``dont_filter`` asks for a page
    again on purpose, and brings one more, by its lease's token; done again after its worker was lost, it is
    the latest of those that are there.
    """
    lease = result.outcome.lease
    visit = lease.token if lease.entry.request.dont_filter else 0
    return visit, visit != 0 and lease.expiries > 0


def seen_at(result: VisitResult) -> float:
    """Return the time at which the items of a result were seen: its page's, else its last attempt's.

    Without either, no page was visited for them: the time at which its lease was granted.
    """
    if result.page is not None:
        return result.page.at
    return result.attempts[-1].at if result.attempts else result.outcome.lease.granted_at
