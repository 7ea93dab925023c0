"""The contract of the read model: every query of ``gossamer.queries`` has one answer on every back end.

Use, for a frontier or a store of your own::

    @asynccontextmanager
    async def make():  # back ends in which nothing is; settings: delay 0, per_host 100
        backends = await open_backends(settings, create=True)
        yield backends
        await backends.close()

    await check_queries(make)                       # all of them, or one by one:
    @pytest.mark.parametrize("name", query_checks())
    async def test_contract(name): await query_checks()[name](make)
"""

from __future__ import annotations

from collections.abc import Mapping

from gossamer.testing.contracts.query_checks import (
    dead_letters,
    explain,
    fleet,
    items,
    jobs,
    ledger,
    metrics,
    report,
    series,
    status,
    top,
    views,
)
from gossamer.testing.contracts.query_harness import QUERY_CHECKS, Check, Make

__all__ = ["Check", "Make", "check_queries", "query_checks"]

MODULES = (jobs, status, ledger, dead_letters, items, explain, fleet, metrics, report, series, top, views)
"""Where the checks are; they register themselves."""


def query_checks() -> Mapping[str, Check]:
    """The checks by name."""
    return QUERY_CHECKS


async def check_queries(make: Make) -> None:
    """Run every check against fresh back ends each. Raises ``AssertionError`` for a broken promise."""
    for check in query_checks().values():
        await check(make)
