"""What only the memory frontier has to prove: its cost."""

import sys

import pytest

from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.results import Verdict
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome


@pytest.fixture
def frontier(clock):
    return MemoryFrontier(FrontierRules(delay_s=0.0, per_host=64), clock)


async def orderings(call):
    """How many queues were put in order again as a whole while a call ran."""
    found = []
    sys.setprofile(lambda _, event, called: found.append(called.__name__) if event == "c_call" else None)
    try:
        await call
    finally:
        sys.setprofile(None)
    return found.count("heapify")


async def test_raising_requests_orders_each_queue_once(frontier):
    await frontier.add([make_entry(n, f"h{n % 2}") for n in range(200)])
    wanted = [make_entry(n, f"h{n % 2}", priority=1) for n in range(100)]
    assert await orderings(frontier.raise_requests(wanted)) == 2


async def test_burying_revived_letters_again_orders_each_queue_once(frontier, clock):
    await frontier.add([make_entry(n, f"h{n % 2}") for n in range(40)])
    leases = (await frontier.lease("http", 40, 60)).leases
    await frontier.settle(
        [make_outcome(lease, Verdict.DEAD, clock.now(), reason="client") for lease in leases]
    )
    letters = await frontier.dead_letters(DeadLetterFilter())
    await frontier.revive_letters(DeadLetterFilter())
    assert await orderings(frontier.bury_letters(letters, were_dropped=False)) == 2
    assert len(await frontier.dead_letters(DeadLetterFilter())) == 40
