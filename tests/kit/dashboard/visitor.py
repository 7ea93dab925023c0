"""A visitor of the dashboard with a real browser, who notes all errors in it."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page

CHROMIUM = "/usr/bin/chromium"
PATIENCE_MS = 10_000
# The browser's own message about an error answer that a test wants.
WANTED = ("Failed to load resource",)

SPILLED = """() => {
  const wide = document.documentElement.clientWidth, whole = document.documentElement.scrollWidth;
  const boxed = '.scroll, .jobnav, .segments, .table-box, pre, svg, .visually-hidden';
  const found = whole > wide ? [`the page is ${whole}`] : [];
  for (const node of document.querySelectorAll('main *, .bar *, .rail *')) {
    const box = node.getBoundingClientRect();
    if (!box.width || box.right <= wide + 1 || node.closest(boxed)) continue;
    let held = node.parentElement;
    const isOpen = () => held && !/(auto|hidden|scroll|clip)/.test(getComputedStyle(held).overflowX);
    while (isOpen()) held = held.parentElement;
    if (!held || held === document.body) found.push(`${node.tagName}.${node.className}`);
  }
  return found.slice(0, 5);
}"""
"""Elements that are wider than the window and not inside a scrolling box."""


WALK = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }"
ANSWERED = "main:not([aria-busy]) h1"


class Visitor:
    """One window of a browser on one dashboard. Ends with an error where the page had one."""

    def __init__(
        self, browser: Browser, url: str, *, width: int = 1440, height: int = 900, scheme: Any = "light"
    ) -> None:
        self.url = url
        self.complaints: list[str] = []
        self._context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error}\n{error.stack}"))
        self.page.on("dialog", self._on_dialog)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(WANTED):
            self.complaints.append(message.text)

    def _on_dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"a foreign script ran: {dialog.message}")
        dialog.dismiss()

    def go(self, path: str) -> Page:
        """Open a place, and wait until it has its answer."""
        self.page.goto(self.url + path)
        return self._wait()

    def walk(self, path: str) -> Page:
        """The same without loading the page anew, as a link does it."""
        self.page.evaluate(WALK, path)
        return self._wait()

    def _wait(self) -> Page:
        self.page.locator(ANSWERED).first.wait_for()
        return self.page

    def spilled(self) -> list[str]:
        """Return the elements that are wider than the window."""
        found: list[str] = self.page.evaluate(SPILLED)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._context.close()
        if kind is None:
            assert self.complaints == []
