"""Jobs: their records in the frontier and in the store."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from gossamer.core.hosts import HostState
from gossamer.core.lifecycle import OVER, FinishReason, JobState, RequestState
from gossamer.core.position import QueuePosition
from gossamer.core.record import Record, Time
from gossamer.core.requests import (
    Entry,
)


def tag_of(job: Job) -> str:
    """A job's name where several stores keep things: their ids are alike, and begin anew with each store."""
    return f"{job.id}-{sha256(job.key).hexdigest()[:12]}"


# --------------------------------------------------------------------------- jobs


class AddResult(Record, frozen=True, kw_only=True):
    """The answer to ``Frontier.add``."""

    accepted: int = 0
    duplicates: int = 0
    too_deep: int = 0


def earliest_time(times: Iterable[float | None]) -> float | None:
    """The first of some times, those left out that are not known."""
    return min((time for time in times if time is not None), default=None)


class FrontierStats(Record, frozen=True, kw_only=True):
    """A frontier's own count of its job; the five states are counted from the structures."""

    state: JobState
    pending: int = 0
    delayed: int = 0
    leased: int = 0
    done: int = 0
    dead: int = 0
    pages: int = 0
    duplicates: int = 0
    too_deep: int = 0
    hosts: int = 0
    deadline: float | None = None  # when the first lease ends by itself
    next_by_lane: dict[str, float] = {}  # when the next waiting request of each lane may start
    budget_spent: bool = False  # ``max_pages`` is reached, and no page that was counted is left to extract
    seeded: bool = False  # ``finish_seeding`` was called, and nothing that it rests on was lost since

    @property
    def waiting(self) -> int:
        """Requests that still have to be done."""
        return self.pending + self.delayed + self.leased

    @property
    def next_at(self) -> float | None:
        """When something may happen next: a turn, a retry, the end of a lease."""
        return earliest_time((self.deadline, *self.next_by_lane.values()))

    def next_on(self, lane: str) -> float | None:
        """The same for who works on one lane: it takes back any lease that has ended."""
        return earliest_time((self.deadline, self.next_by_lane.get(lane)))


class DueCounts(Record, frozen=True, kw_only=True):
    """How many requests of one lane may start now."""

    lane: str
    requests: int  # whose hosts' turns have come, with free slots for them
    since: Time | None = None  # since when the first of them could; None: there is none
    has_more: bool = False  # more hosts wait than were looked at, of which each counts as one request


class HostReport(Record, frozen=True, kw_only=True):
    """One host in a listing."""

    host: str
    state: HostState
    pending: int


class KnownRequest(Record, frozen=True, kw_only=True):
    """A frontier's record of one fingerprint."""

    state: RequestState
    entry: Entry | None = None  # DONE keeps only the fingerprint
    due_at: float = 0.0
    attempts: int = 0
    reason: str = ""
    host: HostState | None = None
    place: QueuePosition = QueuePosition()
    beyond: int = 0  # number of requests searched without finding it; 0: its state is certain


class DeadLetter(Record, frozen=True, kw_only=True):
    """A request given up."""

    id: int
    entry: Entry
    reason: str
    attempts: int = 0
    died_at: float = 0.0


class DeadLetterFilter(Record, frozen=True, kw_only=True):
    """Which dead letters; an empty filter means all of the job."""

    reason: str | None = None
    host: str | None = None
    older_than: float | None = None  # died before this time
    ids: tuple[int, ...] = ()
    text: str = ""  # in its URL; capitals are the same


LetterPlace = tuple[float, int]
"""Where a dead letter stands among others: when it died, and its id."""


class LetterRows(Record, frozen=True, kw_only=True):
    """A part of a job's dead letters, newest first."""

    letters: tuple[DeadLetter, ...] = ()
    next_before: LetterPlace | None = None  # the next part is older than this; None: the last part


class LetterCounts(Record, frozen=True, kw_only=True):
    """How many dead letters there are of a kind."""

    by_reason: dict[str, int] = {}
    is_all: bool = True  # False: only the newest were counted


