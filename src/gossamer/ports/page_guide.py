"""What a spider wants done on its pages in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gossamer.core.browsing import Browsing, PageFailure
from gossamer.core.requests import Request


class PageGuide(Protocol):
    """Tells a browser what a request's page is opened for: the spider, as far as browsers know it.

    Guarantee: whatever the spider's code does is a failure of that page; only the end of the program and of
    the task pass through.
    """

    def browsing_for(self, request: Request) -> Browsing:
        """What is to happen on the request's page: its own word, else the spider's, else nothing."""
        ...

    def required_for(self, request: Request) -> Sequence[str]:
        """CSS selectors that the request's page has to have; the browser waits for them, for a time."""
        ...

    async def run_script(self, request: Request, script: str, page: Any) -> PageFailure | None:
        """Run the spider's method of that name on Playwright's page, in bounded time.

        ``None``: it ended well. Never raises for what the method does.
        """
        ...
