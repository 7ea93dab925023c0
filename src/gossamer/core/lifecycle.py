"""The life of a request and the life of a job, as two tables.

Every accepted request is in exactly one :class:`RequestState`, and every job in exactly one
:class:`JobState`. They move only along the edges of :data:`REQUEST_TABLE` and :data:`JOB_TABLE`; any other
move raises :class:`~gossamer.core.errors.TransitionError` and changes nothing. The contract suite holds every
frontier (Python, SQL, Lua) against these same tables, and the pictures in the documentation are drawn from
them.
"""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.errors import TransitionError

# --------------------------------------------------------------------------- requests


class RequestState(StrEnum):
    """Where a request is."""

    PENDING = "pending"  # waiting for its host's turn
    DELAYED = "delayed"  # waiting for a time of its own (a retry, a request not due yet)
    LEASED = "leased"  # handed to a worker until a deadline
    DONE = "done"  # settled; its fingerprint stays known
    DEAD = "dead"  # given up, with a reason; can be retried by hand


class RequestTransition(StrEnum):
    """A transition of a request."""

    ADMIT = "admit"  # accepted by the frontier
    ADMIT_LATER = "admit_later"  # accepted, but not due before a certain time
    COME_DUE = "come_due"  # its time has come
    LEASE = "lease"  # handed out
    FINISH = "finish"  # settled as success, or as skipped for a reason that will not change
    RETRY = "retry"  # settled, to be tried again at a certain time
    REROUTE = "reroute"  # settled as to wait in another lane, or behind everything else, at no cost
    GIVE_UP = "give_up"  # settled as hopeless, or as tried often enough
    RELEASE = "release"  # given back unstarted: costs no attempt
    EXPIRE = "expire"  # the deadline passed without news from the worker: costs an attempt, and time
    REVIVE = "revive"  # a person retries a dead letter
    DROP = "drop"  # a person drops a dead letter
    BURY = "bury"  # a person takes back that it was retried, and it still waits; or that it was dropped


REQUEST_TABLE: dict[tuple[RequestState | None, RequestTransition], RequestState] = {
    (None, RequestTransition.ADMIT): RequestState.PENDING,
    (None, RequestTransition.ADMIT_LATER): RequestState.DELAYED,
    (RequestState.DELAYED, RequestTransition.COME_DUE): RequestState.PENDING,
    (RequestState.PENDING, RequestTransition.LEASE): RequestState.LEASED,
    (RequestState.LEASED, RequestTransition.FINISH): RequestState.DONE,
    (RequestState.LEASED, RequestTransition.RETRY): RequestState.DELAYED,
    (RequestState.LEASED, RequestTransition.REROUTE): RequestState.PENDING,
    (RequestState.LEASED, RequestTransition.GIVE_UP): RequestState.DEAD,
    (RequestState.LEASED, RequestTransition.RELEASE): RequestState.PENDING,
    (RequestState.LEASED, RequestTransition.EXPIRE): RequestState.DELAYED,
    (RequestState.DEAD, RequestTransition.REVIVE): RequestState.PENDING,
    (RequestState.DEAD, RequestTransition.DROP): RequestState.DONE,
    (RequestState.PENDING, RequestTransition.BURY): RequestState.DEAD,
    (RequestState.DONE, RequestTransition.BURY): RequestState.DEAD,
}


def next_state(state: RequestState | None, move: RequestTransition) -> RequestState:
    """The state that ``move`` leads to from ``state`` (``None``: not known to the frontier yet)."""
    try:
        return REQUEST_TABLE[state, move]
    except KeyError:
        raise TransitionError(f"a request that is {state or 'unknown'} cannot {move}") from None


# --------------------------------------------------------------------------- jobs


class JobState(StrEnum):
    """Where a job is. A frontier grants leases only while its job is ``RUNNING``."""

    RUNNING = "running"  # worked on, or to be worked on: its requests may be leased
    PAUSED = "paused"  # nothing is leased until it is resumed
    CANCELLED = "cancelled"  # given up by a person
    FINISHED = "finished"  # nothing is left to do


class JobCommand(StrEnum):
    """A command for a job, applied by ``Frontier.apply_change``."""

    CREATE = "create"  # a crawl of a new target begins, or one is submitted
    PAUSE = "pause"  # a person stops it for a time
    RESUME = "resume"  # a person lets it continue, or gives the same `gossamer crawl` command again
    CANCEL = "cancel"  # a person gives it up
    FINISH = "finish"  # all seeds were added, and nothing waits
    REOPEN = "reopen"  # a finished job has work again: dead letters are retried, lost requests redone
    RECOVER = "recover"  # every lease is void, because no worker holds one; the state stays


