"""A frontier on a shared server that may lose its latest changes."""

from __future__ import annotations

from typing import Protocol

from gossamer.ports.frontier_admin import FrontierAdmin
from gossamer.ports.owned_frontier import OwnedFrontier


class FleetFrontier(OwnedFrontier, FrontierAdmin, Protocol):
    """A frontier whose leases belong to shifts, and that may lose its latest changes."""

    async def finish_seeding(self) -> None:
        """Record that this object added all seeds: ``read_stats().seeded`` is true from now on.

        A server that loses a seed loses this record too, and the job is seeded again. Raises ``StorageError``
        if seeds may already be lost.
        """
        ...

    async def redo_lost(self) -> int:
        """Make requests pending again whose links the server has lost after they were settled; return their
        number.

        Call it after ``read_stats`` shows no waiting requests: ``0`` proves that the queue was empty.
        """
        ...
