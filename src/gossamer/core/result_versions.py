"""Results of a crawl that were made again, beside those that it stored itself."""

from __future__ import annotations

from enum import StrEnum

from gossamer.core.record import Record, Time


class VersionState(StrEnum):
    """The decision about a result that was made again."""

    NEW = "new"  # not decided yet
    PROMOTED = "promoted"  # its items are the crawl's now
    DISCARDED = "discarded"


class ResultVersion(Record, frozen=True, kw_only=True):
    """A result of a crawl that was made again from its archive; it is a job of its own."""

    job: str  # whose items these are
    base: str  # the crawl
    state: VersionState = VersionState.NEW
    created_at: Time
