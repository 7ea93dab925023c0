"""What a spider's ``log_in()`` works with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gossamer.core.requests import Request
from gossamer.policy.urls import join_url
from gossamer.spiders.forms import Filling
from gossamer.spiders.response import Response


class Login:
    """The log-in of one session, step by step: each is one request, whose redirects are followed.

    Steps keep to robots.txt and to the host's delay, and take the session's cookies and its proxy. Nothing of
    them is stored but the cookies. ``session`` is the session's name, for spiders with several; relative URLs
    are joined to ``login_url``.
    """

    def __init__(
        self, ask: Callable[[Request], Awaitable[Response]], session: str = "", *, login_url: str = ""
    ) -> None:
        self._ask = ask
        self._login_url = login_url
        self.session = session
        self.last: Response | None = None
        self.secrets: set[str] = set()  # what was sent: it is shown nowhere

    def __repr__(self) -> str:
        return f"<Login of the session {self.session!r}>"

    async def get(self, url: str, **options: Any) -> Response:
        """The page at a URL, which may be relative. Options are those of ``Request``."""
        return await self.fetch(Request(join_url(self._login_url, url) or url, **options))

    async def submit(
        self, response: Response, data: Filling | None = None, *, css: str = "", **options: Any
    ) -> Response:
        """The answer to a form of the page that was filled in; hidden fields are sent as they are.

        The form is the one that ``css`` selects, else the one that fits the names in ``data`` best. Raises
        ``ValueError`` where there is none.
        """
        for value in (data or {}).values():
            values = value if isinstance(value, list | tuple) else [value]
            self.secrets.update(one for one in values if isinstance(one, str))
        return await self.fetch(response.form(data, css=css, **options))

    async def fetch(self, request: Request) -> Response:
        """The answer to any request, a POST with JSON for instance."""
        self.last = await self._ask(request)
        return self.last
