"""Checks of the reports: failures by place, and the quality of items."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import Fault
from gossamer.core.jobs import Job
from gossamer.core.results import Attempt, ItemRecord, Verdict
from gossamer.core.series import HOUR_S
from gossamer.queries.failures import FailureKind, report_failures
from gossamer.queries.quality import report_quality
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.testing.contracts.suite import assert_equal

HOST, PROXY, HOUR = FailureKind.HOST, FailureKind.PROXY, FailureKind.HOUR
REASON, RUNG = FailureKind.REASON, FailureKind.RUNG


def _make_attempt(
    number: int,
    at: float,
    verdict: Verdict,
    reason: str = "",
    *,
    rung: str = "http",
    proxy: str = "",
    host: str = "a.example",
) -> Attempt:
    return Attempt(
        at=at,
        url=f"http://{host}/{number}",
        fingerprint=number,
        verdict=verdict,
        reason=reason,
        status=0 if reason == Fault.CONNECT else 200,
        rung=rung,
        proxy=proxy,
    )


async def _record_failures(s: QueryHarness, job: Job, now: float) -> None:
    """One success and four failures: of two hosts, by two rungs and three ways out, in two hours."""
    await s.backends.store.record_attempts(
        job,
        [
            _make_attempt(1, now, Verdict.SUCCESS),
            _make_attempt(2, now, Verdict.DEAD, Fault.CONNECT),
            _make_attempt(3, now, Verdict.RETRY, Fault.SERVER, proxy="p:1"),
            _make_attempt(3, now, Verdict.RETRY, Fault.SERVER, rung="browser", proxy="p:1", host="b.example"),
            _make_attempt(4, now - HOUR_S, Verdict.RETRY, Fault.SERVER, proxy="p:2"),
        ],
    )


async def _count(s: QueryHarness, job: Job, *by: FailureKind) -> dict[tuple[object, ...], object]:
    """Return failures and attempts by group; without the attempts where they are unknown."""
    report = await report_failures(s.backends, job, by, 50)
    assert_equal(report.is_whole, True, "all attempts are counted")
    return {
        tuple(getattr(row, name) for name in report.by): row.failed
        if row.attempts is None
        else (row.failed, row.attempts)
        for row in report.rows
    }


@register_check
async def failures_are_counted_by_what_is_asked_for(s: QueryHarness) -> None:
    """By the counters, alone or with hour and reason."""
    job = await s.make_job()
    hour = (s.now() // HOUR_S - 1) * HOUR_S
    job = replace(job, created_at=hour - HOUR_S)
    await _record_failures(s, job, hour + 60)
    assert_equal(await _count(s, job, HOST), {("a.example",): (3, 4), ("b.example",): (1, 1)}, "by host")
    assert_equal(await _count(s, job, PROXY), {("p:1",): (2, 2), ("p:2",): (1, 1)}, "by proxy")
    assert_equal(await _count(s, job, RUNG), {("http",): (3, 4), ("browser",): (1, 1)}, "by rung")
    assert_equal(await _count(s, job, REASON), {("server",): 3, ("connect",): 1}, "by reason")
    assert_equal(await _count(s, job, HOUR), {(hour,): (3, 4), (hour - HOUR_S,): (1, 1)}, "by hour")
    several = {
        ("http", "connect", hour): 1,
        ("http", "server", hour): 1,
        ("browser", "server", hour): 1,
        ("http", "server", hour - HOUR_S): 1,
    }
    assert_equal(await _count(s, job, RUNG, REASON, HOUR), several, "by three of them")
    few = await report_failures(s.backends, job, (HOST,), 1)
    assert_equal(([row.host for row in few.rows], few.more), (["a.example"], 1), "how many more there are")


@register_check
async def failures_by_two_of_host_proxy_and_rung_come_from_the_ledger(s: QueryHarness) -> None:
    """They are the same failures, counted row by row."""
    job = await s.make_job()
    await _record_failures(s, job, s.now() - 60)
    pairs = {("a.example", ""): 1, ("a.example", "p:1"): 1, ("b.example", "p:1"): 1, ("a.example", "p:2"): 1}
    assert_equal(await _count(s, job, HOST, PROXY), pairs, "by host and proxy")
    report = await report_failures(s.backends, job, (HOST, PROXY), 50)
    assert_equal((report.counted_rows, report.failed), (4, 4), "how many rows were counted")


@register_check
async def the_items_of_a_job_are_described_field_by_field(s: QueryHarness) -> None:
    """How many have a field, of which kind its values are, and from which page on it is missing."""
    job = await s.make_job()
    now = s.now()
    results = [
        make_visit_result(_make_product(number, number < 20), at=now + number, number=number)
        for number in range(40)
    ]
    await s.backends.store.write(job, results)
    report = await report_quality(s.backends, job)
    assert_equal((report.items, report.sampled, report.dropped), (40, 40, 0), "all are looked at")
    price = next(field for field in report.fields if field.field == "price")
    assert_equal(
        (price.type, price.filled, price.fill, price.kind), ("Product", 20, 0.5, "decimal"), "a field"
    )
    assert_equal((price.least, price.most, price.distinct), (1.5, 20.5, 20), "its values")
    (found,) = report.findings
    assert_equal(
        (found.field, found.url, found.count), ("Product.price", "http://a/20", 20), "where it begins"
    )
    assert_equal(
        report.say[0],
        "100% of the last 20 items of shop-1 have no Product.price; before, 100% had it.",
        "said",
    )
    full = await report_quality(s.backends, job, full=True)
    assert_equal(
        (full.fields, full.findings), (report.fields, report.findings), "all of the items say the same"
    )
    nothing = await report_quality(s.backends, await s.make_job("other"))
    assert_equal(
        (nothing.items, nothing.score, nothing.fields, nothing.findings), (0, 0.0, (), ()), "no items"
    )


def _make_product(number: int, has_price: bool) -> ItemRecord:
    price = f'"{number + 1}.5"' if has_price else "null"
    return make_item(f"{number}", f'{{"name":"x","price":{price}}}'.encode(), url=f"http://a/{number}")
