"""How a page was found: the pages that led to it, one after the other."""

from __future__ import annotations

from gossamer.core.jobs import Job, KnownRequest
from gossamer.core.record import Record, Time
from gossamer.core.redaction import hide_userinfo
from gossamer.core.results import Attempt, AttemptFilter
from gossamer.ports.ledger_reader import LedgerReader

STEPS = 5
"""Number of pages shown, including the page itself: each costs a look into the ledger."""


class ViaStep(Record, frozen=True, kw_only=True):
    """One page on the way to another."""

    url: str
    how: str  # what led to it: ``seed``, ``link`` or ``redirect``; empty: that is no longer known
    at: Time | None = None  # when it was tried for the last time


async def read_chain(
    ledger: LedgerReader, job: Job, url: str, found: KnownRequest | None, tries: list[Attempt]
) -> tuple[ViaStep, ...]:
    """The pages that led to a request, the first one first, the request itself last; of a seed nothing."""
    at, how, before = _origin_of(found, tries)
    steps: list[ViaStep] = []
    seen = {url}
    while True:
        steps.append(ViaStep(url=hide_userinfo(url), how=how, at=at))
        if not before or before in seen or len(steps) == STEPS:
            break
        url = before
        seen.add(url)
        at, how, before = _origin_of(None, await ledger.find_attempts(job, 1, AttemptFilter(urls=(url,))))
    return tuple(reversed(steps)) if len(steps) > 1 else ()


def _origin_of(found: KnownRequest | None, tries: list[Attempt]) -> tuple[float | None, str, str]:
    """When a request was tried, how it was found, and on which page."""
    if tries:
        at, via = tries[0].at, tries[0].via
        redirected_by = tries[0].request.redirected_by if tries[0].request else ""
    elif found is not None and found.entry is not None:
        request = found.entry.request
        at, via, redirected_by = None, request.via, request.redirects[-1] if request.redirects else ""
    else:
        return None, "", ""
    return at, "redirect" if redirected_by else "link" if via else "seed", redirected_by or via
