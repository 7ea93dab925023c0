"""Decisions that all frontiers share, without storage: the next turn, and the consequences of an outcome.

Pure, so that the memory and the SQL frontier differ only in storage.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import Protocol, TypeVar

from gossamer.core.errors import Fault, TransitionError
from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.jobs import KnownRequest
from gossamer.core.lifecycle import JOB_TABLE, JobCommand, RequestState, RequestTransition, next_state
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Outcome, Verdict
from gossamer.core.shifts import EXTRACT_LANE
from gossamer.policy.politeness import may_start
from gossamer.policy.urls import again_twin_of

ROUND = 500
"""Overdue leases, and delayed requests come due, that one call takes in at most: a bound on its time."""
LETTERS = 10_000
"""Dead letters that are looked at for one part of a listing, and that are counted."""

DUE_HOSTS = 500
"""The limit of hosts, and of delayed requests come due, that are examined to count a lane's due requests."""

_MOVES = {
    Verdict.SUCCESS: RequestTransition.FINISH,
    Verdict.REDIRECT: RequestTransition.FINISH,
    Verdict.SKIPPED: RequestTransition.FINISH,
    Verdict.RETRY: RequestTransition.RETRY,
    Verdict.REROUTED: RequestTransition.REROUTE,
    Verdict.DEAD: RequestTransition.GIVE_UP,
}


def recorded_as(entry: Entry) -> int:
    """Return the fingerprint under which a frontier records an accepted entry.

    A request with ``dont_filter`` has one of its own: it is found again by it, and an ordinary request for
    the page is not a duplicate.
    """
    return again_twin_of(entry.fingerprint) if entry.request.dont_filter else entry.fingerprint


def latest_known(again: KnownRequest | None, usual: KnownRequest | None) -> KnownRequest | None:
    """Return the kind of a page's request that is not done; the one with ``dont_filter`` first."""
    is_over = again is None or (usual is not None and again.state is RequestState.DONE)
    return usual if is_over else again


def best_wanted(entries: Iterable[Entry]) -> dict[int, Entry]:
    """Return the entry with the highest priority for each page, by recorded fingerprint."""
    return {recorded_as(one): one for one in sorted(entries, key=lambda one: one.request.rank, reverse=True)}


def raised_request(waiting: Request, wanted: Request) -> Request | None:
    """Return a waiting request with the higher priority of another; ``None`` if that is not higher.

    Callback, ``meta`` and ``cb_kwargs`` of the other request replace those of the waiting one.
    """
    if wanted.rank >= waiting.rank:
        return None
    return waiting.replace(
        priority=wanted.priority,
        callback=wanted.callback or waiting.callback,
        meta=wanted.meta or waiting.meta,
        cb_kwargs=wanted.cb_kwargs or waiting.cb_kwargs,
    )


def state_after(outcome: Outcome) -> RequestState:
    """Return where a settled lease's request goes.

    Raises :class:`TransitionError` for a verdict that settles nothing, and for a lane with any verdict but
    ``REROUTED``, which needs one.
    """
    verdict = outcome.verdict
    if bool(outcome.lane) != (verdict is Verdict.REROUTED):
        raise TransitionError(f"a lease cannot be settled as {verdict} with the lane {outcome.lane!r}")
    try:
        return next_state(RequestState.LEASED, _MOVES[verdict])
    except KeyError:
        raise TransitionError(f"a lease cannot be settled as {verdict}") from None


def request_after(outcome: Outcome) -> Request:
    """Return the request that waits after the verdict ``REROUTED``: in its lane, with its priority."""
    request = outcome.lease.entry.request
    priority = request.priority if outcome.priority is None else outcome.priority
    return request.replace(lane=outcome.lane, priority=priority)


def state_after_expiry(expiries: int, rules: FrontierRules) -> RequestState:
    """Return where a request goes whose lease ran out for the ``expiries``-th time."""
    return next_state(
        RequestState.LEASED,
        RequestTransition.GIVE_UP if expiries > rules.max_expiries else RequestTransition.EXPIRE,
    )


def job_moves_of(command: JobCommand) -> dict[str, str]:
    """Where a command leads from each state that it is possible in, by their stored names: for scripts."""
    return {
        before.value: to.value
        for (before, named), to in JOB_TABLE.items()
        if named is command and before is not None
    }


def leases_left(rules: FrontierRules, pages: int, leased: int, lane: str) -> int | None:
    """Return how many leases the job's page budget still allows in a lane, each of which may become a page.

    ``None``: any number. A page that is extracted was counted when it was fetched.
    """
    if rules.max_pages is None or lane == EXTRACT_LANE:
        return None
    return max(rules.max_pages - pages - leased, 0)


EXPIRED = Fault.EXPIRED.value


class CandidateHost(Protocol):
    """A host that waits for its turn."""

    id: int
    state: HostState

    def next_band(self) -> int | None:
        """Return the band of its next request; ``None`` when it has no more."""
        ...


C = TypeVar("C", bound=CandidateHost)


def in_turn(hosts: Iterable[C], rules: FrontierRules, now: float) -> Iterator[C]:
    """Yield each host, as often as it may start; the caller takes one request of it each time.

    The lowest band goes first, in a band the host that may start first, among equals the one that was
    served less in this call, then the older one.
    """
    heap = [(band, h.state.next_at, 0, h.id, h) for h in hosts if (band := h.next_band()) is not None]
    heapify(heap)
    while heap:
        _, _, served, _, host = heap[0]
        yield host
        band = host.next_band()
        if band is not None and may_start(host.state, rules, now):
            heapreplace(heap, (band, host.state.next_at, served + 1, host.id, host))
        else:
            heappop(heap)
