"""Who is told what happens."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.events import Event


class Sink(Protocol):
    """Takes events: a log, a progress view, metrics.

    Guarantee: a sink is given each event once, in order, from the thread of the event loop. It is given
    events of kinds that it does not know, too, and ignores them.
    """

    def emit(self, event: Event) -> None:
        """Take one event. Must be quick (it is called for every page) and must not raise."""
        ...
