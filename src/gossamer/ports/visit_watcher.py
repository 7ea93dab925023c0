"""What goes along with every visit of a worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

End = TypeVar("End")
Visit = Callable[[Any], Awaitable[End]]


class VisitWatcher(Protocol):
    """Is there from the beginning of a visit to its end, for traces. Without one, visits are as they are."""

    def watch_visits(self, visit: Visit[End]) -> Visit[End]:
        """The same visit, watched: it gets the same attempt, gives the same end, and raises the same."""
        ...
