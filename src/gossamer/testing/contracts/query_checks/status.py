"""The status of one job: its queue, its totals, its hosts, and its result."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.results import Verdict
from gossamer.policy.time_left import TimeEstimate
from gossamer.queries.hosts import list_hosts
from gossamer.queries.job_result import read_result
from gossamer.queries.observed_jobs import observe_closely
from gossamer.queries.status import QueueCounts, read_hold, read_status
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from gossamer.testing.contracts.query_harness import QueryHarness, register_check
from gossamer.testing.contracts.store_harness import make_item
from gossamer.testing.contracts.suite import assert_equal, assert_holds


@register_check
async def a_status_counts_every_request(s: QueryHarness) -> None:
    """Each state of a request, and requests refused as known."""
    entries = [make_entry(number) for number in range(1, 6)]
    job = await s.make_job("shop", *entries, make_entry(6, due_at=s.now() + 1000))
    await s.open_frontier(job).add(entries[:2])
    ends = {1: (Verdict.SUCCESS, ""), 2: (Verdict.DEAD, "client"), 3: (Verdict.RETRY, "server")}
    await s.end_visits(job, ends, items=[make_item("a")])
    leased = await s.lease_requests(job)
    await s.open_frontier(job).release([leased[5]], [HostSignal()])
    status = await read_status(s.backends, job)
    assert_equal(status.queue, QueueCounts(pending=1, delayed=2, leased=1), "what waits")
    assert_equal((status.done, status.dead, status.waiting, status.refused), (1, 1, 4, 2), "what is settled")
    assert_equal((status.pages, status.items, status.attempts, status.retries), (1, 1, 3, 1), "the totals")
    assert_equal(status.by_status, {"200": 3}, "by status")
    assert_equal(status.by_reason, {"client": 1, "server": 1}, "by reason")
    assert_holds(not status.forgotten, "its requests are there")
    assert_equal((status.is_fleet, status.shifts, status.eta_seconds), (False, 0, None), "it has no fleet")
    assert_holds(status.next_at is not None, "something waits for a time")


@register_check
async def a_status_says_what_holds_the_whole_job_up(s: QueryHarness) -> None:
    """Only if requests wait and no worker can process them."""
    job = await s.make_job("shop", make_entry(1))
    async with s.backends.requests.lock_target(job.target):
        assert_equal(await read_hold(s.backends, job), "", "the job has a worker")
    held = await read_hold(s.backends, job)
    assert_holds("no process crawls the job shop-1" in held, "nobody is at work")
    await s.end_visits(job, {1: (Verdict.SUCCESS, "")})
    assert_equal(await read_hold(s.backends, job), "", "nothing waits")


@register_check
async def hosts_are_listed_busiest_first(s: QueryHarness) -> None:
    """With the waiting requests of each; at most the requested number, and whether more exist."""
    wanted = {"b.example": 3, "a.example": 2, "c.example": 1}
    names = [name for name, count in wanted.items() for _ in range(count)]
    job = await s.make_job("shop", *(make_entry(number, host) for number, host in enumerate(names)))
    page = await list_hosts(s.backends, job, 2)
    found = [(host.host, host.pending, host.in_flight) for host in page.hosts]
    assert_equal(found, [("b.example", 3, 0), ("a.example", 2, 0)], "the busiest")
    assert_holds(page.has_more, "there is a third")
    everything = await list_hosts(s.backends, job, 3)
    assert_equal((len(everything.hosts), everything.has_more), (3, False), "and no fourth")
    status = await read_status(s.backends, job, hosts=2)
    assert_equal(status.hosts, page.hosts, "a status has the same")


@register_check
async def a_host_has_the_delay_in_force(s: QueryHarness) -> None:
    """The delay of robots.txt counts as well."""
    job = await s.make_job("shop", make_entry(1), make_entry(2))
    lease = (await s.lease_requests(job, 1))[1]
    signal = HostSignal(kind=HostSignalKind.OK, started_at=s.now(), robots_read=True, crawl_delay_s=7.0)
    outcome = make_outcome(lease, Verdict.SUCCESS, s.now(), signal=signal)
    await s.open_frontier(job).settle([outcome])
    (host,) = (await list_hosts(s.backends, job, 5)).hosts
    assert_equal((host.delay_s, host.pages, host.silent_since), (7.0, 1, None), "as robots.txt asks")


@register_check
async def a_silent_host_is_named(s: QueryHarness) -> None:
    """With the time since when it does not answer, and in words."""
    job = await s.make_job("shop", make_entry(1), make_entry(2))
    lease = (await s.lease_requests(job, 1))[1]
    started_at = s.now()
    signal = HostSignal(kind=HostSignalKind.UNREACHABLE, started_at=started_at)
    outcome = make_outcome(
        lease,
        Verdict.RETRY,
        started_at,
        signal=signal,
        reason=Fault.CONNECT.value,
        due_at=started_at + 1000,
        is_page=False,
    )
    await s.open_frontier(job).settle([outcome])
    page = await list_hosts(s.backends, job, 5)
    (host,) = page.hosts
    assert_holds(host.silent_since is not None and host.silent_since >= started_at, "since when it is silent")
    told = (page.silent, (await read_status(s.backends, job)).silent)
    assert_holds(all(words.startswith("a.example has not answered for") for words in told), "in words")


@register_check
async def a_result_is_that_of_the_whole_job(s: QueryHarness) -> None:
    """From its beginning to its end, whatever runs it took."""
    job = await s.make_job("shop", *(make_entry(number) for number in (1, 2, 3)))
    ends = {
        1: (Verdict.SUCCESS, ""),
        2: (Verdict.REDIRECT, LedgerReason.KNOWN_TARGET.value),
        3: (Verdict.DEAD, Fault.HOST_LOST.value),
    }
    await s.end_visits(job, ends, items=[make_item("a")])
    early = await read_result(s.backends, job)
    assert_equal((early.finish_reason, early.is_early), ("running", True), "it is not over")
    over = replace(
        job, state=JobState.FINISHED, end_reason=FinishReason.FINISHED, finished_at=job.created_at + 10.0
    )
    result = await read_result(s.backends, over)
    assert_equal((result.finish_reason, result.is_early), ("finished", False), "it is over")
    assert_equal((result.seconds, result.pages_per_second), (10.0, 0.1), "from its beginning to its end")
    assert_equal((result.pages, result.items, result.attempts, result.dead), (1, 1, 3, 1), "counts")
    assert_equal((result.redirects_to_known, result.lost), (1, 1), "the problems shown")


@register_check
async def progress_is_counted_from_the_requests(s: QueryHarness) -> None:
    """The pace is unknown without a fleet."""
    job = await s.make_job("shop", make_entry(1), make_entry(2))
    await s.end_visits(job, {1: (Verdict.SUCCESS, "")})
    known = await observe_closely(s.backends, job)
    assert known.stats is not None
    counts = (known.stats.pages, known.stats.pending, known.stats.done)
    assert_equal(counts, (1, 1, 1), "the counts")
    assert_equal((known.pages_per_s, known.left), (None, TimeEstimate()), "no pace")