_RUNNING, _PAUSED = JobState.RUNNING, JobState.PAUSED
_CANCELLED, _FINISHED = JobState.CANCELLED, JobState.FINISHED

JOB_TABLE: dict[tuple[JobState | None, JobCommand], JobState] = {
    (None, JobCommand.CREATE): _RUNNING,
    (_RUNNING, JobCommand.PAUSE): _PAUSED,
    (_PAUSED, JobCommand.PAUSE): _PAUSED,
    (_FINISHED, JobCommand.PAUSE): _PAUSED,
    (_RUNNING, JobCommand.RESUME): _RUNNING,
    (_PAUSED, JobCommand.RESUME): _RUNNING,
    (_FINISHED, JobCommand.RESUME): _RUNNING,
    (_RUNNING, JobCommand.CANCEL): _CANCELLED,
    (_PAUSED, JobCommand.CANCEL): _CANCELLED,
    (_FINISHED, JobCommand.CANCEL): _CANCELLED,
    (_CANCELLED, JobCommand.CANCEL): _CANCELLED,
    (_RUNNING, JobCommand.FINISH): _FINISHED,
    (_FINISHED, JobCommand.FINISH): _FINISHED,
    (_RUNNING, JobCommand.REOPEN): _RUNNING,
    (_PAUSED, JobCommand.REOPEN): _PAUSED,
    (_CANCELLED, JobCommand.REOPEN): _CANCELLED,
    (_FINISHED, JobCommand.REOPEN): _RUNNING,
    (_RUNNING, JobCommand.RECOVER): _RUNNING,
    (_PAUSED, JobCommand.RECOVER): _PAUSED,
    (_CANCELLED, JobCommand.RECOVER): _CANCELLED,
    (_FINISHED, JobCommand.RECOVER): _FINISHED,
}
"""A command that was cut off can be given again: from the state that it leads to, it leads to the same.

A job that is cancelled stays so. One that is just finishing can still be steered: a person has the last word
until its end is recorded (:data:`OVER`).
"""

OVER = frozenset({JobState.CANCELLED, JobState.FINISHED})
"""The states in which a job, once they are recorded, takes no more commands from a person."""


def next_job_state(state: JobState | None, command: JobCommand) -> JobState:
    """Return the state after ``command`` in ``state`` (``None``: the job does not exist yet)."""
    try:
        return JOB_TABLE[state, command]
    except KeyError:
        was = f"a job that is {state}" if state else "a job that does not exist"
        raise TransitionError(f"{was} cannot take the command {command}") from None


class FinishReason(StrEnum):
    """Why a run of a job ended. Where more waits, the next run continues with it."""

    FINISHED = "finished"  # nothing is left to do
    MAX_PAGES = "max_pages"  # the page budget is spent, or those of all hosts for which requests wait
    SKIPPED = "skipped"  # all that waits has been of hosts that a person skips, for ten minutes
    MAX_TIME = "max_time"  # the time budget is spent; more waits
    BUDGET = "budget"  # a budget of money, bytes or browser seconds is spent; more waits
    MAX_ITEMS = "max_items"  # the budget of items is spent; more waits
    MAX_ERRORS = "max_errors"  # the error budget is spent; more requests wait
    STOPPED = "stopped"  # a callback said so (``response.stop()``); more waits
    PAUSED = "paused"  # the job was paused; more waits
    CANCELLED = "cancelled"  # the job was cancelled
    SIGNAL = "signal"  # told to stop; more waits
    ERROR = "error"  # the storage failed, the spider's ``start()``, or Gossamer itself; more waits
    INTERRUPTED = "interrupted"  # its process could not record its end, by `kill -9` for instance; more waits
    NOT_BEGUN = "not begun"  # it never had a request: its start failed, or the fleet's Redis did not take it

    @property
    def is_early(self) -> bool:
        """Whether the run ended early: before all work, a budget (pages, items, time) or a requested stop."""
        return self not in _AS_ASKED


_AS_ASKED = frozenset(
    {
        FinishReason.FINISHED,
        FinishReason.MAX_PAGES,
        FinishReason.SKIPPED,
        FinishReason.MAX_TIME,
        FinishReason.MAX_ITEMS,
        FinishReason.STOPPED,
    }
)
