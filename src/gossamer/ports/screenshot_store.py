"""Where pictures of pages are kept."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.requests import Lease


class ScreenshotStore(Protocol):
    """Keeps pictures of the pages of one job, for people who look at its ledger.

    Guarantee: bounded in number, whatever the crawl does; a picture that cannot be kept costs no page.
    """

    keeps_all: bool
    """Whether the pictures of pages that succeed are kept, too."""

    async def keep(self, lease: Lease, picture: bytes, page: bytes = b"") -> str:
        """Keep a picture (PNG) of what came of a lease, and the page's HTML where that is wanted.

        What the ledger calls it; empty: it is not kept.
        """
        ...
