"""Two jobs of one back end that crawl the same host: together they keep the limits of one job."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostSignal, HostSignalKind
from gossamer.core.lifecycle import JobCommand
from gossamer.core.requests import Lease
from gossamer.core.results import Verdict
from gossamer.policy.politeness import KEPT_SHARE
from gossamer.ports.job_frontier import AdminFrontier
from gossamer.testing.contracts.frontier_harness import (
    TTL_S,
    FrontierHarness,
    make_entry,
    make_outcome,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds

HOST = "a.example"
SPACED = FrontierRules(delay_s=1.0, per_host=1)
ONE_SLOT = FrontierRules(delay_s=0.0, per_host=1)
SLOTS = FrontierRules(delay_s=0.0, per_host=4)
STEP_S = 0.05
"""How often a job asks that waits; no turn is lost by so much."""


async def _two_jobs(
    w: FrontierHarness, sizes: Sequence[int] = (9, 3), rules: FrontierRules | None = None
) -> tuple[AdminFrontier, AdminFrontier] | None:
    """Return the frontier and that of another job, with requests to one host, or ``None`` without a second
    job.
    """
    if w.subject.beside is None:
        return None
    jobs = (w.frontier, await w.subject.beside(rules or await w.frontier.read_rules()))
    for job, size in zip(jobs, sizes, strict=True):
        await job.add([make_entry(number) for number in range(size)])
    return jobs


async def _lease(job: AdminFrontier, limit: int = 9, ttl_s: float = TTL_S) -> tuple[Lease, ...]:
    return (await job.lease("http", limit, ttl_s)).leases


async def _settle(w: FrontierHarness, job: AdminFrontier, lease: Lease, **fields: object) -> None:
    (accepted,) = await job.settle([make_outcome(lease, Verdict.SUCCESS, w.clock.now(), **fields)])
    assert_holds(accepted, "the lease is in force")


async def _run(
    w: FrontierHarness, jobs: Sequence[AdminFrontier], steps: int, *, answer_s: float = 0.0
) -> list[tuple[float, int]]:
    """Both ask again and again, the larger one first: when which of them started, at the host."""
    starts: list[tuple[float, int]] = []
    held: list[tuple[float, AdminFrontier, Lease]] = []
    for _ in range(steps):
        for number, job in enumerate(jobs):
            for lease in await _lease(job):
                starts.append((w.clock.now(), number))
                held.append((w.clock.now() + answer_s, job, lease))
        for done in [row for row in held if row[0] <= w.clock.now()]:
            held.remove(done)
            await _settle(w, done[1], done[2])
        w.clock.advance(STEP_S)
    return starts


@register_check(SPACED)
async def two_jobs_keep_one_delay_and_take_turns(w: FrontierHarness) -> None:
    """Their starts are as far apart as those of one job, and the larger one gets no more of them."""
    if (jobs := await _two_jobs(w)) is None:
        return
    starts = await _run(w, jobs, 130)
    gaps = [later - sooner for (sooner, _), (later, _) in pairwise(starts)]
    assert_holds(min(gaps) >= KEPT_SHARE, f"one delay for both: {gaps}")
    assert_holds(len(starts) >= 6, f"turns are used: {starts}")
    assert_equal([who for _, who in starts[:6]], [0, 1, 0, 1, 0, 1], "they take turns")


@register_check(ONE_SLOT)
async def two_jobs_share_one_slot_and_take_turns(w: FrontierHarness) -> None:
    """Never are two requests on their way, and neither job waits for the end of the other."""
    if (jobs := await _two_jobs(w)) is None:
        return
    starts = await _run(w, jobs, 40, answer_s=2 * STEP_S)
    gaps = [later - sooner for (sooner, _), (later, _) in pairwise(starts)]
    assert_holds(min(gaps) >= 2 * STEP_S - 1e-6, f"one slot for both: {starts}")
    assert_equal([who for _, who in starts[:6]], [0, 1, 0, 1, 0, 1], "they take turns")


@register_check(SLOTS)
async def two_jobs_have_a_share_of_the_slots_each(w: FrontierHarness) -> None:
    """The first job has all slots; when another job starts, freed slots go to it."""
    if (jobs := await _two_jobs(w, (20, 20))) is None:
        return
    big, small = jobs
    first = await _lease(big)
    assert_equal(len(first), 4, "the other job has not started")
    assert_equal(len(await _lease(small)), 0, "all slots are taken")
    for lease in first[:2]:
        await _settle(w, big, lease)
    assert_equal(len(await _lease(big)), 0, "it has its share")
    w.clock.advance(STEP_S)
    assert_equal(len(await _lease(small)), 2, "the other half")
    for lease in first[2:]:
        await _settle(w, big, lease)
    assert_equal(len(await _lease(big)), 2, "each its half")


@register_check(SPACED)
async def one_job_meets_a_hold_and_the_other_keeps_it(w: FrontierHarness) -> None:
    """A Retry-After applies to all jobs of this back end."""
    if (jobs := await _two_jobs(w)) is None:
        return
    one, other = jobs
    (lease,) = await _lease(one)
    signal = HostSignal(
        kind=HostSignalKind.THROTTLED, started_at=w.clock.now(), latency_s=0.1, retry_after_s=30.0
    )
    await _settle(w, one, lease, is_page=False, signal=signal)
    w.clock.advance(29.9)
    assert_equal(len(await _lease(other)), 0, "the host asked for time")
    report = await other.find_host(HOST)
    assert_holds(report is not None and report.state.hold_until > w.clock.now(), "and the other job says so")
    w.clock.advance(0.2)
    assert_equal(len(await _lease(other)), 1, "the time is over")


@register_check(SPACED)
async def what_one_job_reads_in_robots_the_other_keeps(w: FrontierHarness) -> None:
    """A Crawl-delay is the host's."""
    if (jobs := await _two_jobs(w)) is None:
        return
    one, other = jobs
    (lease,) = await _lease(one)
    signal = HostSignal(kind=HostSignalKind.OK, started_at=w.clock.now(), robots_read=True, crawl_delay_s=5.0)
    await _settle(w, one, lease, signal=signal)
    w.clock.advance(4.9)
    assert_equal(len(await _lease(other)), 0, "five seconds are not over")
    w.clock.advance(0.2)
    assert_equal(len(await _lease(other)), 1, "now they are")


