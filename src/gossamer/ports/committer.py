"""From a visit to what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.results import VisitResult


class Committer(Protocol):
    """Records what a worker brings back: items before (or with) their settled lease."""

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """Store each result and settle its lease. ``False``: the lease was lost and nothing of it counts.

        An implementation over one database does both in one transaction; over two, the store is
        written first, so that a crash between them costs one fetch and doubles nothing.
        """
        ...
