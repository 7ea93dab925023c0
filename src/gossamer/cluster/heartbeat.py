"""Reports a worker to the roster: it beats, begins shifts and reports their ends, from a thread of its own.

Guarantee: spiders that keep the loop of their shifts busy, for seconds on end, delay no beat, and their
worker is not taken for dead. A worker whose loop has not turned for ``hung_s`` counts as dead: it stops
beating until the loop turns again, so that others get its shifts. Code that holds Python's GIL for longer
than ``hung_s`` stops every thread, this one as well.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from gossamer.config.settings import Settings
from gossamer.core.errors import GossamerError, OperatorError
from gossamer.core.health import PartHealth
from gossamer.core.shifts import EndReason, RosterView, Shift, ShiftResult, WorkerInfo, WorkerState
from gossamer.fleet.leader_check import LeaderCheck
from gossamer.fleet.worker_orders import OrderReader
from gossamer.ports.backends import FleetBackend
from gossamer.wiring.open import open_fleet

BEAT_S = 1.0
JOIN_S = 1.0
STILL_S = 120.0
"""Seconds for which the thread may wait for one answer of a server; more than every bound of a driver."""

log = logging.getLogger("gossamer.worker")
T = TypeVar("T")


def thread_of(loop: asyncio.AbstractEventLoop, name: str) -> threading.Thread:
    """Return a thread in which a loop turns until it is stopped; then it is closed."""

    def turn() -> None:
        try:
            loop.run_forever()
        finally:
            loop.close()

    return threading.Thread(target=turn, name=name, daemon=True)


class Heartbeat:
    """One worker's connection to the roster. Its public methods are for any thread; they block.

    ``said`` returns the state for a beat and is called in the pulse's thread; ``obey`` is called in ``loop``
    with the answer, ``told`` with an operator's orders to this worker.
    """

    def __init__(
        self,
        settings: Settings,
        loop: asyncio.AbstractEventLoop,
        said: Callable[[], tuple[WorkerInfo, list[Shift]]],
        obey: Callable[[dict[str, EndReason]], None],
        told: Callable[[WorkerState], None] = lambda _: None,
        *,
        hung_s: float,
    ) -> None:
        self._settings = settings
        self._said, self._obey, self._told = said, obey, told
        self._orders = OrderReader()
        self._leader = LeaderCheck(settings.alerts.no_supervisor)
        self._works_in = loop
        self._hung_s = hung_s
        self._unheard = 0  # beats whose answer has not come through to the loop
        self._loop = asyncio.new_event_loop()
        self._thread = thread_of(self._loop, "gossamer-pulse")
        self._soon = asyncio.Event()
        self._turned_at: float | None = None  # None: it does not beat yet
        self._is_ending = False
        self._opening = asyncio.Lock()
        self._requests: FleetBackend | None = None
        self._beating: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Heartbeat with {self._unheard} beats unheard>"

    @property
    def is_hung(self) -> bool:
        """Whether the loop of the shifts has not turned for ``hung_s``."""
        return self._unheard * BEAT_S >= self._hung_s

    def read_health(self) -> list[PartHealth]:
        """Return the thread of the heartbeat; for any thread."""
        if self._turned_at is None or self._is_ending:
            return []
        failure = "the thread of the heartbeat has stood still"
        return [PartHealth(failure=failure, seen_at=self._turned_at, within_s=STILL_S)]

    def start_thread(self) -> None:
        """Be there for calls; nothing connects yet."""
        self._thread.start()

    def begin_beating(self) -> None:
        """Beat from now on, once a second."""
        self._loop.call_soon_threadsafe(self._begin_beating)

    def beat_soon(self) -> None:
        """Beat at once: there is news."""
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._soon.set)

    def begin_shift(self, shift_id: str, worker_id: str) -> Shift | None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        return self._run_in_loop(self._begin_shift(shift_id, worker_id))

    def end_shift(self, end: ShiftResult) -> None:
        """See :class:`~gossamer.ports.worker_registry.WorkerRegistry`."""
        self._run_in_loop(self._end_shifts((end,)))

    def read_roster(self) -> RosterView:
        """See :class:`~gossamer.ports.roster.Roster`."""
        return self._run_in_loop(self._read_roster())

    def remove_worker(self, worker_id: str, timeout_s: float) -> None:
        """Stop beating, and remove the worker from the roster; give up silently after the timeout."""
        if not self._thread.is_alive():
            return
        ending = asyncio.run_coroutine_threadsafe(self._remove_worker(worker_id), self._loop)
        try:
            ending.result(timeout_s)
        except Exception as error:  # noqa: BLE001 - it leaves: missing beats say the same, only later
            ending.cancel()
            log.debug("could not tell the roster that this worker leaves: %r", error)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(JOIN_S)

    def _run_in_loop(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    # ------------------------------------------------------------------ in its thread

    async def _open_frontier(self) -> FleetBackend:
        async with self._opening:
            if self._requests is None:
                self._requests = await open_fleet(self._settings)
            return self._requests

    async def _begin_shift(self, shift_id: str, worker_id: str) -> Shift | None:
        return await (await self._open_frontier()).roster.begin_shift(shift_id, worker_id)

    async def _end_shifts(self, ends: Sequence[ShiftResult]) -> None:
        await (await self._open_frontier()).roster.end_shifts(ends)

    async def _read_roster(self) -> RosterView:
        return await (await self._open_frontier()).roster.read_roster()

    def _begin_beating(self) -> None:
        self._beating = asyncio.ensure_future(self._keep_beating())

    async def _keep_beating(self) -> None:
        """Beat every second and pass the answers on, until ``stop`` is set."""
        is_away = is_hung = False
        while not self._is_ending:
            self._turned_at = time.monotonic()
            was_hung, is_hung = is_hung, self.is_hung
            if is_hung and not was_hung:
                log.error(
                    "no heartbeat: a callback has blocked the event loop for %.0f s; until it is free others "
                    "take over the requests of this worker",
                    self._hung_s,
                )
            try:
                orders = {} if is_hung else await self._one_beat()
                self._unheard += 1
                self._works_in.call_soon_threadsafe(self._deliver_orders, orders)
                if is_away:
                    log.info("the roster is back")
                is_away = False
            except GossamerError as error:
                if not is_away:
                    log.warning("no heartbeat: %s", error)
                is_away = True
            except Exception:
                log.exception("no beat")
            with contextlib.suppress(TimeoutError):  # at once when there is news
                async with asyncio.timeout(BEAT_S):
                    await self._soon.wait()
            self._soon.clear()

    async def _one_beat(self) -> dict[str, EndReason]:
        requests, (worker, shifts) = await self._open_frontier(), self._said()
        await requests.clock.sleep(0.0)  # now and then it is set anew by the server
        worker = replace(worker, ahead_s=time.time() - requests.clock.now())
        orders = await requests.roster.record_heartbeat(worker, shifts)
        state = await self._orders.read_order(requests.shared, worker.id)
        if state is not None:
            self._works_in.call_soon_threadsafe(self._told, state)
        if self._leader.is_due(now := time.monotonic()):
            view = await requests.roster.read_roster()
            self._leader.note_leader(now, is_there=bool(view.leader))
        return orders

    def _deliver_orders(self, orders: dict[str, EndReason]) -> None:
        """In the loop of the shifts: it turns."""
        self._unheard = 0
        self._obey(orders)

    async def _remove_worker(self, worker_id: str) -> None:
        self._is_ending = True
        self._soon.set()
        if self._beating is not None:  # not cut off: a beat that came after the farewell would undo it
            await self._beating
        if self._requests is None:
            return
        try:
            with contextlib.suppress(OperatorError):
                await self._requests.roster.remove_worker(worker_id)
        finally:
            await self._requests.close()
