"""Leases with owners, so that the leases of a dead process return at once."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Lease
from gossamer.ports.frontier import Frontier


class OwnedFrontier(Frontier, Protocol):
    """A frontier that several processes share: every lease belongs to the owner it was opened for.

    A frontier that ends with its process needs no owners.
    """

    async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
        """Take back and return every lease of ``owner`` as if expired; the caller knows that the owner is
        gone.

        The leases of all others stay in force.
        """
        ...
