"""The identities of a job in shared state, for all workers and a resumed crawl.

Guarantee: a choice sees every retired identity, and every proxy chosen for one, that another worker
recorded before the choice began. Without such changes an identity is answered from memory: a single worker
reads shared state once per identity; one of several reads once per batch of leases whether anything has
changed; an unchanged identity is not written. Uses are counted in memory and saved in batches, so several
workers may exceed ``max_uses`` a little, and a killed worker's unsaved uses are not counted.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b

import msgspec

from gossamer.core.requests import Request
from gossamer.core.results import Verdict
from gossamer.core.routes import RouteReport
from gossamer.fetch.sessions.stamp import SharedStamp
from gossamer.fetch.spaces import SESSIONS
from gossamer.policy import sessions, urls
from gossamer.policy.sessions import Identity, SessionKey, SessionRules, SessionState, SessionVerdict
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState

KEPT_S = 400 * 86400.0
MAX_KNOWN = 20_000
"""Identities that stay in memory."""
SAVED_AT_ONCE = 32
"""Identities whose uses are saved together at the end."""
LOT = 100
"""Uses that are saved together where no bound needs them sooner."""

Change = Callable[[SessionState], SessionState]
_decode_state = msgspec.msgpack.Decoder(SessionState).decode


class SessionPool:
    """Identities by site. ``job`` identifies the job; ``is_alone``: no other process works on it."""

    def __init__(
        self, shared: SharedState, clock: Clock, job: str, rules: SessionRules, *, is_alone: bool = False
    ) -> None:
        self._shared = shared
        self._clock = clock
        self._job = job
        self._rules = rules
        self._stamp = SharedStamp(shared, SESSIONS, f"{job} *", KEPT_S, is_alone=is_alone)
        self._known: OrderedDict[SessionKey, tuple[SessionState, bytes]] = OrderedDict()  # and its mark
        self._uses: OrderedDict[SessionKey, tuple[int, int]] = OrderedDict()  # not saved yet: of a generation
        self._opening: dict[SessionKey, asyncio.Task[SessionState]] = {}
        self._turns: OrderedDict[str, int] = OrderedDict()  # by site: whose turn it was
        self._redirected: OrderedDict[str, int] = OrderedDict()  # by the URL of a redirect's target: who
        lot = LOT if rules.max_uses is None else min(max(rules.max_uses // 10, 1), LOT)
        self._lot = lot

    def __repr__(self) -> str:
        return f"<SessionPool of {self._job}: {len(self._known)} known, {len(self._uses)} to be saved>"

    # ------------------------------------------------------------------ before a request

    async def open_session(self, request: Request, host: str, rung: str) -> Identity:
        """Return the identity for a request of ``host`` (its politeness key) on ``rung``. Raises
        ``StorageError``."""
        key = self._key_for(request, host, rung)
        await self._stamp.look()
        known = self._known.get(key)
        if (
            known is not None
            and known[1] == self._stamp.mark_of(key.site)
            and not self._is_over(key, known[0])
        ):
            self._known.move_to_end(key)
            return sessions.identity_of(key, known[0])
        opening = self._opening.get(key)
        if opening is None:
            opening = self._opening[key] = asyncio.create_task(self._open_state(key))
        return sessions.identity_of(key, await asyncio.shield(opening))

    async def bind_proxy(self, identity: Identity, proxy: str) -> Identity:
        """Bind a proxy, by its name, to the identity; an earlier binding takes precedence.

        If the identity was retired meanwhile, the next generation is returned. Raises ``StorageError``.
        """
        state = await self._change(identity.key, lambda one: sessions.bind_proxy(one, proxy))
        if state.proxy == proxy:
            await self._stamp.announce(identity.key.site)
        return sessions.identity_of(identity.key, state)

    # ------------------------------------------------------------------ after it

    async def record_report(self, identity: Identity, report: RouteReport) -> bool:
        """Record a route's result; return whether an identity that had been welcome was refused.

        In that case the identity is to blame and not the page, and it is retired. Raises ``StorageError``.
        """
        verdict = sessions.judge_report(report, keeps_proxy=bool(identity.proxy))
        if verdict is None:
            return False
        key = identity.key
        if self._rules.per_host > 1 and report.result.outcome.verdict is Verdict.REDIRECT:
            self._note_redirect(key, report)
        uses = self._unsaved_uses(key, identity.generation) + 1
        self._uses[key] = (identity.generation, uses)
        self._uses.move_to_end(key)
        state = self._state_of(key)
        was_welcome = uses > 1 or state is None or state.generation != identity.generation or state.uses > 0
        is_bad = verdict in (SessionVerdict.TROUBLE, SessionVerdict.REFUSED)
        is_better = verdict is SessionVerdict.GOOD and state is not None and state.score > 0
        if is_bad or is_better or uses >= self._lot:
            await self._save_uses(key, verdict)
            if is_bad:
                await self._stamp.announce(key.site)
        while len(self._uses) > MAX_KNOWN:
            await self._let_go_of_uses(next(iter(self._uses)))
        return was_welcome and verdict is SessionVerdict.REFUSED

    async def retire_session(self, identity: Identity) -> None:
        """Retire an identity; the next one has other cookies, proxy and browser. Raises ``StorageError``."""
        generation = identity.generation
        await self._change(identity.key, lambda one: sessions.retire_state(one, generation, self._rules))
        await self._stamp.announce(identity.key.site)

    async def close(self) -> None:
        """Save unsaved uses. Idempotent."""
        keys = list(self._uses)
        for start in range(0, len(keys), SAVED_AT_ONCE):
            await asyncio.gather(*map(self._let_go_of_uses, keys[start : start + SAVED_AT_ONCE]))

    # ------------------------------------------------------------------ inside

    def _key_for(self, request: Request, host: str, rung: str) -> SessionKey:
        name, slot, site = request.session, 0, _site_of(host)
        if not name and self._rules.per_host > 1:
            redirected = self._redirected.get(request.url) if request.redirects else None
            slot = self._next_slot(site) if redirected is None else redirected
        return SessionKey(site=site, name=name, kind=sessions.kind_of_rung(rung), slot=slot)

    def _next_slot(self, site: str) -> int:
        slot = self._turns[site] = (self._turns.pop(site, -1) + 1) % self._rules.per_host
        if len(self._turns) > MAX_KNOWN:
            self._turns.popitem(last=False)
        return slot

    def _note_redirect(self, key: SessionKey, report: RouteReport) -> None:
        """Let the redirected identity follow the redirect, which may have set cookies for its target.

        This is known to this process alone; another process that gets the target uses its next identity.
        """
        for entry in report.result.outcome.outlinks:
            self._redirected[entry.request.url] = key.slot
            self._redirected.move_to_end(entry.request.url)
        while len(self._redirected) > MAX_KNOWN:
            self._redirected.popitem(last=False)

    def _state_of(self, key: SessionKey) -> SessionState | None:
        known = self._known.get(key)
        return None if known is None else known[0]

    def _unsaved_uses(self, key: SessionKey, generation: int) -> int:
        of, uses = self._uses.get(key, (generation, 0))
        return uses if of == generation else 0

    def _is_over(self, key: SessionKey, state: SessionState) -> bool:
        """Return whether an identity is retired, including unsaved uses."""
        unsaved = self._unsaved_uses(key, state.generation)
        counted = msgspec.structs.replace(state, uses=state.uses + unsaved) if unsaved else state
        return sessions.is_retired(counted, self._rules, self._clock.now())

    async def _open_state(self, key: SessionKey) -> SessionState:
        try:
            before = self._state_of(key)
            state = await self._read(key)
            if state is None:
                if key in self._uses:
                    await self._save_uses(key, SessionVerdict.NEUTRAL)
                state = await self._change(key, lambda one: one)
        finally:
            del self._opening[key]
        if before is not None and state.generation != before.generation:
            await self._stamp.announce(key.site)
        return state

    async def _let_go_of_uses(self, key: SessionKey) -> None:
        """Save uses if a limit on them applies; otherwise they are never read."""
        if self._rules.max_uses is None:
            self._uses.pop(key, None)
        elif key in self._uses:
            await self._save_uses(key, SessionVerdict.NEUTRAL)

    async def _save_uses(self, key: SessionKey, verdict: SessionVerdict) -> None:
        generation, uses = self._uses.pop(key)
        try:
            await self._change(
                key, lambda one: sessions.count_uses(one, generation, self._rules, verdict, uses), opens=False
            )
        except BaseException:  # it is still to be saved
            of, since = self._uses.get(key, (generation, 0))
            self._uses[key] = (of, since + uses if of == generation else since)
            raise

    async def _read(self, key: SessionKey) -> SessionState | None:
        """Return the identity if nothing has to be written for it: it continues, or is new without an age
        limit."""
        mark, known = self._stamp.mark_of(key.site), self._known.get(key)
        state = _read_state(await self._shared.get(SESSIONS, self._storage_key(key)))
        if self._known.get(key) is not known:  # it was changed here meanwhile
            return None
        if state is None:
            if self._rules.max_age_s is not None:
                return None
            state = sessions.open_state(None, key, self._rules, self._clock.now())
        if self._is_over(key, state):
            return None
        self._keep(key, state, mark)
        return state

    async def _change(self, key: SessionKey, change: Change, *, opens: bool = True) -> SessionState:
        """Change what all workers know of an identity. ``opens``: if it is retired, the next comes."""
        now, mark = self._clock.now(), self._stamp.mark_of(key.site)

        def changed(stored: bytes | None) -> bytes:
            state = _read_state(stored)
            if opens or state is None:
                state = sessions.open_state(state, key, self._rules, now)
            return msgspec.msgpack.encode(change(state))

        state = _decode_state(await self._shared.update(SESSIONS, self._storage_key(key), changed, KEPT_S))
        self._keep(key, state, mark)
        return state

    def _keep(self, key: SessionKey, state: SessionState, mark: bytes) -> None:
        self._known[key] = (state, mark)
        self._known.move_to_end(key)
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)

    def _storage_key(self, key: SessionKey) -> str:
        """Return the key in shared state. It hides the session's name, which may be a secret."""
        name = blake2b(key.name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return f"{self._job} {key.site} {name if key.name else ''} {key.kind} {key.slot}"


def _site_of(host: str) -> str:
    """Return the site of a politeness key: its registrable domain, or the address with its port."""
    name = urls.hostname_of(f"http://{host}/")
    is_address = name.startswith("[") or name.rpartition(".")[2].isdigit()
    return host if is_address else urls.registrable_domain(name)


def _read_state(stored: bytes | None) -> SessionState | None:
    try:
        return None if stored is None else _decode_state(stored)
    except msgspec.DecodeError:  # written by another version: a new identity begins
        return None
