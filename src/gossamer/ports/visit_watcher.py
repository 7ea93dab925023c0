"""Observation of a worker's visits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

End = TypeVar("End")
Visit = Callable[[Any], Awaitable[End]]


class VisitWatcher(Protocol):
    """Observes visits from beginning to end, for traces."""

    def watch_visits(self, visit: Visit[End]) -> Visit[End]:
        """Return the visit with observation: it gets the same attempt, returns the same end and raises the
        same errors.
        """
        ...
