"""What is known of hosts' rungs, in shared state: for all workers, and for the next crawl.

A page costs no round trip: a host is read once, and again when somebody has changed one, which a stamp says
that is read every half second at most. A worker that is alone reads no stamp. A change is written at once.
"""

from __future__ import annotations

import asyncio
import os
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from gossamer.policy.ladder import LadderDecision, LadderState
from gossamer.ports.clock import Clock
from gossamer.ports.shared_state import SharedState

SPACE = "ladder"
STAMP = ""
"""The key of the stamp, which is no host's."""
STAMP_AGE_S = 0.5
MAX_HOSTS = 10_000
"""Hosts kept in memory."""

_UNKNOWN = LadderState()

Decide = Callable[[LadderState], LadderDecision]


def decode_state(value: bytes | None) -> LadderState:
    """A host's state as it is stored; one that cannot be read is that of a host nothing is known of."""
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
        self._known: OrderedDict[str, tuple[LadderState, int]] = OrderedDict()  # with the generation read in
        self._generation = 0  # how often the stamp was found changed
        self._stamp: bytes | None = None
        self._looked_at = float("-inf")
        self._locks: dict[str, asyncio.Lock] = {}  # of hosts that are read or changed just now
        self._looking = asyncio.Lock()

    def __repr__(self) -> str:
        return f"<LadderStore of {len(self._known)} hosts>"

    def known_state(self, host: str) -> LadderState:
        """What this process knows of a host already."""
        return self._known.get(host, (_UNKNOWN, 0))[0]

    async def read_state(self, host: str) -> LadderState:
        """What is known of a host. Raises ``StorageError``."""
        if not self._is_alone and self._clock.now() >= self._looked_at + STAMP_AGE_S:
            await self._check_stamp()
        if not self._is_fresh(host):
            async with self._lock_of(host):
                if not self._is_fresh(host):
                    generation = self._generation
                    self._keep(host, decode_state(await self._shared.get(SPACE, host)), generation)
        return self.known_state(host)

    async def change_state(self, host: str, decide: Decide) -> LadderDecision:
        """Change what all know of a host, if that is what is decided. Raises ``StorageError``.

        ``decide`` is pure, and is asked again with what others know.
        """
        async with self._lock_of(host):
            decision = decide(known := self.known_state(host))
            if decision.state == known:
                return decision

            def change(value: bytes | None) -> bytes:
                nonlocal decision
                decision = decide(decode_state(value))
                return msgspec.msgpack.encode(decision.state)

            await self._shared.update(SPACE, host, change, self._remember_s)
            self._keep(host, decision.state, self._generation)
        if not self._is_alone:
            await self._announce_change()
        return decision

    def _is_fresh(self, host: str) -> bool:
        found = self._known.get(host)
        return found is not None and found[1] == self._generation

    def _keep(self, host: str, state: LadderState, generation: int) -> None:
        self._known[host] = (state, generation)
        self._known.move_to_end(host)
        if len(self._known) > MAX_HOSTS:
            self._known.popitem(last=False)

    async def _check_stamp(self) -> None:
        async with self._looking:
            now = self._clock.now()
            if now < self._looked_at + STAMP_AGE_S:
                return
            stamp = await self._shared.get(SPACE, STAMP)
            self._looked_at = now
            if stamp != self._stamp:
                self._stamp = stamp
                self._generation += 1

    async def _announce_change(self) -> None:
        """Let the others look. A stamp that somebody else has set meanwhile was not seen here yet."""
        stamp = os.urandom(8)
        if await self._shared.compare_and_swap(SPACE, STAMP, self._stamp, stamp, self._remember_s):
            self._stamp = stamp
        else:
            await self._shared.put(SPACE, STAMP, stamp, self._remember_s)

    def _lock_of(self, host: str) -> asyncio.Lock:
        lock = self._locks.get(host)
        if lock is None:
            if len(self._locks) > MAX_HOSTS:
                self._locks = {name: held for name, held in self._locks.items() if held.locked()}
            lock = self._locks[host] = asyncio.Lock()
        return lock
