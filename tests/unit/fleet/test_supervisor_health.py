"""A supervisor that hangs is not alive; one whose servers are away is, and so is one that stands by."""

from __future__ import annotations

import asyncio

from gossamer.core.errors import StorageError
from gossamer.fleet.supervisor import CLAIM_WITHIN_S, LOOK_WITHIN_S
from gossamer.policy.health import describe_failures
from kit.virtual_fleet import play


def failures(fleet):
    return describe_failures(fleet.read_health(), asyncio.get_running_loop().time(), 0.0)


async def hang(work=None, **_):
    if work is not None:
        work.close()
    await asyncio.Event().wait()


@play
async def test_a_leader_and_one_that_stands_by_are_alive(world):
    (first, _), (second, _) = world.supervisor(), world.supervisor()
    await world.clock.sleep(2 * LOOK_WITHIN_S)
    assert [failures(first), failures(second)] == [[], []]


@play
async def test_a_look_that_never_ends_is_noticed(world):
    fleet, _ = world.supervisor()
    await world.clock.sleep(10.0)
    fleet.check_jobs = hang
    await world.clock.sleep(LOOK_WITHIN_S - 5.0)
    assert failures(fleet) == []
    await world.clock.sleep(20.0)
    (failure,) = failures(fleet)
    assert failure.startswith("this supervisor leads and has not looked at the jobs for ")


@play
async def test_a_leadership_that_is_not_claimed_any_more_is_noticed(world):
    fleet, _ = world.supervisor()
    await world.clock.sleep(10.0)
    fleet._with_timeout = hang
    await world.clock.sleep(CLAIM_WITHIN_S + 10.0)
    found = failures(fleet)
    del fleet._with_timeout
    assert any(one.startswith("this supervisor has not tried to lead for ") for one in found)


@play
async def test_a_server_that_is_away_for_long_does_not_end_the_supervisor(world):
    fleet, way = world.supervisor()
    await world.clock.sleep(10.0)
    way.trouble = StorageError("Redis at somewhere is gone")
    for _ in range(100):
        await world.clock.sleep(10.0)
        assert failures(fleet) == []
