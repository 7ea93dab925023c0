"""The tools of the read model's checks: back ends, and short functions that fill them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from gossamer.core.errors import Fault
from gossamer.core.hosts import HostSignal
from gossamer.core.jobs import Job
from gossamer.core.requests import Entry, Lease
from gossamer.core.results import Attempt, ItemRecord, PageRecord, Verdict, VisitResult
from gossamer.ports.job_frontier import JobFrontier
from gossamer.testing.contracts.frontier_harness import EASY, TTL_S, make_outcome
from gossamer.testing.contracts.suite import assert_equal
from gossamer.wiring.backends import Backends

Make = Callable[[], AbstractAsyncContextManager[Backends]]
Check = Callable[[Make], Awaitable[None]]

QUERY_CHECKS: dict[str, Check] = {}
"""The registered checks by name."""


class QueryHarness:
    """Empty back ends, and methods that fill them."""

    def __init__(self, backends: Backends) -> None:
        self.backends = backends

    def now(self) -> float:
        """The time of the back ends."""
        return self.backends.clock.now()

    def open_frontier(self, job: Job) -> JobFrontier:
        """Open the requests of a job."""
        return self.backends.open_frontier(job)

    async def make_job(self, name: str = "shop", *entries: Entry) -> Job:
        """Make a job of an embedded crawl with these requests."""
        job = await self.backends.book.create(name, f"{name}.py")
        frontier = self.open_frontier(job)
        await self.backends.requests.create_frontier(job, EASY)
        if entries:
            assert_equal((await frontier.add(entries)).accepted, len(entries), "all requests are new")
        return job

    async def lease_requests(self, job: Job, limit: int = 1000) -> dict[int, Lease]:
        """Lease all requests that may start now; return them by fingerprint."""
        grant = await self.open_frontier(job).lease("http", limit, TTL_S)
        return {lease.entry.fingerprint: lease for lease in grant.leases}

    async def end_visits(
        self,
        job: Job,
        ends: Mapping[int, tuple[Verdict, str]],
        *,
        items: Sequence[ItemRecord] = (),
        expected: Mapping[str, int] | None = None,
        status: int = 200,
    ) -> None:
        """Visit requests, each with this verdict and reason, one after the other; the rest is given back.

        The first success finds the items; each announces the ``expected`` number.
        """
        leases = await self.lease_requests(job)
        frontier, found = self.open_frontier(job), tuple(items)
        for number, (verdict, reason) in ends.items():
            lease, now = leases.pop(number), self.now()
            due_at = now + 1000.0 if verdict is Verdict.RETRY else 0.0
            outcome = make_outcome(lease, verdict, now, reason=reason, due_at=due_at)
            is_page = verdict is Verdict.SUCCESS
            result = VisitResult(
                outcome=outcome,
                attempts=(make_attempt(lease, verdict, reason, at=now, status=status),),
                items=found if is_page else (),
                page=make_page(lease, now) if is_page else None,
                expected=dict(expected or {}),
            )
            found = () if is_page else found
            await self.backends.store.write(job, [result])
            assert_equal(await frontier.settle([outcome]), [True], "the lease is in force")
        await frontier.release(list(leases.values()), [HostSignal()] * len(leases))


def make_attempt(
    lease: Lease, verdict: Verdict, reason: str = "", *, at: float, status: int = 200
) -> Attempt:
    """Make the ledger's row of a visit."""
    request = lease.entry.request
    return Attempt(
        at=at,
        url=request.url,
        fingerprint=lease.entry.fingerprint,
        verdict=verdict,
        reason=reason,
        attempt=lease.attempt,
        status=0 if reason == Fault.CONNECT else status,
        size_bytes=10,
        method=request.method,
        depth=request.depth,
        via=request.via,
    )


def make_page(lease: Lease, at: float) -> PageRecord:
    """Make the page of a visit."""
    entry = lease.entry
    return PageRecord(url=entry.request.url, fingerprint=entry.fingerprint, status=200, title="A page", at=at)


def register_check(body: Callable[[QueryHarness], Awaitable[None]]) -> Check:
    """Register a check that runs on back ends of its own."""

    async def check(make: Make) -> None:
        async with make() as backends:
            await body(QueryHarness(backends))

    check.__name__, check.__doc__ = body.__name__, body.__doc__
    QUERY_CHECKS[body.__name__] = check
    return check
