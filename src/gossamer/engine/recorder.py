"""Makes the results of visits durable, and reports them to the sinks."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gossamer.core.drops import DropSample
from gossamer.core.errors import Fault, OperatorError
from gossamer.core.events import LeaseLostEvent, PageDoneEvent
from gossamer.core.jobs import Job
from gossamer.core.requests import Lease
from gossamer.core.results import Attempt, Verdict, VisitResult
from gossamer.engine.admission import Admission
from gossamer.engine.attempt import MAX_DETAIL
from gossamer.policy.deferral import page_entry_of
from gossamer.policy.request_preview import preview_of
from gossamer.policy.request_secrets import secret_values_of
from gossamer.ports.committer import Committer
from gossamer.ports.sink import Sink
from gossamer.ports.store import Store
from gossamer.runtime.known_secrets import hide_secrets, knows_secrets

if TYPE_CHECKING:
    from gossamer.engine.page_memory import PageMemory

log = logging.getLogger("gossamer.crawl")


class ResultRecorder:
    """The way from a worker to its committer. ``memory`` looks at the links of results before each commit."""

    def __init__(
        self,
        job: Job,
        committer: Committer,
        store: Store,
        admission: Admission,
        sink: Sink,
        *,
        memory: PageMemory | None = None,
    ) -> None:
        self._job = job
        self._committer = committer
        self._store = store
        self._admission = admission
        self._sink = sink
        self._memory = memory

    async def record_results(self, results: Sequence[VisitResult]) -> None:
        """Wait until these results are durable (or their outcome was refused because the lease is lost).

        Raises storage trouble: then nothing was recorded, and all are still leased. A result that cannot be
        encoded becomes a dead letter with the reason, and the others are recorded.
        """
        results = [without_secrets(result) for result in results]
        try:
            noted, kept = await self._commit(results)
        except OperatorError:
            raise
        except Exception:  # noqa: BLE001 - the result of one page: one request fails, not the crawl
            if len(results) > 1:
                for result in results:
                    await self.record_results([result])
                return
            noted, kept = await self._commit([_to_dead_letter(results[0])])
        for result, is_kept in zip(noted, kept, strict=True):
            if is_kept:
                self._admission.remember_entries(result.outcome.outlinks)
            self._emit_events(result, is_kept=is_kept)

    async def _commit(self, results: Sequence[VisitResult]) -> tuple[Sequence[VisitResult], list[bool]]:
        """Commit results; return them as committed, and which of them count."""
        noted = results if self._memory is None else await self._memory.note_links(results)
        return noted, await self._committer.commit(noted)

    def _emit_events(self, result: VisitResult, *, is_kept: bool) -> None:
        for attempt in result.attempts:
            if not is_kept:
                self._sink.emit(LeaseLostEvent(at=attempt.at, job=self._job.id, url=attempt.url))
                continue
            self._sink.emit(
                PageDoneEvent(
                    at=attempt.at,
                    job=self._job.id,
                    attempt=attempt,
                    items=len(result.items),
                    is_page=result.page is not None,
                    requests=len(result.outcome.outlinks),
                    dropped=result.dropped,
                    stats=result.stats,
                    host=page_entry_of(result.outcome.lease.entry).host,
                )
            )

    async def record_expired(self, leases: Sequence[Lease], now: float, worker: str) -> None:
        """Write the ledger's rows for leases that no worker came back from."""
        if not leases:
            return
        await self._store.record_attempts(
            self._job, [expired_attempt(lease, now, worker) for lease in leases]
        )
        for lease in leases:
            self._sink.emit(LeaseLostEvent(at=now, job=self._job.id, url=lease.entry.request.url))


def without_secrets(result: VisitResult) -> VisitResult:
    """Return a result without known secrets in its texts for people."""
    if not result.dropped and not any(attempt.detail for attempt in result.attempts):
        return result
    values = secret_values_of(result.outcome.lease.entry.request)
    if not values and not knows_secrets():
        return result
    attempts = tuple(
        replace(attempt, detail=hide_secrets(attempt.detail, values)) if attempt.detail else attempt
        for attempt in result.attempts
    )
    dropped: Counter[str] = Counter()  # reasons that differ in a secret alone become one
    for reason, count in result.dropped.items():
        dropped[hide_secrets(reason, values)] += count
    samples = tuple(_sample_without(sample, values) for sample in result.samples)
    return replace(result, attempts=attempts, dropped=dict(dropped), samples=samples)


def _sample_without(sample: DropSample, values: Iterable[str]) -> DropSample:
    """Return the same sample of a dropped item without secrets."""
    data = hide_secrets(sample.data.decode(), values).encode()
    return replace(sample, reason=hide_secrets(sample.reason, values), data=data)


def _to_dead_letter(result: VisitResult) -> VisitResult:
    """Return the rest of a result that the store could not encode, while that error is handled."""
    log.exception("the results of a page cannot be stored; the page is a dead letter")
    outcome = replace(
        result.outcome, verdict=Verdict.DEAD, reason=Fault.CALLBACK.value, is_page=False, outlinks=()
    )
    values = secret_values_of(outcome.lease.entry.request)
    detail = hide_secrets(traceback.format_exc(), values)[-MAX_DETAIL:]
    attempts = tuple(
        replace(attempt, verdict=Verdict.DEAD, reason=Fault.CALLBACK.value, detail=detail)
        for attempt in result.attempts
    )
    return VisitResult(outcome=outcome, attempts=attempts, stats=result.stats)


def expired_attempt(lease: Lease, now: float, worker: str) -> Attempt:
    """Return the ledger's row for an expired lease."""
    entry = page_entry_of(lease.entry)
    return Attempt(
        at=now,
        url=entry.request.url,
        fingerprint=entry.fingerprint,
        verdict=Verdict.EXPIRED,
        reason=Fault.EXPIRED.value,
        attempt=lease.attempt,
        worker=worker,
        depth=entry.request.depth,
        via=entry.request.via,
        method=entry.request.method,
        request=preview_of(entry.request),
        session=entry.request.session,
    )
