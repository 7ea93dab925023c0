"""A worker's shift: lease what may start, visit it, land what comes back with its settled lease.

A worker never sleeps while it holds a lease, and holds nothing that another worker could not take over
when this one is killed: everything a visit brings back lands as a whole, or is done again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence

from gossamer.engine.draft import Draft
from gossamer.engine.landing import Landing
from gossamer.engine.visit import Parts, ShiftOptions, Visitor
from gossamer.words.errors import StorageError
from gossamer.words.model import HostSignal, Lease


class Worker:
    """One worker of one job. ``run`` returns when told to stop, with nothing left in its hands."""

    def __init__(self, parts: Parts, options: ShiftOptions) -> None:
        self._parts = parts
        self._options = options
        self._visitor = Visitor(parts, options)
        self._landing = Landing(parts.job, parts.committer, parts.store, parts.admission, parts.sink)
        self._held: dict[int, tuple[Draft, asyncio.Task[None]]] = {}
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None
        self.idle = asyncio.Event()  # set whenever nothing is in hand and nothing was due

    def __repr__(self) -> str:
        state = " stopping" if self._stop.is_set() else ""
        return f"<Worker {self._options.worker} holding {len(self._held)}{state}>"

    @property
    def in_flight(self) -> int:
        """Requests in this worker's hands."""
        return len(self._held)

    def stop(self) -> None:
        """Take no new work; ``run`` returns when what is in hand has landed."""
        self._stop.set()
        self._wake.set()

    def wake(self) -> None:
        """Ask the frontier now: something was added or changed."""
        self._wake.set()

    async def record_expired(self, leases: Sequence[Lease]) -> None:
        """Enter leases that were found past their deadline into the ledger."""
        await self._landing.record_expired(leases, self._parts.clock.now(), self._options.worker)

    async def abandon(self) -> None:
        """Give back at once everything in hand (a second Ctrl-C, or the end of the time to drain)."""
        self.stop()
        drafts = [draft for draft, _ in self._held.values()]
        for _, task in list(self._held.values()):
            task.cancel()
        await self._parts.frontier.release(
            [draft.lease for draft in drafts], [draft.unfinished() for draft in drafts]
        )

    # ------------------------------------------------------------------ the shift

    async def run(self) -> None:
        """Work until stopped. Raises what the frontier or the committer raise (storage trouble)."""
        keeper = asyncio.create_task(self._keep_leases())
        landing = asyncio.create_task(self._landing.run())
        leasing = asyncio.create_task(self._lease_loop())
        try:
            # Leasing ends when stopped and empty-handed; the two others end only by failing.
            await asyncio.wait({leasing, landing, keeper}, return_when=asyncio.FIRST_COMPLETED)
            for task in (landing, keeper):
                if task.done():
                    task.result()
            await leasing
            await self._landing.close()
            await landing
        finally:
            tasks = [keeper, landing, leasing]
            for task in tasks:
                task.cancel()
            if self._held:  # cancelled from outside, or storage trouble: give back what can be given back
                with contextlib.suppress(StorageError):
                    await self.abandon()
            tasks += [task for _, task in self._held.values()]
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _lease_loop(self) -> None:
        options = self._options
        while not self._stop.is_set() and not self._failure:
            free = options.concurrency - len(self._held)
            wait_s = options.idle_wait_s
            self._wake.clear()
            if free > 0:
                grant = await self._parts.frontier.lease(options.lane, free, options.lease_ttl_s)
                await self.record_expired(grant.expired)
                if self._stop.is_set():  # told to stop while this grant was on its way
                    await self._parts.frontier.release(grant.leases, [HostSignal()] * len(grant.leases))
                    break
                for lease in grant.leases:
                    self._start(lease)
                if grant.leases:
                    continue
                if not self._held:
                    self.idle.set()
                if grant.next_at is not None:
                    wait_s = min(wait_s, grant.next_at - self._parts.clock.now())
            await self._wait(wait_s)
        while self._held and not self._failure:
            await asyncio.wait([task for _, task in self._held.values()])
            await asyncio.sleep(0)  # let their callbacks run
        if self._failure:
            raise self._failure

    async def _wait(self, seconds: float) -> None:
        """Until woken, or for so long."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeping = asyncio.ensure_future(self._parts.clock.sleep(seconds))
        waking = asyncio.ensure_future(self._wake.wait())
        try:
            await asyncio.wait({sleeping, waking}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            waking.cancel()

    def _start(self, lease: Lease) -> None:
        self.idle.clear()
        draft = self._visitor.draft(lease)
        task = asyncio.create_task(self._one(draft))
        self._held[lease.token] = (draft, task)
        task.add_done_callback(lambda done: self._let_go(lease.token, done))

    def _let_go(self, token: int, task: asyncio.Task[None]) -> None:
        self._held.pop(token, None)
        if not task.cancelled():
            self._failure = self._failure or task.exception()  # storage trouble: the shift ends
        self._wake.set()

    async def _keep_leases(self) -> None:
        """Extend what takes long; stop work on what was lost meanwhile."""
        ttl_s = self._options.lease_ttl_s
        while True:
            await self._parts.clock.sleep(ttl_s / 3)
            leases = [draft.lease for draft, _ in self._held.values()]
            kept = await self._parts.frontier.extend(leases, ttl_s) if leases else []
            for lease, is_kept in zip(leases, kept, strict=True):
                if not is_kept and lease.token in self._held:
                    self._held[lease.token][1].cancel()

    async def _one(self, draft: Draft) -> None:
        harvest = await self._visitor.visit(draft)
        if isinstance(harvest, HostSignal):
            await self._parts.frontier.release([draft.lease], [harvest])
        else:
            await self._landing.land(harvest)
