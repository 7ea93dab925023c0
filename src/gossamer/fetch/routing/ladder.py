"""The state of hosts' rungs in shared state, for all workers and the next crawl.

A page costs no round trip: a host's state is read once, and again after another worker has changed it or
one of few others, according to a stamp read at most every half second. A single worker reads no stamp. A
change is written at once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from gossamer.fetch.sessions.stamp import SharedStamp
from gossamer.policy.ladder import LadderDecision, LadderState
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState

SPACE = "ladder"
STAMP = ""
"""The key of the stamp; no host has it."""
STAMP_AGE_S = 0.5
MAX_HOSTS = 10_000
"""Hosts kept in memory."""

_UNKNOWN = LadderState()

Decide = Callable[[LadderState], LadderDecision]


def decode_state(value: bytes | None) -> LadderState:
    """Decode a host's stored state; an unreadable one is that of an unknown host."""
    try:
        return msgspec.msgpack.decode(value, type=LadderState) if value else _UNKNOWN
    except msgspec.DecodeError:
        return _UNKNOWN


class LadderStore:
    """The states of hosts. ``is_alone``: no other process changes them."""

    def __init__(
        self, shared: SharedState, clock: Clock, *, remember_s: float, is_alone: bool = False
    ) -> None:
        self._shared = shared
        self._clock = clock
        self._remember_s = remember_s
        self._is_alone = is_alone
        self._known: OrderedDict[str, tuple[LadderState, bytes]] = OrderedDict()  # with its mark
        self._stamp = SharedStamp(shared, SPACE, STAMP, remember_s, is_alone=is_alone)
        self._looked_at = float("-inf")
        self._locks: dict[str, asyncio.Lock] = {}  # of hosts that are read or changed just now
        self._looking = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<LadderStore of {len(self._known)} hosts>"

    def known_state(self, host: str) -> LadderState:
        """Return the state of a host that this process knows already."""
        return self._known.get(host, (_UNKNOWN, b""))[0]

    async def read_state(self, host: str) -> LadderState:
        """Return the state of a host. Raises ``StorageError``."""
        if not self._is_alone and self._clock.now() >= self._looked_at + STAMP_AGE_S:
            await self._check_stamp()
        if not self._is_fresh(host):
            async with self._lock_of(host):
                if not self._is_fresh(host):
                    mark = self._stamp.mark_of(host)
                    self._keep(host, decode_state(await self._shared.get(SPACE, host)), mark)
        return self.known_state(host)

    async def change_state(self, host: str, decide: Decide) -> LadderDecision:
        """Change the state of a host for all workers, if ``decide`` says so. Raises ``StorageError``.

        ``decide`` is pure, and is called again with the state of other workers.
        """
        async with self._lock_of(host):
            decision = decide(known := self.known_state(host))
            if decision.state == known:
                return decision

            def change(value: bytes | None) -> bytes:
                nonlocal decision
                decision = decide(decode_state(value))
                return msgspec.msgpack.encode(decision.state)

            mark = self._stamp.mark_of(host)  # later announcements of others are read again
            await self._shared.update(SPACE, host, change, self._remember_s)
            self._keep(host, decision.state, mark)
        await self._stamp.announce(host)
        return decision

    def _is_fresh(self, host: str) -> bool:
        found = self._known.get(host)
        return found is not None and found[1] == self._stamp.mark_of(host)

    def _keep(self, host: str, state: LadderState, mark: bytes) -> None:
        self._known[host] = (state, mark)
        self._known.move_to_end(host)
        if len(self._known) > MAX_HOSTS:
            self._known.popitem(last=False)

    async def _check_stamp(self) -> None:
        async with self._looking:
            now = self._clock.now()
            if now < self._looked_at + STAMP_AGE_S:
                return
            await self._stamp.look()
            self._looked_at = now

    def _lock_of(self, host: str) -> asyncio.Lock:
        lock = self._locks.get(host)
        if lock is None:
            if len(self._locks) > MAX_HOSTS:
                self._locks = {name: held for name, held in self._locks.items() if held.locked()}
            lock = self._locks[host] = asyncio.Lock()
        return lock
