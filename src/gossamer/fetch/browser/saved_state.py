"""A ``storage_state`` file of Playwright and other tools: cookies and ``localStorage`` of a log-in.

New sessions begin with it. Values that a session already has for a site take precedence over the file's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from gossamer.core.cookies import Cookie
from gossamer.core.errors import SettingError
from gossamer.fetch.browser.cookies import read_cookies
from gossamer.fetch.browser.web_storage import StorageRecord, entries_of
from gossamer.policy.urls import hostname_of, registrable_domain
from gossamer.ports.cookie_store import CookieStore


class SavedState:
    """The content of such a file. Raises ``SettingError`` if it cannot be read."""

    def __init__(self, path: str) -> None:
        try:
            said = msgspec.json.decode(Path(path).expanduser().read_bytes(), type=_StateFile)
        except OSError as error:
            raise SettingError(
                f"browser.storage_state = {path!r} cannot be read: {error.strerror}"
            ) from error
        except ValueError as error:
            raise SettingError(
                f"browser.storage_state = {path!r} is not a storage state as Playwright saves it: {error}"
            ) from error
        self._said = said
        self._begun: set[tuple[str, str]] = set()  # sessions at sites

    def begin(self, store: CookieStore, session: str, url: str, now: float) -> None:
        """Give a session the file's values for the site of ``url``, if the session has none yet."""
        site = registrable_domain(hostname_of(url))
        if (session, site) in self._begun:
            return
        self._begun.add((session, site))
        if store.list_cookies(session, url, now) or store.list_entries(session, url, now):
            return
        store.keep_cookies(session, url, tuple(self._list(site, now)), now)

    def _list(self, site: str, now: float) -> Iterable[Cookie]:
        yield from read_cookies((one.as_shown() for one in self._said.cookies), site, now)
        for origin in self._said.origins:
            entries = [("localStorage", one.name, one.value) for one in origin.local]
            if registrable_domain(hostname_of(origin.origin)) == site:
                yield from entries_of(StorageRecord(origin.origin, entries), now)


class _StateCookie(msgspec.Struct):
    name: str
    value: str
    domain: str
    path: str = "/"
    expires: float = -1
    secure: bool = False
    http_only: bool = msgspec.field(default=False, name="httpOnly")

    def as_shown(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "expires": self.expires if self.expires > 0 else -math.inf}


class _StateEntry(msgspec.Struct):
    name: str
    value: str


class _StateOrigin(msgspec.Struct):
    origin: str
    local: list[_StateEntry] = msgspec.field(default_factory=list, name="localStorage")


class _StateFile(msgspec.Struct):
    cookies: list[_StateCookie] = []
    origins: list[_StateOrigin] = []
