"""The contract of a frontier that the workers of a fleet share, as named checks.

It adds to the contracts of every frontier and of frontiers with owners. Use::

    @asynccontextmanager
    async def make(clock):
        async def reopen():  # the same frontier, as another process opens it
            return MyFrontier(url, FLEET_RULES, clock)
        yield FleetFrontierSubject(await reopen(), reopen, clock)

    await check_fleet_frontier(make)                 # all of them, or one by one from FLEET_FRONTIER_CHECKS
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gossamer.core.hosts import FrontierRules
from gossamer.core.results import Verdict
from gossamer.ports.fleet_frontier import FleetFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal

__all__ = ["FLEET_FRONTIER_CHECKS", "FLEET_RULES", "FleetFrontierSubject", "check_fleet_frontier"]

FLEET_RULES = FrontierRules(delay_s=0.0, per_host=100)
"""The rules of the frontier under test: nothing but leases decides."""


@dataclass
class FleetFrontierSubject:
    """The frontier under test, and a way for another process to open it."""

    frontier: FleetFrontier
    reopen: Callable[[], Awaitable[FleetFrontier]]
    clock: ManualClock


FLEET_FRONTIER_CHECKS: ContractSuite[FleetFrontierSubject] = ContractSuite()
"""The checks by name."""


async def check_fleet_frontier(make: Make[FleetFrontierSubject]) -> None:
    """Run every check against a fresh frontier each. Raises ``AssertionError`` for a broken promise."""
    await FLEET_FRONTIER_CHECKS.run(make)


@FLEET_FRONTIER_CHECKS.register
async def a_job_is_seeded_when_its_seeder_says_so(s: FleetFrontierSubject) -> None:
    """Requests alone are not enough; all processes see the record once it is made."""
    await s.frontier.add([make_entry(1)])
    assert_equal((await s.frontier.read_stats()).seeded, False, "more seeds may come")
    for _ in range(2):
        await s.frontier.finish_seeding()
        assert_equal((await s.frontier.read_stats()).seeded, True, "it may be repeated")
    assert_equal((await (await s.reopen()).read_stats()).seeded, True, "others see it")


@FLEET_FRONTIER_CHECKS.register
async def a_job_without_seeds_is_seeded_too(s: FleetFrontierSubject) -> None:
    """It has nothing to do, and can end."""
    await s.frontier.finish_seeding()
    stats = await s.frontier.read_stats()
    assert_equal((stats.seeded, stats.waiting), (True, 0), "nothing waits")


@FLEET_FRONTIER_CHECKS.register
async def nothing_is_redone_when_nothing_was_lost(s: FleetFrontierSubject) -> None:
    """Settled pages stay done, with or without links, by any owner."""
    await s.frontier.add([make_entry(1), make_entry(2)])
    await s.frontier.finish_seeding()
    first, second = (await s.frontier.lease("http", 10, 60.0)).leases
    now = s.clock.now()
    links = (make_entry(3), make_entry(4))
    await s.frontier.settle([make_outcome(first, Verdict.SUCCESS, now, outlinks=links)])
    other = await s.reopen()
    await other.settle([make_outcome(second, Verdict.SUCCESS, now)])
    left = (await other.lease("http", 10, 60.0)).leases
    await other.settle([make_outcome(lease, Verdict.SUCCESS, now) for lease in left])
    for frontier in (s.frontier, other):
        assert_equal(await frontier.redo_lost(), 0, "nothing was lost")
    stats = await s.frontier.read_stats()
    assert_equal((stats.waiting, stats.done), (0, 4), "all of it is done")
