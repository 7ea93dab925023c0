"""Settings and bounds of a fetch in a browser, in one frozen record."""

from __future__ import annotations

from typing import Literal

from gossamer.core.record import Record

BrowserKind = Literal["chromium", "firefox"]

LAUNCH_S = 60.0
"""Seconds that a browser may take to start; they do not count against a page's time."""

CONNECT_S = 10.0
"""Seconds that a running browser may take to answer."""

OPEN_S = 20.0
"""Seconds that a browser may take to open a tab."""

CLOSE_S = 5.0
"""Seconds that a tab, a browser or its driver may take to close before it is killed."""


OWN_LOCALE = "en-US"
"""The language that a browser has without further packages."""

PAGE_BODIES = 2
"""A page with its resources may have this many times the size limit of a single body."""


class BrowserOptions(Record, frozen=True, kw_only=True):
    """Bounds and manners of the browser fetcher."""

    kind: BrowserKind = "chromium"
    executable: str = ""  # empty: the one that is found
    connect: str = ""  # the DevTools URL of a Chromium that runs already, on this machine; nothing is started
    is_stealthy: bool = False  # driven by patchright instead of playwright
    is_sandboxed: bool = True  # False where the machine does not let a browser have its sandbox
    user_agent: str = "gossamer"
    is_open: bool = True  # says who it is, by ``user_agent``; False: the browser's own User-Agent
    headers: dict[str, str] = {}  # sent with every page's own request; a request's own headers go first
    authorizations: dict[str, str] = {}  # by origin: sent there instead of an Authorization in ``headers``
    insecure_hosts: frozenset[str] = frozenset()  # certificates of these hosts are not checked
    tabs: int = 4  # at once
    says_referer: bool = False  # requests name the page that led to them
    timeout_s: float = 30.0  # one page, from the time it has a tab
    connect_s: float = 10.0  # one connection of a page
    max_pages: int = 100  # of one browser
    max_age_s: float = 1800.0  # of one browser
    max_body_bytes: int = 32 * 1024 * 1024
    max_memory_bytes: int = 2048 * 1024 * 1024  # of one process that shows pages
    blocked: frozenset[str] = frozenset({"image", "media", "font"})  # kinds of resources
    is_flattened: bool = True  # open shadow roots and frames of the same origin are part of the tree
    locale: str = OWN_LOCALE
    timezone: str = ""  # empty: the machine's
    viewport: tuple[int, int] = (1366, 768)
    device: str = ""  # by Playwright's name; it has a viewport of its own
    geolocation: tuple[float, float] | None = None  # latitude and longitude
    storage_state: str = ""  # the file with the initial state of sessions

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the browser is started with, as one of that locale has them, best first.

        All that it says of them follows: ``Accept-Language`` and ``navigator.languages``, in workers too.
        """
        return tuple(dict.fromkeys((self.locale, self.locale.partition("-")[0], OWN_LOCALE, "en")))
