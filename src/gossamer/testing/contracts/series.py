"""The contract of counters over time, as named checks.

Use: ``await check_series(make)``, or one by one from ``SERIES_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`SeriesSubject` with nothing in it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.results import Attempt, Verdict
from gossamer.core.series import EVERYBODY, FINE_S, HOUR_S, NAMED_S, OTHER, HourlyKind, HourlyRow
from gossamer.ports.job_store import JobStore
from gossamer.ports.series import Series
from gossamer.ports.store import Store
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal

__all__ = ["SERIES_CHECKS", "SeriesSubject", "check_series"]

START = 100 * HOUR_S
"""When these crawls begin: at a full hour."""


@dataclass
class SeriesSubject:
    """The series under test, the store whose writes it counts, and the jobs."""

    series: Series
    store: Store
    book: JobStore

    async def sum_up(self, job: Job, since: int = 0, until: int = 10 * START) -> dict[str, int]:
        """Return the sums of all steps, without zeros."""
        steps = await self.series.read_steps(job, since, until, HOUR_S)
        total: Counter[str] = Counter()
        for step in steps:
            total.update(step.values)
        return {name: value for name, value in total.items() if value}

    async def read_counts(self, job: Job, kind: HourlyKind, *who: str) -> dict[tuple[str, str], int]:
        """Return the counts of the first hour by name and label, without zeros."""
        rows = await self.series.read_hours(job, kind, START, START + HOUR_S, who)
        return _counts_of(rows)

    async def read_reasons(self, job: Job) -> dict[tuple[str, str], int]:
        """Return the counts by reason and verdict, without zeros."""
        return _counts_of(await self.series.list_reasons(job, 0))


def _counts_of(rows: Sequence[HourlyRow]) -> dict[tuple[str, str], int]:
    return {(row.who, row.label): row.value for row in rows if row.value}


SERIES_CHECKS: ContractSuite[SeriesSubject] = ContractSuite()
"""The checks by name."""


async def check_series(make: Make[SeriesSubject]) -> None:
    """Run every check against a fresh subject each. Raises ``AssertionError`` for a broken promise."""
    await SERIES_CHECKS.run(make)


def make_attempt(
    number: int, verdict: Verdict, reason: str = "", *, status: int = 200, **more: object
) -> Attempt:
    """An attempt at a page of the host ``a``, in the first hour."""
    made = Attempt(
        at=START + number,
        url=f"http://a/{number}",
        fingerprint=number,
        verdict=verdict,
        reason=reason,
        status=status,
        size_bytes=10,
        elapsed_ms=30.0,
        rung="http",
    )
    return replace(made, **more)


MIXED = (
    make_attempt(1, Verdict.SUCCESS),
    make_attempt(2, Verdict.RETRY, "server", status=503, proxy="p:1"),
    make_attempt(3, Verdict.DEAD, "client", status=403, proxy="p:1"),
    make_attempt(4, Verdict.RETRY, "connect", status=0, url="http://b:81/4"),
    make_attempt(5, Verdict.SKIPPED, "gone", status=404),
    make_attempt(6, Verdict.SKIPPED, "robots", status=0),
    make_attempt(7, Verdict.EXPIRED, "expired", status=0),
    make_attempt(8, Verdict.DEAD, "words of a pipeline", status=200),
    make_attempt(9, Verdict.REDIRECT, "known_target", status=301),
)
"""One of each kind that counters tell apart."""


@SERIES_CHECKS.register
async def the_sum_of_all_buckets_is_the_total(s: SeriesSubject) -> None:
    """For pages, items and attempts, in any way of writing."""
    job = await s.book.create("a", "a")
    for number in range(3):
        at = START + 15.0 * number
        results = [
            make_visit_result(make_item("1"), make_item(str(number)), at=at + n, number=10 * number + n)
            for n in range(4)
        ]
        await s.store.write(job, results)
    await s.store.write(job, [replace(make_visit_result(attempt=row), page=None) for row in MIXED[:3]])
    await s.store.record_attempts(job, MIXED[3:])
    total, found = await s.store.read_totals(job), await s.sum_up(job)
    names = ("pages", "items", "attempts", "bytes", "retries")
    assert_equal(
        [found.get(name, 0) for name in names], [getattr(total, name) for name in names], "the same counts"
    )
    by_class: Counter[str] = Counter()
    for status, number in total.by_status.items():
        by_class[f"class:{status[0]}"] += number
    by_class["class:0"] = 2
    classes = {name: value for name, value in found.items() if name.startswith("class:")}
    assert_equal(classes, dict(by_class), "by the status's first digit, 0 without an answer")
    latencies = {name[4:]: value for name, value in found.items() if name.startswith("lat:")}
    assert_equal(latencies, total.by_latency, "answers by how long they took")
    assert_equal(found["lat_sum"] / 1e6, total.latency_sum_s, "and together")
    assert_equal(
        sum(total.by_latency.values()), sum(total.by_status.values()), "each answer is in one bucket"
    )
    assert_equal(sum(total.by_outcome.values()), total.attempts, "each attempt has an outcome")
    assert_equal((found["failed"], found["dead"]), (5, 2), "failures, and those given up")


@SERIES_CHECKS.register
async def attempts_are_counted_by_outcome_and_rung(s: SeriesSubject) -> None:
    """A request refused by robots.txt was not sent; an attempt with a lost lease has its own outcome."""
    job = await s.book.create("a", "a")
    more = make_attempt(10, Verdict.SUCCESS, rung="browser")
    await s.store.record_attempts(job, [*MIXED, more])
    await s.store.mark_stale(job, [MIXED[0]])
    assert_equal(
        (await s.store.read_totals(job)).by_outcome,
        {
            "dead:http": 2,
            "expired:http": 1,
            "redirect:http": 1,
            "retry:http": 2,
            "skipped:http": 1,
            "stale:http": 1,
            "success:browser": 1,
        },
        "attempts",
    )


@SERIES_CHECKS.register
async def an_attempt_is_counted_where_its_answer_arrived(s: SeriesSubject) -> None:
    """In a bucket of 20 seconds; empty steps are left out, and the others name their range."""
    job, other = await s.book.create("a", "a"), await s.book.create("b", "b")
    slow = make_attempt(15, Verdict.SUCCESS, elapsed_ms=5000.0)
    await s.store.record_attempts(
        job, [make_attempt(0, Verdict.SUCCESS), slow, make_attempt(130, Verdict.SUCCESS)]
    )
    found = await s.series.read_steps(job, START, START + 200, 20)
    assert_equal(
        [(step.at - START, step.covered_s, step.values["attempts"]) for step in found],
        [(0, 20, 1), (20, 20, 1), (120, 20, 1)],
        "buckets",
    )
    assert_equal(found[1].values["lat:5000"], 1, "the bound belongs to its bucket")
    wide = await s.series.read_steps(job, START, START + 180, 60)
    assert_equal(
        [(step.at - START, step.covered_s, step.values["attempts"]) for step in wide],
        [(0, 40, 2), (120, 20, 1)],
        "steps of three buckets",
    )
    assert_equal(len(await s.series.read_steps(job, START + 20, START + 120, 20)), 1, "from, until before")
    assert_equal(await s.series.read_steps(other, START, START + 200, 20), [], "each job has its own")


@SERIES_CHECKS.register
async def gauges_are_set(s: SeriesSubject) -> None:
    """The last one of a bucket stays, and a step has their mean."""
    job = await s.book.create("a", "a")
    await s.series.set_gauges(job, START + 1.5, {"pending": 7, "leased": 0})
    await s.series.set_gauges(job, START + 2.5, {"pending": 3})
    await s.series.set_gauges(job, START + 39.0, {"pending": 6})
    found = await s.series.read_steps(job, START, START + 40, 20)
    expected = [{"now:pending": 3, "now:leased": 0}, {"now:pending": 6}]
    assert_equal([step.values for step in found], expected, "each bucket")
    (step,) = await s.series.read_steps(job, START, START + 40, 40)
    assert_equal((step.values["now:pending"], step.covered_s), (4, 40), "the mean, rounded")


@SERIES_CHECKS.register
async def hours_tell_failures_from_what_was_left_out(s: SeriesSubject) -> None:
    """By host, by proxy, and by reason; free text is not a label."""
    job = await s.book.create("a", "a")
    await s.store.record_attempts(job, MIXED)
    named = {"a": {"": 7, "server": 1, "client": 1, "expired": 1, OTHER: 1}, "b:81": {"": 1, "connect": 1}}
    found = await s.read_counts(job, HourlyKind.HOST, "a", "b:81", EVERYBODY)
    for host, expected in named.items():
        assert_equal({label: n for (who, label), n in found.items() if who == host}, expected, f"of {host}")
    everybody = {"": 8, "server": 1, "client": 1, "expired": 1, OTHER: 1, "connect": 1}
    assert_equal({label: n for (who, label), n in found.items() if not who}, everybody, "of all hosts")
    proxies = await s.read_counts(job, HourlyKind.PROXY, "p:1")
    assert_equal(proxies, {("p:1", ""): 2, ("p:1", "server"): 1, ("p:1", "client"): 1}, "of a proxy")
    assert_equal(
        await s.read_reasons(job),
        {
            ("server", "retry"): 1,
            ("client", "dead"): 1,
            ("connect", "retry"): 1,
            ("gone", "skipped"): 1,
            ("robots", "skipped"): 1,
            ("expired", "expired"): 1,
            (OTHER, "dead"): 1,
        },
        "by reason and verdict",
    )


@SERIES_CHECKS.register
async def stale_rows_are_no_failures(s: SeriesSubject) -> None:
    """They stay attempts; marking them again changes nothing."""
    job = await s.book.create("a", "a")
    results = [replace(make_visit_result(attempt=row), page=None) for row in MIXED[:5]]
    await s.store.write(job, results)
    for _ in range(2):
        await s.store.mark_stale(job, MIXED[:5])
    found, total = await s.sum_up(job), await s.store.read_totals(job)
    assert_equal((found["attempts"], found.get("failed"), found.get("dead")), (5, None, None), "no failures")
    assert_equal(found["retries"], total.retries, "retries are those of the total")
    assert_equal(await s.read_reasons(job), {}, "nor reasons")
    assert_equal(await s.read_counts(job, HourlyKind.HOST, "a"), {("a", ""): 4}, "of their host")
    await s.store.mark_stale(job, [])


@SERIES_CHECKS.register
async def the_worst_are_ranked(s: SeriesSubject) -> None:
    """By their failures of all reasons and hours, not by their attempts; hosts are counted up to a bound."""
    job, other = await s.book.create("a", "a"), await s.book.create("b", "b")
    rows = [
        make_attempt(
            n, Verdict.RETRY, reason, status=500, url=f"http://{host}/{n}", at=START + hour * HOUR_S + n
        )
        for hour in (0, 1)
        for host, count in (("x", 3), ("y", 1), ("z", 2))
        for n in range(count)
        for reason in ("server", "client")[: 2 if host == "y" else 1]
    ]
    fine = [make_attempt(n, Verdict.SUCCESS, url=f"http://good/{n}") for n in range(9)]
    await s.store.record_attempts(job, rows + fine)
    until = START + 2 * HOUR_S
    ranked = await s.series.rank_failures(job, HourlyKind.HOST, START, until, 10)
    assert_equal(ranked, ["x", "y", "z"], "the worst first, then by name")
    best = await s.series.rank_failures(job, HourlyKind.HOST, START, until, 1)
    assert_equal(best, ["x"], "at most this number")
    later = await s.series.rank_failures(job, HourlyKind.HOST, until, until + HOUR_S, 10)
    assert_equal(later, [], "in these hours")
    assert_equal(await s.series.rank_failures(job, HourlyKind.PROXY, START, until, 10), [], "of this kind")
    assert_equal(await s.series.count_hosts(job, "server", START, 1000), 3, "hosts, each once")
    assert_equal(await s.series.count_hosts(job, "client", START + HOUR_S, 1000), 1, "for a reason, of late")
    assert_equal(await s.series.count_hosts(other, "server", START, 1000), 0, "each job has its own")


@SERIES_CHECKS.register
async def what_is_old_is_folded_into_hours(s: SeriesSubject) -> None:
    """Nothing is lost, including late rows; single hosts are dropped later."""
    job = await s.book.create("a", "a")
    await s.store.record_attempts(job, MIXED)
    await s.store.record_attempts(job, [make_attempt(HOUR_S + 5, Verdict.SUCCESS)])
    for number, pending in enumerate((4, 8, 9)):
        await s.series.set_gauges(job, START + 20 * number, {"pending": pending})
    before = await s.series.read_steps(job, START, START + 2 * HOUR_S, HOUR_S)
    for _ in range(2):
        await s.series.fold_buckets(START + HOUR_S + FINE_S + 100.0)
    folded = await s.series.read_steps(job, START, START + 2 * HOUR_S, HOUR_S)
    assert_equal(folded, before, "the same counts, means and seconds")
    fine = await s.series.read_steps(job, START, START + HOUR_S, 20)
    assert_equal(len(fine), 1, "the first hour is one row of each name")
    young = await s.series.read_steps(job, START + HOUR_S, START + 2 * HOUR_S, 20)
    assert_equal([step.covered_s for step in young], [20], "the hour after it is not")
    await s.store.mark_stale(job, [MIXED[1]])
    await s.series.fold_buckets(START + HOUR_S + FINE_S + 200.0)
    (late, _) = await s.series.read_steps(job, START, START + 2 * HOUR_S, HOUR_S)
    assert_equal((late.values["attempts"], late.values["failed"]), (8, 4), "late rows are added")
    assert_equal(late.values["now:pending"], 7, "and gauges stay")
    assert_equal(len(await s.read_counts(job, HourlyKind.HOST, "b:81")), 2, "single hosts are there")
    await s.series.fold_buckets(START + HOUR_S + NAMED_S + 100.0)
    assert_equal(await s.read_counts(job, HourlyKind.HOST, "b:81"), {}, "and are forgotten after a time")
    together = await s.read_counts(job, HourlyKind.HOST, EVERYBODY)
    assert_equal(together["", ""], 8, "all together are not")
    assert_equal(len(await s.read_reasons(job)), 6, "nor are reasons")


@SERIES_CHECKS.register
async def many_writers_count_together(s: SeriesSubject) -> None:
    """For the same hosts and reasons, in any order, beside rows that become stale."""
    job = await s.book.create("a", "a")

    async def write(number: int) -> None:
        rows = [
            make_attempt(
                n,
                Verdict.RETRY,
                "server",
                status=500,
                url=f"http://h{n % 7}/",
                fingerprint=n,
                worker=str(number),
            )
            for n in range(number, number + 14)
        ]
        await s.store.write(job, [replace(make_visit_result(attempt=row), page=None) for row in rows[::-1]])
        await s.store.mark_stale(job, rows[:2])
        await s.series.set_gauges(job, START + number, {"pending": number})

    await asyncio.gather(*map(write, range(12)))
    found = await s.sum_up(job)
    assert_equal((found["attempts"], found["failed"]), (12 * 14, 12 * 12), "nothing is lost or counted twice")
    hosts = await s.read_counts(job, HourlyKind.HOST, *(f"h{n}" for n in range(7)))
    assert_equal(sum(n for (_, label), n in hosts.items() if label == "server"), 12 * 12, "by host, too")
