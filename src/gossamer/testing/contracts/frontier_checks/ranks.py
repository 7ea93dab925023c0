"""Priorities beyond the nine bands: within a host, any two differ."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.hosts import HostSignal
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JobCommand, RequestState
from gossamer.core.requests import FARTHEST, Entry
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_harness import (
    TTL_S,
    FrontierHarness,
    fingerprints_of,
    make_entry,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal

HOST = "a.example"
WIDE = (0, 1000, -7, 999, 4, -1000, 5, -4, -5, 1000, 4, 0, -(10**9), FARTHEST + 9, -FARTHEST - 9)
"""One for each request, whose number is its place in here."""
ORDER = [13, 1, 9, 3, 6, 4, 10, 0, 11, 7, 8, 2, 5, 12, 14]


async def _add_wide(w: FrontierHarness) -> None:
    await w.add_entries(*(make_entry(number, priority=priority) for number, priority in enumerate(WIDE)))


@register_check()
async def any_two_priorities_are_told_apart_within_a_host(w: FrontierHarness) -> None:
    """Equal ones go in the order of their arrival, over calls and restarts."""
    await _add_wide(w)
    first = await w.lease_fingerprints(2)
    w.frontier = await w.subject.reopen() or w.frontier
    assert_equal(first + await w.lease_fingerprints(), ORDER, "the highest first")


@register_check()
async def what_comes_back_keeps_its_rank(w: FrontierHarness) -> None:
    """Released, tried again, expired, rerouted, revived, and revived and buried again."""
    await _add_wide(w)
    leases = (await w.lease_requests()).leases
    now = w.clock.now()
    for at, lease in enumerate(leases[:12]):
        if at % 4 == 0:
            await w.frontier.release([lease], [HostSignal()])
        elif at % 4 == 1:
            await w.settle_lease(lease, Verdict.RETRY, due_at=now + 1.0, reason="server")
        elif at % 4 == 2:
            await w.settle_lease(lease, Verdict.REROUTED, lane="other")
        else:
            await w.settle_lease(lease, Verdict.DEAD, reason="client")
    letters = await w.frontier.dead_letters(DeadLetterFilter())
    assert_equal({letter.reason for letter in letters}, {"client"}, "with its reason")
    assert_equal((await w.frontier.count_letters(DeadLetterFilter())).by_reason, {"client": 3}, "and counted")
    assert_equal(await w.frontier.revive_letters(DeadLetterFilter()), 3, "they wait again")
    assert_equal(await w.frontier.bury_letters(letters, were_dropped=False), 3, "and are dead again")
    assert_equal(await w.frontier.revive_letters(DeadLetterFilter()), 3, "and wait again")
    await w.frontier.apply_change(JobCommand.RECOVER)
    w.clock.advance(10 * TTL_S)
    assert_equal(await w.lease_fingerprints(lane="other"), ORDER[2:12:4], "also in the other lane")
    rest = [number for at, number in enumerate(ORDER) if at >= 12 or at % 4 != 2]
    assert_equal(await w.lease_fingerprints(), rest, "as if they had never gone")


@register_check()
async def what_was_dropped_comes_back_at_its_rank(w: FrontierHarness) -> None:
    """As a dead letter that is revived."""
    await _add_wide(w)
    (best,) = (await w.lease_requests(1)).leases
    await w.settle_lease(best, Verdict.DEAD, reason="client")
    letters = await w.frontier.dead_letters(DeadLetterFilter())
    assert_equal(await w.frontier.drop_letters(DeadLetterFilter()), 1, "it is dropped")
    assert_equal(await w.frontier.bury_letters(letters, were_dropped=True), 1, "and there again")
    await w.frontier.revive_letters(DeadLetterFilter())
    assert_equal(await w.lease_fingerprints(), ORDER, "the first of all")


@register_check()
async def a_request_says_how_many_of_a_better_rank_go_first(w: FrontierHarness) -> None:
    """Also among those that came back."""
    await _add_wide(w)
    leases = (await w.lease_requests(6)).leases
    await w.frontier.release(leases, [HostSignal()] * len(leases))
    found = [await w.frontier.find_request(number, HOST) for number in ORDER]
    assert_equal([one and one.place.ahead for one in found], [*range(len(ORDER))], "one after the other")


@register_check()
async def across_hosts_bands_decide(w: FrontierHarness) -> None:
    """A far priority does not shut out another host's requests of the first band."""
    entries = [make_entry(number, priority=1000 - number) for number in range(4)]
    entries += [make_entry(4 + number, "b.example", priority=4) for number in range(4)]
    await w.add_entries(*entries, make_entry(8, "c.example", priority=3))
    leases = (await w.lease_requests(2)).leases
    assert_equal({lease.entry.host for lease in leases}, {"a.example", "b.example"}, "both have turns")
    rest = (await w.lease_requests()).leases
    ours = [lease for lease in (*leases, *rest) if lease.entry.host == HOST]
    assert_equal(fingerprints_of(ours), [0, 1, 2, 3], "by priority within the host")
    assert_equal(rest[-1].entry.host, "c.example", "another band goes later")


