"""Contract suites: tables of named checks that report the broken guarantee."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from gossamer.testing.clock import ManualClock

SubjectT = TypeVar("SubjectT")
Make = Callable[[ManualClock], AbstractAsyncContextManager[SubjectT]]
"""Gives a fresh subject, with nothing in it, that keeps time by the clock."""
Check = Callable[[Make[SubjectT]], Awaitable[None]]


class ContractSuite(dict[str, Check[SubjectT]], Generic[SubjectT]):
    """The checks of one port by name; each makes a subject of its own, and states one promise."""

    def register(self, body: Callable[[SubjectT], Awaitable[None]]) -> Check[SubjectT]:
        """Add a check under the name of its function."""

        async def check(make: Make[SubjectT]) -> None:
            async with make(ManualClock()) as subject:
                await body(subject)

        check.__name__, check.__doc__ = body.__name__, body.__doc__
        self[body.__name__] = check
        return check

    async def run(self, make: Make[SubjectT]) -> None:
        """Run every check. Raises ``AssertionError`` for the first broken promise."""
        for check in self.values():
            await check(make)


def assert_equal(found: object, expected: object, promise: str) -> None:
    """Hold two values against each other and say which promise is broken."""
    if found != expected:
        raise AssertionError(f"{promise}: expected {expected!r}, found {found!r}")


def assert_holds(condition: object, promise: str) -> None:
    """Say which promise is broken unless ``condition`` holds."""
    if not condition:
        raise AssertionError(promise)
