"""How a spider logs in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult

Ask = Callable[[Request], Awaitable[FetchResult]]
"""Fetches one step of a log-in, redirects followed."""


class LoginGuide(Protocol):
    """Knows the log-in page of a spider and runs its code."""

    def login_url_for(self, request: Request) -> str:
        """Return the log-in page for a request, or an empty string if its spider does not log in."""
        ...

    async def log_in(self, request: Request, ask: Ask) -> str:
        """Log in, fetching each step by ``ask``. Return an empty string on success, or else the reason.

        Errors of the spider's code and hopeless steps are such reasons, without the data sent. Errors of a
        site that does not answer or asks for time propagate, and so do the other ``OperatorError``s of
        ``ask`` and the end of the program and of the task.
        """
        ...
