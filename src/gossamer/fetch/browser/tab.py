"""A tab: a browser's context of its own, with one page, one relay and one visit at a time.

Contexts share neither cookies nor storage nor connections, so tabs know nothing of each other, and
everything that a relay counts belongs to the page that is in its tab. A tab that has shown a page is
emptied before the next visit, unless that comes at once and goes to another page of the same origin: then
the next page takes the place of the last. A tab that could not be emptied in a moment is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gossamer.core.browsing import LoadState
from gossamer.core.errors import Fault, FetchError
from gossamer.core.routes import Proxy
from gossamer.fetch.browser.cookies import TabCookies
from gossamer.fetch.browser.devtools import DevToolsGate
from gossamer.fetch.browser.faults import ABORTED, error_code
from gossamer.fetch.browser.firefox import FirefoxGate
from gossamer.fetch.browser.limits import CLOSE_S, PAGE_BODIES, BrowserOptions
from gossamer.fetch.browser.navigation import Navigation
from gossamer.fetch.browser.relay import TabRelay
from gossamer.fetch.browser.service_workers import blocking_script
from gossamer.fetch.browser.shown_page import Collected, ShownPage
from gossamer.fetch.browser.web_storage import READ_STORAGE, StorageRecord, TabStore
from gossamer.policy import urls
from gossamer.runtime.cancelling import end_soon

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Frame, Page
    from playwright.async_api import Request as PageRequest

_EMPTY_S = 2.0
_DEVICE_PARTS = {
    "chromium": ("viewport", "screen", "device_scale_factor", "is_mobile", "has_touch"),
    "firefox": ("viewport", "screen", "device_scale_factor"),
}
"""The properties of a device that the browser can take on."""
_MOVING = ("Cannot find context", "context was destroyed", "navigated or closed")
_MOVING_S = 0.05  # until a page that goes elsewhere is looked at again


class TabKey(NamedTuple):
    """The properties that visits in one tab must share."""

    session: str
    proxy: Proxy | None
    is_open: bool  # says who it is; False: with the browser's own User-Agent
    is_insecure: bool  # certificates are not checked


class BrowserTab:
    """One tab. Made by :func:`open_tab`."""

    def __init__(self, key: TabKey, relay: TabRelay, context: BrowserContext) -> None:
        self.key = key
        self.relay = relay
        self.context = context
        self.navigation: Navigation | None = None
        self.cookies: TabCookies | None = None
        self.storage: TabStore | None = None
        self.crash: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._last_url = ""  # of the page still in the tab; empty: blank
        self._tasks: set[asyncio.Task[Any]] = set()
        self.page: Page
        self.gate: DevToolsGate | FirefoxGate

    def __repr__(self) -> str:
        return f"<BrowserTab for session {self.key.session!r}: {self.navigation or 'empty'}>"

    async def prepare(self, options: BrowserOptions) -> None:
        """Open the tab's page, and intercept its requests."""
        await self.context.add_init_script(blocking_script(options.kind))
        self.page = await self.context.new_page()
        self.context.on("page", lambda page: self._start(self._close_popup(page)))
        self.page.on("crash", self._report_crash)
        self.page.on("framenavigated", self._notice_page)
        self.page.on("requestfailed", self._report_failure)
        most = PAGE_BODIES * options.max_body_bytes
        told = f"the page with all that belongs to it is larger than {most} bytes"
        self.relay.limit_bytes(most, lambda: self.end_visit(FetchError(Fault.TOO_LARGE, told)))
        gate = FirefoxGate if options.kind == "firefox" else DevToolsGate
        self.gate = gate(self.page, lambda: self.navigation, self._start)
        await self.gate.open(options)

    async def finish_loading(self, state: LoadState) -> None:
        """Wait until the page reaches a load state, even if it has started over meanwhile."""
        if state == "commit":
            await self.gate.settle()
            return
        await self.page.wait_for_load_state(state, timeout=0)
        while self.navigation is not None and self.navigation.is_loading:
            await asyncio.sleep(0.02)
            await self.page.wait_for_load_state(state, timeout=0)
        await self.gate.settle()

    async def read_content(self, most: int, collected: Collected) -> ShownPage:
        """Return the page's content, once it no longer navigates.

        Raises ``FetchError`` for one of more than ``most`` characters, which stays in the browser.
        """
        while True:
            try:
                tree = await self.gate.write_tree(most, collected)
            except Exception as error:
                if self.page.is_closed() or not any(words in str(error) for words in _MOVING):
                    raise
            else:
                if tree is None:
                    raise FetchError(Fault.TOO_LARGE, f"the page grew beyond {most} bytes")
                return tree
            await asyncio.sleep(_MOVING_S)

    async def change_storage(self, url: str, script: str) -> None:
        """Run ``script`` in an empty page of the origin of ``url``. Driver errors are passed on."""
        await self._show_empty(f"{urls.origin_of(url)}/")
        await self.gate.run(script)

    async def stand_on(self, url: str) -> bool:
        """Show an empty page at ``url``, to open the next page from it. Return whether that worked."""
        try:
            await self._show_empty(url)
        except Exception:  # noqa: BLE001 - the browser does not open such a page, or is gone
            return False
        return True

    async def _show_empty(self, url: str) -> None:
        self._last_url = ""
        self.gate.shows_empty = True
        try:
            await self.page.goto(url, wait_until="commit")
        finally:
            self.gate.shows_empty = False

    async def read_storage(self) -> StorageRecord | None:
        """Return the storage of the page in the tab, if the page can still be read."""
        try:
            async with asyncio.timeout(_EMPTY_S):
                return StorageRecord.from_script(await self.gate.run(READ_STORAGE))
        except Exception:  # noqa: BLE001 - it is busy, or gone
            return None

    def begin_visit(self, navigation: Navigation) -> None:
        """Attribute further events in the tab to this visit."""
        navigation.last_url, navigation.follows_page = self._last_url, self.has_page
        self._last_url = ""
        self.relay.forget_past()
        self.navigation = navigation

    def end_page(self, *, may_stay: bool) -> None:
        """Stop the page from navigating; it may stay until the next one replaces it."""
        navigation, self.navigation = self.navigation, None
        is_shown = navigation is not None and navigation.is_shown and not self.page.is_closed()
        if may_stay and is_shown and self.gate.knows_requests:
            self._last_url = self.page.url

    @property
    def has_page(self) -> bool:
        """Whether the last page was left in it."""
        return bool(self._last_url)

    def is_ready(self, url: str) -> bool:
        """Return whether a visit to ``url`` may begin in the tab as it is; empty: if it is blank.

        Loading the same page again would be a reload, or nothing at all.
        """
        if self.crash.done():
            return False
        if not self.has_page:
            return True
        here, there = (one.partition("#")[0] for one in (self._last_url, url))
        return here != there and urls.origin_of(here) == urls.origin_of(there)

    async def open_page(self, navigation: Navigation) -> None:
        """Open the page of this visit. Driver errors are passed on."""
        url = navigation.request.url
        self._watch_last_page(navigation)
        if navigation.is_linked:
            async with self.page.expect_navigation(wait_until="commit", timeout=0):
                await self.page.evaluate("url => { location.href = url }", url)
            return
        try:
            await self.page.goto(url, wait_until="commit", timeout=0)
        except Exception as error:
            is_crossed = navigation.follows_page and not navigation.end.done()
            if not is_crossed or error_code(str(error)) not in ABORTED or not await self._show_nothing():
                raise
            navigation.begin_anew()
            await self.page.goto(url, wait_until="commit", timeout=0)

    @property
    def is_hindered(self) -> bool:
        """Whether the previous page, still in the tab, has ended the visit."""
        return self.crash.done() and self.navigation is not None and self.navigation.follows_page

    def _watch_last_page(self, navigation: Navigation) -> None:
        """End the visit where the page before it is busy without end, and so never goes."""
        if navigation is not self.navigation or not navigation.follows_page:
            return
        if navigation.end.done() or self.crash.done():
            return
        if navigation.is_held_up(_EMPTY_S):
            self.end_visit(FetchError(Fault.PAGE_CRASH, "the page before it does not go"))
        else:
            asyncio.get_running_loop().call_later(_EMPTY_S / 4, self._watch_last_page, navigation)

    async def empty(self) -> bool:
        """Stop the page in the tab. ``False``: the tab cannot be used any more."""
        self.navigation, self._last_url = None, ""
        return await self._show_nothing()

    async def _show_nothing(self) -> bool:
        if self.crash.done():
            return False
        try:
            async with asyncio.timeout(_EMPTY_S):
                await self.page.goto("about:blank", wait_until="commit")  # then the old page is gone
        except Exception:  # noqa: BLE001 - whatever it is, this tab is not to be used again
            return False
        return True

    async def close(self) -> bool:
        """Close it. ``False``: the browser did not do it in time."""
        self.relay.close()
        end_soon(*self._tasks, self.crash)
        try:
            async with asyncio.timeout(CLOSE_S):
                await self.context.close()
        except TimeoutError:
            return False
        except Exception:  # noqa: BLE001 - the browser is gone, and its tabs with it
            return True
        return True

    async def _close_popup(self, page: Page) -> None:
        with contextlib.suppress(Exception):
            await page.close()

    def end_visit(self, error: FetchError) -> None:
        """End the visit, because the tab or its browser is gone."""
        if not self.crash.done():
            self.crash.set_exception(error)
            self.crash.exception()  # heard, whether or not a visit is under way

    def _report_crash(self, _: object) -> None:
        self.end_visit(FetchError(Fault.PAGE_CRASH, "the page crashed its tab"))

    def _notice_page(self, frame: Frame) -> None:
        """Prepare a new page, before it can do anything."""
        navigation = self.navigation
        if navigation is not None and navigation.follows_page and frame.parent_frame is None:
            navigation.follows_page = not (navigation.status and navigation.is_for(frame.url))
            if not navigation.follows_page:
                self.relay.set_apart(navigation.answer_bytes)

    def _report_failure(self, request: PageRequest) -> None:
        """Take in a request that failed in the browser; the page itself may break off after its header."""
        navigation = self.navigation
        if navigation is not None and request.is_navigation_request() and request.failure:
            code = error_code(request.failure)
            if navigation.status and code not in ABORTED and request.frame.parent_frame is None:
                navigation.break_off(code)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def open_tab(
    browser: Browser,
    key: TabKey,
    relay: TabRelay,
    options: BrowserOptions,
    *,
    own_name: str,
    device: Mapping[str, Any],
) -> BrowserTab:
    """Open a tab. ``own_name`` is the browser's own User-Agent, ``device`` holds context options of one.

    Browser errors are passed on.
    """
    width, height = options.viewport
    emulated: dict[str, Any] = {"viewport": {"width": width, "height": height}}
    emulated |= {name: value for name, value in device.items() if name in _DEVICE_PARTS[options.kind]}
    if options.geolocation is not None:
        latitude, longitude = options.geolocation
        emulated["geolocation"] = {"latitude": latitude, "longitude": longitude}
    try:
        context = await browser.new_context(
            user_agent=_name_for(key, options, own_name, device.get("user_agent", "")),
            timezone_id=options.timezone or None,
            proxy={"server": await relay.open()},
            accept_downloads=options.kind == "firefox",
            permissions=[] if options.geolocation is None else ["geolocation"],
            **emulated,
            ignore_https_errors=key.is_insecure,
        )
        tab = BrowserTab(key, relay, context)
        try:
            await tab.prepare(options)
        except BaseException:
            await tab.close()
            raise
    except BaseException:
        relay.close()
        raise
    return tab


def _name_for(key: TabKey, options: BrowserOptions, own_name: str, device_name: str) -> str | None:
    """Return the User-Agent for a tab; ``None`` keeps the browser's own."""
    if options.kind == "firefox":
        return options.user_agent if key.is_open else device_name or None
    if key.is_open:
        return options.user_agent if options.connect else None
    return device_name or own_name
