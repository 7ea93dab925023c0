"""A sink that also looks at how a process works, besides what happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class WorkWatcher(Protocol):
    """What a sink implements, too, to know of load and of commits.

    Without one among the sinks nothing of it is called, and nothing is measured. None of it may raise.
    """

    def watch_work(self, load: Callable[[], int], slots: Mapping[str, int]) -> None:
        """``load`` says in any thread how many requests are in hand; ``slots`` are the worker's, by lane."""
        ...

    def begin_commit(self) -> int:
        """A commit of results begins; its number."""
        ...

    def end_commit(self, number: int) -> None:
        """That commit is over, however it ended."""
        ...