@register_check()
async def a_rank_may_wait_for_a_time(w: FrontierHarness) -> None:
    """Then it goes where it belongs."""
    due_at = w.clock.now() + 5.0
    await w.add_entries(make_entry(1, priority=10), make_entry(2, priority=20, due_at=due_at), make_entry(3))
    w.clock.advance(6.0)
    assert_equal(await w.lease_fingerprints(), [2, 1, 3], "by priority")


# --------------------------------------------------------------------------- raised


def _wanted(number: int, priority: int, host: str = HOST) -> Entry:
    """An entry that says more than its priority."""
    entry = make_entry(number, host, priority=priority)
    more = {"meta": {"why": number}, "cb_kwargs": {"rank": number}, "callback": "parse_urgent"}
    return replace(entry, request=entry.request.replace(**more))


@register_check()
async def what_waits_is_raised_to_a_higher_priority(w: FrontierHarness) -> None:
    """Also its new callback and data; within the bands and beyond, more than once, over restarts."""
    await w.add_entries(*(make_entry(number) for number in range(8)), make_entry(8, priority=700))
    (first,) = (await w.lease_requests(1)).leases
    await w.frontier.release([first], [HostSignal()])  # it came back
    wanted = [_wanted(5, 9), _wanted(2, 3), _wanted(8, 701), _wanted(3, 0), _wanted(4, -1), _wanted(99, 9)]
    assert_equal(await w.frontier.raise_requests(wanted), 3, "those that wait with a lower one")
    assert_equal(await w.frontier.raise_requests(wanted), 0, "once")
    assert_equal(await w.frontier.raise_requests([_wanted(7, 1), _wanted(2, 4)]), 2, "and higher still")
    assert_equal(await w.frontier.raise_requests([make_entry(5, priority=11)]), 1, "keeping its own data")
    assert_equal(await w.count_states(), {RequestState.PENDING: 9}, "none is added")
    w.frontier = await w.subject.reopen() or w.frontier
    found = await w.frontier.find_request(2, HOST)
    assert_equal(found and found.place.ahead, 2, "it stands where it goes")
    leases = (await w.lease_requests()).leases
    assert_equal(fingerprints_of(leases), [8, 5, 2, 7, 0, 1, 3, 4, 6], "the highest first")
    raised = {lease.entry.fingerprint: lease.entry.request for lease in leases}
    assert_equal(raised[5].priority, 11, "the highest priority")
    for number in (5, 2):
        request = raised[number]
        said = request.meta, request.cb_kwargs, request.callback
        assert_equal(said, ({"why": number}, {"rank": number}, "parse_urgent"), "what came along counts")
    assert_equal((raised[3].meta, raised[3].callback), ({}, None), "others are as they were")


