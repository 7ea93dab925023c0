"""The cookies of one job in shared state, for all workers and a resumed crawl.

Guarantee: a request is sent with every cookie that was saved before its lease was granted. Cookies are saved
before a result is committed, so a worker that leases a page's links has them; a kill between the two costs
that page once more. Workers that change one jar at the same time lose none of each other's cookies; of two
with the same name the newer one counts. Session cookies are kept as well. Until a first save, a single
process reads shared state once, one of several once per batch of leases; later, jars are read after changes.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from gossamer.core.cookies import Cookie
from gossamer.fetch.sessions.cookies import CookieJar, record_with
from gossamer.fetch.sessions.set_cookie import MAX_AGE_S
from gossamer.fetch.spaces import COOKIES
from gossamer.policy.urls import hostname_of, registrable_domain
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState

Key = tuple[str, str]
"""Session and registrable domain."""


class _LoadedJar(NamedTuple):
    """A jar that was read: the record in shared state, ``None`` for none, and when by ``_generation``."""

    record: bytes | None
    generation: int


class SharedCookieStore:
    """The cookies of a job: ``prepare_cookies`` before a request, ``save_cookies`` before its commit.

    ``job`` identifies the job; ``is_alone``: no other process works on it. ``max_jars`` stay in memory.
    """

    def __init__(
        self, shared: SharedState, clock: Clock, job: str, *, max_jars: int, is_alone: bool = False
    ) -> None:
        self._shared = shared
        self._clock = clock
        self._job = job
        self._max_jars = max_jars
        self._is_alone = is_alone
        self._book = CookieJar(sys.maxsize)  # this class decides on evictions
        self._known: OrderedDict[Key, _LoadedJar] = OrderedDict()
        self._changes: dict[Key, list[Cookie]] = {}  # not saved yet
        self._saving: dict[Key, list[Cookie]] = {}
        self._loading: dict[tuple[Key, int], asyncio.Task[None]] = {}
        self._stamp: bytes | None = None  # changes with every save; None: no save yet
        self._is_announced = True
        self._generation = 0  # how often the stamp was found changed
        self._coming: asyncio.Task[None] | None = None  # a look that has not begun
        self._has_looked = False

    def __len__(self) -> int:
        return len(self._book)

    def __repr__(self) -> str:
        return f"<SharedCookieStore of {self._job}: {len(self)} jars, {len(self._changes)} to be saved>"

    # ------------------------------------------------------------------ for fetchers

    def cookie_header(self, session: str, url: str, now: float) -> str:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return self._book.cookie_header(session, url, now)

    def store_cookies(self, session: str, url: str, lines: Iterable[str], now: float) -> None:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        changes = self._book.store_cookies(session, url, lines, now)
        if changes:
            self._changes.setdefault(_jar_key(session, url), []).extend(changes)

    def list_cookies(self, session: str, url: str, now: float) -> list[Cookie]:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return self._book.list_cookies(session, url, now)

    def list_entries(self, session: str, url: str, now: float) -> list[Cookie]:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        return self._book.list_entries(session, url, now)

    def keep_cookies(self, session: str, url: str, cookies: Iterable[Cookie], now: float) -> None:
        """See :class:`~gossamer.ports.cookie_store.CookieStore`."""
        changes = self._book.keep_cookies(session, url, cookies, now)
        if changes:
            self._changes.setdefault(_jar_key(session, url), []).extend(changes)

    # ------------------------------------------------------------------ before a request

    async def prepare_cookies(self, session: str, url: str) -> None:
        """Load the cookies for a request that was leased before this call.

        Raises ``StorageError``.
        """
        if not (self._is_alone and self._has_looked):
            await self._check_stamp()
        if self._stamp is None:
            return
        key, now_is = _jar_key(session, url), self._generation
        known = self._known.get(key)
        if known is None or known.generation != now_is:
            loading = self._loading.get((key, now_is))
            if loading is None:
                loading = self._loading[key, now_is] = asyncio.create_task(self._load_jar(key, now_is))
            await asyncio.shield(loading)
        elif len(self._known) > 1:
            self._known.move_to_end(key)

    async def _check_stamp(self) -> None:
        """Look for cookies saved since the last look. One look serves all earlier calls."""
        if self._coming is None:
            self._coming = asyncio.create_task(self._look_now())
        await asyncio.shield(self._coming)

    async def _look_now(self) -> None:
        self._coming = None  # later callers may know of a later save
        stamp = await self._shared.get(COOKIES, self._storage_key())
        self._has_looked = True
        if stamp != self._stamp:
            self._stamp = stamp
            self._generation += 1

    async def _load_jar(self, key: Key, generation: int) -> None:
        try:
            while True:
                known = self._known.get(key)
                record = await self._shared.get(COOKIES, self._storage_key(*key))
                if self._known.get(key) is known:
                    break  # otherwise saved here meanwhile; the record read may be older
        finally:
            del self._loading[key, generation]
        if known is None or known.record != record:
            self._apply_record(key, record)
        self._known[key] = _LoadedJar(record, generation)
        self._known.move_to_end(key)
        self._let_go()

    def _apply_record(self, key: Key, record: bytes | None) -> None:
        """Adopt a record, and apply the changes that it lacks."""
        self._book.load_jar(*key, record or b"")
        for unsaved in (self._saving, self._changes):
            if key in unsaved:
                self._book.apply_changes(*key, unsaved[key], self._clock.now())

    def _let_go(self) -> None:
        """Forget the jars that were used least recently, beyond those that are not saved yet."""
        for key in list(self._known)[: max(len(self._known) - self._max_jars, 0)]:
            if key not in self._changes and key not in self._saving:
                del self._known[key]
                self._book.forget_jar(*key)

    # ------------------------------------------------------------------ before a commit

    async def save_cookies(self) -> None:
        """Make durable what responses have set. Raises ``StorageError``: then it is still to be saved."""
        if not self._changes and self._is_announced:
            return
        saving, self._changes = self._changes, {}
        self._saving = saving
        try:
            ended = await asyncio.gather(
                *(self._save_jar(key, cookies) for key, cookies in saving.items()), return_exceptions=True
            )
        except BaseException:
            ended = [asyncio.CancelledError()] * len(saving)
            raise
        finally:
            self._saving = {}
            for (key, cookies), end in zip(saving.items(), ended, strict=True):
                if isinstance(end, BaseException):
                    self._changes[key] = cookies + self._changes.get(key, [])
        for end in ended:
            if isinstance(end, BaseException):
                raise end
        if not self._is_announced:
            await self._announce_save()

    async def _save_jar(self, key: Key, cookies: list[Cookie]) -> None:
        place, known = self._storage_key(*key), self._known.get(key)
        record = await self._shared.get(COOKIES, place) if known is None else known.record
        while True:
            generation = self._generation  # later saves of others are read again
            made = record_with(record or b"", key[1], cookies, self._clock.now())
            if made is None and known is not None and known.record == record:
                return
            # Over a break of the server it may be saved whatever the answer is; and who has saved just this
            # already may have ended before it could tell anybody.
            self._is_announced = False
            if made is None:
                return
            if await self._shared.compare_and_swap(COOKIES, place, record, *made):
                break
            record = await self._shared.get(COOKIES, place)
        self._known[key] = _LoadedJar(made[0], generation)
        self._apply_record(key, made[0])

    async def _announce_save(self) -> None:
        """Make other workers look. If another has set the stamp meanwhile, its change is not seen here
        yet."""
        stamp = os.urandom(8)
        if await self._shared.compare_and_swap(COOKIES, self._storage_key(), self._stamp, stamp, MAX_AGE_S):
            self._stamp = stamp
        else:
            await self._shared.put(COOKIES, self._storage_key(), stamp, MAX_AGE_S)
        self._is_announced = True

    def _storage_key(self, session: str = "", site: str = "") -> str:
        """Return the key of a jar, or without a site that of the stamp. It hides the session's name,
        maybe a secret."""
        name = blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if session else ""
        return f"{self._job} {site} {name}"


def _jar_key(session: str, url: str) -> Key:
    return session, registrable_domain(hostname_of(url))
