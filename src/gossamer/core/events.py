"""Typed events. A :class:`~gossamer.ports.sink.Sink` gets each event once, in order."""

from __future__ import annotations

from gossamer.core.jobs import FrontierStats
from gossamer.core.record import Record
from gossamer.core.results import Attempt
from gossamer.core.shifts import EndReason


class Event(Record, frozen=True, kw_only=True):
    """The base of every event."""

    at: float  # seconds since the epoch; of an attempt, when it began


class JobStartedEvent(Event, frozen=True, kw_only=True):
    """A run of a job began (a job that is resumed begins again)."""

    job: str  # the id of the job
    resumed: bool = False  # whether there was an earlier run
    recovered: int = 0  # leases of an earlier run that were taken back


class PageDoneEvent(Event, frozen=True, kw_only=True):
    """One attempt ended; the event has its results."""

    job: str  # the id of the job
    attempt: Attempt  # the row of the ledger: URL, status, verdict, reason, duration, size
    items: int = 0  # items stored from the page
    requests: int = 0  # requests that the page led to
    is_page: bool = False  # the page was parsed, and is stored
    dropped: dict[str, int] = {}  # items and links of the page that were left out, by reason
    stats: dict[str, int] = {}  # the spider's own counters, in thousandths: ``stat:RULE:NAME``
    host: str = ""  # the host, with its port where it is not the usual one


class LeaseLostEvent(Event, frozen=True, kw_only=True):
    """A lease was taken back because its deadline passed, or a late result was refused."""

    job: str  # the id of the job
    url: str  # the URL of the request


class ProgressEvent(Event, frozen=True, kw_only=True):
    """A regular look at the frontier."""

    job: str  # the id of the job
    stats: FrontierStats  # how many requests are in each state


class TimeLeftEvent(Event, frozen=True, kw_only=True):
    """A regular estimate of how long a job still takes."""

    job: str  # the id of the job
    least_s: float | None = None  # lower bound in seconds; None: unknown
    most_s: float | None = None  # upper bound in seconds; None: unknown
    text: str = ""  # ``done in 3 to 5 minutes``, or why that is not known


class JobFinishedEvent(Event, frozen=True, kw_only=True):
    """A run of a job ended."""

    job: str  # the id of the job
    reason: str  # why it ended: a finish reason


class ShiftEndedEvent(Event, frozen=True, kw_only=True):
    """A shift of a fleet's worker ended."""

    job: str  # the id of the job
    lane: str  # the lane that it worked on
    why: EndReason  # why it ended
    pages: int = 0  # results that were recorded


class NoticeEvent(Event, frozen=True, kw_only=True):
    """Something a person should know; ``level`` is ``info``, ``warning`` or ``error``."""

    level: str  # ``info``, ``warning`` or ``error``
    text: str  # one sentence
