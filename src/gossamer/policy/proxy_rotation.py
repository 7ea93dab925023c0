"""Which proxy is next."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import NamedTuple

from gossamer.core.routes import Proxy
from gossamer.policy.proxies import LOOK_AGAIN_S, ProxyHealth, is_on_trial, wait_s_of

MAX_STICKY = 10_000
"""Maximum number of sessions remembered with their preferred proxies; others are ranked anew."""
RANKED = 16
"""Number of proxies remembered for a session, in its order."""
MOST_LOOKED_AT = 256
"""Maximum number of proxies compared once one is usable: a list of thousands would take too long."""
LAST_RESORT = 4
"""The rank of a proxy that has failed the request."""


class RotationOrder(StrEnum):
    """The order of proxies. The value is the one in the settings."""

    ROUND_ROBIN = "round_robin"  # one after the other
    STICKY = "sticky"  # a session stays with its proxy at a site
    LEAST_USED = "least_used"  # the one with the fewest requests


class ProxyChoice(NamedTuple):
    """The proxy for a request, or when to ask again for one."""

    proxy: Proxy | None
    is_canary: bool = False  # it is on trial: only this request may go through it for now
    wait_s: float = 0.0  # without a proxy: until one may be there


class _Turn:
    """Proxies that are used one after the other."""

    def __init__(self, proxies: Sequence[Proxy] = (), *, start: int = 0) -> None:
        self.proxies = list(proxies)
        self.places = {proxy.name: place for place, proxy in enumerate(proxies)}
        self._next = start % len(proxies) if proxies else 0

    def __iter__(self) -> Iterator[Proxy]:
        start = self._next
        yield from islice(self.proxies, start, None)
        yield from islice(self.proxies, start)

    def add_proxy(self, proxy: Proxy) -> None:
        """At the end, unless it is there."""
        if proxy.name not in self.places:
            self.places[proxy.name] = len(self.proxies)
            self.proxies.append(proxy)

    def note_use(self, name: str) -> None:
        """The turn is at the one after it."""
        place = self.places.get(name)
        if place is not None:
            self._next = (place + 1) % len(self.proxies)


class ProxyRotation:
    """The proxies of one kind, in their order of use.

    Callers report which proxies have *worked*; the rotation knows nothing else about their health.
    """

    def __init__(self, proxies: Sequence[Proxy], order: RotationOrder, *, start: int = 0) -> None:
        self.proxies = tuple(proxies)
        self._order = order
        self._all = _Turn(proxies, start=start)
        self._working = _Turn()
        self._ranked: OrderedDict[str, tuple[Proxy, ...]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<ProxyRotation of {len(self.proxies)}, {self._order}>"

    def list_candidates(self, sticky_key: str, uses: Counter[str], preferred: str = "") -> Iterable[Proxy]:
        """All of them, the one to be preferred first: the one of that name, if it is there."""
        place = self._all.places.get(preferred)
        if place is not None:
            yield self.proxies[place]
        if self._order is RotationOrder.STICKY:
            yield from self._rank_for(sticky_key)
        else:
            yield from self._in_order(self._all, uses)

    def list_working(self, sticky_key: str, uses: Counter[str], preferred: str = "") -> Iterable[Proxy]:
        """Yield the preferred proxy, or the first of a sticky session, and then those that have worked.

        The first may be unproven: a session that moves to another proxy may lose its log-in.
        """
        place = self._all.places.get(preferred)
        if place is not None:
            yield self.proxies[place]
        if self._order is not RotationOrder.STICKY:
            yield from self._in_order(self._working, uses)
            return
        first, *others = islice(self._rank_for(sticky_key), RANKED)
        if place is None:
            yield first
        yield from (proxy for proxy in (first, *others) if proxy.name in self._working.places)
        yield from sorted(self._working.proxies[:RANKED], key=partial(_weight, sticky_key))

    def _in_order(self, turn: _Turn, uses: Counter[str]) -> Iterable[Proxy]:
        if self._order is RotationOrder.LEAST_USED:
            return sorted(turn, key=lambda proxy: uses[proxy.name])
        return turn

    def note_use(self, name: str) -> None:
        """That a proxy was taken: the turn is at the one after it."""
        self._all.note_use(name)
        self._working.note_use(name)

    def note_working(self, proxy: Proxy) -> None:
        """That something else than an error came through a proxy."""
        if proxy.name in self._all.places:
            self._working.add_proxy(proxy)

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
    working: Iterable[Proxy] | None = None,
) -> ProxyChoice:
    """The first of the candidates, the preferred first, that may be used for a host now.

    ``avoid`` are names of proxies that have failed this request: proxies of other providers go before them,
    then others of theirs; they themselves are the last resort. With ``working`` the host is to be spared
    trials: one of these goes first, and those that must be tried out go after all that have not failed.
    """
    candidates = list(candidates) if avoid else candidates
    providers = {proxy.provider for proxy in candidates if proxy.name in avoid} if avoid else set()

    def rank_of(proxy: Proxy) -> int:
        rank = 0 if not avoid else LAST_RESORT if proxy.name in avoid else int(proxy.provider in providers)
        return rank if working is None else rank + 2 * is_on_trial(health_of(proxy.name), host)

    def find_wait(proxy: Proxy) -> float:
        return wait_s_of(health_of(proxy.name), host, now)

    best, rank, waits = _find_first(working or (), rank_of, find_wait)
    if best is None or rank > 1:
        best, rank, waits = _find_first(candidates, rank_of, find_wait)
    if best is None:
        return ProxyChoice(None, wait_s=min(waits, default=LOOK_AGAIN_S))
    return ProxyChoice(best, is_on_trial(health_of(best.name), host))


def _find_first(
    candidates: Iterable[Proxy], rank_of: Callable[[Proxy], int], find_wait: Callable[[Proxy], float]
) -> tuple[Proxy | None, float, list[float]]:
    """The first of lowest rank that may be used now, its rank, and the waits for those that may not."""
    best: Proxy | None = None
    best_rank, waits = math.inf, []
    for looked_at, proxy in enumerate(candidates):
        if wait_s := find_wait(proxy):
            waits.append(wait_s)
        elif (rank := rank_of(proxy)) < best_rank:
            best, best_rank = proxy, rank
        if best_rank == 0 or (looked_at >= MOST_LOOKED_AT and best_rank < LAST_RESORT):
            break
    return best, best_rank, waits
