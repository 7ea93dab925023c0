"""Move ``localStorage`` and ``sessionStorage`` between a tab and its session, like cookies.

A page's storage is read together with its tree. It is put into a tab that lacks it before the page is
opened, in an empty page of the same origin. So a page that stores nothing costs no further call.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, Self

from gossamer.core.cookies import Cookie
from gossamer.policy.urls import hostname_of, origin_of
from gossamer.ports.cookie_store import CookieStore

STORAGE_LIMIT = "storage_limit"
"""The flag of a page that has stored more than is kept."""
MAX_CHARACTERS = 100_000
"""Limit for all keys and values of one origin; the longest entries are dropped first."""
MAX_ENTRIES = 500

_AREAS = ("localStorage", "sessionStorage")
_Key = tuple[str, str]  # area and key

READ_STORAGE = (
    """((most, mostEntries) => {
    let isCut = false;
    const found = [];
    for (const area of ["localStorage", "sessionStorage"]) try {
        const store = self[area];
        for (let at = 0; at < store.length; at++) {
            const key = store.key(at);
            found.push([area, key, store.getItem(key)]);
        }
    } catch { return {origin: "", entries: [], isCut}; }
    let left = most;
    const size = entry => entry[1].length + entry[2].length;
    found.sort((one, other) => size(one) - size(other));
    const entries = found.slice(0, mostEntries).filter(entry => (left -= size(entry)) >= 0);
    return {origin: location.origin, entries, isCut: entries.length < found.length};
})"""
    + f"({MAX_CHARACTERS}, {MAX_ENTRIES})"
)
"""The expression that reads a page's storage. An empty ``origin`` may store nothing."""

_WRITE = """(changes => {
    for (const [area, key, value] of changes) try {
        if (value === null) self[area].removeItem(key); else self[area].setItem(key, value);
    } catch {}
})(%s)"""


class StorageRecord(NamedTuple):
    """A page's storage, in both areas."""

    origin: str
    entries: list[tuple[str, str, str]]  # area, key, value
    is_cut: bool = False

    @classmethod
    def from_script(cls, said: Any) -> Self | None:
        """Convert the result of ``READ_STORAGE``; ``None`` if nothing may be stored."""
        if not said or not said["origin"].startswith(("http://", "https://")):
            return None
        return cls(said["origin"], said["entries"], said["isCut"])


class TabStore:
    """The storage that a tab holds for one session, by origin."""

    def __init__(self, store: CookieStore, session: str) -> None:
        self._store = store
        self._session = session
        self._known: dict[str, dict[_Key, str]] = {}

    def missing(self, url: str, now: float) -> str:
        """Return the script that updates a page of the origin of ``url``; empty if the tab is up to date."""
        origin = origin_of(url)
        entries = self._store.list_entries(self._session, url, now)
        wanted = {(one.path.partition(" ")[0], _as_text(one.name)): _as_text(one.value) for one in entries}
        known = self._known.get(origin, {})
        if wanted == known:
            return ""
        self._known[origin] = wanted
        changes: list[tuple[str, str, str | None]] = [(*key, None) for key in known.keys() - wanted.keys()]
        changes += [(*key, value) for key, value in wanted.items() if known.get(key) != value]
        return _WRITE % json.dumps(changes)

    def take(self, stored: StorageRecord, now: float) -> None:
        """Store the changes of a page."""
        url = f"{stored.origin}/"
        origin = origin_of(url)
        has = {(area, key): value for area, key, value in stored.entries if area in _AREAS}
        known = self._known.get(origin, {})
        if has == known:
            return
        self._known[origin] = has
        gone = [_as_entry(key, "", origin, -math.inf, now) for key in known.keys() - has.keys()]
        new = [
            _as_entry(key, value, origin, math.inf, now)
            for key, value in has.items()
            if known.get(key) != value
        ]
        self._store.keep_cookies(self._session, url, (*gone, *new), now)


def entries_of(stored: StorageRecord, now: float) -> list[Cookie]:
    """Entries as they are kept."""
    origin = origin_of(f"{stored.origin}/")
    return [_as_entry((area, key), value, origin, math.inf, now) for area, key, value in stored.entries]


def _as_entry(key: _Key, value: str, origin: str, expires_at: float, now: float) -> Cookie:
    """Convert an entry to the form that is stored with cookies."""
    return Cookie(
        name=_as_bytes(key[1]),
        value=_as_bytes(value),
        domain=hostname_of(origin),
        path=f"{key[0]} {origin}",
        is_host_only=True,
        is_secure=False,
        expires_at=expires_at,
        set_at=now,
    )


def _as_bytes(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def _as_text(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1", "replace").decode("utf-8", "replace")
