"""The contract of a profile store, as named checks.

Use: ``await check_profile_store(make)``, or one by one from ``PROFILE_STORE_CHECKS``; ``make(clock)`` is an
async context manager that gives a ``ProfileStore`` with nothing in it.
"""

from __future__ import annotations

from gossamer.core.jobs import Job
from gossamer.ports.profile_store import ProfileStore
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal

__all__ = ["PROFILE_STORE_CHECKS", "check_profile_store"]

PROFILE_STORE_CHECKS: ContractSuite[ProfileStore] = ContractSuite()
"""The checks by name."""
JOBS = [Job(id=f"shop-{number}", name="shop", target="shop.py", created_at=0.0) for number in (1, 2, 3)]


async def check_profile_store(make: Make[ProfileStore]) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await PROFILE_STORE_CHECKS.run(make)


@PROFILE_STORE_CHECKS.register
async def profiles_are_those_of_the_jobs_asked_for(s: ProfileStore) -> None:
    """Byte for byte; jobs without one are left out."""
    await s.save_profile(JOBS[0], 1.0, b"\x00\xff one")
    await s.save_profile(JOBS[1], 2.0, b"two")
    assert_equal(await s.read_profiles([JOBS[0], JOBS[2]]), {"shop-1": b"\x00\xff one"}, "by their jobs")
    assert_equal(await s.read_profiles([]), {}, "of no job there is none")


@PROFILE_STORE_CHECKS.register
async def a_profile_replaces_the_former_one(s: ProfileStore) -> None:
    """A job has one."""
    for at, record in ((1.0, b"one"), (2.0, b"two")):
        await s.save_profile(JOBS[0], at, record)
    assert_equal(await s.read_profiles(JOBS), {"shop-1": b"two"}, "the last one that was saved")
