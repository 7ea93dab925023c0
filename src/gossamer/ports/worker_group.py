"""The workers of a supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from gossamer.core.requests import Lease
from gossamer.core.steering import WorkLimits


class WorkerGroup(Protocol):
    """One worker, or several that start and stop together."""

    @property
    def idle(self) -> asyncio.Event:
        """Set whenever no request is in progress and none was due."""
        ...

    async def run(self) -> None:
        """Work until stopped. Raises storage errors."""
        ...

    def stop(self) -> None:
        """Take no new work."""
        ...

    def wake(self) -> None:
        """Look for requests that were just added to the frontier."""
        ...

    def follow_limits(self, limits: WorkLimits) -> None:
        """Apply the limits of a changed job; ``limits`` are the totals of all workers."""
        ...

    async def abandon(self) -> None:
        """Give back all requests in progress at once."""
        ...

    async def record_expired(self, leases: Sequence[Lease]) -> None:
        """Record leases that expired in the ledger."""
        ...
