"""A worker's shift: lease due requests, visit them, record the results and settle the leases.

A worker never sleeps while it holds a lease, and holds nothing that another worker could not take over after
a kill: all results of a visit are recorded as a whole, or the visit is repeated.

Visits end at any time; the shift works in *turns*. A turn records all ready results and leases for all free
slots, side by side, so that a frontier which commits together (one file, one writer) does both in one
transaction. During a turn the other visits continue, and their results wait for the next one: the slower the
storage, the larger the groups. A slow store slows fetching down, since a visit's slot is free only when its
result is being stored.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.hosts import HostSignal
from gossamer.core.requests import Lease
from gossamer.core.results import VisitResult
from gossamer.core.steering import WorkLimits
from gossamer.engine.attempt import OpenAttempt
from gossamer.engine.parts import EngineParts, ShiftOptions
from gossamer.engine.recorder import ResultRecorder
from gossamer.engine.sharing import ConcurrencyLimit
from gossamer.engine.stat_changes import begin_job, begin_page
from gossamer.engine.visit import Visitor
from gossamer.policy.counter_rules import merge_counts
from gossamer.runtime.cancelling import end_tasks, wait_for_first
from gossamer.runtime.log_context import describe_page

GROUP = 256
"""Results that one turn records at most."""

WORTH_A_TURN = 16
QUIET = 2
"""Rounds of the loop without a ripe visit: an answer that has arrived needs this many to become ripe."""

RECORDED_WITHIN_S = 0.5
"""Seconds that given-up work waits for results that are being stored; "at once" is within a second."""

Ripe = tuple[OpenAttempt, VisitResult | HostSignal]
"""A visit that is over: a result to record, or a reason to give the lease back."""


class Worker:
    """One worker of one job. ``run`` returns when told to stop, with nothing left in its hands."""

    def __init__(self, parts: EngineParts, options: ShiftOptions) -> None:
        self._parts = parts
        self._options = options
        self._visitor = Visitor(parts, options)
        visit = self._visitor.visit
        self._visit = visit if parts.visits is None else parts.visits.watch_visits(visit)
        self._recorder = ResultRecorder(
            parts.job, parts.committer, parts.store, parts.admission, parts.sink, memory=parts.memory
        )
        self._held: dict[int, tuple[OpenAttempt, asyncio.Task[None]]] = {}  # until recorded or given back
        self._broken_off: set[asyncio.Task[None]] = set()  # visits that were cancelled and have not ended
        self._ripe: list[Ripe] = []
        self._recording: frozenset[int] = frozenset()  # the tokens of results that are being stored
        self._recorded = asyncio.Event()
        self._is_dry = False  # the frontier had nothing for us
        self._is_short = False  # it had less than was asked for
        self._share = ConcurrencyLimit(options.concurrency)
        self._ended = 0
        self._changes = parts.changes
        self._ask_at = -inf  # when the frontier may have something for us
        self._wake = asyncio.Event()
        self._stop = asyncio.Event()
        self._failure: BaseException | None = None
        self._idle = asyncio.Event()

    def __repr__(self) -> str:
        state = " stopping" if self._stop.is_set() else ""
        return f"<Worker {self._options.worker} holding {len(self._held)}{state}>"

    @property
    def idle(self) -> asyncio.Event:
        """Set whenever nothing is in hand and nothing was due."""
        return self._idle

    @property
    def in_flight(self) -> int:
        """Requests in this worker's hands."""
        return len(self._held)

    @property
    def ended_visits(self) -> int:
        """Visits that are over."""
        return self._ended

    def load_if_short(self) -> float | None:
        """Return the number of requests in hand lately, if the frontier had less than this worker could take.

        Call it several times a second.
        """
        self._share.record_load(len(self._held), self._parts.clock.now())
        return self._share.usual if self._is_short and not self._stop.is_set() else None

    def make_room(self, other: float, workers: int) -> None:
        """Another of ``workers`` is short of work with ``other`` requests in hand: leave it its part."""
        self._share.make_room(other, workers, self._parts.clock.now())

    def follow_limits(self, limits: WorkLimits) -> None:
        """Apply new limits of the job; ``limits.concurrency`` is that of this worker."""
        self._share.set_concurrency(limits.concurrency)
        self._visitor.rules = limits.rules
        self._parts.admission.max_depth = limits.rules.max_depth
        self.wake()

    def stop(self) -> None:
        """Take no new work; ``run`` returns when the results of all visits in hand are recorded."""
        self._stop.set()
        self._wake.set()

    def wake(self) -> None:
        """Ask the frontier now: something was added or changed."""
        self._ask_at = -inf
        self._wake.set()

    async def record_expired(self, leases: Sequence[Lease], holder: str = "") -> None:
        """Record expired leases in the ledger, under ``holder`` or the worker that found them."""
        await self._recorder.record_expired(leases, self._parts.clock.now(), holder or self._options.worker)

    async def abandon(self) -> None:
        """Give back all leases at once (a second Ctrl-C, or the end of the time to drain).

        Results that are being stored get a moment to finish: given back between the store and the frontier,
        their pages would be fetched again although they were recorded.
        """
        self.stop()
        recording = self._recording
        await self._give_back(self._held.keys() - recording)
        if recording:
            await self._wait_for(self._recorded, RECORDED_WITHIN_S)
            await self._give_back(self._held.keys() & recording)

    async def _give_back(self, tokens: Iterable[int]) -> None:
        attempts = [self._let_go(token) for token in tokens]
        if attempts:
            await self._parts.frontier.release(
                [attempt.lease for attempt in attempts], [attempt.unfinished_signal() for attempt in attempts]
            )

    # ------------------------------------------------------------------ the shift

    async def run(self) -> None:
        """Work until stopped. Raises the errors of the frontier and the committer (storage trouble)."""
        with begin_job(self._changes):
            await self._work()
        if counted := self._changes.take_counts():
            await self._parts.store.record_attempts(self._parts.job, (), counted)

    async def _work(self) -> None:
        renewal = asyncio.create_task(self._keep_leases())
        turning = asyncio.create_task(self._run_turns())
        try:
            # The turns end when stopped and empty-handed; the renewal of leases ends only by failing.
            await asyncio.wait({turning, renewal}, return_when=asyncio.FIRST_COMPLETED)
            if renewal.done():
                renewal.result()
            await turning
        finally:
            try:
                await end_tasks(renewal, turning)  # raises a cancellation that arrives meanwhile
            finally:
                await self._give_everything_back()

    async def _give_everything_back(self) -> None:
        """Give back the remaining leases: the shift was cancelled from outside, or has storage trouble."""
        try:
            if self._held:
                with contextlib.suppress(StorageError):
                    await self.abandon()
        finally:
            await end_tasks(*self._broken_off)

    async def _run_turns(self) -> None:
        while not (self._stop.is_set() and not self._held):
            if self._failure:
                raise self._failure
            now = self._parts.clock.now()
            free = self._free_slots()
            if self._ripe or (free > 0 and self._ask_at <= now):
                await self._yield_to_visits()
                await self._take_turn(self._free_slots())
            else:
                self._wake.clear()
                idle_s = self._options.idle_wait_s
                await self._wait_for(self._wake, self._ask_at - now if free > 0 else idle_s)

    def _free_slots(self) -> int:
        """Slots for new leases, those of the ripe included."""
        if self._stop.is_set():
            return 0
        held = len(self._held) - len(self._ripe)
        return self._share.limit_for(held, self._parts.clock.now()) - held

    async def _yield_to_visits(self) -> None:
        """Let visits that can continue at once go first: a turn for eight costs nearly the same as for one.

        This does not wait: the turn comes as soon as the loop has nothing else to do.
        """
        quiet = 0
        while quiet < QUIET and len(self._ripe) < min(len(self._held) // 2, WORTH_A_TURN):
            before = len(self._ripe)
            await asyncio.sleep(0)
            quiet = quiet + 1 if len(self._ripe) == before else 0

    async def _take_turn(self, free: int) -> None:
        """Record the results that are ready and lease for ``free`` slots, those of the results included."""
        ripe, self._ripe = self._ripe[:GROUP], self._ripe[GROUP:]
        free -= len(self._ripe)
        results = [end for _, end in ripe if isinstance(end, VisitResult)]
        if results and self._changes.counts:
            results[0] = _with_counts(results[0], self._changes.take_counts())
        returned = [(attempt.lease, end) for attempt, end in ripe if isinstance(end, HostSignal)]
        steps: list[Awaitable[Any]] = []  # handed over in this order
        if results:
            steps.append(self._record_results(results))
        if returned:
            leases, signals = zip(*returned, strict=True)
            steps.append(self._parts.frontier.release(leases, signals))
        if free > 0:
            steps.append(self._lease_requests(free))
        if len(steps) == 1:
            await steps[0]
        else:  # when one fails, the others are not left behind
            for ended in await asyncio.gather(*steps, return_exceptions=True):
                if isinstance(ended, BaseException):
                    raise ended
        self._ended += len(ripe)
        for lease, _ in returned:
            self._held.pop(lease.token, None)
        if self._is_dry and not self._held:
            self.idle.set()

    async def _record_results(self, results: Sequence[VisitResult]) -> None:
        self._recording = frozenset(result.outcome.lease.token for result in results)
        self._recorded.clear()
        try:
            await self._recorder.record_results(results)
            for token in self._recording:
                self._held.pop(token, None)
        finally:
            self._recording = frozenset()
            self._recorded.set()

    async def _lease_requests(self, free: int) -> None:
        options, parts = self._options, self._parts
        self._ask_at = inf
        grant = await parts.frontier.lease(options.lane, free, options.lease_ttl_s)
        now = parts.clock.now()
        due_at = now + options.idle_wait_s if grant.next_at is None else grant.next_at
        if self._recording and len(grant.leases) < free:
            due_at = now  # requests being recorded could not be leased yet, and still hold slots
        self._ask_at = min(self._ask_at, now + options.idle_wait_s, due_at)  # -inf: woken meanwhile
        await self.record_expired(grant.expired)
        if parts.memory is not None and grant.leases:
            await parts.memory.load_pages(grant.leases)
        if self._stop.is_set():  # told to stop while this grant was on its way
            await parts.frontier.release(grant.leases, [HostSignal()] * len(grant.leases))
            return
        for lease in grant.leases:
            self._start_visit(lease)
        self._is_dry = not grant.leases
        self._is_short = len(grant.leases) < free

    async def _wait_for(self, event: asyncio.Event, seconds: float) -> None:
        """Wait until the event is set, at most ``seconds``."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        await wait_for_first(self._parts.clock.sleep(seconds), event.wait())

    def _start_visit(self, lease: Lease) -> None:
        self.idle.clear()
        attempt = self._visitor.open_attempt(lease)
        self._held[lease.token] = (attempt, asyncio.create_task(self._run_visit(attempt)))

    async def _run_visit(self, attempt: OpenAttempt) -> None:
        describe_page(attempt.lease.entry.request)
        page = begin_page(self._changes)
        try:
            end = await self._visit(attempt)
            if counted := page.end():
                if isinstance(end, VisitResult):
                    end = _with_counts(end, counted)
                else:  # counts without a result are stored with another
                    self._changes.add_counts(counted)
            self._ripe.append((attempt, end))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - storage trouble: the shift ends with it
            self._failure = self._failure or error
        finally:
            self._wake.set()

    async def _keep_leases(self) -> None:
        """Extend the leases of long visits; stop work on lost leases."""
        ttl_s = self._options.lease_ttl_s
        while True:
            await self._parts.clock.sleep(ttl_s / 3)
            leases = [attempt.lease for attempt, _ in self._held.values()]
            kept = await self._parts.frontier.extend(leases, ttl_s) if leases else []
            for lease, is_kept in zip(leases, kept, strict=True):
                if not is_kept and lease.token in self._held:
                    self._let_go(lease.token)

    def _let_go(self, token: int) -> OpenAttempt:
        """Break off a visit."""
        attempt, task = self._held.pop(token)
        task.cancel()
        self._broken_off.add(task)
        task.add_done_callback(self._broken_off.discard)
        self._wake.set()
        return attempt


def _with_counts(result: VisitResult, counted: Mapping[str, int]) -> VisitResult:
    """Return a result with earlier counts of users' code; of two values that were set, its own stays."""
    stats = dict(counted)
    merge_counts(stats, result.stats)
    return replace(result, stats=stats)
