"""The gate of Firefox: intercepts each request by WebDriver BiDi, before it is sent.

Firefox cannot pause an answer, so it is set to follow no redirect, and the answer's header arrives while
the page is being shown. The bytes of a body other than HTML are read afterwards; downloads are in a file
until they are read.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.browser.firefox_bodies import SavedFileReader, is_shown_kind, restore_bytes
from gossamer.fetch.browser.limits import BrowserOptions
from gossamer.fetch.browser.navigation import Headers, Navigation
from gossamer.fetch.browser.shown_page import Collected, ShownPage, reading_script
from gossamer.policy import redirects

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page, Request, Response, Route

PREFERENCES: dict[str, str | float | bool] = {
    "network.http.redirection-limit": 0,
    "network.proxy.allow_hijacking_localhost": True,  # the relay also judges this machine
    "network.proxy.allow_bypass": False,
    "network.proxy.failover_direct": False,
    "network.proxy.socks_remote_dns": True,
    "network.proxy.socks5_remote_dns": True,
    "network.trr.mode": 5,  # no name is looked up over HTTPS
    "network.dns.disablePrefetch": True,
    "network.prefetch-next": False,
    "network.http.speculative-parallel-limit": 0,
    "network.http.http3.enable": False,
    "media.peerconnection.enabled": False,  # WebRTC would go past the relay
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "dom.disable_open_during_load": True,  # Playwright lets pages open windows by themselves
    "dom.disable_beforeunload": True,  # otherwise a page may ask whether to stay
    "pdfjs.disabled": True,
}
_SAVE_S = 3.0
"""Seconds that Firefox may take to announce a download."""
_HEAR_S = 1.0
_HANDED_BYTES = 20_000_000
"""Bytes as sent: Playwright lets Firefox keep no more of an answer."""

BLOCKING: dict[str, dict[str, str | float | bool]] = {
    "image": {"permissions.default.image": 2},
    "font": {"gfx.downloadable_fonts.enabled": False},
}
"""Kinds that the browser itself does not load, so that they need no interception."""


class FirefoxGate:
    """The gate of one tab of Firefox. ``find_navigation`` says what its page was opened for."""

    knows_requests = False  # of the page that was asked for from those of the page that was there before

    def __init__(
        self,
        page: Page,
        find_navigation: Callable[[], Navigation | None],
        start: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._page = page
        self._find_navigation = find_navigation
        self._start = start
        self._blocked: frozenset[str] = frozenset()
        self._flat = True
        self.shows_empty = False  # without a visit every page is blank and needs no server
        self._saved = SavedFileReader(start)
        self._reading = asyncio.Event()
        self._reading.set()

    async def open(self, options: BrowserOptions) -> None:
        """Start intercepting requests."""
        self._blocked, self._flat = options.blocked, options.is_flattened
        self._page.on("response", self._take_answer)
        self._page.on("download", self._saved.note)
        self._page.on("framenavigated", self._notice_crash)
        await self._page.context.route("**/*", self._handle_request)

    async def settle(self) -> None:
        """Wait until an answer that is not shown is read: the browser does not wait for it."""
        await self._reading.wait()

    async def hear_answer(self) -> None:
        """Wait a moment for an answer without a page, whose failure may be reported first."""
        navigation = self._find_navigation()
        if navigation is not None and navigation.is_begun and not navigation.status:
            await asyncio.wait((navigation.end,), timeout=_HEAR_S)

    async def see(self, selector: str, wait_s: float) -> bool:
        """Nothing that the driver would not see as cheaply."""
        return False

    async def run(self, script: str) -> Any:
        """Return a script's value."""
        return await self._page.evaluate(script)

    async def write_tree(self, most: int, collected: Collected) -> ShownPage | None:
        """Return the page's tree as text; ``None`` if it has more than ``most`` characters.

        A large one is not fetched, unless scripts of the page claim that it is small.
        """
        script = reading_script(most, flat=self._flat, collected=collected, writes_plain=False)
        said = await self.run(script)
        text = await self._page.content() if said["isLeft"] else said["tree"]
        return ShownPage.from_script(said, text) if len(text or "") <= most else None

    async def _handle_request(self, route: Route, request: Request) -> None:
        with contextlib.suppress(Exception):  # it was aborted meanwhile, or the tab is closed
            navigation = self._find_navigation()
            is_popup = request.is_navigation_request() and request.frame.page != self._page
            if navigation is None and self.shows_empty and self._is_page(request):
                await route.fulfill(status=200, content_type="text/html", body="")
            elif navigation is None or is_popup:
                await route.abort()
            elif request.resource_type in self._blocked:
                await route.abort("blockedbyclient")
            elif not self._is_page(request):
                await route.continue_()
            else:
                await _pass_request(navigation, route, request)

    def _is_page(self, request: Request) -> bool:
        return request.is_navigation_request() and request.frame == self._page.main_frame

    def _take_answer(self, response: Response) -> None:
        navigation = self._find_navigation()
        if navigation is None or not self._is_page(response.request):
            return
        headers = _read_headers(response)
        if not headers and response.status == 200:  # how Firefox shows a non-HTTP answer, as HTTP/0.9
            navigation.conclude(FetchError(Fault.PROTOCOL, "the answer has no header"))
            return
        fate = navigation.take_answer(response.status, headers)
        if fate == "show" and response.status in redirects.STATUSES and (to := navigation.header("location")):
            self._leave(navigation, response.url, to)
        elif fate == "read":
            self._reading.clear()
            self._saved.expect(response.url)
            self._start(self._read_body(navigation, response))

    def _notice_crash(self, frame: Frame) -> None:
        """Firefox shows a page of its own in the place of one that crashed."""
        navigation = self._find_navigation()
        if navigation is not None and frame.url.startswith("about:tabcrashed"):
            navigation.conclude(FetchError(Fault.PAGE_CRASH, "the page crashed its tab"))

    def _leave(self, navigation: Navigation, here: str, location: str) -> None:
        """Open the target of a redirect on a page that may leave.

        The browser does not follow it on its own, and on command it would open local files as well.
        """
        try:
            there = urljoin(here, location)
        except ValueError:
            there = ""
        if there.lower().startswith(("http://", "https://")):
            navigation.is_loading = True
            self._start(self._follow(there))
        else:
            navigation.conclude(FetchError(Fault.BAD_REDIRECT, "a redirect to another scheme than http(s)"))

    async def _follow(self, url: str) -> None:
        with contextlib.suppress(Exception):  # the page says what came of it
            await self._page.goto(url, wait_until="commit", timeout=0)

    async def _read_body(self, navigation: Navigation, response: Response) -> None:
        try:
            body = await self._take_body(navigation, response)
            navigation.check_size(len(body))
            navigation.check_length(len(body))
        except FetchError as error:
            navigation.conclude(error)
        except Exception:  # noqa: BLE001 - any error of the browser means a lost body
            navigation.conclude(FetchError(Fault.INCOMPLETE, "the answer broke off"))
        else:
            navigation.conclude(body=body)
        finally:
            self._saved.expect_none()
            self._reading.set()

    async def _take_body(self, navigation: Navigation, response: Response) -> bytes:
        """Return the body, from the place where Firefox has probably put it, else from the other.

        Driver errors are passed on. Raises ``FetchError``.
        """
        kind = navigation.header("content-type")
        if not is_shown_kind(kind, navigation.header("content-disposition")):
            with contextlib.suppress(TimeoutError):
                return await self._saved.read(_SAVE_S, navigation.check_size)
        try:
            told = await response.body()
        except Exception:  # noqa: BLE001 - it is saved instead, or too large
            if (await response.request.sizes())["responseBodySize"] <= _HANDED_BYTES:
                return await self._saved.read(_SAVE_S, navigation.check_size)
        else:
            return restore_bytes(told, response.headers)
        raise FetchError(Fault.TOO_LARGE, f"Firefox hands over {_HANDED_BYTES} bytes at most")


async def _pass_request(navigation: Navigation, route: Route, request: Request) -> None:
    order: dict[str, Any] = {}
    if not navigation.is_begun:
        own = navigation.request
        if own.method != "GET":
            order["method"] = own.method
        if own.body:
            order["post_data"] = own.body
        if navigation.fields:
            order["headers"] = navigation.add_fields(request.headers)
    if navigation.begin_load(request.url, request.method):
        await route.continue_(**order)
    else:
        await route.abort()


def _read_headers(response: Response) -> Headers:
    return tuple(
        (name.lower(), value) for name, values in response.headers.items() for value in values.split("\n")
    )
