"""The ledger of a job: the tries at fetching that fit a filter."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.results import Attempt, AttemptFilter
from gossamer.policy.request_preview import describe_preview
from gossamer.policy.urls import canonicalise_url
from gossamer.wiring.backends import Backends


class AttemptPage(Record, frozen=True, kw_only=True):
    """The latest tries that fit a filter, newest first."""

    attempts: tuple[Attempt, ...] = ()
    has_more: bool = False  # older ones that fit


async def find_attempts(backends: Backends, job: Job, which: AttemptFilter, limit: int) -> AttemptPage:
    """The latest tries that fit, no more than ``limit``."""
    which = replace(which, host=which.host.lower(), method=which.method.upper())
    found = await backends.ledger.find_attempts(job, limit + 1, which)
    return AttemptPage(attempts=tuple(found[:limit]), has_more=len(found) > limit)


def spellings_of(url: str) -> tuple[str, ...]:
    """A URL as it was typed and in its canonical form, which the ledger has."""
    return tuple({url, canonicalise_url(url) or url})


def describe_request(attempt: Attempt) -> str:
    """What tells the request of a try from others to its URL; mostly nothing."""
    return describe_preview(attempt.request)
