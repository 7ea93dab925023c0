"""Sinks that also observe the load of a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable


@runtime_checkable
class WorkWatcher(Protocol):
    """An extra interface of a sink that observes load and commits.

    Without such a sink nothing is called or measured. The methods must not raise.
    """

    def watch_work(self, load: Callable[[], int], slots: Mapping[str, int]) -> None:
        """Begin to observe: ``load`` returns, in any thread, the requests in progress; ``slots`` are the
        worker's, by lane.
        """
        ...

    def begin_commit(self) -> int:
        """Record the begin of a commit of results; return its number."""
        ...

    def end_commit(self, number: int) -> None:
        """Record the end of that commit, successful or not."""
        ...
