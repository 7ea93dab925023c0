"""One page on its way into a tab: what its own request sends, and what comes of it.

The browser is asked to stop at two places (the domain ``Fetch`` of its DevTools protocol): before the
page's own request is sent, where the request's method, body and headers go in; and when the answer's header
is there. A redirect ends there, as an answer like any other: each hop is a request of its own. So does what
is no HTML: its bytes are read piece by piece, and never shown, saved or run. HTML goes on into the page.

A page that goes elsewhere by itself (``location = ...``) while it loads is treated like a redirect; one
that loads itself again, or sends a form to its own site (a test that visitors have to pass), may.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import Fault, FetchError
from gossamer.core.requests import Request
from gossamer.fetch.browser.faults import NO_PAGE, translate_code
from gossamer.policy import redirects, urls

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

MAX_RELOADS = 5
_SLICE_BYTES = 256 * 1024
_MAX_DIGITS = 18
_HTML = ("text/html", "application/xhtml+xml")
_BODILESS = frozenset({"GET", "HEAD"})

Headers = tuple[tuple[str, str], ...]


class Navigation:
    """From a request to the answer of its page. ``fields`` are headers beside the browser's own."""

    def __init__(
        self, request: Request, fields: Mapping[str, str], *, main_frame: str, max_body_bytes: int
    ) -> None:
        self._request = request
        self._fields = fields
        self._main_frame = main_frame
        self._limit = max_body_bytes
        self._loop = asyncio.get_running_loop()
        self._loads = 0  # of the main frame, that were let through
        self.end: asyncio.Future[None] = self._loop.create_future()  # there is nothing to show, or a failure
        self.is_loading = False  # the main frame was asked for anew, and has not answered yet
        self.may_leave = False  # the page may go elsewhere: what is done on it may want to
        self.has_left = False  # and it did
        self.status = 0
        self.headers: Headers = ()
        self.body: bytes | None = None  # of what is not shown
        self.flags: tuple[str, ...] = ()
        self.answered_at = 0.0  # by the loop

    def __repr__(self) -> str:
        return f"<Navigation to {urls.hostname_of(self._request.url)}: {self.status or 'no answer yet'}>"

    async def handle_pause(self, cdp: CDPSession, event: dict[str, Any]) -> None:
        """Decide on a request at which the browser has stopped."""
        paused = event["requestId"]
        if _is_blocked(event):
            await cdp.send("Fetch.failRequest", {"requestId": paused, "errorReason": "BlockedByClient"})
        elif not self._is_page(event):
            await cdp.send("Fetch.continueRequest", {"requestId": paused})
        elif "responseStatusCode" in event:
            await self._take_answer(cdp, event)
        else:
            await self._pass_request(cdp, event)

    def _is_page(self, event: Mapping[str, Any]) -> bool:
        """Whether it is about the page itself, and there is something to decide."""
        return (
            event["resourceType"] == "Document"
            and event["frameId"] == self._main_frame
            and "responseErrorReason" not in event
        )

    # ------------------------------------------------------------------ the request

    async def _pass_request(self, cdp: CDPSession, event: dict[str, Any]) -> None:
        order: dict[str, Any] = {"requestId": event["requestId"]}
        asked = event["request"]
        if self._loads == 0:
            order |= self._own_request(asked["headers"])
        elif not self._is_own_affair(asked):
            self._conclude_redirect(asked["url"])
            await self._fail(cdp, event)
            return
        self._loads += 1
        self.has_left = self.has_left or self.may_leave
        self.is_loading = True
        await cdp.send("Fetch.continueRequest", order)

    def _own_request(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """What differs from a plain GET with the browser's own headers."""
        order: dict[str, Any] = {}
        if self._request.method != "GET":
            order["method"] = self._request.method
        if self._request.body:
            order["postData"] = base64.b64encode(self._request.body).decode()
        if self._fields:
            taken = {name.lower() for name in self._fields}
            kept = [(name, value) for name, value in headers.items() if name.lower() not in taken]
            order["headers"] = [
                {"name": name, "value": value} for name, value in (*kept, *self._fields.items())
            ]
        return order

    def _is_own_affair(self, asked: Mapping[str, Any]) -> bool:
        """Whether the main frame may go where it wants to by itself."""
        if self._loads > MAX_RELOADS:
            return False
        if self.may_leave:
            return True
        here, there = self._request.url.partition("#")[0], asked["url"]
        is_same_site = urls.origin_of(here) == urls.origin_of(there)
        return here == there or (is_same_site and asked.get("method") != "GET")

    # ------------------------------------------------------------------ the answer

    async def _take_answer(self, cdp: CDPSession, event: dict[str, Any]) -> None:
        self.is_loading = False
        self.status = event["responseStatusCode"]
        self.headers = tuple(
            (field["name"].lower(), field["value"]) for field in event.get("responseHeaders", ())
        )
        self.answered_at = self.answered_at or self._loop.time()
        if self.status in redirects.STATUSES and self._header("location") and not self.may_leave:
            self.body = b""
            self._conclude()
            await self._fail(cdp, event)
        elif self._is_shown() or self.status in redirects.STATUSES:
            if self._announced_bytes() > self._limit:
                self._conclude(FetchError(Fault.TOO_LARGE, f"more than {self._limit} bytes"))
                await self._fail(cdp, event)
                return
            await cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
        else:
            try:
                self.body = await self._read_body(cdp, event["requestId"])
            except FetchError as error:
                self._conclude(error)
            else:
                self._conclude()
            await self._fail(cdp, event)

    def _is_shown(self) -> bool:
        kind = self._header("content-type").partition(";")[0].strip().lower()
        is_saved = self._header("content-disposition").lower().startswith("attachment")
        return (
            kind in _HTML
            and not is_saved
            and self.status not in (204, 205, 304)
            and self._request.method != "HEAD"
        )

    async def _read_body(self, cdp: CDPSession, paused: str) -> bytes:
        """The decoded bytes of an answer that is not shown, up to the limit."""
        if self._request.method == "HEAD":
            return b""
        if self._announced_bytes() > self._limit:
            raise FetchError(Fault.TOO_LARGE, f"more than {self._limit} bytes")
        stream = (await cdp.send("Fetch.takeResponseBodyAsStream", {"requestId": paused}))["stream"]
        body = bytearray()
        while True:
            piece = await cdp.send("IO.read", {"handle": stream, "size": _SLICE_BYTES})
            data = piece["data"]
            body += base64.b64decode(data) if piece.get("base64Encoded") else data.encode()
            if len(body) > self._limit:
                raise FetchError(Fault.TOO_LARGE, f"more than {self._limit} bytes")
            if piece["eof"]:
                await cdp.send("IO.close", {"handle": stream})
                self._check_length(len(body))
                return bytes(body)

    def _check_length(self, count: int) -> None:
        """Refuse a body that is shorter than announced: a connection that is lost ends it like any other."""
        has_body = self.status not in (204, 205, 304) and not self._header("content-encoding")
        if has_body and count < self._announced_bytes():
            raise FetchError(Fault.INCOMPLETE, f"{count} of {self._announced_bytes()} bytes came")

    def _header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    def _announced_bytes(self) -> int:
        length = self._header("content-length")
        if not (length.isascii() and length.isdigit()):
            return 0
        return int(length.lstrip("0")[:_MAX_DIGITS] or 0)  # what has more of them is too large all the same

    # ------------------------------------------------------------------ the end

    async def _fail(self, cdp: CDPSession, event: dict[str, Any]) -> None:
        await cdp.send("Fetch.failRequest", {"requestId": event["requestId"], "errorReason": "Aborted"})

    def _conclude_redirect(self, url: str) -> None:
        """The page goes elsewhere by itself."""
        kept = tuple(field for field in self.headers if field[0] == "x-robots-tag")
        self.status, self.headers, self.body = 302, (("location", url), *kept), b""
        self.flags = ("script_redirect",)
        self._conclude()

    def break_off(self, code: str) -> None:
        """The answer's body has failed with a net error. An error's empty page is none to a browser."""
        if code == NO_PAGE:
            self.body = b""
            self._conclude()
        else:
            self._conclude(translate_code(code, urls.hostname_of(self._request.url)))

    def refuse_answer(self) -> None:
        """What came cannot be understood."""
        self._conclude(FetchError(Fault.PROTOCOL, "the answer could not be read"))

    def _conclude(self, error: FetchError | None = None) -> None:
        if self.end.done():
            return
        if error is None:
            self.end.set_result(None)
        else:
            self.end.set_exception(error)


def _is_blocked(event: Mapping[str, Any]) -> bool:
    """The browser asks about documents, about kinds that are blocked, and about what may be a page's icon."""
    kind = event["resourceType"]
    if kind == "Other":
        accepted: str = event["request"]["headers"].get("Accept", "")
        return accepted.startswith("image/")
    return bool(kind != "Document")
