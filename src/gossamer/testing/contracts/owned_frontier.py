"""The contract of a frontier that several processes share: what one of them had in hand is taken back.

It adds to the contract of every frontier (:mod:`gossamer.testing.contracts.frontier`); one that lives and
dies with its process has no owners, and nothing to prove here. Use::

    @asynccontextmanager
    async def make(rules, clock):
        async def open_for(owner):  # the same frontier each time, as a process of its own would open it
            return MyFrontier(url, rules, clock, owner=owner)
        yield open_for

    await check_owned_frontier(make)                 # all of them, or one by one from OWNED_FRONTIER_CHECKS
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from gossamer.core.hosts import HostSignal, Rules
from gossamer.core.jobs import DeadFilter
from gossamer.core.lifecycle import State
from gossamer.core.requests import Lease
from gossamer.ports.frontier import FrontierDesk, OwnedFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_world import (
    EASY,
    TTL_S,
    Subject,
    World,
    entry,
    equal,
    fingerprints,
)

__all__ = ["OWNED_FRONTIER_CHECKS", "FullOwnedFrontier", "Make", "check_owned_frontier"]


class FullOwnedFrontier(OwnedFrontier, FrontierDesk, Protocol):
    """A frontier with owners, and its desk."""


OpenFor = Callable[[str], Awaitable[FullOwnedFrontier]]
Make = Callable[[Rules, ManualClock], AbstractAsyncContextManager[OpenFor]]
Check = Callable[[Make], Awaitable[None]]

OWNED_FRONTIER_CHECKS: dict[str, Check] = {}
"""The checks by name."""

SLOT = Rules(delay_s=0.0, per_host=1)
"""Rules under which a host waits for the one lease that it has."""


async def check_owned_frontier(make: Make) -> None:
    """Run every check against a fresh frontier each. Raises ``AssertionError`` for a broken promise."""
    for check in OWNED_FRONTIER_CHECKS.values():
        await check(make)


class OwnerWorld(World):
    """The frontier as one owner has it open."""

    def __init__(
        self, frontier: FullOwnedFrontier, open_for: OpenFor, owner: str, clock: ManualClock
    ) -> None:
        super().__init__(Subject(frontier, lambda: open_for(owner)), clock)
        self._owned = frontier

    async def recover(self, owner: str) -> tuple[Lease, ...]:
        """What was taken back from an owner, in the order of fingerprints."""
        taken = await self._owned.recover(owner)
        return tuple(sorted(taken, key=lambda lease: lease.entry.fingerprint))


def checked(rules: Rules = EASY) -> Callable[[Callable[[OwnerWorld, OwnerWorld], Awaitable[None]]], Check]:
    """Register a check that has the same frontier twice, opened for two owners: ``one`` and ``two``."""

    def register(body: Callable[[OwnerWorld, OwnerWorld], Awaitable[None]]) -> Check:
        async def check(make: Make) -> None:
            clock = ManualClock()
            async with make(rules, clock) as open_for:
                one, two = [
                    OwnerWorld(await open_for(owner), open_for, owner, clock) for owner in ("one", "two")
                ]
                await body(one, two)

        check.__name__, check.__doc__ = body.__name__, body.__doc__
        OWNED_FRONTIER_CHECKS[body.__name__] = check
        return check

    return register


@checked()
async def recover_takes_back_what_one_owner_held(one: OwnerWorld, two: OwnerWorld) -> None:
    """All of it, as it was granted, and nothing of anybody else."""
    await one.add(*[entry(number, f"{number % 5}.example") for number in range(20)])
    ours = (await one.lease(8)).leases
    others = (await two.lease(8)).leases
    taken = await two.recover("one")
    equal(taken, tuple(sorted(ours, key=lambda lease: lease.entry.fingerprint)), "recover returns the leases")
    equal((await two.recover("one"), await two.recover("nobody")), ((), ()), "they are taken back once")
    equal([await one.settle(lease) for lease in ours], [False] * 8, "a late result is refused")
    equal([await two.settle(lease) for lease in others], [True] * 8, "the others' leases stay in force")
    equal(await one.counts(), {State.PENDING: 4, State.DELAYED: 8, State.DONE: 8}, "nothing is lost")


@checked(SLOT)
async def recover_frees_the_slots(one: OwnerWorld, two: OwnerWorld) -> None:
    """The host's next request may start at once, and not when the lease would have ended."""
    await one.add(entry(1), entry(2))
    equal(await one.leased(), [1], "one slot")
    equal(await two.leased(), [], "which is taken")
    await two.recover("one")
    equal(await two.leased(), [2], "the slot is free again")


@checked(Rules(delay_s=0.0, per_host=9, max_expiries=1))
async def recovered_requests_count_as_expired(one: OwnerWorld, two: OwnerWorld) -> None:
    """They wait, cost an attempt, and one that takes its owners down again and again is given up."""
    await one.add(entry(1))
    await one.one()
    await two.recover("one")
    equal(await two.leased(), [], "it waits for a while: it may be what took its owner down")
    again = await one.one_later()
    equal((again.attempt, again.expiries), (2, 1), "it costs an attempt")
    await two.recover("one")
    equal(await two.counts(), {State.DEAD: 1}, "and counts against max_expiries")
    (letter,) = await two.frontier.dead(DeadFilter())
    equal((letter.reason, letter.attempts), ("expired", 2), "as a dead letter that says why")


@checked()
async def a_request_belongs_to_who_leased_it_last(one: OwnerWorld, two: OwnerWorld) -> None:
    """Whoever had it before: given back, or lost."""
    await one.add(entry(1), entry(2))
    released, _ = (await one.lease()).leases
    await one.frontier.release([released], [HostSignal()])
    equal(await two.leased(), [1], "what is given back is another's")
    equal(fingerprints(await two.recover("one")), [2], "and not of who gave it back")
    equal((await two.one_later()).entry.fingerprint, 2, "what was lost is another's")
    equal(await two.recover("one"), (), "and not of who lost it")


@checked()
async def an_extended_lease_keeps_its_owner(one: OwnerWorld, two: OwnerWorld) -> None:
    """It is taken back before its new deadline as before the old one."""
    await one.add(entry(1))
    lease = await one.one()
    one.clock.advance(TTL_S / 2)
    await one.frontier.extend([lease], TTL_S)
    equal(fingerprints(await two.recover("one")), [1], "recover takes back what was extended")
