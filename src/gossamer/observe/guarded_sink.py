"""A sink of others that cannot hurt the crawl."""

from __future__ import annotations

import logging

from gossamer.core.events import Event
from gossamer.ports.sink import Sink

log = logging.getLogger("gossamer.crawl")


class GuardedSink:
    """Port ``Sink``: passes events on to a sink until that raises, which is logged once."""

    def __init__(self, name: str, sink: Sink) -> None:
        self._name = name
        self._sink: Sink | None = sink

    def emit(self, event: Event) -> None:
        """Pass one event on."""
        if self._sink is not None:
            try:
                self._sink.emit(event)
            except Exception:
                self._sink = None
                log.exception("the sink %r failed, and gets no more events", self._name)