class Job(Record, frozen=True, kw_only=True):
    """One crawl."""

    id: str  # ``shop-1``: unique in its store, made from the name
    name: str  # the spider's name, or the host of a URL target; whose items these are
    target: str  # the spider with its arguments: the same target is the same crawl
    created_at: float
    state: JobState = JobState.RUNNING
    finished_at: float | None = None
    end_reason: FinishReason | None = None  # why the last run ended; ``None`` while there is none, or it runs
    end_error: str = ""  # the message of the error that ended the last run; empty: none
    key: bytes = b""  # keys the fingerprints
    plan: bytes = b""  # how any worker puts the same crawl together; empty for a crawl of one machine

    @property
    def is_fleet(self) -> bool:
        """Whether it is a fleet's: any worker can put it together. Else it is a crawl of one machine."""
        return bool(self.plan)

    @property
    def is_unfinished(self) -> bool:
        """Whether it runs or is paused, and no end is recorded."""
        return self.state not in OVER and self.finished_at is None

    @property
    def is_running(self) -> bool:
        """Whether a run is under way, as far as is recorded: who is killed records no end."""
        return self.state is JobState.RUNNING and self.end_reason is None

    @property
    def finish_reason(self) -> str:
        """The reason for the end of the last run, as in ``--json``; the message of an error is separate."""
        reason = self.end_reason
        return describe_end(reason, "" if reason is FinishReason.ERROR else self.end_error)

    @property
    def end_text(self) -> str:
        """Why the last run ended, with what its error said; empty while it runs."""
        return describe_end(self.end_reason, self.end_error)


def describe_end(reason: FinishReason | None, detail: str) -> str:
    """Why a run ended, with what its error said, which budget it was, or why a callback ended it."""
    return f"{reason or ''}: {detail}" if detail else reason or ""


def known_end(reason: str, error: str) -> tuple[FinishReason | None, str]:
    """``end_reason`` and ``end_error`` as stored; a reason that this version does not know is an error."""
    if reason in _REASONS:
        return (FinishReason(reason) if reason else None), error
    return FinishReason.ERROR, reason.removeprefix(f"{FinishReason.ERROR}: ")


_REASONS = {"", *FinishReason}


class JobTotals(Record, frozen=True, kw_only=True):
    """A job's totals, counted from the store."""

    pages: int = 0
    items: int = 0  # distinct items of this job
    attempts: int = 0
    retries: int = 0
    duplicates: int = 0  # items that this job had already
    dropped: dict[str, int] = {}
    bytes: int = 0
    by_status: dict[str, int] = {}
    by_reason: dict[str, int] = {}
    successes: int = 0  # requests that were answered and handled without a fault
    unchanged: int = 0  # pages that were not sent again, since they had not changed
    by_rung: dict[str, int] = {}  # attempts by another rung than plain HTTP
    cost_by_rung: dict[str, float] = {}  # charges of paid services
    callback_pages: dict[str, int] = {}  # pages that a callback was given and did not fail on, by its name
    callback_items: dict[str, int] = {}  # items that it gave on them, dropped ones included
    callback_requests: dict[str, int] = {}  # requests that it gave on them and that were new
    by_outcome: dict[str, int] = {}  # attempts by what came of them and by rung: ``success:http``
    by_latency: dict[str, int] = {}  # answers by ``core.series.LATENCY_BOUNDS_MS``, each in one bucket
    latency_sum_s: float = 0.0  # until the bodies of all of them had arrived
    expected: dict[str, int] = {}  # the largest number that pages announced, by ``policy.goals``' keys
    stats: dict[str, int] = {}  # the spider's own counters: units by rule and name (``policy.spider_stats``)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was tried and nothing found."""
        return not (self.attempts or self.pages or self.items)

    @property
    def cost(self) -> float:
        """The cost of all attempts."""
        return round(sum(self.cost_by_rung.values()), 6)


class StoredItem(Record, frozen=True, kw_only=True):
    """An item as the store keeps it. Times are seconds since the epoch."""

    type: str  # class name of the item; ``item`` for a dict
    key: str  # identifies the item among those of its spider and type
    data: dict[str, Any]  # values by field
    url: str  # page on which it was last found
    first_seen: float  # time of the first page that showed it
    last_seen: float  # time of the latest page that showed it
    changed_at: float  # time of the latest page that showed it with other values
    id: int = 0  # number of the item in the store


class ItemFilter(Record, frozen=True, kw_only=True):
    """Which items of a job; an empty filter means all of them."""

    type: str = ""
    missing: str = ""  # those in which this field is absent, null or empty
    changed_since: float | None = None  # by their latest change
    text: str = ""  # in any field, the key or the URL


EVERY_ITEM = ItemFilter()
"""All items of a job."""


class FoundItemRows(Record, frozen=True, kw_only=True):
    """Items of a job that were found on one page."""

    items: tuple[StoredItem, ...] = ()  # the first of them
    total: int = 0  # how many there are


ItemPlace = tuple[float, int]
"""Where an item stands among others: its latest change, and its id."""


class ItemRows(Record, frozen=True, kw_only=True):
    """A part of a job's items, the newest change first."""

    items: tuple[StoredItem, ...] = ()
    next_before: ItemPlace | None = None  # the next part is older than this; None: the last part
