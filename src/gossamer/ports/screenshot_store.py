"""Storage of screenshots."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Lease


class ScreenshotStore(Protocol):
    """Screenshots of the pages of one job, for readers of its ledger.

    Guarantee: the number is bounded; a picture that cannot be stored does not fail its page.
    """

    keeps_all: bool
    """Whether the screenshots of successful pages are kept as well."""

    async def keep(self, lease: Lease, picture: bytes, page: bytes = b"") -> str:
        """Store a picture (PNG) of a lease's result, and the page's HTML if wanted.

        Return its name for the ledger, or an empty string if it is not kept.
        """
        ...
