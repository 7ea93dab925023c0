"""The browsers of a process: one in use, and those about to be closed.

A browser that has shown ``max_pages`` pages, or is ``max_age_s`` old, gets no further page: the next one
goes to a new browser, and the old one is closed after its last tab. A browser that does not close in time
is killed with all its processes, and so is a page's process that takes too much memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import Fault, FetchError
from gossamer.fetch.browser.driver import BrowserDriver
from gossamer.fetch.browser.limits import CLOSE_S, OPEN_S, BrowserOptions
from gossamer.fetch.browser.processes import find_processes, kill_processes
from gossamer.fetch.browser.relay import Dial, FarSide, MakeSide, TabRelay
from gossamer.fetch.browser.tab import BrowserTab, TabKey, open_tab
from gossamer.runtime.cancelling import end_tasks

if TYPE_CHECKING:
    from playwright.async_api import Browser

_WATCH_S = 1.0
_STAY_S = 0.5  # that a page stays in its tab: the next one of its site may take its place


class RunningBrowser:
    """One browser, and its tabs."""

    def __init__(self, browser: Browser, profile: str, opened_at: float) -> None:
        self.browser = browser
        self.profile = profile  # the folder that identifies its processes; empty: remote
        self.opened_at = opened_at
        self.pages = 0  # that were begun
        self.opening = 0  # tabs that are being opened
        self.busy: set[BrowserTab] = set()
        self.idle: dict[BrowserTab, asyncio.TimerHandle | None] = {}  # the one used last at the end
        self.is_lost = False
        browser.on("disconnected", self.report_loss)

    def __repr__(self) -> str:
        state = "lost" if self.is_lost else f"{len(self.busy)} tabs at work, {len(self.idle)} idle"
        return f"<RunningBrowser: {state}, {self.pages} pages>"

    @property
    def is_needed(self) -> bool:
        """Whether a page has it, or is about to."""
        return bool(self.busy or self.opening)

    def take_idle(self, key: TabKey, url: str) -> BrowserTab | None:
        """Return an idle tab for ``key``, preferably one that is ready for ``url``, and put it into use."""
        own = [tab for tab in reversed(self.idle) if tab.key == key]
        tab = next((tab for tab in own if tab.is_ready(url)), own[0] if own else None)
        if tab is not None:
            self.take_up(tab)
        return tab

    def take_up(self, tab: BrowserTab) -> None:
        """Put an idle tab into use."""
        timer = self.idle.pop(tab)
        if timer is not None:
            timer.cancel()
        self.busy.add(tab)

    def take_oldest(self) -> BrowserTab:
        """Remove and return the tab that has been idle for the longest time."""
        tab = next(iter(self.idle))
        self.take_up(tab)
        self.busy.discard(tab)
        return tab

    def lay_aside(self, tab: BrowserTab, timer: asyncio.TimerHandle | None = None) -> None:
        """Keep an idle tab; ``timer`` empties it."""
        self.busy.discard(tab)
        self.idle[tab] = timer

    def kill(self) -> None:
        """End all its processes at once, if they are ours. Takes a while; any thread may do it."""
        self.is_lost = True
        if self.profile:
            kill_processes(self.profile)

    def report_loss(self, _: object = None) -> None:
        """End the visits in the tabs of a browser that has ended."""
        self.is_lost = True
        for tab in self.busy:
            tab.end_visit(FetchError(Fault.BROWSER, "the browser ended"))


class BrowserPool:
    """Tabs for visits. Belongs to the event loop of its first use. Raises ``MissingServiceError``."""

    def __init__(self, options: BrowserOptions) -> None:
        self._options = options
        self._driver = BrowserDriver(options)
        self._slots = asyncio.Semaphore(options.tabs)
        self._launching = asyncio.Lock()
        # Firefox stumbles over a tab that is opened while it opens the window of another.
        self._turn = asyncio.Lock() if options.kind == "firefox" else contextlib.nullcontext()
        self._current: RunningBrowser | None = None
        self._all: set[RunningBrowser] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watcher: asyncio.Task[None] | None = None
        self._own_relay = TabRelay(_dial_nowhere)
        self._own_proxy = ""  # for the browsers' own requests; empty: not open

    def __repr__(self) -> str:
        return f"<BrowserPool of {len(self._all)} browsers, {self._slots}>"

    async def take_tab(self, key: TabKey, url: str, dial: Dial) -> BrowserTab:
        """Return a tab for a visit to ``url``, after an unbounded wait for a free one.

        An empty ``url`` requests a blank tab. Raises ``FetchError`` (``BROWSER``) if the browser ends
        meanwhile.
        """
        await self._slots.acquire()
        try:
            return await self._take_now(key, url, dial)
        except BaseException:
            self._slots.release()
            raise

    async def _take_now(self, key: TabKey, url: str, dial: Dial) -> BrowserTab:
        async with self._launching:
            browser = await self._choose_browser()
            browser.pages += 1
            tab = browser.take_idle(key, url)
            browser.opening += 1
        try:
            if tab is not None and await self._make_ready(browser, tab, url):
                return tab
            async with self._turn, asyncio.timeout(OPEN_S):
                tab = await open_tab(
                    browser.browser,
                    key,
                    TabRelay(dial),
                    self._options,
                    own_name=self._own_name(browser),
                    device=self._driver.device,
                )
            browser.busy.add(tab)
        except Exception as error:
            await asyncio.to_thread(browser.kill)  # nothing can be done with one that opens no tabs
            raise FetchError(Fault.BROWSER, "the browser ended, or was stuck, before it had a tab") from error
        finally:
            browser.opening -= 1
            self._close_if_done(browser)
        return tab

    def give_back(self, tab: BrowserTab, fault: Fault | None) -> None:
        """Give a tab back after its visit. ``fault`` is the tab's failure, if any."""
        browser = next((one for one in self._all if tab in one.busy), None)
        if browser is not None and fault is Fault.BROWSER:
            browser.report_loss()
        if browser is None:
            self._slots.release()  # it was closed meanwhile
        elif fault is None and tab.has_page and self._has_room(browser):
            browser.lay_aside(tab, self._limit_stay(browser, tab))
            self._slots.release()
        else:
            self._start(self._end_visit(browser, tab, is_clean=fault is None))

    async def close(self) -> None:
        """Close every browser, and let no process and no file stay. Idempotent."""
        await end_tasks(self._watcher)
        self._watcher = None
        self._current = None
        await asyncio.gather(*(self._close_browser(browser) for browser in list(self._all)))
        await end_tasks(*self._tasks)
        await self._driver.stop()
        self._own_relay.close()
        self._own_proxy = ""

    # ------------------------------------------------------------------ browsers

    def _own_name(self, browser: RunningBrowser) -> str:
        """Return the browser's own User-Agent without its mark of a headless browser."""
        major = browser.browser.version.partition(".")[0]
        return (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
            f"Chrome/{major}.0.0.0 Safari/537.36"
        )

    async def _choose_browser(self) -> RunningBrowser:
        """Return the browser for the next page: a new one if there is none, or if its time is up."""
        now = asyncio.get_running_loop().time()
        current = self._current
        if current is not None and self._is_worn(current, now):
            self._current = None
            self._retire(current)
            current = None
        if current is None:
            if not self._own_proxy:
                self._own_proxy = await self._own_relay.open()
            browser, profile = await self._driver.launch_browser(proxy=self._own_proxy)
            current = self._current = RunningBrowser(browser, profile, now)
            self._all.add(current)
            if self._watcher is None:
                self._watcher = asyncio.get_running_loop().create_task(self._watch_processes())
        return current

    def _is_worn(self, browser: RunningBrowser, now: float) -> bool:
        return (
            browser.is_lost
            or browser.pages >= self._options.max_pages
            or now - browser.opened_at >= self._options.max_age_s
        )

    def _retire(self, browser: RunningBrowser) -> None:
        if browser.is_lost or not browser.is_needed:
            self._start(self._close_browser(browser))

    def _close_if_done(self, browser: RunningBrowser) -> None:
        """Close a browser that was retired while it was needed, when it no longer is."""
        if browser is not self._current and browser in self._all and not browser.is_needed:
            self._start(self._close_browser(browser))

    async def _close_browser(self, browser: RunningBrowser) -> None:
        self._all.discard(browser)
        for tab in (*browser.busy, *browser.idle):
            tab.relay.close()
        for timer in filter(None, browser.idle.values()):
            timer.cancel()
        if not browser.is_lost:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(CLOSE_S):
                    await browser.browser.close()
        await asyncio.to_thread(browser.kill)  # whatever is left of it

    async def _watch_processes(self) -> None:
        """Notice the end of the driver, and end the processes of pages that take too much memory."""
        while True:
            await asyncio.sleep(_WATCH_S)
            if not self._driver.is_alive:  # a dead driver does not report the end of its browsers
                for browser in self._all:
                    browser.report_loss()
            for browser in [one for one in self._all if one.busy and one.profile]:
                for process in await asyncio.to_thread(find_processes, browser.profile):
                    if process.is_renderer and process.memory_bytes > self._options.max_memory_bytes:
                        with contextlib.suppress(OSError):
                            os.kill(process.pid, signal.SIGKILL)

    # ------------------------------------------------------------------ tabs

    async def _make_ready(self, browser: RunningBrowser, tab: BrowserTab, url: str) -> bool:
        """Empty an idle tab whose page ``url`` may not follow. ``False``: it had to be closed."""
        is_ready = tab.is_ready(url)
        try:
            is_ready = is_ready or await tab.empty()
        finally:
            if not is_ready:
                browser.busy.discard(tab)
                self._start(self._close_tab(browser, tab))
        return is_ready

    def _has_room(self, browser: RunningBrowser) -> bool:
        """Return whether the browser may keep another idle tab."""
        is_used = browser is self._current and not browser.is_lost
        return is_used and len(browser.idle) < self._options.tabs

    def _limit_stay(self, browser: RunningBrowser, tab: BrowserTab) -> asyncio.TimerHandle:
        """Empty a tab, where no page soon takes the place of the one that was left in it."""
        loop = asyncio.get_running_loop()
        return loop.call_later(_STAY_S, lambda: self._start(self._empty_idle(browser, tab)))

    async def _empty_idle(self, browser: RunningBrowser, tab: BrowserTab) -> None:
        if browser.idle.get(tab) is None:
            return  # it was taken meanwhile
        browser.take_up(tab)
        # A visit that comes now waits for it, rather than open another; but it waits for no visit.
        async with contextlib.nullcontext() if self._slots.locked() else self._slots:
            await self._settle_tab(browser, tab, is_clean=True)

    async def _end_visit(self, browser: RunningBrowser, tab: BrowserTab, *, is_clean: bool) -> None:
        try:
            await self._settle_tab(browser, tab, is_clean=is_clean)
        finally:
            self._slots.release()

    async def _settle_tab(self, browser: RunningBrowser, tab: BrowserTab, *, is_clean: bool) -> None:
        """Keep the tab for the next visit, or close it."""
        try:
            is_kept = is_clean and browser is self._current and not browser.is_lost and await tab.empty()
            if is_kept and browser is self._current:
                browser.lay_aside(tab)
                if len(browser.idle) > self._options.tabs:
                    await self._close_tab(browser, browser.take_oldest())
            else:
                await self._close_tab(browser, tab)
        finally:
            browser.busy.discard(tab)
            self._close_if_done(browser)

    async def _close_tab(self, browser: RunningBrowser, tab: BrowserTab) -> None:
        if not await tab.close():
            await asyncio.to_thread(browser.kill)  # stuck: the pages in its other tabs are tried again

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _dial_nowhere(host: str, port: int, make: MakeSide) -> FarSide:
    """Refuse the browser's own connections: no updates, no reports."""
    raise ConnectionRefusedError(f"{host}:{port} was not requested by a page")
