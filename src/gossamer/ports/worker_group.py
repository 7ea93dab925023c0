"""What a supervisor has work."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from gossamer.core.requests import Lease
from gossamer.core.steering import WorkLimits


class WorkerGroup(Protocol):
    """A worker, or several that are started and stopped as one."""

    @property
    def idle(self) -> asyncio.Event:
        """Set whenever nothing is in hand and nothing was due."""
        ...

    async def run(self) -> None:
        """Work until stopped. Raises storage trouble."""
        ...

    def stop(self) -> None:
        """Take no new work."""
        ...

    def wake(self) -> None:
        """Something was added to the frontier."""
        ...

    def follow_limits(self, limits: WorkLimits) -> None:
        """A person changed the job: ``limits`` are those of all together, from now on."""
        ...

    async def abandon(self) -> None:
        """Give back at once everything in hand."""
        ...

    async def record_expired(self, leases: Sequence[Lease]) -> None:
        """Enter leases that nobody came back from into the ledger."""
        ...
