"""Dead letters of lost hosts count at a crawl's end while they are dead, and not when they were retried."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.errors import Fault
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter, JobTotals
from gossamer.core.results import Verdict
from gossamer.crawl.notes import ending_of
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from gossamer.wiring.backends import open_backends

LOST, CLIENT = Fault.HOST_LOST, Fault.CLIENT
TALLY = JobTotals(pages=9, successes=9, by_reason={"host_lost": 7, "client": 7})
RULES = FrontierRules(delay_s=0.0, per_host=9999)


@pytest.fixture
async def backends(tmp_path: Path):
    opened = await open_backends(load_settings(env={}, spider={"data": str(tmp_path)}).settings, create=True)
    yield opened
    await opened.close()


async def make_letters(backends, *reasons):
    """A job whose requests died of these, one after the other; and its frontier."""
    job = await backends.book.create("shop", "shop.py")
    await backends.requests.create_frontier(job, RULES)
    frontier = backends.requests.open_frontier(job, RULES)
    await frontier.add([make_entry(number) for number in range(len(reasons))])
    leases = {one.entry.fingerprint: one for one in (await frontier.lease("http", 9999, 60.0)).leases}
    now = backends.clock.now()
    await frontier.settle(
        [
            make_outcome(leases[number], Verdict.DEAD, now + number, reason=reason.value)
            for number, reason in enumerate(reasons)
        ]
    )
    return job, frontier


async def test_lost_hosts_whose_letters_were_retried_are_not_lost(backends) -> None:
    job, frontier = await make_letters(backends, LOST, LOST, CLIENT)
    assert await backends.count_letters(job, TALLY, Fault.HOST_LOST) == 2
    await frontier.revive_letters(DeadLetterFilter(reason=LOST))
    assert (
        ending_of(
            TALLY, 1, is_early=False, lost=await backends.count_letters(job, TALLY, Fault.HOST_LOST)
        ).lost
        == 0
    )


async def test_they_are_counted_and_not_read(backends, monkeypatch) -> None:
    """A crawl that lost a host with many pages has thousands: its end takes none of them apart."""
    job, frontier = await make_letters(backends, *[LOST] * 1200, CLIENT)
    monkeypatch.delattr(type(frontier), "dead_letters")
    assert await backends.count_letters(job, TALLY, Fault.HOST_LOST) == 1200


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ([CLIENT, CLIENT, CLIENT, LOST], 7),
        ([LOST, CLIENT, CLIENT, CLIENT], 7),
        ([CLIENT, CLIENT, CLIENT, CLIENT], 0),
    ],
)
async def test_of_more_than_are_counted_one_that_is_left_is_found(
    backends, monkeypatch, reasons, expected
) -> None:
    """Whether a host was lost decides on the exit code."""
    monkeypatch.setattr("gossamer.frontier.sqlite.admin.LETTERS", 2)
    job, _ = await make_letters(backends, *reasons)
    assert await backends.count_letters(job, TALLY, Fault.HOST_LOST) == expected
