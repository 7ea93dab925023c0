"""The tools of the frontier contract: a world with a frontier and a clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.lifecycle import RequestState
from gossamer.core.requests import Entry, Grant, Lease, Request
from gossamer.core.results import Outcome, Verdict
from gossamer.ports.job_frontier import AdminFrontier
from gossamer.testing.clock import ManualClock


@dataclass
class FrontierSubject:
    """The frontier under test, and a way to open it as a new process would.

    ``beside`` opens the frontier of another job in the same back end, under its own rules; ``None``: the back
    end has no other jobs, or each job has its own pace there. ``withdraw_claims`` releases the slots that
    this job held at a time, as if it had no worker any more; ``None``: only deadlines can prove that.
    """

    frontier: AdminFrontier
    reopen: Callable[[], Awaitable[AdminFrontier | None]]
    beside: Callable[[FrontierRules], Awaitable[AdminFrontier]] | None = None
    withdraw_claims: Callable[[float], Awaitable[None]] | None = None


Make = Callable[[FrontierRules, ManualClock], AbstractAsyncContextManager[FrontierSubject]]
Check = Callable[[Make], Awaitable[None]]

CHECKS: dict[str, Check] = {}
"""The registered checks by name."""

EASY = FrontierRules(delay_s=0.0, per_host=100)
"""Rules under which only the order decides."""
PACED = FrontierRules(delay_s=2.0, per_host=4)
"""Rules under which time decides."""
TTL_S = 60.0


def register_check(
    rules: FrontierRules = EASY,
) -> Callable[[Callable[[FrontierHarness], Awaitable[None]]], Check]:
    """Register a check that runs in a :class:`FrontierHarness` of its own under ``rules``."""

    def register(body: Callable[[FrontierHarness], Awaitable[None]]) -> Check:
        async def check(make: Make) -> None:
            clock = ManualClock()
            async with make(rules, clock) as subject:
                await body(FrontierHarness(subject, clock))

        check.__name__, check.__doc__ = body.__name__, body.__doc__
        CHECKS[body.__name__] = check
        return check

    return register


class FrontierHarness:
    """A frontier, its clock, and short methods for the checks."""

    def __init__(self, subject: FrontierSubject, clock: ManualClock) -> None:
        self.subject = subject
        self.frontier = subject.frontier
        self.clock = clock

    async def add_entries(self, *entries: Entry) -> int:
        """Add entries; return how many were accepted."""
        return (await self.frontier.add(entries)).accepted

    async def lease_requests(self, limit: int = 100, lane: str = "http", ttl_s: float = TTL_S) -> Grant:
        """Return a grant."""
        return await self.frontier.lease(lane, limit, ttl_s)

    async def lease_fingerprints(self, limit: int = 100, lane: str = "http") -> list[int]:
        """Return the fingerprints of the granted requests, in order."""
        return fingerprints_of((await self.lease_requests(limit, lane)).leases)

    async def lease_one(self) -> Lease:
        """Return the only granted lease."""
        (lease,) = (await self.lease_requests()).leases
        return lease

    async def one_later(self) -> Lease:
        """Return the only lease granted after the longest back-off."""
        self.clock.advance(FrontierRules().backoff_cap_s)
        return await self.lease_one()

    async def settle_lease(self, lease: Lease, verdict: Verdict = Verdict.SUCCESS, **fields: object) -> bool:
        """Settle one lease; by default as a page that took no time."""
        (accepted,) = await self.frontier.settle([make_outcome(lease, verdict, self.clock.now(), **fields)])
        return accepted

    async def count_states(self) -> dict[RequestState, int]:
        """Count the requests in each state, without zeros."""
        stats = await self.frontier.read_stats()
        found = {
            RequestState.PENDING: stats.pending,
            RequestState.DELAYED: stats.delayed,
            RequestState.LEASED: stats.leased,
            RequestState.DONE: stats.done,
            RequestState.DEAD: stats.dead,
        }
        return {state: count for state, count in found.items() if count}

    async def state_of(self, fingerprint: int) -> RequestState | None:
        """Return the state of a request of the host ``a.example``."""
        found = await self.frontier.find_request(fingerprint, "a.example")
        return None if found is None else found.state


def make_entry(
    number: int,
    host: str = "a.example",
    *,
    priority: int = 0,
    lane: str = "http",
    due_at: float = 0.0,
    depth: int = 0,
    dont_filter: bool = False,
) -> Entry:
    """Make an entry whose fingerprint is its number."""
    request = Request(
        f"http://{host}/{number}", priority=priority, lane=lane, depth=depth, dont_filter=dont_filter
    )
    return Entry(request=request, fingerprint=number, host=host, due_at=due_at)


def make_outcome(lease: Lease, verdict: Verdict, now: float, **fields: object) -> Outcome:
    """Make an outcome; a success is a page unless ``fields`` say otherwise."""
    ok = verdict is Verdict.SUCCESS
    defaults: dict[str, object] = {
        "is_page": ok,
        "signal": HostSignal(kind=HostSignalKind.OK if ok else HostSignalKind.FAULT, started_at=now),
    }
    return Outcome(lease=lease, verdict=verdict, **(defaults | fields))  # type: ignore[arg-type]


def fingerprints_of(leases: Iterable[Lease]) -> list[int]:
    """Return the fingerprints of leases, in order."""
    return [lease.entry.fingerprint for lease in leases]
