"""Events to several sinks."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.events import Event
from gossamer.ports.sink import Sink


class MultiSink:
    """One sink that passes events on to many."""

    def __init__(self, sinks: Sequence[Sink]) -> None:
        self._emits = tuple(sink.emit for sink in sinks)

    def emit(self, event: Event) -> None:
        """Pass one event on."""
        for emit in self._emits:
            emit(event)
