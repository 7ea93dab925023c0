"""Playwright and its browser: found, started, and reported separately if missing.

Playwright is an extra, imported with the first page; so is patchright, its stealthy variant.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gossamer.core.errors import MissingServiceError
from gossamer.fetch.browser import firefox
from gossamer.fetch.browser.limits import CLOSE_S, CONNECT_S, LAUNCH_S, BrowserKind, BrowserOptions
from gossamer.fetch.browser.processes import BrowserFolder, find_processes
from gossamer.install import install_command

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

_ON_PATH = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "firefox": ("firefox-esr", "firefox"),
}
_PACKAGES = {"chromium": "chromium", "firefox": "firefox-esr"}
_BUNDLED = ("chromium-*/chrome-linux*/chrome", "chromium_headless_shell-*/chrome-linux*/headless_shell")

_ARGUMENTS = (
    "--disable-site-isolation-trials",  # one process for a page with its frames
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",  # UDP would go past the relay
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",  # as older browsers call it
    "--disable-quic",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # names are looked up by the relay alone
)
_BLOCKING = {"image": "--blink-settings=imagesEnabled=false", "font": "--disable-remote-fonts"}
"""Kinds that the browser itself does not load, so that they need no interception."""

_UNSHAKEN = """#!/bin/sh
unset MOZ_CRASHREPORTER_SHUTDOWN
exec %s "$@"
"""
"""Starts Firefox so that it survives a crashed page, although Playwright makes it exit after a crash."""

_SAID = re.compile(r"\[err\] (.+)")  # by the program itself, in Playwright's report
_FIRST_LINE = re.compile(r"(.+)")


def find_executable(named: str = "", kind: BrowserKind = "chromium") -> str:
    """Return the browser to start: the named one, Playwright's own Chromium, or one on the PATH.

    Raises ``MissingServiceError``.
    """
    if named:
        found = shutil.which(named)
        if found is None:
            raise MissingServiceError(
                f"browser.executable = {named!r}: the program does not exist or is not executable"
            )
        return found
    on_path = (shutil.which(name) for name in _ON_PATH[kind])
    bundled = _find_bundled() if kind == "chromium" else ""  # Playwright's Firefox is one of its own kind
    found = bundled or next(filter(None, on_path), None)
    if found is None:
        raise MissingServiceError(
            f"the way to fetch 'browser' needs {kind.capitalize()}, which is not installed: "
            f"apt install {_PACKAGES[kind]}, or set browser.executable to its path"
        )
    return found


def _find_bundled() -> str:
    """Return the newest Chromium that Playwright has downloaded."""
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    folder = Path(given) if given not in ("", "0") else Path.home() / ".cache" / "ms-playwright"
    for pattern in _BUNDLED:
        if found := sorted(folder.glob(pattern)):
            return str(found[-1])
    return ""


def check_package(*, is_stealthy: bool) -> None:
    """Raise ``MissingServiceError`` where the package that drives the browser is not installed."""
    if find_spec("patchright" if is_stealthy else "playwright") is None:
        extra = "stealth" if is_stealthy else "browser"
        raise MissingServiceError(
            f"the way to fetch 'browser' needs a package that is missing: {install_command(extra)}"
        )


class BrowserDriver:
    """Playwright's own process, and the folder of everything that is started through it."""

    def __init__(self, options: BrowserOptions) -> None:
        self._options = options
        self._executable = "" if options.connect else find_executable(options.executable, options.kind)
        check_package(is_stealthy=options.is_stealthy)
        self._playwright: Playwright | None = None
        self._pid = 0
        self._folder: BrowserFolder | None = None

    async def launch_browser(self, *, proxy: str) -> tuple[Browser, str]:
        """Start or reach a browser; return it and the folder of its profile, empty for a remote browser.

        ``proxy`` serves the browser's own requests; every tab has its own proxy. Raises
        ``MissingServiceError``.
        """
        for attempt in (1, 2):
            try:
                async with asyncio.timeout(LAUNCH_S):
                    playwright = await self._start()
                    self._check_device(playwright.devices)
                    if self._options.connect:
                        return await self._connect(playwright), ""
                    return await self._launch(playwright, proxy)
            except TimeoutError:
                await self.stop()
                if attempt == 2:
                    raise MissingServiceError(
                        f"{self._executable} did not start within {LAUNCH_S:g} s"
                    ) from None
            except MissingServiceError:
                await self.stop()
                raise
            except Exception as error:
                is_driver_gone = self._playwright is not None and not self.is_alive
                await self.stop()
                if attempt == 2 or not is_driver_gone:
                    raise self._explain(error) from error
        raise AssertionError("unreachable")

    async def _start(self) -> Playwright:
        if self._playwright is not None and not self.is_alive:
            await self.stop()
        if self._playwright is None:
            if self._folder is None:
                self._folder = BrowserFolder()
            package = "patchright" if self._options.is_stealthy else "playwright"
            with _temporary_folder(self._folder.path):
                self._playwright = await import_module(f"{package}.async_api").async_playwright().start()
            found = find_processes(self._folder.path)
            self._pid = next((one.pid for one in found if one.parent == os.getpid()), 0)
        return self._playwright

    @property
    def device(self) -> dict[str, Any]:
        """Context options of the emulated device."""
        known: dict[str, Any] = self._playwright.devices if self._playwright is not None else {}
        return dict(known.get(self._options.device, {}))

    def _check_device(self, known: Iterable[str]) -> None:
        """Raise ``MissingServiceError`` for a device that Playwright does not know."""
        wanted = self._options.device
        if wanted and wanted not in known:
            near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.3)
            hint = f"did you mean {near[0]!r}?" if near else "see Playwright's list of devices"
            raise MissingServiceError(f"browser.device = {wanted!r}: unknown device; {hint}")

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._pid > 0 and Path(f"/proc/{self._pid}").exists()

    async def _connect(self, playwright: Playwright) -> Browser:
        """Connect to a running browser. Its URL may contain a secret, which no message shows."""
        try:
            return await playwright.chromium.connect_over_cdp(self._options.connect, timeout=CONNECT_S * 1000)
        except Exception as error:
            told = "browser.connect: no Chromium answers there; start it with --remote-debugging-port=9222"
            raise MissingServiceError(told) from error

    async def _launch(self, playwright: Playwright, proxy: str) -> tuple[Browser, str]:
        assert self._folder is not None
        before = self._profiles()
        browser = await self._launch_kind(
            playwright,
            executable_path=await asyncio.to_thread(self._program),
            proxy={"server": proxy},
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=LAUNCH_S * 1000,
        )
        new = self._profiles() - before
        return browser, new.pop() if len(new) == 1 else self._folder.path

    def _program(self) -> str:
        """Return the path of the program to start."""
        assert self._folder is not None
        if self._options.kind == "chromium":
            return self._executable
        starter = Path(self._folder.path, "start-firefox")
        if not starter.exists():
            starter.write_text(_UNSHAKEN % shlex.quote(self._executable))
            starter.chmod(0o700)
        # Where nothing in this folder may be executed, pages that crash end the browser.
        return str(starter) if os.access(starter, os.X_OK) else self._executable

    async def _launch_kind(self, playwright: Playwright, **common: Any) -> Browser:
        options = self._options
        if options.kind == "firefox":
            preferences = dict(firefox.PREFERENCES)
            preferences["intl.accept_languages"] = ", ".join(options.languages)
            preferences["intl.locale.requested"] = options.locale
            for kind in options.blocked & firefox.BLOCKING.keys():
                preferences |= firefox.BLOCKING[kind]
            return await playwright.firefox.launch(
                channel="moz-firefox", firefox_user_prefs=preferences, **common
            )
        blocking = [switch for kind, switch in _BLOCKING.items() if kind in options.blocked]
        # Set here and not per tab, it leaves the platform that the browser states unchanged.
        agent = [f"--user-agent={options.user_agent}"] if options.is_open else []
        languages = [f"--lang={options.locale}", f"--accept-lang={','.join(options.languages)}"]
        return await playwright.chromium.launch(
            args=[*_ARGUMENTS, *blocking, *agent, *languages],
            ignore_default_args=["--disable-popup-blocking"],
            chromium_sandbox=options.is_sandboxed,
            **common,
        )

    def _profiles(self) -> set[str]:
        assert self._folder is not None
        return {str(path) for path in Path(self._folder.path).glob("*profile-*")}

    async def stop(self) -> None:
        """End the driver and all browsers, and remove their files. Idempotent."""
        playwright, self._playwright = self._playwright, None
        folder, self._folder = self._folder, None
        if playwright is not None:
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_S):
                    await playwright.stop()
        if folder is not None:
            await asyncio.to_thread(folder.remove)

    def _explain(self, error: Exception) -> MissingServiceError:
        text = str(error)
        if "No usable sandbox" in text:
            hint = "this machine does not let a browser have its sandbox: set browser.sandbox = false"
        elif "error while loading shared libraries" in text:
            hint = f"libraries are missing: apt install {_PACKAGES[self._options.kind]}"
        else:
            page = "--screenshot" if self._options.kind == "firefox" else "--dump-dom"
            hint = f"run it once by hand with --headless {page} about:blank to see why"
        found = _SAID.search(text) or _FIRST_LINE.search(text)
        words = found[1].strip()[:300] if found else type(error).__name__
        return MissingServiceError(f"{self._executable} could not be used as a browser ({words}); {hint}")


@contextmanager
def _temporary_folder(path: str) -> Iterator[None]:
    """Make programs started meanwhile use ``path`` for temporary files. Playwright has no option for it."""
    tempfile.gettempdir()  # remembered: this process keeps its own
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = path
    try:
        yield
    finally:
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
