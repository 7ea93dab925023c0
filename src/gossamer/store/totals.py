"""What a batch of results adds to a job's totals; the same for every store.

A total is a named counter: ``pages``, ``bytes``, ``status:200``, ``reason:timeout_body``,
``dropped:link:scheme``. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from gossamer.core.drops import DropKind
from gossamer.core.jobs import JobTotals
from gossamer.core.results import Attempt, Verdict, VisitResult

COST_UNITS = 1_000_000
"""Costs are counted in millionths."""
_UNCOUNTED = ("", "http", "replay")
"""Rungs that are not counted, since every crawl has them: what no other rung has, they have."""
_LABEL = 100  # characters of a reason that are told apart; reasons may be free text


def count_results(results: Iterable[VisitResult]) -> Counter[str]:
    """The counters a batch adds to, without what only the store knows to be new: pages, items, duplicates."""
    total: Counter[str] = Counter()
    for result in results:
        successes = total["successes"]
        for attempt in result.attempts:
            _count_attempt(total, attempt)
        for reason, number in result.dropped.items():
            total[f"dropped:{reason[:_LABEL]}"] += number
        if result.outcome.is_page and total["successes"] > successes:
            _count_callback(total, result)
    return +total


def count_attempts(attempts: Iterable[Attempt]) -> Counter[str]:
    """The counters that rows of the ledger add to."""
    total: Counter[str] = Counter()
    for attempt in attempts:
        _count_attempt(total, attempt)
    return +total


def count_stale(attempts: Iterable[Attempt]) -> Counter[str]:
    """What changes of the counters when rows of the ledger become stale."""
    attempts = list(attempts)
    total = count_attempts(attempt.as_stale() for attempt in attempts)
    total.subtract(count_attempts(attempts))
    return total


def _count_callback(total: Counter[str], result: VisitResult) -> None:
    """What a callback makes of its pages, so that one which never gives anything can be named."""
    name = (result.outcome.lease.entry.request.callback or "parse")[:_LABEL]
    items = len(result.items)
    if result.dropped:
        items += DropKind.ITEM.count_in(result.dropped)
    total[f"callback_pages:{name}"] += 1
    total[f"callback_items:{name}"] += items
    total[f"callback_requests:{name}"] += len(result.outcome.outlinks)


def _count_attempt(total: Counter[str], attempt: Attempt) -> None:
    total["attempts"] += bool(attempt.status) or attempt.verdict is not Verdict.SKIPPED  # robots.txt said no
    total["bytes"] += attempt.size_bytes
    if attempt.verdict is Verdict.SUCCESS and not attempt.reason:  # that of a lost lease has one
        total["successes"] += 1
    total["retries"] += attempt.verdict is Verdict.RETRY
    if attempt.rung not in _UNCOUNTED:
        total[f"rung:{attempt.rung[:_LABEL]}"] += 1
    if attempt.cost:
        total[f"cost:{attempt.rung[:_LABEL]}"] += round(attempt.cost * COST_UNITS)
    if attempt.status:
        total[f"status:{attempt.status}"] += 1
    if attempt.reason:
        total[f"reason:{attempt.reason[:_LABEL]}"] += 1


def totals_of(total: Mapping[str, int]) -> JobTotals:
    """The record of a job's counters."""
    groups: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for name, value in sorted(total.items()):
        group, colon, label = name.partition(":")
        if colon and value:
            groups[group][label] = value
    return JobTotals(
        pages=total.get("pages", 0),
        items=total.get("items", 0),
        attempts=total.get("attempts", 0),
        successes=total.get("successes", 0),
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
    )


def visit_of(result: VisitResult) -> tuple[int, bool]:
    """Which of the pages of its request a result's page is, and whether it may be there already.

    A request brings one page, number 0, however often it is fetched. One with ``dont_filter`` asks for a page
    again on purpose, and brings one more, by its lease's token; done again after its worker was lost, it is
    the latest of those that are there.
    """
    lease = result.outcome.lease
    visit = lease.token if lease.entry.request.dont_filter else 0
    return visit, visit != 0 and lease.expiries > 0


def seen_at(result: VisitResult) -> float:
    """When the items of a result were seen: at its page, else at its last attempt."""
    if result.page is not None:
        return result.page.at
    return result.attempts[-1].at if result.attempts else 0.0
