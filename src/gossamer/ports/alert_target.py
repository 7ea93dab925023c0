"""Who is told of alerts."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.alerts import AlertNotice


class AlertTarget(Protocol):
    """A way to reach people: a webhook, a mailbox, a chat.

    Guarantee: ``deliver`` returns once the news are in others' hands, and raises otherwise: then they are
    delivered again later. It takes a bounded time, and blocks no event loop. What it raises, and the name,
    hold no secret.
    """

    @property
    def name(self) -> str:
        """What the settings call it."""
        ...

    async def deliver(self, notice: AlertNotice) -> None:
        """Hand the news over. Raises ``MissingServiceError`` when they were not taken."""
        ...
