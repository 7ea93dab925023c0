"""Destinations of alerts."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.alerts import AlertNotice


class AlertTarget(Protocol):
    """A channel to people: a webhook, a mailbox, a chat.

    Guarantee: ``deliver`` returns once another system has accepted the news. Otherwise it raises, and the
    news are delivered again later. It takes a bounded time and does not block the event loop. Its errors and
    its name contain no secret.
    """

    @property
    def name(self) -> str:
        """The name of the target in the settings."""
        ...

    async def deliver(self, notice: AlertNotice) -> None:
        """Deliver the news. Raises ``MissingServiceError`` if they were not accepted."""
        ...
