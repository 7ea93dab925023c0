"""Leases: tokens, deadlines, settling, giving back, retries."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import TransitionError
from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import RequestState
from gossamer.core.requests import LAST
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_harness import (
    PACED,
    TTL_S,
    FrontierHarness,
    fingerprints_of,
    make_entry,
    make_outcome,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds

ONE = FrontierRules(delay_s=0.0, per_host=1)
UNUSED = HostSignal()


# --------------------------------------------------------------------------- leases


@register_check()
async def tokens_are_never_reused(w: FrontierHarness) -> None:
    """Not by another lease, not over a restart."""
    await w.add_entries(*[make_entry(number) for number in range(3)])
    tokens = []
    for _ in range(3):
        lease = (await w.lease_requests(1)).leases[0]
        tokens.append(lease.token)
        await w.frontier.release([lease], [UNUSED])
        w.frontier = await w.subject.reopen() or w.frontier
    assert_equal(len(set(tokens)), 3, "a token is never handed out twice")


@register_check(FrontierRules(delay_s=0.001, per_host=8))
async def a_lease_may_be_started_a_moment_later(w: FrontierHarness) -> None:
    """However short the delay: else a worker gives back each one, and the crawl stands still."""
    await w.add_entries(make_entry(1))
    (lease,) = (await w.lease_requests()).leases
    assert_holds(lease.start_by - lease.granted_at >= 0.019, "there is time to begin with it")


@register_check()
async def settling_twice_changes_nothing(w: FrontierHarness) -> None:
    """Nor in one call, nor with a token that was never given."""
    await w.add_entries(make_entry(1), make_entry(2))
    first, second = (await w.lease_requests()).leases
    assert_holds(await w.settle_lease(first), "a lease can be settled")
    assert_holds(not await w.settle_lease(first, Verdict.DEAD), "but once")
    twice = [make_outcome(second, Verdict.SUCCESS, w.clock.now())] * 2
    assert_equal(await w.frontier.settle(twice), [True, False], "also within a call")
    forged = make_outcome(replace(first, token=10**9), Verdict.SUCCESS, 0.0)
    assert_equal(await w.frontier.settle([forged]), [False], "a token that was never given is refused")
    assert_equal(await w.count_states(), {RequestState.DONE: 2}, "a stale token changes nothing")
    assert_equal((await w.frontier.read_stats()).pages, 2, "and counts nothing")


@register_check()
async def stale_outlinks_are_not_added(w: FrontierHarness) -> None:
    """Outlinks share the fate of their outcome."""
    await w.add_entries(make_entry(1))
    lease = await w.lease_one()
    await w.settle_lease(lease, outlinks=(make_entry(2),))
    await w.settle_lease(lease, outlinks=(make_entry(3),))
    assert_equal(
        (await w.state_of(2), await w.state_of(3)),
        (RequestState.PENDING, None),
        "outlinks go with their outcome",
    )


@register_check()
async def an_illegal_verdict_changes_nothing(w: FrontierHarness) -> None:
    """A lease cannot be settled as expired or released."""
    await w.add_entries(make_entry(1), make_entry(2))
    first, second = (await w.lease_requests()).leases
    now = w.clock.now()
    try:
        await w.frontier.settle(
            [make_outcome(first, Verdict.SUCCESS, now), make_outcome(second, Verdict.EXPIRED, now)]
        )
    except TransitionError:
        pass
    else:
        raise AssertionError("an illegal verdict is refused")
    assert_equal(await w.count_states(), {RequestState.LEASED: 2}, "a refused call changes nothing")


@register_check(FrontierRules(delay_s=0.0))
async def a_lost_lease_is_granted_again(w: FrontierHarness) -> None:
    """After its deadline, as another attempt; the late result is refused and the slot is free."""
    await w.add_entries(make_entry(1))
    first = await w.lease_one()
    assert_equal((first.attempt, first.deadline), (1, w.clock.now() + TTL_S), "the first attempt, until then")
    w.clock.advance(TTL_S - 1)
    assert_equal(
        (await w.lease_requests()).next_at, first.deadline, "next_at is the deadline when nothing else is"
    )
    w.clock.advance(1)
    grant = await w.lease_requests()
    assert_equal(fingerprints_of(grant.expired), [1], "a lease past its deadline is reported")
    assert_equal(grant.leases, (), "it waits for a while: it may be what took its worker down")
    again = await w.one_later()
    assert_equal((again.attempt, again.expiries), (2, 1), "an expired lease costs an attempt")
    assert_holds(not await w.settle_lease(first), "the late result is refused")
    assert_holds(await w.settle_lease(again), "the new one is not")


@register_check(FrontierRules(delay_s=0.0, max_expiries=2))
async def a_killer_becomes_a_dead_letter(w: FrontierHarness) -> None:
    """A request that takes its worker down again and again is given up."""
    await w.add_entries(make_entry(1))
    await w.lease_one()
    for _ in range(2):
        w.clock.advance(TTL_S)
        await w.lease_requests()
        await w.one_later()
    w.clock.advance(TTL_S)
    assert_equal((await w.lease_requests()).leases, (), "a request that expired too often is given up")
    (letter,) = await w.frontier.dead_letters(DeadLetterFilter())
    assert_equal((letter.reason, letter.attempts), ("expired", 3), "as a dead letter that says why")


@register_check()
async def extending_moves_the_deadline(w: FrontierHarness) -> None:
    """And tells of leases that are lost."""
    await w.add_entries(make_entry(1), make_entry(2))
    first, second = (await w.lease_requests()).leases
    await w.settle_lease(second)
    w.clock.advance(50)
    assert_equal(await w.frontier.extend([first, second], TTL_S), [True, False], "only leases in force")
    w.clock.advance(TTL_S - 1)
    assert_equal((await w.lease_requests()).expired, (), "an extended lease lives on")
    w.clock.advance(1)
    assert_equal(fingerprints_of((await w.lease_requests()).expired), [1], "until its new deadline")


@register_check(PACED)
async def releasing_keeps_place_and_turn(w: FrontierHarness) -> None:
    """It costs no attempt, no turn, and no place in the queue."""
    await w.add_entries(make_entry(1), make_entry(2))
    lease = await w.lease_one()
    await w.frontier.release([lease], [UNUSED])
    again = await w.lease_one()
    assert_equal((again.entry.fingerprint, again.attempt), (1, 1), "a released request keeps its place")
    assert_holds(not await w.settle_lease(lease), "a released lease is over")
    await w.frontier.release([lease], [UNUSED])
    assert_equal(
        await w.count_states(),
        {RequestState.PENDING: 1, RequestState.LEASED: 1},
        "releasing a stale lease is ignored",
    )


@register_check()
async def a_request_can_be_moved_to_another_lane(w: FrontierHarness) -> None:
    """At no cost: it waits there at once, in its old place, whole, and nothing is counted but the try."""
    first = make_entry(1)
    whole = first.request.replace(meta={"a": 1}, body=b"b", method="POST", headers={"X": "y"}, session="s")
    await w.add_entries(replace(first, request=whole), make_entry(2, lane="browser"))
    lease = await w.lease_one()
    await w.settle_lease(lease, Verdict.RETRY, due_at=w.clock.now())
    lease = await w.lease_one()
    moved = {"lane": "browser", "reason": "client", "signal": HostSignal()}
    assert_holds(await w.settle_lease(lease, Verdict.REROUTED, **moved), "a lease can be settled so")
    assert_holds(not await w.settle_lease(lease, Verdict.REROUTED, **moved), "but once")
    assert_equal(await w.count_states(), {RequestState.PENDING: 2}, "it waits for its host's turn")
    found = await w.frontier.find_request(1, "a.example")
    assert_equal((found and found.state, found and found.reason), (RequestState.PENDING, "client"), "find")
    w.frontier = await w.subject.reopen() or w.frontier
    assert_equal(await w.lease_fingerprints(), [], "not in the lane that it was in")
    again, other = (await w.lease_requests(lane="browser")).leases
    assert_equal(again.entry.request, whole.replace(lane="browser"), "whole, in its old place")
    assert_equal(again.entry.due_at, lease.entry.due_at, "due when it was")
    counts = (again.attempt, again.failures, again.throttled, again.expiries)
    assert_equal(counts, (3, 1, 0, 0), "a try that counts against nothing")
    assert_equal(other.entry.fingerprint, 2, "beside those of that lane")
    await w.settle_lease(again, Verdict.REROUTED, lane="new")
    assert_equal(await w.lease_fingerprints(lane="new"), [1], "a lane that nothing was in before")
    assert_equal((await w.frontier.read_stats()).next_at is not None, True, "next_at knows that lane")


@register_check()
async def a_request_can_be_put_behind_all_others(w: FrontierHarness) -> None:
    """At no cost, with another priority in its lane; others of its host and of others go first."""
    await w.add_entries(
        make_entry(1, priority=4), make_entry(2), make_entry(3, host="b.example", priority=-3)
    )
    (lease,) = (await w.lease_requests(1)).leases
    assert_equal(lease.entry.fingerprint, 1, "the highest priority goes first")
    moved = {"lane": "http", "priority": LAST, "signal": HostSignal()}
    assert_holds(await w.settle_lease(lease, Verdict.REROUTED, **moved), "a lease can be settled so")
    w.frontier = await w.subject.reopen() or w.frontier
    order = []
    for _ in range(3):
        w.clock.advance(60)
        (lease,) = (await w.lease_requests(1)).leases
        order.append(lease.entry.fingerprint)
        await w.settle_lease(lease)
    assert_equal(order, [2, 3, 1], "the last request comes last")
    assert_equal((lease.entry.request.priority, lease.attempt), (LAST, 2), "after its delay")


@register_check()
async def a_lane_goes_with_its_verdict_and_no_other(w: FrontierHarness) -> None:
    """A request is rerouted to somewhere, and everything else stays in its lane."""
    await w.add_entries(make_entry(1))
    lease = await w.lease_one()
    now = w.clock.now()
    for verdict, lane in ((Verdict.REROUTED, ""), (Verdict.RETRY, "browser"), (Verdict.SUCCESS, "http")):
        refused = False
        try:
            await w.frontier.settle([make_outcome(lease, verdict, now, lane=lane)])
        except TransitionError:
            refused = True
        assert_holds(refused, f"{verdict} with the lane {lane!r} is refused")
    assert_equal(await w.count_states(), {RequestState.LEASED: 1}, "nothing has changed")


@register_check()
async def a_move_to_another_lane_leaves_the_hosts_pace_alone(w: FrontierHarness) -> None:
    """The outcome's signal counts, as with any other end; the move itself carries no signal."""
    await w.add_entries(make_entry(1), make_entry(2, host="b.example"))
    leases = {lease.entry.fingerprint: lease for lease in (await w.lease_requests()).leases}
    signal = HostSignal(kind=HostSignalKind.OK, started_at=w.clock.now(), latency_s=1.0)
    await w.settle_lease(leases[1], Verdict.REROUTED, lane="browser", signal=signal)
    await w.settle_lease(leases[2], Verdict.RETRY, due_at=w.clock.now() + 9, signal=signal)
    moved = await w.frontier.find_request(1, "a.example")
    tried = await w.frontier.find_request(2, "b.example")
    assert_equal(moved and moved.host, tried and tried.host, "the state of its host")


@register_check()
async def a_retry_waits_and_is_counted(w: FrontierHarness) -> None:
    """Failures and throttlings are counted apart; the request returns to its old place."""
    await w.add_entries(make_entry(1), make_entry(2))
    lease = (await w.lease_requests(1)).leases[0]
    now = w.clock.now()
    await w.settle_lease(lease, Verdict.RETRY, due_at=now + 5, reason="server")
    assert_equal(
        await w.count_states(), {RequestState.PENDING: 1, RequestState.DELAYED: 1}, "a retry is delayed"
    )
    found = await w.frontier.find_request(1, "a.example")
    assert_equal((found and found.due_at, found and found.reason), (now + 5, "server"), "find tells why")
    w.clock.advance(5)
    lease = (await w.lease_requests(1)).leases[0]
    counts = (lease.entry.fingerprint, lease.attempt, lease.failures, lease.throttled)
    assert_equal(counts, (1, 2, 1, 0), "a charged retry, in its old place")
    await w.settle_lease(lease, Verdict.RETRY, due_at=now, charged=False)
    lease = (await w.lease_requests(1)).leases[0]
    assert_equal((lease.attempt, lease.failures, lease.throttled), (3, 1, 1), "an uncharged retry")
