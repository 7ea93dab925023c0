"""The count of requests that may start now equals the number that a lease without a limit grants."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder, HostSignal, HostSignalKind
from gossamer.core.lifecycle import JobCommand
from gossamer.core.results import Verdict
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.frontier.transitions import DUE_HOSTS
from gossamer.testing.contracts.frontier_harness import (
    PACED,
    TTL_S,
    FrontierHarness,
    make_entry,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds

SLOTS = FrontierRules(delay_s=0.0, per_host=3)
MANY = DUE_HOSTS + 100


async def _count_due(w: FrontierHarness) -> dict[str, int]:
    return {due.lane: due.requests for due in await w.frontier.count_due()}


async def _due_since(w: FrontierHarness, lane: str = "http") -> float | None:
    return next(due.since for due in await w.frontier.count_due() if due.lane == lane)


@register_check(SLOTS)
async def what_is_due_is_what_a_lease_hands_out(w: FrontierHarness) -> None:
    """By lane, and of a host no more than it has free slots."""
    assert_equal(await _count_due(w), {}, "nothing is due of an empty frontier")
    await w.add_entries(*[make_entry(number) for number in range(5)])
    await w.add_entries(make_entry(10, "b.example"), make_entry(11, "b.example", lane="browser"))
    assert_equal(await _count_due(w), {"http": 4, "browser": 1}, "three slots of one host, one of the other")
    lease, *_ = (await w.lease_requests(2)).leases
    assert_equal((await _count_due(w))["http"], 2, "leased requests are not due")
    assert_equal(len((await w.lease_requests()).leases), 2, "the same number is granted")
    assert_equal(await _count_due(w), {"browser": 1}, "no slot is free")
    await w.settle_lease(lease)
    assert_equal(await _count_due(w), {"http": 1, "browser": 1}, "a slot is free again")


@register_check(PACED)
async def a_host_with_a_delay_counts_once_in_its_turn(w: FrontierHarness) -> None:
    """However many slots it has; and not before its turn."""
    await w.add_entries(*[make_entry(number) for number in range(3)])
    assert_equal(await _count_due(w), {"http": 1}, "one start in a turn")
    await w.lease_one()
    assert_equal(await _count_due(w), {}, "its next turn comes later")
    w.clock.advance(2.0)
    assert_equal(await _count_due(w), {"http": 1}, "its turn has come")


@register_check(SLOTS)
async def delayed_requests_are_due_from_their_time_on(w: FrontierHarness) -> None:
    """Also without a lease in between; the slots of their host limit them."""
    now = w.clock.now()
    await w.add_entries(*[make_entry(number, due_at=now + 5.0) for number in range(4)])
    assert_equal(await _count_due(w), {}, "not yet")
    w.clock.advance(7.0)
    assert_equal(await _count_due(w), {"http": 3}, "as many as the host has slots")
    assert_equal(await _due_since(w), now + 5.0, "since they are due")
    await w.lease_requests(0)
    assert_equal(await _count_due(w), {"http": 3}, "also when they were moved to their host's queue")
    assert_equal(await _due_since(w), now + 5.0, "it is the same time")


@register_check(PACED)
async def what_is_due_says_since_when(w: FrontierHarness) -> None:
    """A request that was added to an idle host waits from then on, others from their turn on."""
    start = w.clock.now()
    w.clock.advance(100.0)
    await w.add_entries(make_entry(1))
    w.clock.advance(3.0)
    assert_equal(await _due_since(w), start + 100.0, "since it was added")
    lease = await w.lease_one()
    await w.add_entries(make_entry(2))
    await w.settle_lease(lease)
    w.clock.advance(30.0)
    assert_equal(await _due_since(w), start + 105.0, "since the host's turn")
    lease = await w.lease_one()
    await w.settle_lease(lease)
    w.clock.advance(1000.0)
    await w.add_entries(make_entry(3))
    assert_equal(await _due_since(w), w.clock.now(), "the host was idle meanwhile")
    await w.settle_lease(await w.lease_one(), Verdict.DEAD)


@register_check(replace(SLOTS, max_pages=2, max_pages_per_host=1))
async def budgets_bound_what_is_due(w: FrontierHarness) -> None:
    """That of the job and that of a host; when one is spent nothing is due."""
    await w.add_entries(*[make_entry(number, f"{number % 4}.example") for number in range(12)])
    assert_equal(await _count_due(w), {"http": 2}, "as many as the job may have pages")
    for lease in (await w.lease_requests(1)).leases:
        await w.settle_lease(lease)
    assert_equal(await _count_due(w), {"http": 1}, "one page is left")
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease)
    assert_equal(await _count_due(w), {}, "the budget is spent")


@register_check()
async def nothing_is_due_while_nothing_is_handed_out(w: FrontierHarness) -> None:
    """Neither for a paused job nor for a host that an operator has skipped."""
    await w.add_entries(make_entry(1), make_entry(2, "b.example"))
    await w.frontier.apply_change(JobCommand.PAUSE)
    assert_equal(await _count_due(w), {}, "the job is paused")
    await w.frontier.apply_change(JobCommand.RESUME)
    await w.frontier.steer_host("b.example", HostOrder(command=HostCommand.SKIP))
    assert_equal(await _count_due(w), {"http": 1}, "one host is skipped")


@register_check(FrontierRules(delay_s=30.0, per_host=1, max_pages=2, max_pages_per_host=1))
async def where_nobody_is_asked_nothing_holds_requests_up(w: FrontierHarness) -> None:
    """Delay, slots and page budget do not apply; these requests come from pages that were counted before."""
    place, lane = "extract/a.example", EXTRACT_LANE
    await w.add_entries(*[make_entry(number, place, lane=lane) for number in range(100)])
    await w.add_entries(make_entry(200, "b.example"), make_entry(201, "c.example"))
    assert_equal(await _count_due(w), {lane: 100, "http": 2}, "all of them, beside what hosts allow")
    known = await w.frontier.find_host(place)
    assert_holds(known is not None and known.state.is_free, "it is known as such before anything is leased")
    for lease in (await w.lease_requests()).leases:
        await w.settle_lease(lease, is_page=True)
    stats = await w.frontier.read_stats()
    assert_holds(not stats.budget_spent, "counted pages remain to be processed")
    assert_holds(stats.next_at is not None, "it may be leased")
    assert_equal(await _count_due(w), {lane: 100}, "also when the budget is spent")
    first = (await w.lease_requests(60, lane)).leases
    second = (await w.lease_requests(60, lane)).leases
    assert_equal(len(first) + len(second), 100, "they are leased at once")
    w.clock.advance(TTL_S / 2)
    assert_holds(all(w.clock.now() < lease.start_by for lease in first), "and begun whenever there is time")
    trouble = HostSignal(kind=HostSignalKind.THROTTLED, started_at=w.clock.now(), retry_after_s=900.0)
    for lease in first[:8]:
        await w.settle_lease(lease, Verdict.DEAD, signal=trouble)
    await w.frontier.release(first[8:], [HostSignal(retry_after_s=900.0)] * len(first[8:]))
    assert_equal(len((await w.lease_requests(100, lane)).leases), 52, "what becomes of them says nothing")
    found = await w.frontier.find_request(second[0].entry.fingerprint, place)
    assert_holds(found is not None and found.host is not None and found.host.is_free, "and the count says so")


@register_check(FrontierRules(max_pages=1))
async def a_job_whose_pages_are_counted_is_over_when_they_are_worked_on(w: FrontierHarness) -> None:
    """Not earlier: pages fetched within the budget would be lost."""
    await w.add_entries(make_entry(1), make_entry(2))
    lease = await w.lease_one()
    again = w.clock.now() + 40.0
    await w.settle_lease(
        lease, is_page=True, outlinks=(make_entry(3, "extract/a.example", lane=EXTRACT_LANE),)
    )
    (extracted,) = (await w.lease_requests(lane=EXTRACT_LANE)).leases
    await w.settle_lease(extracted, Verdict.RETRY, due_at=again)
    assert_holds(not (await w.frontier.read_stats()).budget_spent, "a page waits for another try")
    assert_equal((await w.frontier.read_stats()).next_at, again, "at its time")
    w.clock.advance(41.0)
    (extracted,) = (await w.lease_requests(lane=EXTRACT_LANE)).leases
    await w.settle_lease(extracted)
    assert_holds((await w.frontier.read_stats()).budget_spent, "nothing is left to extract")
    assert_equal((await w.lease_requests()).leases, (), "and nothing more is fetched")


@register_check(SLOTS)
async def of_many_hosts_no_more_is_told_than_there_is(w: FrontierHarness) -> None:
    """A look is bounded: it may tell less, and says so."""
    for first in range(0, 2 * MANY, 400):
        numbers = range(first, first + 400)
        await w.add_entries(*[make_entry(number, f"{number // 2}.example") for number in numbers])
    (due,) = await w.frontier.count_due()
    assert_holds(MANY <= due.requests <= 2 * MANY, "each host counts")
    assert_holds(due.has_more or due.requests == 2 * MANY, "the count is lower only where the port says so")