@register_check()
async def what_waits_for_a_time_is_raised_and_waits_on(w: FrontierHarness) -> None:
    """With the tries that it has had."""
    due_at = w.clock.now() + 5.0
    await w.add_entries(make_entry(1), make_entry(2), make_entry(3, due_at=due_at))
    one, two = (await w.lease_requests(2)).leases
    await w.settle_lease(two, Verdict.RETRY, due_at=due_at, reason="server")
    await w.frontier.release([one], [HostSignal()])
    assert_equal(await w.frontier.raise_requests([_wanted(3, 5), _wanted(2, 8)]), 2, "both wait")
    assert_equal(await w.count_states(), {RequestState.PENDING: 1, RequestState.DELAYED: 2}, "as before")
    w.clock.advance(6.0)
    leases = (await w.lease_requests()).leases
    assert_equal(fingerprints_of(leases), [2, 3, 1], "by the new priority")
    assert_equal([lease.attempt for lease in leases], [2, 1, 1], "tries are kept")
    assert_equal(leases[0].entry.request.meta, {"why": 2}, "what came along counts")


@register_check()
async def only_what_waits_is_raised(w: FrontierHarness) -> None:
    """Neither leased, done or dead requests, nor those that were requested on purpose."""
    await w.add_entries(*(make_entry(number) for number in range(3)), make_entry(9, dont_filter=True))
    leases = (await w.lease_requests()).leases
    await w.settle_lease(leases[1])
    await w.settle_lease(leases[2], Verdict.DEAD, reason="client")
    await w.frontier.release([leases[3]], [HostSignal()])
    wanted = [_wanted(number, 9) for number in (0, 1, 2, 9)]
    assert_equal(await w.frontier.raise_requests(wanted), 0, "nothing waits for these")
    await w.frontier.release([leases[0]], [HostSignal()])
    again = (await w.lease_requests()).leases
    assert_equal([lease.entry.request.priority for lease in again], [0, 0], "they are as they were")


@register_check()
async def a_host_goes_by_its_raised_request(w: FrontierHarness) -> None:
    """Before hosts whose requests are of a lower band."""
    await w.add_entries(make_entry(1, "a.example"), make_entry(2, "b.example"), make_entry(3, "c.example"))
    wanted = [_wanted(3, 2, "c.example"), _wanted(2, 1, "b.example")]
    assert_equal(await w.frontier.raise_requests(wanted), 2, "of two hosts")
    order = [(await w.lease_fingerprints(1))[0] for _ in range(3)]
    assert_equal(order, [3, 2, 1], "by their bands")


@register_check()
async def of_two_wishes_for_a_page_the_higher_priority_counts(w: FrontierHarness) -> None:
    """Whichever comes first; a page that was never accepted holds no other one back."""
    await w.add_entries(*(make_entry(number) for number in range(4)))
    wanted = [_wanted(99, 9), _wanted(3, 7), _wanted(3, 2), _wanted(2, 1), _wanted(2, 8), _wanted(98, 9)]
    assert_equal(await w.frontier.raise_requests(wanted), 2, "each page once")
    leases = (await w.lease_requests()).leases
    assert_equal(fingerprints_of(leases), [2, 3, 0, 1], "by the higher of two")
    assert_equal([lease.entry.request.priority for lease in leases[:2]], [8, 7], "and with it")


@register_check()
async def many_are_raised_together_wherever_they_wait(w: FrontierHarness) -> None:
    """Raised ones and others keep their order among themselves."""
    await w.add_entries(*(make_entry(number) for number in range(300)))
    await w.lease_requests(20)
    urgent, others = [*range(0, 300, 2)], [*range(21, 300, 2)]
    wanted = [_wanted(number, 1) for number in urgent]
    assert_equal(await w.frontier.raise_requests(wanted), len(urgent) - 10, "all but those that are leased")
    found = await w.frontier.find_request(25, HOST)
    assert_equal(found and found.place.ahead, len(urgent) - 10 + 2, "the others wait behind them")
    order: list[int] = []
    while leases := (await w.lease_requests(50)).leases:
        order += fingerprints_of(leases)
        for lease in leases:
            await w.settle_lease(lease)
    assert_equal(order, [*urgent[10:], *others], "each in its order")
