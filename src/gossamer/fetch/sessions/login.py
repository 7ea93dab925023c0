"""The gate of log-ins: each session is logged in once by one of all workers, answered from memory.

Within a process, the requests of a session wait for its log-in; other workers come back later. The state of
a log-in, or its failures, is in shared state, so that a resumed crawl knows it; cookies are saved before
it. The worker that logs in renews its turn, which lapses after some seconds otherwise, so a killed worker
blocks the others only briefly.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from hashlib import blake2b

import msgspec

from gossamer.core.errors import LogInError, StorageError
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.redaction import shown_server
from gossamer.core.requests import Request
from gossamer.core.routes import Route
from gossamer.core.text import format_count
from gossamer.fetch.sessions.login_steps import LoginSteps, StepParts
from gossamer.fetch.spaces import LOG_INS
from gossamer.policy import log_in, urls
from gossamer.policy.log_in import LoginState
from gossamer.ports.login_guide import LoginGuide
from gossamer.ports.shared_state import SharedState
from gossamer.runtime.cancelling import end_tasks

TURN_SPACE = "log-in-turns"
LOG_OUT_SPACE = "log-outs"
KEPT_S = 400 * 86400.0
LOG_OUTS_KEPT_S = 7 * 86400.0
"""Seconds for which the number of pages for visitors is kept."""
TURN_S = 15.0
"""Seconds until another worker may log a session in after its worker is gone."""
COME_BACK_S = 1.0
LONGEST_HOLD_S = 5.0
"""Longest time in seconds for which a crawl on one machine holds a host at once for the pause of a
log-in: the hold outlasts a stop, and a restarted crawl must not wait for the rest of a pause."""

Key = tuple[str, str]
"""Session and site."""
Change = Callable[[LoginState], LoginState]
log = logging.getLogger("gossamer.crawl")
_decode_state = msgspec.msgpack.Decoder(LoginState).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginOptions:
    """Limits of attempts to log in."""

    max_failures: int = 3
    timeout_s: float = 300.0


class SharedLoginGate:
    """Port ``LoginGate`` for one job. ``is_alone``: no other process works on it.

    With ``waits_at_first``, a log-in that failed before this gate was made keeps its pause; otherwise it is
    retried at once, since a restart may follow a fix. ``save_cookies`` makes the cookies of the log-in
    durable.
    """

    def __init__(
        self,
        guide: LoginGuide,
        steps: StepParts,
        shared: SharedState,
        job: str,
        *,
        save_cookies: Callable[[], Awaitable[None]] | None = None,
        options: LoginOptions | None = None,
        is_alone: bool = False,
        waits_at_first: bool = False,
    ) -> None:
        self._guide = guide
        self._steps = steps
        self._shared = shared
        self._job = job
        self._save_cookies = save_cookies
        self._options = options or LoginOptions()
        self._is_alone = is_alone
        self._waits_at_first = waits_at_first
        self._known: dict[Key, LoginState] = {}
        self._before: dict[Key, int] = {}  # failures that were there when this process began
        self._in_a_row: dict[Key, int] = {}  # pages for visitors since the last one for members
        self._flights: dict[Key, asyncio.Future[None]] = {}

    def __repr__(self) -> str:
        return f"<SharedLoginGate of {self._job}: {format_count(len(self._known), 'session')}>"

    async def prepare_session(self, request: Request, route: Route) -> int | HostSignal:
        """See :class:`~gossamer.ports.login_gate.LoginGate`."""
        login_url = self._guide.login_url_for(request)
        if not log_in.is_behind_log_in(request.url, login_url):
            return 0
        key = self._key_for(request, route)
        while True:
            known = self._known.get(key)
            if known is not None and known.logged_in_at:
                return known.serial
            flight = self._flights.get(key)
            if flight is None:
                break
            await asyncio.shield(flight)
        self._flights[key] = flight = asyncio.get_running_loop().create_future()
        try:
            return await self._open_session(key, request, route, login_url)
        finally:  # cancelled or failed as well: waiting tasks look for themselves
            del self._flights[key]
            flight.set_result(None)

    def find_log_out(self, request: Request, status: int, location: str) -> str:
        """See :class:`~gossamer.ports.login_gate.LoginGate`."""
        return log_in.find_log_out(request.url, self._guide.login_url_for(request), status, location)

    def confirm_log_in(self, request: Request, route: Route) -> None:
        """See :class:`~gossamer.ports.login_gate.LoginGate`."""
        if self._in_a_row:
            self._in_a_row.pop(self._key_for(request, route), None)

    async def handle_log_out(self, request: Request, route: Route, number: int, page: int) -> bool:
        """See :class:`~gossamer.ports.login_gate.LoginGate`."""
        key = self._key_for(request, route)
        known = self._known.get(key, LoginState())
        if number == known.serial:  # otherwise logged in again since the page was requested
            self._in_a_row[key] = in_a_row = self._in_a_row.get(key, 0) + 1
            if log_in.proves_log_out(known, in_a_row):
                self._in_a_row.pop(key)
                await self._change(key, lambda state: log_in.end_log_in(state, number))
        if await self._count_log_out(page) <= log_in.MAX_TIMES:
            return True
        await self._change(key, log_in.refuse_page)
        return False

    # ------------------------------------------------------------------ inside

    async def _open_session(
        self, key: Key, request: Request, route: Route, login_url: str
    ) -> int | HostSignal:
        state = await self._load(key)
        if state.logged_in_at:
            return state.serial
        self._check_failures(key, state, login_url)
        wait_s = state.retry_at - self._steps.clock.now()
        is_first_look = self._before.get(key) == state.failures
        if wait_s > 0 and (self._waits_at_first or not is_first_look):
            return HostSignal(retry_after_s=wait_s if self._waits_at_first else min(wait_s, LONGEST_HOLD_S))
        async with self._take_turn(key) as is_ours:
            if not is_ours:
                return HostSignal(retry_after_s=COME_BACK_S)
            state = await self._load(key)  # another worker may have logged in between the look and the turn
            if state.logged_in_at:
                return state.serial
            return await self._log_in(key, request, route, login_url)

    async def _log_in(self, key: Key, request: Request, route: Route, login_url: str) -> int | HostSignal:
        steps = LoginSteps(self._steps, route, request.session)
        try:
            async with asyncio.timeout(self._options.timeout_s) as timer:
                why = await self._guide.log_in(request, steps.ask)
        except TimeoutError:
            if not timer.expired():
                raise
            why = f"log_in() took longer than {self._options.timeout_s:g} s"
        now = self._steps.clock.now()
        if why:
            state = await self._change(key, lambda one: log_in.fail_log_in(one, now, why))
            log.warning("logging in at %s failed: %s", shown_server(login_url), why)
            self._check_failures(key, state, login_url)
            log.info("logging in is tried again in %.0f s", state.retry_at - now)
        else:
            if self._save_cookies is not None:
                await self._save_cookies()
            state = await self._change(key, lambda one: log_in.succeed_log_in(one, now))
            log.info("logged in at %s", shown_server(login_url))
        if steps.asked_at is None:
            return state.serial if state.logged_in_at else HostSignal(retry_after_s=state.retry_at - now)
        kind = HostSignalKind.FAULT if steps.latency_s is None else HostSignalKind.OK
        return HostSignal(kind=kind, started_at=steps.asked_at, latency_s=steps.latency_s)

    def _check_failures(self, key: Key, state: LoginState, login_url: str) -> None:
        """Raise ``LogInError`` when it has failed too often since this process began."""
        before = self._before.setdefault(key, state.failures)
        if state.failures < before:  # it went well meanwhile
            before = self._before[key] = 0
        if state.failures - before < self._options.max_failures:
            return
        times = format_count(state.failures - before, "time")
        raise LogInError(
            f"the spider cannot log in at {shown_server(login_url)} ({times} in a row): {state.why}. Check "
            "the user, the password and log_in() of the spider; the requests are kept, and the same command "
            "continues"
        )

    @contextlib.asynccontextmanager
    async def _take_turn(self, key: Key) -> AsyncIterator[bool]:
        """Give this worker the turn to log the session in until the context ends; ``False``: another has
        it."""
        if self._is_alone:
            yield True
            return
        place, mine = self._storage_key(key), os.urandom(8)
        if not await self._shared.compare_and_swap(TURN_SPACE, place, None, mine, TURN_S):
            yield False
            return
        keeping = asyncio.create_task(self._keep_turn(place, mine))
        try:
            yield True
        finally:
            await end_tasks(keeping)
            await self._shared.compare_and_swap(TURN_SPACE, place, mine, mine, 0.0)

    async def _keep_turn(self, place: str, mine: bytes) -> None:
        while True:
            await self._steps.clock.sleep(TURN_S / 3)
            with contextlib.suppress(StorageError):  # it is tried again
                await self._shared.compare_and_swap(TURN_SPACE, place, mine, mine, TURN_S)

    async def _count_log_out(self, page: int) -> int:
        """Count and return how often a page has come for visitors, across all workers, including now."""

        def changed(stored: bytes | None) -> bytes:
            return b"%d" % (int(stored or 0) + 1)

        return int(await self._shared.update(LOG_OUT_SPACE, f"{self._job} {page}", changed, LOG_OUTS_KEPT_S))

    async def _load(self, key: Key) -> LoginState:
        state = _read_state(await self._shared.get(LOG_INS, self._storage_key(key)))
        self._known[key] = state
        return state

    async def _change(self, key: Key, change: Change) -> LoginState:
        def changed(stored: bytes | None) -> bytes:
            return msgspec.msgpack.encode(change(_read_state(stored)))

        stored = await self._shared.update(LOG_INS, self._storage_key(key), changed, KEPT_S)
        state = self._known[key] = _decode_state(stored)
        return state

    def _key_for(self, request: Request, route: Route) -> Key:
        return route.session_for(request), urls.registrable_domain(urls.hostname_of(request.url))

    def _storage_key(self, key: Key) -> str:
        """Return the key in shared state. It hides the session's name, which may be a secret."""
        name = blake2b(key[0].encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"{self._job} {key[1]} {name}"


def _read_state(stored: bytes | None) -> LoginState:
    try:
        return LoginState() if stored is None else _decode_state(stored)
    except msgspec.DecodeError:  # written by another version: it logs in again
        return LoginState()
