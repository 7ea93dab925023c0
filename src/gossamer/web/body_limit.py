"""How large a request may be."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from gossamer.web.errors import error_response

MAX_BODY = 1024 * 1024
"""Bytes of a request's body."""


class BodyLimit:
    """Refuses requests whose bodies are too large, or of unknown length, before any of it is read."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        length = headers.get("content-length", "")
        if not (length.isdigit() and int(length) > MAX_BODY) and "transfer-encoding" not in headers:
            await self._app(scope, receive, send)
            return
        refusal = error_response(
            413,
            "This is too large.",
            f"a request may have {MAX_BODY:,} bytes, and must say how many it has",
            "Ask for less at once.",
        )
        await refusal(scope, receive, send)
