"""Receivers of events."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.events import Event


class Sink(Protocol):
    """Takes events: a log, a progress view, metrics.

    Guarantee: a sink gets each event once, in order, from the thread of the event loop. It ignores events of
    unknown kinds.
    """

    def emit(self, event: Event) -> None:
        """Take one event. Must be quick (it is called for every page) and must not raise."""
        ...
