"""Which proxy is next."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from hashlib import blake2b
from typing import NamedTuple

from gossamer.core.routes import Proxy
from gossamer.policy.proxies import LOOK_AGAIN_S, ProxyHealth, is_on_trial, wait_s_of

MAX_STICKY = 10_000
"""So many sessions are remembered with the proxies that they prefer; the others are ranked anew."""
RANKED = 16
"""So many proxies are remembered for a session, in its order."""


class RotationOrder(StrEnum):
    """In which order proxies are used. The value is what the settings say."""

    ROUND_ROBIN = "round_robin"  # one after the other
    STICKY = "sticky"  # a session stays with its proxy at a site
    LEAST_USED = "least_used"  # the one with the fewest requests


class ProxyChoice(NamedTuple):
    """The proxy for a request, or when to ask again for one."""

    proxy: Proxy | None
    is_canary: bool = False  # it is on trial: only this request may go through it for now
    wait_s: float = 0.0  # without a proxy: until one may be there


class ProxyRotation:
    """The proxies of one kind, in the order in which they are to be used. Knows nothing of their health."""

    def __init__(self, proxies: Sequence[Proxy], order: RotationOrder, *, start: int = 0) -> None:
        self.proxies = tuple(proxies)
        self._order = order
        self._next = start % len(proxies) if proxies else 0
        self._places = {proxy.name: place for place, proxy in enumerate(self.proxies)}
        self._ranked: OrderedDict[str, tuple[Proxy, ...]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<ProxyRotation of {len(self.proxies)}, {self._order}>"

    def list_candidates(self, sticky_key: str, uses: Counter[str], preferred: str = "") -> Iterable[Proxy]:
        """All of them, the one to be preferred first: the one of that name, if it is there."""
        place = self._places.get(preferred)
        if place is not None:
            yield self.proxies[place]
        yield from self._in_order(sticky_key, uses)

    def _in_order(self, sticky_key: str, uses: Counter[str]) -> Iterable[Proxy]:
        if self._order is RotationOrder.STICKY:
            return self._rank_for(sticky_key)
        if self._order is RotationOrder.LEAST_USED:
            return sorted(self._in_turn(), key=lambda proxy: uses[proxy.name])
        return self._in_turn()

    def note_use(self, name: str) -> None:
        """That a proxy was taken: the turn is at the one after it."""
        place = self._places.get(name)
        if place is not None:
            self._next = (place + 1) % len(self.proxies)

    def _in_turn(self) -> Iterator[Proxy]:
        start = self._next
        yield from self.proxies[start:]
        yield from self.proxies[:start]

    def _rank_for(self, key: str) -> Iterator[Proxy]:
        """The order of a session, which every worker finds by itself (rendezvous hashing).

        When a proxy is away, only its own sessions move, and they return with it.
        """
        ranked = self._ranked.get(key)
        if ranked is None:
            ranked = tuple(sorted(self.proxies, key=partial(_weight, key))[:RANKED])
            self._ranked[key] = ranked
            if len(self._ranked) > MAX_STICKY:
                self._ranked.popitem(last=False)
        yield from ranked
        if len(ranked) < len(self.proxies):
            yield from sorted(self.proxies, key=partial(_weight, key))[len(ranked) :]


def _weight(key: str, proxy: Proxy) -> bytes:
    return blake2b(f"{key} {proxy.name}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def choose_candidate(
    candidates: Iterable[Proxy],
    health_of: Callable[[str], ProxyHealth],
    host: str,
    now: float,
    avoid: Collection[str] = (),
    *,
    doubt_of: Callable[[str], int] | None = None,
) -> ProxyChoice:
    """The first of the candidates, the preferred first, that may be used for a host now.

    ``avoid`` are names of proxies that have failed this request: proxies of other providers go before them,
    then others of theirs; they themselves are the last resort. ``doubt_of`` says of a proxy how much speaks
    against it (0 to 2): of those that have not failed the request, the least doubted go first.
    """
    candidates = list(candidates) if avoid else candidates
    providers = {proxy.provider for proxy in candidates if proxy.name in avoid} if avoid else set()
    best: Proxy | None = None
    best_rank, waits = math.inf, []
    for proxy in candidates:
        wait_s = wait_s_of(health_of(proxy.name), host, now)
        rank = 0 if not avoid else 6 if proxy.name in avoid else int(proxy.provider in providers)
        rank += 0 if doubt_of is None else 2 * doubt_of(proxy.name)
        if wait_s:
            waits.append(wait_s)
        elif rank < best_rank:
            best, best_rank = proxy, rank
        if best_rank == 0:
            break
    if best is None:
        return ProxyChoice(None, wait_s=min(waits, default=LOOK_AGAIN_S))
    return ProxyChoice(best, is_on_trial(health_of(best.name), host))
