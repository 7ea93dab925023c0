"""How a spider logs in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult

Ask = Callable[[Request], Awaitable[FetchResult]]
"""Fetches one step of a log-in, redirects followed."""


class LoginGuide(Protocol):
    """Knows where one logs in, and runs the spider's code for it."""

    def login_url_for(self, request: Request) -> str:
        """The page where one logs in for a request; empty: its spider does not log in."""
        ...

    async def log_in(self, request: Request, ask: Ask) -> str:
        """Log in; every step is asked for through ``ask``. Empty when that went well, else why not.

        What the spider's code raises is such a reason, without what it has sent, and so is a step that is
        hopeless. That a site does not answer or asks for time passes through, and so do the other
        ``OperatorError``s of ``ask`` and the end of the program and of the task.
        """
        ...
