"""From a visit to what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gossamer.core.results import VisitResult


class Committer(Protocol):
    """Records the results of a worker's visits: items before (or with) their settled lease.

    Guarantee: a result whose lease was in force is recorded whole: items, page, ledger row and links. Of a
    result whose **lease was lost** (its deadline passed, or it was taken back) the items and the page are
    stored by key, since that is what the site answered; the row of the ledger gets the reason ``stale`` and
    is not a success. Its outcome and its links do not count: whoever leases the request next decides what
    becomes of it. So nothing that was found is lost, and no item is there twice.
    """

    async def commit(self, results: Sequence[VisitResult]) -> list[bool]:
        """Store each result and settle its lease; ``False`` for one whose lease was lost.

        An implementation over one database does both in one transaction. Over two, the store is written
        first: a crash between them costs one more fetch and stores nothing twice. Raises storage trouble:
        the same batch may then be committed again.
        """
        ...
