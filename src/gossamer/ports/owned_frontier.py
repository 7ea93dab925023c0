"""Leases that belong to somebody, so that those of a process that died come back at once."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Lease
from gossamer.ports.frontier import Frontier


class OwnedFrontier(Frontier, Protocol):
    """A frontier that several processes share: every lease belongs to the owner that it was opened for.

    One that lives and dies with its process has no use for owners.
    """

    async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
        """Take back every lease of ``owner`` as if expired and return them: the caller knows that it is gone.

        The leases of all others stay in force.
        """
        ...
