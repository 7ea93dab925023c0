"""Counters that rows of the ledger add to a job, in total and over time; the same for every store.

An attempt is counted at the time of its answer. Equal attempts are counted together, so a batch costs little
more than its differences. Pure.

Names over time: ``pages``, ``attempts``, ``items``, ``bytes``, ``retries``, ``failed``, ``dead``; ``class:2``
by the first digit of the status (0: no response); ``lat:250``, the answers that took at most 250 ms and more
than the bound before; ``lat_sum``, the microseconds of all of them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.results import EXTRACTED, Attempt, Verdict
from gossamer.core.series import (
    ATTEMPTS,
    BUCKET_S,
    CLASSES,
    COUNTERS,
    EVERYBODY,
    HOUR_S,
    LATENCIES,
    LATENCY_BOUNDS_MS,
    OTHER,
    HourlyKind,
)
from gossamer.policy.url_parser import head_of
from gossamer.policy.urls import host_key

COST_UNITS = 1_000_000
"""Costs are counted in millionths."""
LABEL = 100
"""The number of significant characters of a reason; reasons may be free text."""

NO_STATS: Mapping[str, int] = MappingProxyType({})
"""The counts of most spiders."""

HourlyKey = tuple[str, int, str, str]  # kind, when the hour begins, who, label

_BUCKETS = HOUR_S // BUCKET_S
_UNCOUNTED = ("", "http", "replay")
"""Rungs that are not counted, since every crawl has them: what no other rung has, they have."""
_FAILED = frozenset({Verdict.RETRY, Verdict.DEAD, Verdict.EXPIRED})
_KNOWN = frozenset({*Fault, *LedgerReason})

_SUCCESS, _RETRY, _DEAD, _SKIPPED = Verdict.SUCCESS, Verdict.RETRY, Verdict.DEAD, Verdict.SKIPPED
_STALE = LedgerReason.STALE.value

_Group = tuple[int, int, Verdict, str, str]  # bucket, status, verdict, reason, rung
_Whose = tuple[int, str, str]  # hour, who, why it failed


class BatchCounts:
    """Increments of one job's counters: in total, in buckets, by the hour."""

    __slots__ = ("hourly", "latest", "series", "total")

    def __init__(self) -> None:
        self.total: defaultdict[str, int] = defaultdict(int)
        self.series: dict[int, dict[str, int]] = {}  # by when the bucket begins
        self.hourly: defaultdict[HourlyKey, int] = defaultdict(int)
        self.latest = 0  # when the latest bucket begins

    def bucket_at(self, at: int) -> dict[str, int]:
        """Return the counters of the bucket that begins then; 0 for absent ones."""
        counts = self.series.get(at)
        if counts is None:
            self.series[at] = counts = defaultdict(int)
            self.latest = max(self.latest, at)
        return counts

    def add_found(self, pages: int, items: int, duplicates: int) -> None:
        """Count what only the store knows to be new; over time, where the latest attempt is."""
        for name, number in (("pages", pages), ("items", items), ("duplicates", duplicates)):
            if number:
                self.total[name] += number
                if name != "duplicates":
                    self.bucket_at(self.latest)[name] += number

    def subtract(self, other: BatchCounts) -> None:
        """Take off what others would add."""
        for name, value in other.total.items():
            self.total[name] -= value
        for at, counts in other.series.items():
            mine = self.bucket_at(at)
            for name, value in counts.items():
                mine[name] -= value
        for whose, value in other.hourly.items():
            self.hourly[whose] -= value

    def series_rows(self) -> list[tuple[int, ...]]:
        """Return the start and the increments of each bucket, in one order for all writers."""
        return [
            (at, *[counts.get(name, 0) for name in COUNTERS]) for at, counts in sorted(self.series.items())
        ]

    def hourly_rows(self) -> list[tuple[str, int, str, str, int]]:
        """Kind, hour, who, label and value of what changes, in one order for all writers."""
        return [(*key, value) for key, value in sorted(self.hourly.items()) if value]