async def _next_job(w: FrontierHarness, signal: HostSignal) -> AdminFrontier | None:
    """Another job, which begins after the first one has learnt this of its host, alone."""
    if w.subject.beside is None:
        return None
    await w.add_entries(make_entry(1), make_entry(2))
    lease = await w.lease_one()
    await _settle(w, w.frontier, lease, signal=signal)
    other = await w.subject.beside(await w.frontier.read_rules())
    await other.add([make_entry(number) for number in range(3)])
    return other


@register_check(SPACED)
async def a_hold_that_one_job_met_alone_the_next_one_keeps(w: FrontierHarness) -> None:
    """The first job does not contact the host again meanwhile, so it passes the hold to no other job."""
    now = w.clock.now()
    signal = HostSignal(kind=HostSignalKind.THROTTLED, started_at=now, latency_s=0.1, retry_after_s=30.0)
    if (other := await _next_job(w, signal)) is None:
        return
    w.clock.advance(29.0)
    assert_equal(len(await _lease(other)), 0, "the host asked for time")
    w.clock.advance(1.2)
    assert_equal(len(await _lease(other)), 1, "the time is over")


@register_check(SPACED)
async def a_crawl_delay_that_one_job_read_alone_the_next_one_keeps(w: FrontierHarness) -> None:
    """The next one has its robots.txt from others, and learns nothing of it itself."""
    now = w.clock.now()
    signal = HostSignal(kind=HostSignalKind.OK, started_at=now, robots_read=True, crawl_delay_s=5.0)
    if (other := await _next_job(w, signal)) is None:
        return
    starts = await _run(w, [other], 320)
    times = [now, *(at for at, _ in starts)]
    gaps = [later - sooner for sooner, later in pairwise(times)]
    assert_equal(len(starts), 3, f"all are asked: {starts}")
    assert_holds(min(gaps) >= 5.0 - 1e-6, f"as far apart as the host wants: {gaps}")


@register_check(SPACED)
async def jobs_with_different_delays_keep_the_longer_one(w: FrontierHarness) -> None:
    """Each start keeps the distance that its own job asks for, and that which the latest one asked for."""
    if (jobs := await _two_jobs(w, rules=FrontierRules(delay_s=3.0, per_host=1))) is None:
        return
    starts = await _run(w, jobs, 260)
    gaps = [later - sooner for (sooner, _), (later, _) in pairwise(starts)]
    assert_holds(min(gaps[:4]) >= 3.0 * KEPT_SHARE, f"the longer one: {starts}")
    assert_equal([who for _, who in starts[:4]], [0, 1, 0, 1], "and it does not starve")


@register_check(SPACED)
async def a_job_that_does_not_ask_holds_up_nobody(w: FrontierHarness) -> None:
    """It may have said that it waits: its turn is lost a moment after it has come."""
    if (jobs := await _two_jobs(w)) is None:
        return
    await _run(w, jobs, 30)
    starts = await _run(w, jobs[:1], 100)
    assert_holds(len(starts) >= 4, f"about one in a second: {starts}")
    await jobs[1].apply_change(JobCommand.PAUSE)
    assert_holds(len(await _run(w, jobs, 60)) >= 2, "a paused job does not ask")


@register_check(ONE_SLOT)
async def requests_of_a_job_that_is_gone_count_until_their_deadlines(w: FrontierHarness) -> None:
    """Without a worker, no call takes back the leases of a job; its slots are free after the deadlines."""
    if (jobs := await _two_jobs(w)) is None:
        return
    (lease,) = await _lease(jobs[0])
    w.clock.advance(TTL_S - 1.0)
    assert_equal(len(await _lease(jobs[1])), 0, "it may be on its way")
    assert_equal(await jobs[0].extend([lease], TTL_S), [True], "and it is")
    w.clock.advance(TTL_S - 2.0)
    assert_equal(len(await _lease(jobs[1])), 0, "until its new deadline")
    w.clock.advance(3.0)
    assert_equal(len(await _lease(jobs[1])), 1, "nobody came back")


