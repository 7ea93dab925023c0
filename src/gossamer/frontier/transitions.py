"""What every frontier decides alike, without storage: whose turn it is, and what an end leads to.

Pure, so that the memory and the SQL frontier differ only in where they keep things.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import Protocol, TypeVar

from gossamer.core.errors import Fault, IllegalMove
from gossamer.core.hosts import HostState, Rules
from gossamer.core.jobs import Change
from gossamer.core.lifecycle import JobState, Move, State, after
from gossamer.core.results import Verdict
from gossamer.policy.politeness import may_start

ROUND = 500
"""Overdue leases, and delayed requests come due, that one call takes in at most: a bound on its time."""

_MOVES = {
    Verdict.SUCCESS: Move.FINISH,
    Verdict.REDIRECT: Move.FINISH,
    Verdict.SKIPPED: Move.FINISH,
    Verdict.RETRY: Move.RETRY,
    Verdict.DEAD: Move.GIVE_UP,
}
_JOB_STATES = {
    Change.RESUME: JobState.RUNNING,
    Change.PAUSE: JobState.PAUSED,
    Change.CANCEL: JobState.CANCELLED,
    Change.FINISH: JobState.FINISHED,
}


def state_after(verdict: Verdict) -> State:
    """Where a settled lease's request goes. Raises :class:`IllegalMove` for no settling verdict."""
    try:
        return after(State.LEASED, _MOVES[verdict])
    except KeyError:
        raise IllegalMove(f"a lease cannot be settled as {verdict}") from None


def state_after_expiry(expiries: int, rules: Rules) -> State:
    """Where a request goes whose lease ran out for the ``expiries``-th time."""
    return after(State.LEASED, Move.GIVE_UP if expiries > rules.max_expiries else Move.EXPIRE)


def job_state_after(change: Change, state: JobState) -> JobState:
    """The job's state after a change of it."""
    return _JOB_STATES.get(change, state)


def leases_left(rules: Rules, pages: int, leased: int) -> int | None:
    """How many leases the job's page budget still allows, each of which may become a page."""
    return None if rules.max_pages is None else max(rules.max_pages - pages - leased, 0)


EXPIRED = Fault.EXPIRED.value


class Candidate(Protocol):
    """A host that waits for its turn."""

    id: int
    state: HostState

    def best(self) -> int | None:
        """The band of its next request; ``None`` when it has no more."""
        ...


C = TypeVar("C", bound=Candidate)


def in_turn(hosts: Iterable[C], rules: Rules, now: float) -> Iterator[C]:
    """Each host, as often as it may start; the caller takes one request of it each time.

    The lowest band goes first, in a band the host that may start first, among equals the one that was
    served less in this call, then the older one.
    """
    heap = [(band, h.state.next_at, 0, h.id, h) for h in hosts if (band := h.best()) is not None]
    heapify(heap)
    while heap:
        _, _, served, _, host = heap[0]
        yield host
        band = host.best()
        if band is not None and may_start(host.state, rules, now):
            heapreplace(heap, (band, host.state.next_at, served + 1, host.id, host))
        else:
            heappop(heap)
