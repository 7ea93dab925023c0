"""The ledger of a job: the tries at fetching that fit a filter."""

from __future__ import annotations

from gossamer.core.errors import Fault, LedgerReason
from gossamer.core.jobs import Job
from gossamer.core.record import Record
from gossamer.core.results import Attempt, Verdict
from gossamer.policy.request_preview import describe_preview
from gossamer.policy.urls import canonicalise_url
from gossamer.wiring.backends import Backends


class AttemptFilter(Record, frozen=True, kw_only=True):
    """Which tries; an empty filter means all of the job."""

    url: str = ""  # in any spelling
    host: str = ""  # ``host`` or ``host:port``
    status: int | None = None  # 0: no answer
    verdict: Verdict | None = None
    reason: Fault | LedgerReason | None = None
    method: str = ""
    flag: str = ""  # of the page
    fingerprint: int | None = None  # of the request


class AttemptPage(Record, frozen=True, kw_only=True):
    """The latest tries that fit a filter, newest first."""

    attempts: tuple[Attempt, ...] = ()
    has_more: bool = False  # older ones that fit


async def find_attempts(backends: Backends, job: Job, which: AttemptFilter, limit: int) -> AttemptPage:
    """The latest tries that fit, no more than ``limit``."""
    found = await backends.ledger.find_attempts(
        job,
        limit + 1,
        urls_=spellings_of(which.url) if which.url else (),
        host=which.host.lower() or None,
        status=which.status,
        verdict=which.verdict,
        reason=which.reason,
        method=which.method.upper() or None,
        flag=which.flag or None,
        fingerprint=which.fingerprint,
    )
    return AttemptPage(attempts=tuple(found[:limit]), has_more=len(found) > limit)


def spellings_of(url: str) -> tuple[str, ...]:
    """A URL as it was typed and in its canonical form, which the ledger has."""
    return tuple({url, canonicalise_url(url) or url})


def describe_request(attempt: Attempt) -> str:
    """What tells the request of a try from others to its URL; mostly nothing."""
    return describe_preview(attempt.request)