@register_check(ONE_SLOT)
async def what_a_killed_job_had_in_flight_can_be_withdrawn(w: FrontierHarness) -> None:
    """Its slot is then free at once. Its requests stay leased, and belong to the job when it resumes."""
    if w.subject.withdraw_claims is None or (jobs := await _two_jobs(w)) is None:
        return
    (lease,) = await _lease(jobs[0])
    assert_equal(len(await _lease(jobs[1])), 0, "it may be on its way")
    await w.subject.withdraw_claims(w.clock.now())
    w.clock.advance(STEP_S)
    assert_equal(len(await _lease(jobs[1])), 1, "it has no worker")
    assert_equal((await jobs[0].read_stats()).leased, 1, "it is leased as before")
    taken = await jobs[0].apply_change(JobCommand.RECOVER)
    assert_equal([held.token for held in taken], [lease.token], "and taken back when the job is resumed")


@register_check(SPACED)
async def what_is_withdrawn_leaves_the_delay_after_it(w: FrontierHarness) -> None:
    """That which the next job asks for, after the latest request of the killed one."""
    if w.subject.withdraw_claims is None or w.subject.beside is None:
        return
    await w.add_entries(make_entry(1), make_entry(2))
    await w.lease_one()
    other = await w.subject.beside(FrontierRules(delay_s=3.0, per_host=1))
    await w.subject.withdraw_claims(w.clock.now())
    await other.add([make_entry(number) for number in range(3)])
    w.clock.advance(3.0 * KEPT_SHARE - STEP_S)
    assert_equal(len(await _lease(other)), 0, "the delay that its own job asks for")
    w.clock.advance(1.0)
    assert_equal(len(await _lease(other)), 1, "and no longer")


@register_check(ONE_SLOT)
async def what_a_job_asks_after_it_was_looked_at_is_not_withdrawn(w: FrontierHarness) -> None:
    """The job was resumed in the meantime and has a worker."""
    if w.subject.withdraw_claims is None or (jobs := await _two_jobs(w)) is None:
        return
    looked_at = w.clock.now()
    await _lease(jobs[0])
    w.clock.advance(STEP_S)
    await jobs[0].apply_change(JobCommand.RECOVER)
    assert_equal(len(await _lease(jobs[0])), 1, "it goes on")
    await w.subject.withdraw_claims(looked_at)
    assert_equal(len(await _lease(jobs[1])), 0, "its request is on its way")


@register_check(SLOTS)
async def the_share_of_a_job_that_is_gone_is_free_again(w: FrontierHarness) -> None:
    """When its leases have run out; of one that is paused, when its last request has ended."""
    if (jobs := await _two_jobs(w, (30, 30))) is None:
        return
    gone, left = jobs
    first = await _lease(gone, 2)
    w.clock.advance(STEP_S)
    ours = await _lease(left)
    assert_equal((len(first), len(ours)), (2, 2), "each has its half")
    for lease in ours:
        await _settle(w, left, lease)
    assert_equal(
        len(await _lease(left, ttl_s=9 * TTL_S)), 2, "its half, while the other's may be on their way"
    )
    w.clock.advance(TTL_S + 1.0)
    assert_equal(len(await _lease(left, ttl_s=9 * TTL_S)), 2, "the job did not return: all slots")
    (again,) = (await gone.lease("http", 1, TTL_S)).leases or (None,)
    assert_equal(again, None, "and no more than those")


@register_check(SPACED)
async def what_a_person_orders_is_for_one_job(w: FrontierHarness) -> None:
    """A hold, and leaving a host out."""
    if (jobs := await _two_jobs(w)) is None:
        return
    until = w.clock.now() + 600.0
    await jobs[0].steer_host(HOST, HostOrder(command=HostCommand.HOLD, until=until))
    w.clock.advance(1.0)
    assert_equal(len(await _lease(jobs[0])), 0, "it is held")
    (lease,) = await _lease(jobs[1])
    await _settle(w, jobs[1], lease)
    await jobs[0].steer_host(HOST, HostOrder(command=HostCommand.ASK))
    await jobs[1].steer_host(HOST, HostOrder(command=HostCommand.SKIP))
    w.clock.advance(2.0)
    assert_equal((len(await _lease(jobs[1])), len(await _lease(jobs[0]))), (0, 1), "it is left out there")


@register_check(SPACED)
async def a_budget_of_pages_is_that_of_one_job(w: FrontierHarness) -> None:
    """Pages of the other job do not count."""
    rules = FrontierRules(delay_s=1.0, per_host=1, max_pages_per_host=1)
    if (jobs := await _two_jobs(w, rules=rules)) is None:
        return
    starts = await _run(w, jobs, 100)
    assert_holds(sum(who for _, who in starts) == 1, f"one page of the second job: {starts}")
    assert_holds(len(starts) >= 4, "and the first one continues alone")
