"""Move cookies between a browser's tab and the store that all fetchers share.

They are put into the tab before a page is opened, and the browser's changes are stored after it. So plain
HTTP continues with cookies that a browser obtained, and the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gossamer.core.cookies import Cookie
from gossamer.fetch.sessions.set_cookie import is_below
from gossamer.policy.urls import hostname_of, registrable_domain
from gossamer.ports.cookie_store import CookieStore

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

_Key = tuple[str, str, str]  # name, domain, path


class TabCookies:
    """The cookies of one session that the tab's browser holds, by registrable domain."""

    def __init__(self, context: BrowserContext, store: CookieStore, session: str) -> None:
        self._context = context
        self._store = store
        self._session = session
        self._known: dict[str, dict[_Key, Cookie]] = {}
        self._has_others = False  # those of a page that was shown without the session's

    async def leave_out(self) -> None:
        """Remove all cookies from the browser, for a page without cookies.

        Driver errors are passed on.
        """
        self._known.clear()
        self._has_others = True
        await self._context.clear_cookies()

    async def bring(self, url: str, now: float) -> None:
        """Give the browser the stored cookies for the site of ``url``. Driver errors are passed on."""
        if self._has_others:
            await self._context.clear_cookies()
            self._has_others = False
        site = registrable_domain(hostname_of(url))
        wanted = {_key_of(one): one for one in self._store.list_cookies(self._session, url, now) if one.name}
        known = self._known.get(site, {})
        for name, domain, path in known.keys() - wanted.keys():
            await self._context.clear_cookies(
                name=name, domain=_shown_domain(known[name, domain, path]), path=path
            )
        new = [one for key, one in wanted.items() if key not in known or not _is_same(known[key], one)]
        if new:
            await self._put(new)
        self._known[site] = wanted

    async def take(self, url: str, now: float) -> None:
        """Store the browser's changes at the site of ``url``. Driver errors are passed on."""
        site = registrable_domain(hostname_of(url))
        has = {_key_of(one): one for one in read_cookies(await self._context.cookies(), site, now)}
        known = self._known.get(site, {})
        changed = [one for key, one in has.items() if key not in known or not _is_same(known[key], one)]
        gone = [replace(known[key], expires_at=-math.inf, set_at=now) for key in known.keys() - has.keys()]
        if changed or gone:
            self._store.keep_cookies(self._session, url, (*gone, *changed), now)
        self._known[site] = has

    async def _put(self, cookies: list[Cookie]) -> None:
        """Put cookies in; one that the browser refuses does not keep the others out."""
        shown: list[Any] = [_as_shown(one) for one in cookies]
        try:
            await self._context.add_cookies(shown)
        except Exception:  # noqa: BLE001 - the browser is gone, or one of them is not to its liking
            for one in shown:
                with suppress(Exception):
                    await self._context.add_cookies([one])


def _key_of(cookie: Cookie) -> _Key:
    return cookie.name, cookie.domain, cookie.path


def _is_same(one: Cookie, other: Cookie) -> bool:
    """Return whether two cookies of one name are equal, to the second."""
    is_end_same = one.expires_at == other.expires_at or abs(one.expires_at - other.expires_at) < 2
    return is_end_same and (one.value, one.is_secure) == (other.value, other.is_secure)


def _shown_domain(cookie: Cookie) -> str:
    return cookie.domain if cookie.is_host_only else f".{cookie.domain}"


def _as_shown(cookie: Cookie) -> dict[str, Any]:
    """Return a cookie as Playwright writes it."""
    return {
        "name": _as_text(cookie.name),
        "value": _as_text(cookie.value),
        "domain": _shown_domain(cookie),
        "path": cookie.path,
        "expires": -1 if math.isinf(cookie.expires_at) else cookie.expires_at,
        "secure": cookie.is_secure,
        "httpOnly": cookie.is_http_only,
    }


def read_cookies(shown: Iterable[Mapping[str, Any]], site: str, now: float) -> Iterable[Cookie]:
    """Yield the cookies of a site among those of Playwright."""
    for one in shown:
        domain = one["domain"].removeprefix(".")
        if not is_below(domain, site):
            continue
        yield Cookie(
            name=_as_bytes(one["name"]),
            value=_as_bytes(one["value"]),
            domain=domain,
            path=one["path"],
            is_host_only=not one["domain"].startswith("."),
            is_secure=one["secure"],
            expires_at=math.inf if one["expires"] < 0 else one["expires"],
            set_at=now,
            is_http_only=one["httpOnly"],
        )


def _as_text(text: str) -> str:
    """Characters that stand for bytes, as a browser has them."""
    return text if text.isascii() else text.encode("latin-1", "replace").decode("utf-8", "replace")


def _as_bytes(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("latin-1")
