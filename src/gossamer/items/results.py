"""Items that no visit has just found, as a store takes them."""

from __future__ import annotations

from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import ItemRecord, Outcome, Verdict, VisitResult
from gossamer.policy import urls


def result_of_item(record: ItemRecord, at: float) -> VisitResult:
    """Return a visit's result for one item, without page and attempt: it is not counted as a visit."""
    entry = Entry(request=Request(record.url), fingerprint=0, host=urls.host_key(record.url))
    lease = Lease(entry=entry, token=0, granted_at=at, start_by=at, deadline=at, attempt=1)
    return VisitResult(outcome=Outcome(lease=lease, verdict=Verdict.SUCCESS), items=(record,))
