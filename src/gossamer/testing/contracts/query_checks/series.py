"""A job's history: rates, response times, failures."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.access import LoggedAction
from gossamer.core.jobs import Job
from gossamer.core.results import Attempt, Verdict
from gossamer.core.series import ALLOWED, HOUR_S, ChartRange, HourlyKind
from gossamer.queries.errors import HEAT_ROWS, HOURS, SAMPLES, read_errors, read_heat
from gossamer.queries.series import read_series
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.suite import assert_equal, assert_holds

SOMEBODY = "ann"


def make_tries(now: float, count: int, verdict: Verdict, reason: str = "", **more: object) -> list[Attempt]:
    """Attempts at pages of the host ``a.example``, each a second before the one before it."""
    made = Attempt(
        at=now,
        url="",
        fingerprint=1,
        verdict=verdict,
        reason=reason,
        status=200,
        elapsed_ms=30.0,
        rung="http",
    )
    host = more.pop("host", "a.example")
    return [
        replace(made, at=now - n, url=f"http://{host}/{reason or 'fine'}/{n}", fingerprint=n, **more)
        for n in range(count)
    ]


async def begin_earlier(s: QueryHarness, job: Job, age_s: float) -> Job:
    """The job as if it had begun a while ago."""
    return replace(job, created_at=s.now() - age_s)


@register_check
async def a_past_has_lines_and_gaps(s: QueryHarness) -> None:
    """A step without records has no value, rather than zero."""
    job = await begin_earlier(s, await s.make_job("shop"), 600.0)
    now = s.now()
    tries = make_tries(now - 60.0, 1, Verdict.SUCCESS) + make_tries(
        now - 300.0, 4, Verdict.RETRY, "server", status=503
    )
    await s.backends.store.record_attempts(job, tries)
    await s.backends.series.set_gauges(job, now - 100.0, {"pending": 7, "leased": 2, ALLOWED: 2500})
    action = LoggedAction(at=now - 50.0, token=SOMEBODY, kind="hold", job=job.id, what="a.example")
    await s.backends.actions.add_action(action)
    await s.backends.actions.add_action(replace(action, at=now - 5000.0))
    view = await read_series(s.backends, job, ChartRange.HOUR)
    lengths = {len(line) for line in view.series.values()}
    assert_equal(lengths, {(view.until - view.since) // view.step_s}, "one value a step in each line")
    assert_holds(len(view.series["attempts"]) in (30, 31), "from the beginning of the job to now")
    per_step = [round(value * 20) for value in view.series["attempts"] if value is not None]
    assert_equal(sum(per_step), 5, "rates are those of the steps")
    assert_holds(None in view.series["attempts"], "a gap is not a zero")
    assert_holds(0.0 in view.series["attempts"], "but in the presence of a worker nothing is a zero")
    assert_equal(sum(round((value or 0.0) * 20) for value in view.series["5xx"]), 4, "by status")
    assert_holds(
        {0.025 < value < 0.05 for value in view.series["p50"] if value} == {True}, "times in seconds"
    )
    assert_equal([value for value in view.series["waiting"] if value is not None], [9], "what waits")
    assert_equal([value for value in view.series["allowed"] if value is not None], [2.5], "what is allowed")
    marks = [(mark.at, mark.text) for mark in view.marks]
    assert_equal(marks, [(now - 50.0, "hold: a.example, token ann")], "what people did in that time")
    assert_holds("dead" not in view.series, "a line without any value is left out")
    assert_holds(2 <= len(view.gaps) <= 5, "gaps are listed")
    assert_equal(view.gaps[0].since, view.since, "from where they begin")


@register_check
async def the_past_of_a_job_that_is_over_is_that_before_its_end(s: QueryHarness) -> None:
    """However long ago that is."""
    job = await begin_earlier(s, await s.make_job("shop"), 100_000.0)
    over = replace(job, finished_at=job.created_at + 500.0)
    await s.backends.store.record_attempts(over, make_tries(job.created_at + 400.0, 3, Verdict.SUCCESS))
    for range_ in ChartRange:
        view = await read_series(s.backends, over, range_)
        counted = [value for value in view.series["attempts"] if value]
        assert_holds(counted, f"its {range_}")
        assert_holds(view.until <= job.created_at + 500.0 + view.step_s, "until its end")


@register_check
async def failures_are_told_from_what_was_left_out(s: QueryHarness) -> None:
    """By reason, with the latest of each; most first."""
    job = await begin_earlier(s, await s.make_job("shop", make_entry(1)), 5000.0)
    now = s.now()
    await s.backends.store.record_attempts(
        job,
        [
            *make_tries(now, 5, Verdict.SUCCESS),
            *make_tries(now, 4, Verdict.RETRY, "server", status=503),
            *make_tries(now, 2, Verdict.DEAD, "server", status=500, host="b.example", detail="x" * 1000),
            *make_tries(now, 3, Verdict.RETRY, "connect", status=0),
            *make_tries(now, 7, Verdict.SKIPPED, "gone", status=404),
            *make_tries(now, 2, Verdict.SKIPPED, "robots", status=0),
        ],
    )
    found = await read_errors(s.backends, job, ChartRange.ALL)
    assert_equal((found.attempts, found.failed, found.more_groups), (21, 9, 0), "all of them")
    shown = [(group.reason, group.count, group.dead, group.hosts, group.host) for group in found.groups]
    expected = [("server", 6, 2, 2, ""), ("connect", 3, 0, 1, "a.example")]
    assert_equal(shown, expected, "by reason, most first")
    server = found.groups[0]
    assert_equal(
        [len(server.samples), len(server.detail), len(server.hours)], [SAMPLES, 400, HOURS], "bounds"
    )
    assert_equal(sum(server.hours), 6, "by hour")
    assert_holds(server.samples[0].url.startswith("http://b.example/server/"), "the latest of the ledger")
    assert_holds(server.fate and server.advice and "server" in server.title, "in words")
    left_out = [(one.reason, one.count, one.is_attempt) for one in found.left_out]
    assert_equal(left_out, [("gone", 7, True), ("robots", 2, True)], "on purpose")
    assert_holds("a.example" in found.say[0] or "reason" in found.say[0].lower(), "a sentence")
    for range_ in (ChartRange.QUARTER, ChartRange.DAY):
        view = await read_errors(s.backends, job, range_)
        assert_holds(view.failed >= 1, f"of {range_}")
    other = await read_errors(s.backends, await s.make_job("other"), ChartRange.ALL)
    assert_equal((other.attempts, other.groups, other.left_out), (0, (), ()), "each job has its own")


@register_check
async def failures_by_hour_have_the_worst_and_the_rest(s: QueryHarness) -> None:
    """By host or by proxy."""
    job = await begin_earlier(s, await s.make_job("shop"), 2 * HOUR_S)
    now = s.now()
    bad = [
        make_tries(now, n, Verdict.RETRY, "server", status=503, host=f"h{n}.example", proxy=f"p{n % 3}:80")
        for n in range(1, HEAT_ROWS + 4)
    ]
    await s.backends.store.record_attempts(
        job, [*make_tries(now, 9, Verdict.SUCCESS), *(row for rows in bad for row in rows)]
    )
    heat = await read_heat(s.backends, job, HourlyKind.HOST)
    assert_equal(len(heat.hours), HOURS, "hours")
    names = [row.name for row in heat.rows]
    expected = [f"h{n}.example" for n in range(HEAT_ROWS + 3, 3, -1)]
    assert_equal(names, [*expected, "all other hosts"], "the worst first, and the rest")
    sums = [tuple(map(sum, zip(*row.cells, strict=True))) for row in heat.rows]
    assert_equal(sums[0], (HEAT_ROWS + 3, HEAT_ROWS + 3), "failed, and tried")
    assert_equal((sums[-1], heat.rows[-1].is_rest), ((1 + 2 + 3, 1 + 2 + 3 + 9), True), "of all others")
    proxies = await read_heat(s.backends, job, HourlyKind.PROXY)
    assert_equal({row.name for row in proxies.rows}, {"p0:80", "p1:80", "p2:80"}, "by proxy")
    nothing = await read_heat(s.backends, await s.make_job("other"), HourlyKind.PROXY)
    assert_equal(nothing.rows, (), "each job has its own")
