"""Limits on the size, the nesting and the time of arrival of a request."""

from __future__ import annotations

import asyncio
import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.web.errors import error_response

MAX_BODY = 1024 * 1024
"""Maximum bytes of a request's body."""
BODY_S = 10.0
"""Maximum seconds for its arrival: it is read before the caller is known."""
DEEPEST = 32
"""Maximum nesting of lists and objects; parsers and checks are recursive, so deeper JSON is refused."""
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[][{}]")


def is_nested_deeply(body: bytes) -> bool:
    """Return whether JSON is nested too deeply; undefined for other bytes."""
    depth = 0
    for bracket in _BRACKET.finditer(_TEXT.sub(b"", body)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


class BodyLimit:
    """Refuses bodies that are too large, or of unknown length, before reading them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope) if scope["type"] == "http" else {}
        length = headers.get("content-length", "")
        if not (length.isdigit() and int(length) > MAX_BODY) and "transfer-encoding" not in headers:
            await self._app(scope, BodyReader(receive).receive, send)
            return
        refusal = error_response(
            413,
            "This is too large.",
            f"a request may have {MAX_BODY:,} bytes, and must say how many it has",
            "Ask for less at once.",
        )
        await refusal(scope, receive, send)


class BodyReader:
    """Receives a request, and raises ``TimeoutError`` where its body takes too long.

    A body that is nested too deeply is refused (``HTTPException``), before anybody parses it.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._deadline = 0.0
        self._is_whole = False
        self._body = bytearray()

    async def receive(self) -> Message:
        """Return the next message; after the body, without a limit of time."""
        if self._is_whole:
            return await self._receive()
        self._deadline = self._deadline or asyncio.get_running_loop().time() + BODY_S
        async with asyncio.timeout_at(self._deadline):
            message = await self._receive()
        self._body += message.get("body", b"")
        self._is_whole = not message.get("more_body", False)
        if self._is_whole and is_nested_deeply(bytes(self._body)):
            raise HTTPException(422, f"nothing may be nested more than {DEEPEST} deep")
        return message
