"""Dead letters of lost hosts count at a crawl's end while they are dead, and not when they were retried."""

from __future__ import annotations

from pathlib import Path

from gossamer.config.layers import load_settings
from gossamer.core.errors import Fault
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter, JobTotals
from gossamer.core.results import Verdict
from gossamer.crawl.notes import ending_of
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from gossamer.wiring.backends import open_backends

REASONS = {1: Fault.HOST_LOST, 2: Fault.HOST_LOST, 3: Fault.CLIENT}


async def test_lost_hosts_whose_letters_were_retried_are_not_lost(tmp_path: Path) -> None:
    settings = load_settings(env={}, spider={"data": str(tmp_path)}).settings
    backends = await open_backends(settings, create=True)
    try:
        job = await backends.book.create("shop", "shop.py")
        rules = FrontierRules(delay_s=0.0, per_host=9)
        await backends.requests.create_frontier(job, rules)
        frontier = backends.requests.open_frontier(job, rules)
        await frontier.add([make_entry(number) for number in REASONS])
        leases = (await frontier.lease("http", 9, 60.0)).leases
        now = backends.clock.now()
        await frontier.settle(
            [
                make_outcome(lease, Verdict.DEAD, now, reason=REASONS[lease.entry.fingerprint].value)
                for lease in leases
            ]
        )
        tally = JobTotals(pages=9, successes=9, by_reason={"host_lost": 2, "client": 1})

        assert await backends.lost_letters(job, tally) == 2
        await frontier.revive_letters(DeadLetterFilter(reason=Fault.HOST_LOST))
        assert ending_of(tally, 1, is_early=False, lost=await backends.lost_letters(job, tally)).lost == 0
    finally:
        await backends.close()
