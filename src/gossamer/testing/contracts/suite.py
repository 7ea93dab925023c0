"""Contract suites: tables of named checks that report the broken guarantee."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from gossamer.testing.clock import ManualClock

SubjectT = TypeVar("SubjectT")
Make = Callable[[ManualClock], AbstractAsyncContextManager[SubjectT]]
"""Yields an empty subject on this clock."""
Check = Callable[[Make[SubjectT]], Awaitable[None]]


class ContractSuite(dict[str, Check[SubjectT]], Generic[SubjectT]):
    """The checks of one port by name; each makes its own subject and states one guarantee."""

    def register(self, body: Callable[[SubjectT], Awaitable[None]]) -> Check[SubjectT]:
        """Add a check under the name of its function."""

        async def check(make: Make[SubjectT]) -> None:
            async with make(ManualClock()) as subject:
                await body(subject)

        check.__name__, check.__doc__ = body.__name__, body.__doc__
        self[body.__name__] = check
        return check

    async def run(self, make: Make[SubjectT]) -> None:
        """Run every check. Raises ``AssertionError`` for the first broken guarantee."""
        for check in self.values():
            await check(make)


def assert_equal(found: object, expected: object, promise: str) -> None:
    """Compare two values, and raise with the broken guarantee if they differ."""
    if found != expected:
        raise AssertionError(f"{promise}: expected {expected!r}, found {found!r}")


def assert_holds(condition: object, promise: str) -> None:
    """Raise with the broken guarantee unless ``condition`` is true."""
    if not condition:
        raise AssertionError(promise)
