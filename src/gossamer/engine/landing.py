"""Where harvests wait for the committer: whatever has gathered lands as one group.

Bounded, so that a slow store slows the fetching down. A storage error ends :meth:`Landing.run`, and with
it the shift: what had not landed is still leased and will be taken back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gossamer.engine.admission import Admission
from gossamer.words.errors import Fault
from gossamer.words.events import LeaseLost, PageDone
from gossamer.words.model import Attempt, Harvest, Job, Lease, Verdict
from gossamer.words.ports import Committer, Sink, Store

GROUP = 256


class Landing:
    """The queue in front of a committer."""

    def __init__(
        self, job: Job, committer: Committer, store: Store, admission: Admission, sink: Sink
    ) -> None:
        self._job = job
        self._committer = committer
        self._store = store
        self._admission = admission
        self._sink = sink
        self._queue: asyncio.Queue[tuple[Harvest, asyncio.Future[None]] | None] = asyncio.Queue(2 * GROUP)

    async def land(self, harvest: Harvest) -> None:
        """Return when the harvest is durable (or was refused because its lease is lost)."""
        landed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        await self._queue.put((harvest, landed))
        await landed

    async def close(self) -> None:
        """Let :meth:`run` return when everything queued so far has landed."""
        await self._queue.put(None)

    async def run(self) -> None:
        """Commit group after group until closed. Raises what the committer raises."""
        closed = False
        while not closed:
            group = []
            queued = await self._queue.get()
            while queued is not None:
                group.append(queued)
                if len(group) >= GROUP or self._queue.empty():
                    break
                queued = self._queue.get_nowait()
            closed = queued is None
            if group:
                await self._commit(group)

    async def _commit(self, group: list[tuple[Harvest, asyncio.Future[None]]]) -> None:
        kept = await self._committer.commit([harvest for harvest, _ in group])
        for (harvest, landed), is_kept in zip(group, kept, strict=True):
            if not landed.done():
                landed.set_result(None)
            if is_kept:
                self._admission.remember(harvest.outcome.outlinks)
            self._tell(harvest, is_kept=is_kept)

    def _tell(self, harvest: Harvest, *, is_kept: bool) -> None:
        for attempt in harvest.attempts:
            if not is_kept:
                self._sink.emit(LeaseLost(at=attempt.at, job=self._job.id, url=attempt.url))
                continue
            self._sink.emit(
                PageDone(
                    at=attempt.at,
                    job=self._job.id,
                    attempt=attempt,
                    items=len(harvest.items),
                    requests=len(harvest.outcome.outlinks),
                    dropped=harvest.dropped,
                    host=harvest.outcome.lease.entry.host,
                )
            )

    async def record_expired(self, leases: Sequence[Lease], now: float, worker: str) -> None:
        """Write the ledger's rows for leases that no worker came back from."""
        if not leases:
            return
        await self._store.record(self._job, [expired_attempt(lease, now, worker) for lease in leases])
        for lease in leases:
            self._sink.emit(LeaseLost(at=now, job=self._job.id, url=lease.entry.request.url))


def expired_attempt(lease: Lease, now: float, worker: str) -> Attempt:
    """The ledger's row for a lease that no worker came back from."""
    entry = lease.entry
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
    )