def count_attempts(attempts: Iterable[Attempt]) -> BatchCounts:
    """Return the increments of ledger rows."""
    groups: dict[_Group, list[int]] = {}  # number, bytes, cost
    answers: dict[tuple[int, int], list[int]] = {}  # by bucket and latency: number, microseconds
    hosts: dict[_Whose, int] = {}
    proxies: dict[_Whose, int] = {}
    extractions: list[_Group] = []
    for a in attempts:
        status, elapsed_ms, verdict, reason = a.status, a.elapsed_ms, a.verdict, a.reason
        bucket = int(a.at + elapsed_ms * 0.001) // BUCKET_S
        if EXTRACTED in a.flags:
            extractions.append((bucket, 0, verdict, reason, a.rung))
            continue
        key = (bucket, status, verdict, reason, a.rung)
        group = groups.get(key)
        if group is None:
            groups[key] = group = [0, 0, 0]
        group[0] += 1
        group[1] += a.size_bytes
        if a.cost:
            group[2] += round(a.cost * COST_UNITS)
        if status:
            place = (bucket, bisect_left(LATENCY_BOUNDS_MS, elapsed_ms))
            answer = answers.get(place)
            if answer is None:
                answers[place] = answer = [0, 0]
            answer[0] += 1
            answer[1] += int(elapsed_ms * 1000)
        elif verdict is _SKIPPED:  # robots.txt disallowed it: no request was sent
            continue
        failure = _failure_of(verdict, reason) if reason else ""
        whose = (bucket // _BUCKETS, _host_at(head_of(a.url)) or host_key(a.url), failure)
        hosts[whose] = hosts.get(whose, 0) + 1
        if a.proxy:
            whose = (whose[0], a.proxy, failure)
            proxies[whose] = proxies.get(whose, 0) + 1
    changes = BatchCounts()
    for key, sums in groups.items():
        _add_group(changes, key, sums)
    for extraction in extractions:
        _add_extraction(changes, extraction)
    _add_answers(changes, answers)
    _add_hours(changes.hourly, HourlyKind.HOST.value, hosts)
    _add_hours(changes.hourly, HourlyKind.PROXY.value, proxies)
    return changes


def count_rows(attempts: Iterable[Attempt], stats: Mapping[str, int]) -> BatchCounts:
    """Return the increments of ledger rows and of the spider's own counters, by name."""
    changes = count_attempts(attempts)
    changes.total.update(stats)
    return changes


_host_at = lru_cache(8192)(host_key)
"""The host of a URL by how it begins: many begin alike."""


def count_stale(attempts: Iterable[Attempt]) -> BatchCounts:
    """Return the changes for stale ledger rows: attempts that neither succeeded nor failed."""
    attempts = list(attempts)
    changes = count_attempts(attempt.as_stale() for attempt in attempts)
    changes.subtract(count_attempts(attempts))
    return changes


def _failure_of(verdict: Verdict, reason: str) -> str:
    """Why an attempt failed; nothing for one that was left out on purpose, or whose lease was lost."""
    return _label_of(reason) if verdict in _FAILED and reason != _STALE else ""


def _label_of(reason: str) -> str:
    """Return a reason as one of a fixed set."""
    return reason if reason in _KNOWN else OTHER


def _add_group(changes: BatchCounts, key: _Group, sums: list[int]) -> None:
    bucket, status, verdict, reason, rung = key
    number, size_bytes, cost = sums
    total, counts = changes.total, changes.bucket_at(bucket * BUCKET_S)
    found = {"bytes": size_bytes}
    if status or verdict is not _SKIPPED:
        found["attempts"] = number
        counts[CLASSES[min(status // 100, 5)]] += number
        total[f"outcome:{_STALE if reason == _STALE else verdict.value}:{rung[:LABEL]}"] += number
        if rung:
            _add_rung(changes.hourly, key, number)
    if verdict is _RETRY:
        found["retries"] = number
    for name, value in found.items():
        total[name] += value
        counts[name] += value
    if verdict is _SUCCESS and not reason:
        total["successes"] += number
    if rung not in _UNCOUNTED:
        total[f"rung:{rung[:LABEL]}"] += number
    if cost:
        total[f"cost:{rung[:LABEL]}"] += cost
    if status:
        total[f"status:{status}"] += number
    if reason:
        total[f"reason:{reason[:LABEL]}"] += number
        if reason != _STALE:
            _add_reason(changes, key, number)


def _add_extraction(changes: BatchCounts, key: _Group) -> None:
    """Count the extraction of a page that was fetched and counted before: there is no new request."""
    _, _, verdict, reason, _ = key
    if verdict is _RETRY:
        changes.total["retries"] += 1
    if reason:
        changes.total[f"reason:{reason[:LABEL]}"] += 1
        if reason != _STALE:
            _add_reason(changes, key, 1)


def _add_rung(hourly: dict[HourlyKey, int], key: _Group, number: int) -> None:
    """Count the outcomes of a rung, by the hour."""
    bucket, _, verdict, reason, rung = key
    kind, hour, name = HourlyKind.RUNG.value, bucket // _BUCKETS * HOUR_S, rung[:LABEL]
    hourly[kind, hour, name, ATTEMPTS] += number
    if failure := _failure_of(verdict, reason):
        hourly[kind, hour, name, failure] += number


def _add_reason(changes: BatchCounts, key: _Group, number: int) -> None:
    """Count failures over time."""
    bucket, _, verdict, reason, _ = key
    counts = changes.bucket_at(bucket * BUCKET_S)
    if verdict is _DEAD:
        counts["dead"] += number
    if verdict in _FAILED:
        counts["failed"] += number
    if verdict in _FAILED or verdict is _SKIPPED:
        hour = bucket // _BUCKETS * HOUR_S
        changes.hourly[HourlyKind.REASON.value, hour, _label_of(reason), verdict.value] += number


def _add_answers(changes: BatchCounts, answers: Mapping[tuple[int, int], list[int]]) -> None:
    for (bucket, place), (number, took_us) in answers.items():
        for counts in (changes.total, changes.bucket_at(bucket * BUCKET_S)):
            counts[LATENCIES[place]] += number
            counts["lat_sum"] += took_us


def _add_hours(hourly: dict[HourlyKey, int], kind: str, counted: Mapping[_Whose, int]) -> None:
    for (number, who, failure), value in counted.items():
        hour = number * HOUR_S
        for name in (who, EVERYBODY) if who else (EVERYBODY,):
            hourly[kind, hour, name, ATTEMPTS] += value
            if failure:
                hourly[kind, hour, name, failure] += value
