"""The tools of the store checks: their subject, items and results of visits."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.core.drops import DropSample
from gossamer.core.jobs import EVERY_ITEM, ItemFilter, Job, StoredItem
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import Attempt, ItemRecord, Outcome, PageRecord, Verdict, VisitResult
from gossamer.ports.job_store import JobStore
from gossamer.ports.store import Store
from gossamer.testing.contracts.suite import ContractSuite


@dataclass
class StoreSubject:
    """The store under test, and its jobs."""

    store: Store
    book: JobStore

    async def read_items(
        self, job: Job | None = None, after_id: int = 0, which: ItemFilter = EVERY_ITEM
    ) -> list[StoredItem]:
        """Return all items at once."""
        return [item async for item in self.store.read_items(job, after_id, which)]


STORE_CHECKS: ContractSuite[StoreSubject] = ContractSuite()
"""The checks by name."""


def make_item(
    key: str, data: bytes = b'{"name":"x"}', kind: str = "Product", url: str = "http://a/1"
) -> ItemRecord:
    """Make an item; its hash follows its data."""
    return ItemRecord(type=kind, key=key, data=data, hash=hash(data), url=url)


def make_visit_result(
    *items: ItemRecord,
    at: float = 0.0,
    number: int = 1,
    attempt: Attempt | None = None,
    dropped: dict[str, int] | None = None,
    samples: tuple[DropSample, ...] = (),
) -> VisitResult:
    """Make the result of a page's visit at a time."""
    url = f"http://a/{number}"
    lease = Lease(
        entry=Entry(request=Request(url), fingerprint=number, host="a"),
        token=number,
        granted_at=at,
        start_by=at,
        deadline=at,
        attempt=1,
    )
    made = Attempt(at=at, url=url, fingerprint=number, verdict=Verdict.SUCCESS, status=200, size_bytes=10)
    return VisitResult(
        outcome=Outcome(lease=lease, verdict=Verdict.SUCCESS),
        attempts=(attempt or made,),
        items=items,
        page=PageRecord(url=url, fingerprint=number, status=200, at=at, items=len(items)),
        dropped=dropped or {},
        samples=samples,
    )


def by_lease(found: VisitResult, token: int, *, dont_filter: bool = False, expiries: int = 0) -> VisitResult:
    """Return the same page under another lease."""
    lease = found.outcome.lease
    request = replace(lease.entry.request, dont_filter=dont_filter)
    lease = replace(lease, token=token, expiries=expiries, entry=replace(lease.entry, request=request))
    return replace(found, outcome=replace(found.outcome, lease=lease))
