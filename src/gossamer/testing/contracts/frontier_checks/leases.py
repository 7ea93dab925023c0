"""Leases: tokens, deadlines, settling, giving back, retries."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.errors import IllegalMove
from gossamer.core.hosts import HostSignal, Rules
from gossamer.core.jobs import DeadFilter
from gossamer.core.lifecycle import State
from gossamer.core.results import Verdict
from gossamer.testing.contracts.frontier_world import (
    PACED,
    TTL_S,
    World,
    checked,
    entry,
    equal,
    fingerprints,
    holds,
    outcome,
)

ONE = Rules(delay_s=0.0, per_host=1)
UNUSED = HostSignal()


# --------------------------------------------------------------------------- leases


@checked()
async def tokens_are_never_reused(w: World) -> None:
    """Not by another lease, not over a restart."""
    await w.add(*[entry(number) for number in range(3)])
    tokens = []
    for _ in range(3):
        lease = (await w.lease(1)).leases[0]
        tokens.append(lease.token)
        await w.frontier.release([lease], [UNUSED])
        w.frontier = await w.subject.reopen() or w.frontier
    equal(len(set(tokens)), 3, "a token is never handed out twice")


@checked()
async def settling_twice_changes_nothing(w: World) -> None:
    """Nor in one call, nor with a token that was never given."""
    await w.add(entry(1), entry(2))
    first, second = (await w.lease()).leases
    holds(await w.settle(first), "a lease can be settled")
    holds(not await w.settle(first, Verdict.DEAD), "but once")
    twice = [outcome(second, Verdict.SUCCESS, w.clock.now())] * 2
    equal(await w.frontier.settle(twice), [True, False], "also within a call")
    forged = outcome(replace(first, token=10**9), Verdict.SUCCESS, 0.0)
    equal(await w.frontier.settle([forged]), [False], "a token that was never given is refused")
    equal(await w.counts(), {State.DONE: 2}, "a stale token changes nothing")
    equal((await w.frontier.stats()).pages, 2, "and counts nothing")


@checked()
async def stale_outlinks_are_not_added(w: World) -> None:
    """Outlinks share the fate of their outcome."""
    await w.add(entry(1))
    lease = await w.one()
    await w.settle(lease, outlinks=(entry(2),))
    await w.settle(lease, outlinks=(entry(3),))
    equal((await w.state(2), await w.state(3)), (State.PENDING, None), "outlinks go with their outcome")


@checked()
async def an_illegal_verdict_changes_nothing(w: World) -> None:
    """A lease cannot be settled as expired or released."""
    await w.add(entry(1), entry(2))
    first, second = (await w.lease()).leases
    now = w.clock.now()
    try:
        await w.frontier.settle([outcome(first, Verdict.SUCCESS, now), outcome(second, Verdict.EXPIRED, now)])
    except IllegalMove:
        pass
    else:
        raise AssertionError("an illegal verdict is refused")
    equal(await w.counts(), {State.LEASED: 2}, "a refused call changes nothing")


@checked(Rules(delay_s=0.0))
async def a_lost_lease_is_granted_again(w: World) -> None:
    """After its deadline, as another attempt; the late result is refused and the slot is free."""
    await w.add(entry(1))
    first = await w.one()
    equal((first.attempt, first.deadline), (1, w.clock.now() + TTL_S), "the first attempt, until then")
    w.clock.advance(TTL_S - 1)
    equal((await w.lease()).next_at, first.deadline, "next_at is the deadline when nothing else is")
    w.clock.advance(1)
    grant = await w.lease()
    equal(fingerprints(grant.expired), [1], "a lease past its deadline is reported")
    equal(grant.leases, (), "it waits for a while: it may be what took its worker down")
    again = await w.one_later()
    equal((again.attempt, again.expiries), (2, 1), "an expired lease costs an attempt")
    holds(not await w.settle(first), "the late result is refused")
    holds(await w.settle(again), "the new one is not")


@checked(Rules(delay_s=0.0, max_expiries=2))
async def a_killer_becomes_a_dead_letter(w: World) -> None:
    """A request that takes its worker down again and again is given up."""
    await w.add(entry(1))
    await w.one()
    for _ in range(2):
        w.clock.advance(TTL_S)
        await w.lease()
        await w.one_later()
    w.clock.advance(TTL_S)
    equal((await w.lease()).leases, (), "a request that expired too often is given up")
    (letter,) = await w.frontier.dead(DeadFilter())
    equal((letter.reason, letter.attempts), ("expired", 3), "as a dead letter that says why")


@checked()
async def extending_moves_the_deadline(w: World) -> None:
    """And tells of leases that are lost."""
    await w.add(entry(1), entry(2))
    first, second = (await w.lease()).leases
    await w.settle(second)
    w.clock.advance(50)
    equal(await w.frontier.extend([first, second], TTL_S), [True, False], "only leases in force")
    w.clock.advance(TTL_S - 1)
    equal((await w.lease()).expired, (), "an extended lease lives on")
    w.clock.advance(1)
    equal(fingerprints((await w.lease()).expired), [1], "until its new deadline")


@checked(PACED)
async def releasing_keeps_place_and_turn(w: World) -> None:
    """It costs no attempt, no turn, and no place in the queue."""
    await w.add(entry(1), entry(2))
    lease = await w.one()
    await w.frontier.release([lease], [UNUSED])
    again = await w.one()
    equal((again.entry.fingerprint, again.attempt), (1, 1), "a released request keeps its place")
    holds(not await w.settle(lease), "a released lease is over")
    await w.frontier.release([lease], [UNUSED])
    equal(await w.counts(), {State.PENDING: 1, State.LEASED: 1}, "releasing a stale lease is ignored")


@checked()
async def a_retry_waits_and_is_counted(w: World) -> None:
    """Failures and throttlings are told apart; it comes back in its old place."""
    await w.add(entry(1), entry(2))
    lease = (await w.lease(1)).leases[0]
    now = w.clock.now()
    await w.settle(lease, Verdict.RETRY, due_at=now + 5, reason="server")
    equal(await w.counts(), {State.PENDING: 1, State.DELAYED: 1}, "a retry is delayed")
    found = await w.frontier.find(1)
    equal((found and found.due_at, found and found.reason), (now + 5, "server"), "find tells why")
    w.clock.advance(5)
    lease = (await w.lease(1)).leases[0]
    counts = (lease.entry.fingerprint, lease.attempt, lease.failures, lease.throttled)
    equal(counts, (1, 2, 1, 0), "a charged retry, in its old place")
    await w.settle(lease, Verdict.RETRY, due_at=now, charged=False)
    lease = (await w.lease(1)).leases[0]
    equal((lease.attempt, lease.failures, lease.throttled), (3, 1, 1), "an uncharged retry")
