"""Storage of the results of visits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.results import VisitResult


class Committer(Protocol):
    """Records the results of a worker's visits: items before (or with) their settled lease.

    Guarantee: a result with a valid lease is recorded completely: items, page, ledger row and links. If the
    **lease was lost** (it expired or was taken back), items and page are stored by key, because the site did
    send them; the ledger row gets the reason ``stale`` and is not a success. Its outcome and links are
    ignored: the next holder of the lease decides them. So no found item is lost or stored twice.
    """

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """Store each result and settle its lease; ``False`` for one whose lease was lost.

        An implementation over one database does both in one transaction. Over two, the store is written
        first: a crash between them costs one more fetch and stores nothing twice. Raises storage trouble:
        the same batch may then be committed again.
        """
        ...
