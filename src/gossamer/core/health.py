"""Health checks of a process's parts."""

from __future__ import annotations

from gossamer.core.record import Record


class PartHealth(Record, frozen=True, kw_only=True):
    """When one part of a process did its work last. Times are of the monotonic clock, in seconds."""

    failure: str  # the message on failure, for people: `the event loop has not run`
    seen_at: float  # when it worked last; where it never did, since when that was expected
    within_s: float  # how long it may take until the next time
    detail: str = ""  # why it does not, for people; never a secret
