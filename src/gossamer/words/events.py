"""What happens, as typed events. A :class:`~gossamer.words.ports.Sink` gets each once, in order."""

from __future__ import annotations

from gossamer.words.model import Attempt, FrontierStats, Record


class Event(Record, frozen=True, kw_only=True):
    """The base of every event."""

    at: float


class JobStarted(Event, frozen=True, kw_only=True):
    """A run of a job began (a job that is resumed begins again)."""

    job: str
    resumed: bool = False
    recovered: int = 0  # leases of an earlier run that were taken back


class PageDone(Event, frozen=True, kw_only=True):
    """One attempt ended, with what it yielded."""

    job: str
    attempt: Attempt
    items: int = 0
    requests: int = 0
    dropped: dict[str, int] = {}  # what was not taken of the page, by reason
    host: str = ""


class LeaseLost(Event, frozen=True, kw_only=True):
    """A lease was taken back because its deadline passed, or a late result was refused."""

    job: str
    url: str


class Progress(Event, frozen=True, kw_only=True):
    """A regular look at the frontier."""

    job: str
    stats: FrontierStats


class JobFinished(Event, frozen=True, kw_only=True):
    """A run of a job ended."""

    job: str
    reason: str  # finished, max_pages, max_time, paused, cancelled, signal, error


class Notice(Event, frozen=True, kw_only=True):
    """Something a person should know; ``level`` is ``info``, ``warning`` or ``error``."""

    level: str
    text: str
