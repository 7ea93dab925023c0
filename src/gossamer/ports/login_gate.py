"""Whether the session of a request is logged in."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.hosts import HostSignal
from gossamer.core.requests import Request
from gossamer.core.routes import Route


class LoginGate(Protocol):
    """Logs sessions in, once each, and again when a page shows that a session is logged out.

    Guarantee: of all concurrent requests of a session, by any worker, one logs it in. A log-in that keeps
    failing stops the crawl and never floods the site. The data of a log-in is kept only in the session's
    cookies.
    """

    async def prepare_session(self, request: Request, route: Route) -> int | HostSignal:
        """Log the request's session in if needed; return the number of its log-in, 0 if it needs none.

        Returns a signal if the lease must be given back and the request must wait for its host's next turn:
        the session was just logged in (the turn is used), or another worker is logging it in or a failed
        log-in has to wait (the turn is not used). Raises :class:`~gossamer.core.errors.FetchError` if the
        site does not answer, ``LogInError`` if the log-in is impossible, and ``StorageError``.
        """
        ...

    def find_log_out(self, request: Request, status: int, location: str) -> str:
        """Return the sign that a response is for visitors (a redirect to the log-in page, 401), or an empty
        string.
        """
        ...

    def confirm_log_in(self, request: Request, route: Route) -> None:
        """Record that a page arrived for a logged-in session."""
        ...

    async def handle_log_out(self, request: Request, route: Route, number: int, page: int) -> bool:
        """Handle a visitors' page after the log-in of that number; ``page`` is its fingerprint.

        Return whether to retry the page, until this has happened too often. Raises ``StorageError``.
        """
        ...
