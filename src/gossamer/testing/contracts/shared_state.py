"""The contract of shared state, as named checks.

Use: ``await check_shared_state(make)``, or one by one from ``SHARED_STATE_CHECKS``; ``make(clock)`` is an
async context manager that gives a :class:`SharedStateSubject` with nothing in it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from gossamer.ports.shared_state import SharedState
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["SHARED_STATE_CHECKS", "SharedStateSubject", "check_shared_state"]


@dataclass
class SharedStateSubject:
    """The same state as two workers open it, and their common clock."""

    shared: SharedState
    other: SharedState
    clock: ManualClock


SHARED_STATE_CHECKS: ContractSuite[SharedStateSubject] = ContractSuite()
"""The checks by name."""


async def check_shared_state(make: Make[SharedStateSubject]) -> None:
    """Run every check against a fresh state each. Raises ``AssertionError`` for a broken promise."""
    await SHARED_STATE_CHECKS.run(make)


@SHARED_STATE_CHECKS.register
async def shared_values_expire(s: SharedStateSubject) -> None:
    """At their time; a space does not see another's."""
    await s.shared.put("robots", "http://a", b"\x00body", 10)
    assert_equal(await s.shared.get("robots", "http://a"), b"\x00body", "a value is shared")
    assert_equal(await s.shared.get("ladder", "http://a"), None, "in its space")
    s.clock.advance(9)
    await s.shared.put("robots", "http://b", b"", 10)
    assert_equal(await s.shared.get("robots", "http://a"), b"\x00body", "until it expires")
    s.clock.advance(1)
    assert_equal(await s.shared.get("robots", "http://a"), None, "and not longer")
    assert_equal(await s.shared.get("robots", "http://b"), b"", "an empty value is a value")


@SHARED_STATE_CHECKS.register
async def many_values_are_those_of_single_calls(s: SharedStateSubject) -> None:
    """In the order of their keys; expired values and those of another space are missing."""
    assert_equal(await s.shared.get_many("watch", []), [], "no key, no value")
    for space, key, ttl_s in (("watch", "a", 10.0), ("watch", "b", 5.0), ("ladder", "c", 10.0)):
        await s.shared.put(space, key, key.encode(), ttl_s)
    assert_equal(await s.other.get_many("watch", ["b", "c", "a"]), [b"b", None, b"a"], "in this order")
    s.clock.advance(5)
    assert_equal(await s.other.get_many("watch", ["a", "b"]), [b"a", None], "until they expire")


@SHARED_STATE_CHECKS.register
async def one_claim_wins(s: SharedStateSubject) -> None:
    """Until it is fulfilled, or lapses."""
    assert_holds(await s.shared.claim("robots", "k", 5), "the first may make it")
    assert_holds(not await s.shared.claim("robots", "k", 5), "the second may not")
    s.clock.advance(5)
    assert_holds(await s.shared.claim("robots", "k", 5), "a claim lapses")
    await s.shared.put("robots", "k", b"v", 100)
    assert_equal(await s.shared.get("robots", "k"), b"v", "a put is seen")
    assert_holds(await s.shared.claim("robots", "k", 5), "a put ends the claim")
    assert_equal(await s.shared.get("robots", "k"), b"v", "a claim leaves the value")


@SHARED_STATE_CHECKS.register
async def a_value_is_swapped_only_for_the_expected_one(s: SharedStateSubject) -> None:
    """So concurrent changes do not overwrite each other."""
    assert_holds(
        not await s.shared.compare_and_swap("cookies", "k", b"other", b"v", 9),
        "a value was expected, there is none",
    )
    assert_equal(await s.shared.get("cookies", "k"), None, "then nothing is set")
    won = await asyncio.gather(
        *(s.shared.compare_and_swap("cookies", "k", None, b"%d" % n, 9) for n in range(5))
    )
    assert_equal(sum(won), 1, "one of several at the same time sets it")
    first = b"%d" % won.index(True)
    assert_equal(await s.shared.get("cookies", "k"), first, "and its value is stored")
    assert_holds(
        await s.shared.compare_and_swap("cookies", "k", first, b"", 9), "who knows the value may replace it"
    )
    assert_holds(
        not await s.shared.compare_and_swap("cookies", "k", None, b"new", 9), "an empty value is a value"
    )
    assert_holds(
        not await s.shared.compare_and_swap("cookies", "k", first, b"new", 9),
        "a former value is not the present one",
    )
    s.clock.advance(9)
    assert_holds(await s.shared.compare_and_swap("cookies", "k", None, b"new", 9), "an expired value is gone")
    assert_equal(await s.shared.get("cookies", "k"), b"new", "a new one is")


@SHARED_STATE_CHECKS.register
async def workers_see_what_others_set(s: SharedStateSubject) -> None:
    """Values and claims alike, from the moment that the call returns."""
    await s.shared.put("robots", "k", b"v", 10)
    assert_equal(await s.other.get("robots", "k"), b"v", "a value that another worker set")
    assert_holds(await s.shared.claim("robots", "new", 10), "one worker claims")
    assert_holds(not await s.other.claim("robots", "new", 10), "then the other may not")
    await s.other.put("robots", "new", b"made", 10)
    assert_equal(await s.shared.get("robots", "new"), b"made", "the caller that makes the value")


def _add_one(value: bytes | None) -> bytes:
    return b"%d" % (int(value or b"0") + 1)


@SHARED_STATE_CHECKS.register
async def no_update_is_lost(s: SharedStateSubject) -> None:
    """Each of many concurrent changes by several workers is in the value."""
    workers = (s.shared, s.other)
    made = await asyncio.gather(
        *(workers[n % 2].update("proxies", "k", _add_one, 10) for n in range(40)),
        *(workers[n % 2].update("proxies", "other", _add_one, 10) for n in range(4)),
    )
    assert_equal(await s.shared.get("proxies", "k"), b"40", "every change is in the value")
    assert_equal(await s.other.get("proxies", "other"), b"4", "and in no other one")
    steps = sorted(int(value) for value in made[:40])
    assert_equal(steps, list(range(1, 41)), "each gets the value of its change")


@SHARED_STATE_CHECKS.register
async def an_update_begins_anew_when_the_value_has_expired(s: SharedStateSubject) -> None:
    """And sets how long the new value is kept."""
    await s.shared.update("proxies", "k", _add_one, 10)
    s.clock.advance(9)
    assert_equal(await s.other.update("proxies", "k", _add_one, 10), b"2", "the value was there")
    s.clock.advance(9)
    assert_equal(await s.shared.get("proxies", "k"), b"2", "an update sets the time anew")
    s.clock.advance(1)
    assert_equal(await s.shared.update("proxies", "k", _add_one, 10), b"1", "an expired value is gone")


@SHARED_STATE_CHECKS.register
async def an_update_that_fails_changes_nothing(s: SharedStateSubject) -> None:
    """The error is the caller's own, and others are not disturbed."""

    def fail(value: bytes | None) -> bytes:
        raise LookupError(value)

    await s.shared.put("proxies", "k", b"v", 10)
    ended = await asyncio.gather(
        s.shared.update("proxies", "k", fail, 10),
        s.shared.update("proxies", "other", _add_one, 10),
        return_exceptions=True,
    )
    assert_holds(isinstance(ended[0], LookupError), "the exception of the change propagates")
    assert_equal(ended[1], b"1", "others are not disturbed")
    assert_equal(await s.other.get("proxies", "k"), b"v", "the value is as it was")
