"""Who is told what happens."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.events import Event


class Sink(Protocol):
    """Takes events: a log, a progress view, metrics."""

    def emit(self, event: Event) -> None:
        """Take one event; must be quick and must not raise."""
        ...
