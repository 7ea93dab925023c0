"""The contract of the results that were made again, as named checks.

Use: ``await check_result_versions(make)``, or one by one from ``RESULT_VERSIONS_CHECKS``; ``make(clock)`` is
an async context manager that gives ``ResultVersions`` with nothing in them.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.ports.result_versions import ResultVersions
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal

__all__ = ["RESULT_VERSIONS_CHECKS", "check_result_versions"]

RESULT_VERSIONS_CHECKS: ContractSuite[ResultVersions] = ContractSuite()
"""The checks by name."""
ONE = ResultVersion(job="shop-2", base="shop-1", created_at=10.0)
TWO = ResultVersion(job="shop-3", base="shop-1", created_at=20.0)


async def check_result_versions(make: Make[ResultVersions]) -> None:
    """Run every check against fresh ones each. Raises ``AssertionError`` for a broken promise."""
    await RESULT_VERSIONS_CHECKS.run(make)


@RESULT_VERSIONS_CHECKS.register
async def results_are_listed_by_their_crawl(s: ResultVersions) -> None:
    """The newest first, whatever the order in which they were noted."""
    for version in (TWO, ONE, replace(ONE, job="other-2", base="other-1")):
        await s.save_version(version)
    assert_equal(await s.list_versions("shop-1"), [TWO, ONE], "those of one crawl")
    assert_equal(await s.list_versions("shop-2"), [], "a result has none of its own")


@RESULT_VERSIONS_CHECKS.register
async def what_became_of_a_result_is_noted(s: ResultVersions) -> None:
    """Only for that result; the state can change again."""
    for version in (ONE, TWO):
        await s.save_version(version)
    for state in (VersionState.PROMOTED, VersionState.PROMOTED, VersionState.DISCARDED):
        assert_equal(await s.change_state("shop-2", state), True, "there is one")
        assert_equal(await s.list_versions("shop-1"), [TWO, replace(ONE, state=state)], "its state")
    assert_equal(await s.change_state("shop-9", VersionState.PROMOTED), False, "of another there is none")
    await s.save_version(ONE)
    assert_equal(await s.list_versions("shop-1"), [TWO, ONE], "one that is noted again is replaced")
