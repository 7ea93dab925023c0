"""The argument of a spider's ``log_in()``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gossamer.core.requests import Request
from gossamer.policy.urls import join_url
from gossamer.spiders.forms import Filling
from gossamer.spiders.response import Response


class Login:
    """The steps of a log-in, passed to ``Spider.log_in()``. Each step is one request; redirects are followed.

    Steps obey robots.txt and the delay of the host, and use the cookies and the proxy of the session. Only
    the cookies are stored. ``session`` is the name of the session that is logged in. Each step raises
    ``FetchError`` if the server does not answer or asks for time, ``LogInError`` if robots.txt forbids it.
    """

    def __init__(
        self, ask: Callable[[Request], Awaitable[Response]], session: str = "", *, login_url: str = ""
    ) -> None:
        self._ask = ask
        self._login_url = login_url
        self.session = session
        self.last: Response | None = None
        self.secrets: set[str] = set()  # values sent, which are never shown

    def __repr__(self) -> str:
        return f"<Login of the session {self.session!r}>"

    async def get(self, url: str, **options: Any) -> Response:
        """Fetch the page at ``url``, relative to ``login_url``; ``options`` are those of ``Request``."""
        return await self.fetch(Request(join_url(self._login_url, url) or url, **options))

    async def submit(
        self, response: Response, data: Filling | None = None, *, css: str = "", **options: Any
    ) -> Response:
        """Fill in a form, send it, and return the response. Hidden fields are sent unchanged.

        Args:
            response: the page with the form.
            data: values by the names of their fields.
            css: selects the form; by default the form that fits the names in ``data`` best.
            options: further options of :meth:`Response.form`.

        Raises ``ValueError`` if the page has no such form.
        """
        for value in (data or {}).values():
            values = value if isinstance(value, list | tuple) else [value]
            self.secrets.update(one for one in values if isinstance(one, str))
        return await self.fetch(response.form(data, css=css, **options))

    async def fetch(self, request: Request) -> Response:
        """Send any ``request``, such as a POST with JSON, and return the response."""
        self.last = await self._ask(request)
        return self.last
