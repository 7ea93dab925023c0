"""Whether the session of a request is logged in."""

from __future__ import annotations

from typing import Protocol

from gossamer.core.hosts import HostSignal
from gossamer.core.requests import Request
from gossamer.core.routes import Route


class LoginGate(Protocol):
    """Logs sessions in, once each, and again when a page shows that one is logged out.

    Guarantee: of all requests of a session that ask at the same time, by any worker, one logs it in; a
    log-in that fails again and again stops the crawl, and never hammers the site. What a log-in sends and
    receives is kept nowhere but in the session's cookies.
    """

    async def prepare_session(self, request: Request, route: Route) -> int | HostSignal:
        """Have the request's session logged in: the number of its log-in, 0 where it needs none.

        A signal: give the lease back with it, and ask again at the host's next turn. The session was logged
        in just now (the turn is used up), or another worker is at it, or one that failed has to wait (the
        turn is not used). Raises :class:`~gossamer.core.errors.FetchError` when the site does not answer,
        ``LogInError`` when it cannot be logged in, and ``StorageError``.
        """
        ...

    def find_log_out(self, request: Request, status: int, location: str) -> str:
        """By what an answer shows that it is for visitors: a redirect to the log-in, 401; empty: nothing."""
        ...

    def confirm_log_in(self, request: Request, route: Route) -> None:
        """A page came for somebody who is logged in."""
        ...

    async def handle_log_out(self, request: Request, route: Route, number: int, page: int) -> bool:
        """A page came for visitors, after the log-in of that number; ``page`` is its fingerprint.

        Whether the page is worth another try: it is, until it has come so too often. Raises ``StorageError``.
        """
        ...
