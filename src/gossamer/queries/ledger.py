"""The ledger of a job: the tries at fetching that fit a filter."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.jobs import Job, JobTotals
from gossamer.core.record import Record, Time
from gossamer.core.results import EVERY_ATTEMPT, Attempt, AttemptFilter, NumberedAttempt
from gossamer.policy.request_preview import describe_preview
from gossamer.policy.urls import canonicalise_url
from gossamer.queries.bounds import cut_attempt, fit_rows
from gossamer.queries.cursors import cursor_of, read_number
from gossamer.wiring.backends import Backends

MOST_BYTES = 79_000
"""Maximum size of a listing."""


class AttemptPage(Record, frozen=True, kw_only=True):
    """The latest tries that fit a filter, newest first."""

    attempts: tuple[Attempt, ...] = ()
    has_more: bool = False  # older ones that fit


async def find_attempts(backends: Backends, job: Job, which: AttemptFilter, limit: int) -> AttemptPage:
    """The latest tries that fit, no more than ``limit``."""
    which = replace(which, host=which.host.lower(), method=which.method.upper())
    found = await backends.ledger.find_attempts(job, limit + 1, which)
    return AttemptPage(attempts=tuple(found[:limit]), has_more=len(found) > limit)


class AttemptListing(Record, frozen=True, kw_only=True):
    """A part of the ledger of a job, newest first."""

    at: Time
    attempts: tuple[NumberedAttempt, ...]  # their details are cut
    total: int | None  # that fit, where a counter knows
    next_cursor: str | None  # where the next part begins; None: this is the last part


async def list_attempts(
    backends: Backends, job: Job, which: AttemptFilter, limit: int, cursor: str = ""
) -> AttemptListing:
    """A part of the ledger in bounded time and size; one that ends early may have no attempts.

    Raises ``UsageError`` for a cursor that is none.
    """
    which = replace(which, host=which.host.lower(), method=which.method.upper())
    found = await backends.ledger.page_attempts(job, limit, which, read_number(cursor))
    rows = fit_rows(map(cut_attempt, found.attempts), MOST_BYTES)
    after = rows[-1].id if len(rows) < len(found.attempts) else found.next_before
    return AttemptListing(
        at=backends.clock.now(),
        attempts=tuple(rows),
        total=_count_fitting(await backends.store.read_totals(job), which),
        next_cursor=cursor_of(after),
    )


def _count_fitting(totals: JobTotals, which: AttemptFilter) -> int | None:
    """How many attempts fit a filter, where a counter knows."""
    if which == EVERY_ATTEMPT:
        return totals.attempts
    if which.reason and which == AttemptFilter(reason=which.reason):
        return totals.by_reason.get(which.reason, 0)
    if which.status and which == AttemptFilter(status=which.status):
        return totals.by_status.get(str(which.status), 0)
    return None


def spellings_of(url: str) -> tuple[str, ...]:
    """A URL as it was typed and in its canonical forms, of which the ledger has one: with its fragment, or
    without.
    """
    return tuple({url, *(canonicalise_url(url, keep_fragment=keeps) or url for keeps in (False, True))})


def describe_request(attempt: Attempt) -> str:
    """Return the options that distinguish an attempt's request from others to its URL; mostly empty."""
    return describe_preview(attempt.request)
