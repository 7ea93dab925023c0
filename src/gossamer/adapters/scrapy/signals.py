"""Scrapy's signals, sent only to listeners: most spiders listen to none of the frequent ones."""

from __future__ import annotations

from typing import Any

from pydispatch import dispatcher  # type: ignore[import-untyped]
from scrapy.signalmanager import SignalManager


class AdaptedSignals(SignalManager):
    """The ``crawler.signals`` of Scrapy's code, which knows the signals that have listeners."""

    def __init__(self, sender: Any) -> None:
        super().__init__(sender)
        self._asked_for: set[int] = set()

    def connect(self, receiver: Any, signal: Any, **kwargs: Any) -> None:
        """Connect a receiver as Scrapy does."""
        self._asked_for.add(id(signal))
        super().connect(receiver, signal, **kwargs)

    def is_heard(self, signal: Any) -> bool:
        """Return whether a signal may have listeners."""
        if id(signal) in self._asked_for or id(dispatcher.Any) in self._asked_for:
            return True
        return bool(dispatcher.connections.get(id(dispatcher.Any)))  # connected past the manager
