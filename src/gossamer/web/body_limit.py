"""How large a request may be, how deeply nested, and how long it may take to arrive."""

from __future__ import annotations

import asyncio
import re

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.web.errors import error_response

MAX_BODY = 1024 * 1024
"""Bytes of a request's body."""
BODY_S = 10.0
"""Seconds in which it has to be there: it is read before anybody knows who sends it."""
DEEPEST = 32
"""Lists and objects in each other: what is nested more is not parsed, since parsers and checks descend."""
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(rb"[][{}]")


def is_nested_deeply(body: bytes) -> bool:
    """Whether JSON has more lists and objects in each other than it may; nothing is said of other bytes."""
    depth = 0
    for bracket in _BRACKET.finditer(_TEXT.sub(b"", body)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > DEEPEST:
            return True
    return False


class BodyLimit:
    """Refuses requests whose bodies are too large, or of unknown length, before any of it is read."""

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
        """The next message; behind the body there may be any time until it comes."""
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
