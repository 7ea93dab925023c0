"""The contract of a :class:`~gossamer.ports.job_frontier.JobFrontier` as a whole, as named checks.

The parts have suites of their own (``frontier``, ``owned_frontier``). Use::

    @asynccontextmanager
    async def make(clock):
        frontier = MyFrontier(url, "job-1", POSITION_RULES, clock)
        other = MyFrontier(url, "other-1", FrontierRules(), clock)  # of another job in the same place
        yield JobFrontierSubject(frontier, other, clock)

    await check_job_frontier(make)                   # all of them, or one by one from JOB_FRONTIER_CHECKS
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JobCommand
from gossamer.core.position import QueuePosition
from gossamer.core.results import Verdict
from gossamer.ports.job_frontier import JobFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import TTL_S, make_entry, make_outcome
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["JOB_FRONTIER_CHECKS", "POSITION_RULES", "JobFrontierSubject", "check_job_frontier"]

POSITION_RULES = FrontierRules(delay_s=1.0, max_pages_per_host=7)
"""The rules of the frontier under test."""


@dataclass
class JobFrontierSubject:
    """The frontier under test, and that of another job beside it, under default rules."""

    frontier: JobFrontier
    other: JobFrontier
    clock: ManualClock

    async def find_place(self, fingerprint: int) -> QueuePosition:
        """Where a request of the host ``a.example`` stands."""
        found = await self.frontier.find_request(fingerprint, "a.example")
        return QueuePosition() if found is None else found.place


JOB_FRONTIER_CHECKS: ContractSuite[JobFrontierSubject] = ContractSuite()
"""The checks by name."""


async def check_job_frontier(make: Make[JobFrontierSubject]) -> None:
    """Run every check against a fresh frontier each. Raises ``AssertionError`` for a broken promise."""
    await JOB_FRONTIER_CHECKS.run(make)


@JOB_FRONTIER_CHECKS.register
async def the_rules_in_force_are_told(s: JobFrontierSubject) -> None:
    """Those of the job, also when they were changed, whether the request is there or not."""
    assert_equal(await s.frontier.read_rules(), POSITION_RULES, "as the frontier was made")
    assert_equal(await s.other.read_rules(), FrontierRules(), "another job has its own")
    changed = replace(POSITION_RULES, per_host=3)
    await s.frontier.apply_change(JobCommand.RESUME, changed)
    assert_equal(await s.frontier.read_rules(), changed, "as they were changed")


@JOB_FRONTIER_CHECKS.register
async def a_request_waits_behind_others_of_its_host(s: JobFrontierSubject) -> None:
    """Those of a better priority and, within one, those that came before."""
    await s.frontier.add(
        [make_entry(1), make_entry(2), make_entry(3, priority=1), make_entry(4, "b.example")]
    )
    ahead = [(await s.find_place(number)).ahead for number in (1, 2, 3)]
    assert_equal(ahead, [1, 2, 0], "this number goes first")
    other = await s.frontier.find_request(4, "b.example")
    assert_equal(other and other.place.ahead, 0, "of another host none")
    (lease, *_) = (await s.frontier.lease("http", 1, TTL_S)).leases
    assert_equal(lease.entry.fingerprint, 3, "the first one goes")
    assert_equal((await s.find_place(2)).ahead, 1, "then there is one less")


@JOB_FRONTIER_CHECKS.register
async def a_leased_request_has_its_times(s: JobFrontierSubject) -> None:
    """Since when it is leased, and until when."""
    await s.frontier.add([make_entry(1)])
    now = s.clock.now()
    await s.frontier.lease("http", 1, TTL_S)
    s.clock.advance(5)
    place = await s.find_place(1)
    assert_equal((place.granted_at, place.deadline), (now, now + TTL_S), "granted and deadline")


@JOB_FRONTIER_CHECKS.register
async def a_dead_letter_has_its_number(s: JobFrontierSubject) -> None:
    """The one that ``dead_letters`` lists it under, and since when it is dead."""
    await s.frontier.add([make_entry(1), make_entry(2)])
    for _ in range(2):
        leases = (await s.frontier.lease("http", 2, TTL_S)).leases
        await s.frontier.settle([make_outcome(lease, Verdict.DEAD, s.clock.now()) for lease in leases])
        s.clock.advance(30)
    letters = await s.frontier.dead_letters(DeadLetterFilter())
    assert_equal(len(letters), 2, "both are dead")
    for letter in letters:
        place = await s.find_place(letter.entry.fingerprint)
        assert_equal((place.number, place.died_at), (letter.id, letter.died_at), "its letter")


@JOB_FRONTIER_CHECKS.register
async def what_does_not_wait_has_no_place(s: JobFrontierSubject) -> None:
    """Neither do unknown, finished or another job's requests."""
    await s.frontier.add([make_entry(1)])
    assert_equal(await s.other.find_request(1, "a.example"), None, "another job does not know it")
    assert_equal(await s.find_place(2), QueuePosition(), "it was never accepted")
    (lease,) = (await s.frontier.lease("http", 1, TTL_S)).leases
    await s.frontier.settle([make_outcome(lease, Verdict.SUCCESS, s.clock.now())])
    assert_equal(await s.find_place(1), QueuePosition(), "it is done")
    assert_holds(await s.frontier.find_request(1, "a.example"), "though it is known")
