"""The contract of a frontier that several processes share: the leases of a dead process are taken back.

It adds to the contract of every frontier (:mod:`gossamer.testing.contracts.frontier`) and does not apply to a
frontier that ends with its process. Use::

    @asynccontextmanager
    async def make(rules, clock):
        async def open_for(owner):  # the same frontier each time, as another process would open it
            return MyFrontier(url, rules, clock, owner=owner)
        yield open_for

    await check_owned_frontier(make)                 # all of them, or one by one from OWNED_FRONTIER_CHECKS
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules, HostSignal
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import RequestState
from gossamer.core.requests import Lease
from gossamer.ports.job_frontier import JobFrontier
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import (
    EASY,
    TTL_S,
    FrontierHarness,
    FrontierSubject,
    fingerprints_of,
    make_entry,
)
from gossamer.testing.contracts.suite import assert_equal

__all__ = ["OWNED_FRONTIER_CHECKS", "Make", "check_owned_frontier"]


OpenFor = Callable[[str], Awaitable[JobFrontier]]
Make = Callable[[FrontierRules, ManualClock], AbstractAsyncContextManager[OpenFor]]
Check = Callable[[Make], Awaitable[None]]

OWNED_FRONTIER_CHECKS: dict[str, Check] = {}
"""The checks by name."""

SLOT = FrontierRules(delay_s=0.0, per_host=1)
"""Rules under which a host waits for the one lease that it has."""


async def check_owned_frontier(make: Make) -> None:
    """Run every check against a fresh frontier each. Raises ``AssertionError`` for a broken promise."""
    for check in OWNED_FRONTIER_CHECKS.values():
        await check(make)


class OwnerHarness(FrontierHarness):
    """The frontier as one owner has it open."""

    def __init__(self, frontier: JobFrontier, open_for: OpenFor, owner: str, clock: ManualClock) -> None:
        super().__init__(FrontierSubject(frontier, lambda: open_for(owner)), clock)
        self._owned = frontier

    async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
        """Return the leases taken back from an owner, in the order of fingerprints."""
        taken = await self._owned.recover_leases(owner)
        return tuple(sorted(taken, key=lambda lease: lease.entry.fingerprint))


def register_check(
    rules: FrontierRules = EASY,
) -> Callable[[Callable[[OwnerHarness, OwnerHarness], Awaitable[None]]], Check]:
    """Register a check that has the same frontier twice, opened for two owners: ``one`` and ``two``."""

    def register(body: Callable[[OwnerHarness, OwnerHarness], Awaitable[None]]) -> Check:
        async def check(make: Make) -> None:
            clock = ManualClock()
            async with make(rules, clock) as open_for:
                one, two = [
                    OwnerHarness(await open_for(owner), open_for, owner, clock) for owner in ("one", "two")
                ]
                await body(one, two)

        check.__name__, check.__doc__ = body.__name__, body.__doc__
        OWNED_FRONTIER_CHECKS[body.__name__] = check
        return check

    return register


@register_check()
async def recover_takes_back_what_one_owner_held(one: OwnerHarness, two: OwnerHarness) -> None:
    """Every lease of that owner, as it was granted but for the state of its host, and none of another."""
    await one.add_entries(*[make_entry(number, f"{number % 5}.example") for number in range(20)])
    ours = (await one.lease_requests(8)).leases
    others = (await two.lease_requests(8)).leases
    taken = await two.recover_leases("one")
    granted = [replace(lease, host_unheard=False) for lease in ours]
    assert_equal(
        taken, tuple(sorted(granted, key=lambda lease: lease.entry.fingerprint)), "recover returns the leases"
    )
    assert_equal(
        (await two.recover_leases("one"), await two.recover_leases("nobody")),
        ((), ()),
        "they are taken back once",
    )
    assert_equal([await one.settle_lease(lease) for lease in ours], [False] * 8, "a late result is refused")
    assert_equal(
        [await two.settle_lease(lease) for lease in others], [True] * 8, "the others' leases stay in force"
    )
    assert_equal(
        await one.count_states(),
        {RequestState.PENDING: 4, RequestState.DELAYED: 8, RequestState.DONE: 8},
        "nothing is lost",
    )


@register_check(SLOT)
async def recover_frees_the_slots(one: OwnerHarness, two: OwnerHarness) -> None:
    """The host's next request may start at once, and not when the lease would have ended."""
    await one.add_entries(make_entry(1), make_entry(2))
    assert_equal(await one.lease_fingerprints(), [1], "one slot")
    assert_equal(await two.lease_fingerprints(), [], "which is taken")
    await two.recover_leases("one")
    assert_equal(await two.lease_fingerprints(), [2], "the slot is free again")


@register_check(FrontierRules(delay_s=0.0, per_host=9, max_expiries=1))
async def recovered_requests_count_as_expired(one: OwnerHarness, two: OwnerHarness) -> None:
    """They wait, cost an attempt, and one that takes its owners down again and again is given up."""
    await one.add_entries(make_entry(1))
    await one.lease_one()
    await two.recover_leases("one")
    assert_equal(
        await two.lease_fingerprints(), [], "it waits for a while: it may be what took its owner down"
    )
    again = await one.one_later()
    assert_equal((again.attempt, again.expiries), (2, 1), "it costs an attempt")
    await two.recover_leases("one")
    assert_equal(await two.count_states(), {RequestState.DEAD: 1}, "and counts against max_expiries")
    (letter,) = await two.frontier.dead_letters(DeadLetterFilter())
    assert_equal((letter.reason, letter.attempts), ("expired", 2), "as a dead letter that says why")


@register_check()
async def a_request_belongs_to_who_leased_it_last(one: OwnerHarness, two: OwnerHarness) -> None:
    """Also after an earlier owner gave it back or lost it."""
    await one.add_entries(make_entry(1), make_entry(2))
    released, _ = (await one.lease_requests()).leases
    await one.frontier.release([released], [HostSignal()])
    assert_equal(await two.lease_fingerprints(), [1], "a request given back is another owner's")
    assert_equal(fingerprints_of(await two.recover_leases("one")), [2], "and not of who gave it back")
    assert_equal((await two.one_later()).entry.fingerprint, 2, "a lost request is another owner's")
    assert_equal(await two.recover_leases("one"), (), "and not of who lost it")


@register_check()
async def an_extended_lease_keeps_its_owner(one: OwnerHarness, two: OwnerHarness) -> None:
    """It is taken back before its new deadline as before the old one."""
    await one.add_entries(make_entry(1))
    lease = await one.lease_one()
    one.clock.advance(TTL_S / 2)
    await one.frontier.extend([lease], TTL_S)
    assert_equal(fingerprints_of(await two.recover_leases("one")), [1], "recover takes back extended leases")
