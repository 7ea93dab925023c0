"""The contract of a roster as workers, supervisors and commands use it, as named checks.

Use: ``await check_roster(make)``, or one by one from ``ROSTER_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`RosterSubject` with nothing in it.
"""

from __future__ import annotations

from gossamer.testing.contracts.roster_checks import health, supervisors, workers
from gossamer.testing.contracts.roster_harness import ROSTER_CHECKS, Make, RosterSubject

__all__ = ["ROSTER_CHECKS", "Make", "RosterSubject", "check_roster"]

MODULES = (workers, health, supervisors)
"""Where the checks are; they register themselves."""


async def check_roster(make: Make) -> None:
    """Run every check against a fresh roster each. Raises ``AssertionError`` for a broken promise."""
    for check in ROSTER_CHECKS.values():
        await check(make)
