"""The life of a request, as one table.

Every accepted request is in exactly one :class:`RequestState`. A frontier moves it only along the edges of
:data:`TABLE`; any other move raises :class:`~gossamer.core.errors.TransitionError` and changes nothing.
The contract suite holds every frontier (Python, SQL, Lua) against this same table, and the picture in
the documentation is drawn from it.
"""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.errors import TransitionError


class RequestState(StrEnum):
    """Where a request is."""

    PENDING = "pending"  # waiting for its host's turn
    DELAYED = "delayed"  # waiting for a time of its own (a retry, a request not due yet)
    LEASED = "leased"  # handed to a worker until a deadline
    DONE = "done"  # settled; its fingerprint stays known
    DEAD = "dead"  # given up, with a reason; can be retried by hand


class RequestTransition(StrEnum):
    """What can happen to a request."""

    ADMIT = "admit"  # accepted by the frontier
    ADMIT_LATER = "admit_later"  # accepted, not due before a time
    COME_DUE = "come_due"  # its time has come
    LEASE = "lease"  # handed out
    FINISH = "finish"  # settled as success, or as skipped for a reason that will not change
    RETRY = "retry"  # settled as to be tried again at a time
    GIVE_UP = "give_up"  # settled as hopeless, or tried often enough
    RELEASE = "release"  # given back unstarted: costs no attempt
    EXPIRE = "expire"  # the deadline passed without a word from the worker: costs an attempt, and time
    REVIVE = "revive"  # a person retries a dead letter
    DROP = "drop"  # a person drops a dead letter


TABLE: dict[tuple[RequestState | None, RequestTransition], RequestState] = {
    (None, RequestTransition.ADMIT): RequestState.PENDING,
    (None, RequestTransition.ADMIT_LATER): RequestState.DELAYED,
    (RequestState.DELAYED, RequestTransition.COME_DUE): RequestState.PENDING,
    (RequestState.PENDING, RequestTransition.LEASE): RequestState.LEASED,
    (RequestState.LEASED, RequestTransition.FINISH): RequestState.DONE,
    (RequestState.LEASED, RequestTransition.RETRY): RequestState.DELAYED,
    (RequestState.LEASED, RequestTransition.GIVE_UP): RequestState.DEAD,
    (RequestState.LEASED, RequestTransition.RELEASE): RequestState.PENDING,
    (RequestState.LEASED, RequestTransition.EXPIRE): RequestState.DELAYED,
    (RequestState.DEAD, RequestTransition.REVIVE): RequestState.PENDING,
    (RequestState.DEAD, RequestTransition.DROP): RequestState.DONE,
}


def next_state(state: RequestState | None, move: RequestTransition) -> RequestState:
    """The state that ``move`` leads to from ``state`` (``None``: not known to the frontier yet)."""
    try:
        return TABLE[state, move]
    except KeyError:
        raise TransitionError(f"a request that is {state or 'unknown'} cannot {move}") from None


class JobState(StrEnum):
    """Where a job is. A frontier grants leases only while its job is ``RUNNING``."""

    RUNNING = "running"  # worked on, or to be worked on: its requests may be leased
    PAUSED = "paused"  # nothing is leased until it is resumed
    CANCELLED = "cancelled"  # given up by a person
    FINISHED = "finished"  # nothing is left to do
