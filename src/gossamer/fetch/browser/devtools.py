"""The gate of Chromium: intercepts a page's requests by the DevTools domain ``Fetch``.

It pauses the page's own request to set its method, body and headers, and the answer once its header has
arrived. A body other than HTML is read in pieces, and never shown, saved or run.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import FetchError
from gossamer.fetch.browser.limits import OWN_LOCALE, BrowserOptions
from gossamer.fetch.browser.navigation import Navigation
from gossamer.fetch.browser.shown_page import Collected, ShownPage, reading_script

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Page

_WORLD = "gossamer"  # one name, one world: each without a name is a new one, on every page that follows
_SLICE_BYTES = 256 * 1024
_PAUSES: tuple[dict[str, str], ...] = (
    {"resourceType": "Document", "requestStage": "Request"},
    {"resourceType": "Document", "requestStage": "Response"},
)
_LOOK = """(async (selector, wait_ms) => {
    const end = performance.now() + wait_ms;
    const look = scope => {  // also in open shadow roots, like the driver
        for (const node of scope.querySelectorAll("*")) {
            const root = node.shadowRoot;
            const found = root && (root.querySelector(selector) || look(root));
            if (found) return found;
        }
        return null;
    };
    for (let turn = 1; performance.now() < end; turn++) {
        const found = document.querySelector(selector) || (turn %% 5 ? null : look(document));
        const box = found && found.getBoundingClientRect();
        if (box && box.width && box.height && found.checkVisibility({visibilityProperty: true})) return true;
        await new Promise(resolve => setTimeout(resolve, 20));
    }
    return false;
})(%s, %d)"""
_NAMES = {
    "image": "Other",  # a page's icon; all other images are blocked when the browser is started
    "stylesheet": "Stylesheet",
    "script": "Script",
    "xhr": "XHR",
    "fetch": "Fetch",
    "media": "Media",
}
"""Kinds of resources to intercept, by their names in the protocol."""


class DevToolsGate:
    """The gate of one tab of Chromium. ``find_navigation`` says what its page was opened for."""

    knows_requests = True  # of the page that was asked for from those of the page that was there before

    def __init__(
        self,
        page: Page,
        find_navigation: Callable[[], Navigation | None],
        start: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._page = page
        self._find_navigation = find_navigation
        self._start = start
        self._main_frame = ""
        self.shows_empty = False  # without a visit every page is blank and needs no server
        self._flat = True
        self._cdp: CDPSession

    async def open(self, options: BrowserOptions) -> None:
        """Start intercepting requests and answers."""
        self._flat = options.is_flattened
        self._cdp = await self._page.context.new_cdp_session(self._page)
        self._main_frame = (await self._cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        self._cdp.on("Fetch.requestPaused", lambda event: self._start(self._handle_pause(event)))
        blocked = [{"resourceType": name} for kind, name in _NAMES.items() if kind in options.blocked]
        if options.connect:  # it was started without the switches that block these
            blocked += [
                {"resourceType": name} for name in ("Image", "Font") if name.lower() in options.blocked
            ]
        await self._cdp.send("Fetch.enable", {"patterns": [*_PAUSES, *blocked]})
        if options.locale != OWN_LOCALE:  # numbers and dates; the languages are those of the browser
            await self._cdp.send("Emulation.setLocaleOverride", {"locale": options.locale})

    async def settle(self) -> None:
        """Nothing is awaited: the browser itself waits for every decision."""

    async def hear_answer(self) -> None:
        """No-op: Chromium reports an answer before any failure of it."""

    async def write_tree(self, most: int, collected: Collected) -> ShownPage | None:
        """Return the page's tree as text, from an isolated world that the page's scripts cannot change.

        ``None``: it has more than ``most`` characters.
        """
        script = reading_script(most, flat=self._flat, collected=collected)
        return ShownPage.from_script(await self.run(script))

    async def see(self, selector: str, wait_s: float) -> bool:
        """Return whether an element of a CSS selector is seen within ``wait_s``; ``False`` proves nothing.

        This avoids the script that the driver would first have to load into the page.
        """
        try:
            return bool(await self.run(_LOOK % (json.dumps(selector), wait_s * 1000)))
        except Exception:  # noqa: BLE001 - it went elsewhere, or is gone: the driver will say
            return False

    async def run(self, script: str) -> Any:
        """Return a script's value, evaluated in an isolated world; ``None`` if it raises."""
        order = {"frameId": self._main_frame, "worldName": _WORLD}
        world = await self._cdp.send("Page.createIsolatedWorld", order)
        place = {"contextId": world["executionContextId"], "returnByValue": True, "awaitPromise": True}
        answer = await self._cdp.send("Runtime.evaluate", {"expression": script, **place})
        return answer["result"].get("value")

    async def _handle_pause(self, event: dict[str, Any]) -> None:
        """Requests of a page that is gone already end here as well."""
        navigation = self._find_navigation()
        with contextlib.suppress(Exception):  # it was aborted meanwhile, or the tab is closed
            try:
                if navigation is not None:
                    await self._decide(navigation, event)
                    return
                if self.shows_empty and self._is_page(event):
                    await self._show_nothing(event)
                    return
            except (ValueError, TypeError, LookupError):  # not the driver's: the request would stay paused
                if navigation is not None:
                    navigation.refuse_answer()
            await self._fail(event)

    async def _decide(self, navigation: Navigation, event: dict[str, Any]) -> None:
        """Decide on a request at which the browser has stopped."""
        paused = {"requestId": event["requestId"]}
        if _is_blocked(event):
            await self._cdp.send("Fetch.failRequest", {**paused, "errorReason": "BlockedByClient"})
        elif not self._is_page(event):
            await self._cdp.send("Fetch.continueRequest", paused)
        elif "responseStatusCode" in event:
            await self._take_answer(navigation, event)
        else:
            await self._pass_request(navigation, event)

    def _is_page(self, event: Mapping[str, Any]) -> bool:
        """Return whether the event is about the page itself and needs a decision."""
        return (
            event["resourceType"] == "Document"
            and event["frameId"] == self._main_frame
            and "responseErrorReason" not in event
        )

    async def _pass_request(self, navigation: Navigation, event: dict[str, Any]) -> None:
        order: dict[str, Any] = {"requestId": event["requestId"]}
        asked = event["request"]
        if navigation.is_of_last_page(asked["url"], asked["headers"].get("Referer", "")):
            await self._fail(event)
            return
        if not navigation.is_begun:
            order |= _own_request(navigation, asked["headers"])
        if navigation.begin_load(asked["url"], asked.get("method", "GET")):
            await self._cdp.send("Fetch.continueRequest", order)
        else:
            await self._fail(event)

    async def _take_answer(self, navigation: Navigation, event: dict[str, Any]) -> None:
        if navigation.is_answer_of_last_page(event["request"]["url"]):
            await self._fail(event)
            return
        headers = tuple((field["name"].lower(), field["value"]) for field in event.get("responseHeaders", ()))
        fate = navigation.take_answer(event["responseStatusCode"], headers)
        if fate == "show":
            await self._cdp.send("Fetch.continueRequest", {"requestId": event["requestId"]})
            return
        if fate == "read":
            try:
                navigation.conclude(body=await self._read_body(navigation, event["requestId"]))
            except FetchError as error:
                navigation.conclude(error)
        await self._fail(event)

    async def _read_body(self, navigation: Navigation, paused: str) -> bytes:
        """Return the decoded bytes of an answer that is not shown, up to the limit."""
        stream = (await self._cdp.send("Fetch.takeResponseBodyAsStream", {"requestId": paused}))["stream"]
        body = bytearray()
        while True:
            piece = await self._cdp.send("IO.read", {"handle": stream, "size": _SLICE_BYTES})
            data = piece["data"]
            body += base64.b64decode(data) if piece.get("base64Encoded") else data.encode()
            navigation.check_size(len(body))
            if piece["eof"]:
                await self._cdp.send("IO.close", {"handle": stream})
                navigation.check_length(len(body))
                return bytes(body)

    async def _show_nothing(self, event: Mapping[str, Any]) -> None:
        kind = [{"name": "Content-Type", "value": "text/html"}]
        order = {"requestId": event["requestId"], "responseCode": 200, "responseHeaders": kind}
        await self._cdp.send("Fetch.fulfillRequest", order)

    async def _fail(self, event: Mapping[str, Any]) -> None:
        order = {"requestId": event["requestId"], "errorReason": "Aborted"}
        await self._cdp.send("Fetch.failRequest", order)


def _own_request(navigation: Navigation, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the differences from a plain GET with the browser's own headers."""
    order: dict[str, Any] = {}
    if navigation.request.method != "GET":
        order["method"] = navigation.request.method
    if navigation.request.body:
        order["postData"] = base64.b64encode(navigation.request.body).decode()
    if navigation.fields:
        fields = navigation.add_fields(headers)
        order["headers"] = [{"name": name, "value": value} for name, value in fields.items()]
    return order


def _is_blocked(event: Mapping[str, Any]) -> bool:
    """Return whether the request is of a blocked kind, or for a possible icon of the page."""
    kind = event["resourceType"]
    if kind == "Other":
        accepted: str = event["request"]["headers"].get("Accept", "")
        return accepted.startswith("image/")
    return bool(kind != "Document")
