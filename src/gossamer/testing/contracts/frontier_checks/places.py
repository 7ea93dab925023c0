"""Where one request is, for a person who asks."""

from __future__ import annotations

from gossamer.core.hosts import HostSignal
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import RequestState
from gossamer.core.position import QueuePosition
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_harness import TTL_S, FrontierHarness, make_entry, register_check
from gossamer.testing.contracts.suite import assert_equal, assert_holds

HOST = "a.example"
MANY = 60


@register_check()
async def a_known_request_says_where_it_stands(w: FrontierHarness) -> None:
    """How many go before it, until when it is leased, since when it is dead."""
    await w.add_entries(make_entry(1), make_entry(2), make_entry(3, priority=1), make_entry(4, "b.example"))
    (lease,) = (await w.lease_requests(1)).leases
    tried_at = w.clock.now()
    found = [await w.frontier.find_request(number, HOST) for number in (1, 2, 3)]
    places = [one and one.place for one in found]
    leased = QueuePosition(granted_at=tried_at, deadline=tried_at + TTL_S)
    assert_equal(places, [QueuePosition(), QueuePosition(ahead=1), leased], "the first is leased")
    w.clock.advance(5)
    await w.settle_lease(lease, Verdict.RETRY, due_at=tried_at + 90)
    late = await w.frontier.find_request(3, HOST, tried_at=tried_at)
    assert_equal(late and (late.state, late.place), (RequestState.DELAYED, QueuePosition()), "it is delayed")
    (lease,) = (await w.lease_requests(1)).leases
    await w.settle_lease(lease, Verdict.DEAD, reason="server")
    (letter,) = await w.frontier.dead_letters(DeadLetterFilter())
    for named in (0.0, tried_at):
        dead = await w.frontier.find_request(lease.entry.fingerprint, lease.entry.host, tried_at=named)
        died = QueuePosition(died_at=letter.died_at, number=letter.id)
        assert_equal(dead and (dead.state, dead.place), (RequestState.DEAD, died), "its letter")


@register_check()
async def what_came_back_has_its_old_place(w: FrontierHarness) -> None:
    """Among those that never went."""
    await w.add_entries(*(make_entry(number) for number in range(1, 10)))
    leases = (await w.lease_requests(4)).leases
    await w.frontier.release([leases[1], leases[3]], [HostSignal()] * 2)
    found = [await w.frontier.find_request(number, HOST) for number in (2, 4, 5, 9)]
    assert_equal([one and one.place.ahead for one in found], [0, 1, 2, 6], "in order of arrival")


@register_check()
async def a_request_is_found_among_many_or_not_called_done(w: FrontierHarness) -> None:
    """An unexamined request may be in any state; a request that is done or was never accepted is certain."""
    await w.add_entries(*(make_entry(number) for number in range(MANY)))
    for number in (0, MANY // 2, MANY - 1):
        found = await w.frontier.find_request(number, HOST)
        assert found is not None
        assert_equal(found.state, RequestState.PENDING, "it waits")
        assert_holds(found.host is not None, "with its host")
        assert_holds(found.place.ahead == number or 0 < found.beyond <= number, "where it is, or is not")
    assert_equal(await w.frontier.find_request(MANY, HOST), None, "never accepted")
    (lease,) = (await w.lease_requests(1)).leases
    await w.settle_lease(lease)
    done = await w.frontier.find_request(lease.entry.fingerprint, HOST)
    assert_holds(done is not None and (done.state is RequestState.DONE or done.beyond > 0), "done")
