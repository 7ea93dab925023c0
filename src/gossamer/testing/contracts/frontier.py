"""The contract of a frontier, as named checks that any implementation can be put through.

Each check states one guarantee of :class:`~gossamer.ports.frontier.Frontier`. Time passes only by the clock's
``advance``. To check a frontier of your own::

    @asynccontextmanager
    async def make(rules, clock):
        async def reopen():  # the view of a new process; None if nothing survives
            return MyFrontier(url, rules, clock)
        yield FrontierSubject(MyFrontier(url, rules, clock), reopen)

    await check_frontier(make)                       # all of them, or one by one:
    @pytest.mark.parametrize("name", frontier_checks())
    async def test_contract(name): await frontier_checks()[name](make)
"""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.ports.job_frontier import AdminFrontier
from gossamer.testing.contracts.frontier_checks import (
    domains,
    due,
    jobs,
    leases,
    places,
    queue,
    ranks,
    sharing,
    steering,
)
from gossamer.testing.contracts.frontier_harness import CHECKS, Check, FrontierSubject, Make

__all__ = ["AdminFrontier", "Check", "FrontierSubject", "Make", "check_frontier", "frontier_checks"]

MODULES = (queue, ranks, leases, jobs, places, steering, domains, due, sharing)
"""The modules of checks, which register themselves."""


def frontier_checks() -> Mapping[str, Check]:
    """The checks by name."""
    return CHECKS


async def check_frontier(make: Make) -> None:
    """Run every check against a fresh frontier each. Raises ``AssertionError`` for a broken guarantee."""
    for check in frontier_checks().values():
        await check(make)
