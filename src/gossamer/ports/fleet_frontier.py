"""A frontier on a server that the workers of a fleet share, and that may lose its latest changes."""

from __future__ import annotations

from typing import Protocol

from gossamer.ports.frontier_admin import FrontierAdmin
from gossamer.ports.owned_frontier import OwnedFrontier


class FleetFrontier(OwnedFrontier, FrontierAdmin, Protocol):
    """A frontier whose leases belong to shifts, and that may lose its latest changes."""

    async def finish_seeding(self) -> None:
        """Record that all seeds were added, by this object: ``read_stats().seeded`` is true from now on.

        A server that loses a seed loses this record with it, and the job is seeded again. Raises
        ``StorageError`` when seeds may have been lost already.
        """
        ...

    async def redo_lost(self) -> int:
        """Make requests pending again that were settled with links which a server has lost; how many.

        Call it after ``read_stats`` said that nothing waits: ``0`` proves that it was true.
        """
        ...
