"""Instructions of a spider for its pages in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gossamer.core.browsing import Browsing, PageFailure
from gossamer.core.requests import Request


class PageGuide(Protocol):
    """Gives a browser the spider's instructions for a page.

    Guarantee: failures of the spider's code become failures of that page; only the end of the program and of
    the task propagate.
    """

    def browsing_for(self, request: Request) -> Browsing:
        """Return the actions for a page: the request's own, or else the spider's, or else none."""
        ...

    def required_for(self, request: Request) -> Sequence[str]:
        """Return CSS selectors that the request's page must match; the browser waits for them for a time."""
        ...

    async def run_script(self, request: Request, script: str, page: Any) -> PageFailure | None:
        """Run the spider's method of that name on Playwright's page, in bounded time.

        Return ``None`` on success. Never raises for failures of the method.
        """
        ...
