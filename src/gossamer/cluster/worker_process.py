"""A worker process's place of work: one event loop in a thread, in which all its shifts run.

Celery's threads only begin the shift that their message named, wait for its end and report it. The process's
:class:`~gossamer.cluster.heartbeat.Heartbeat` beats once a second for all its shifts, from another thread,
since spiders may keep this loop busy; the loop carries out the answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import socket
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from gossamer.cluster.heartbeat import BEAT_S, JOIN_S, Heartbeat, thread_of
from gossamer.cluster.process_watch import ProcessWatch, frames_of_thread
from gossamer.cluster.shift_task import ShiftTask, watch_shift
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.events import ShiftEndedEvent
from gossamer.core.exits import ExitCode
from gossamer.core.health import PartHealth
from gossamer.core.shifts import EndReason, Shift, ShiftResult, WorkerInfo, WorkerState
from gossamer.core.text import format_count
from gossamer.engine.answer_memory import AnswerTable
from gossamer.fleet.error_throttle import ErrorThrottle
from gossamer.fleet.shift_watch import WatchedShift
from gossamer.ports.sink import Sink
from gossamer.ports.work_watcher import WorkWatcher
from gossamer.runtime.cancelling import end_soon, end_tasks, stack_of
from gossamer.runtime.memory import resident_bytes
from gossamer.runtime.process_name import this_process
from gossamer.version import __version__
from gossamer.wiring.backend_check import BackendCheck, waiting_health
from gossamer.wiring.backends import Backends, open_backends
from gossamer.wiring.process_health import watch_process
from gossamer.wiring.sinks import open_sinks

BEGIN = "cannot begin yet"
"""The log's subject for servers that are away when a process starts."""

PAST_DEADLINE = "it did not end by its deadline and was cancelled; the worker's log says where it hung"
LEAVE_S = 5.0
"""How long a process that ends because of a shift may take to give back its other work."""

log = logging.getLogger("gossamer.worker")
T = TypeVar("T")


class WorkerProcess:
    """Where the shifts of one process run. Its public methods are for other threads."""

    def __init__(self, settings: Settings, *, slots: int, lanes: Sequence[str]) -> None:
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = thread_of(self._loop, "gossamer-loop")
        self._backends: Backends | None = None
        self._opening = asyncio.Lock()
        self._sinks: tuple[Sink, ...] = ()
        self._closing = contextlib.ExitStack()  # lets go of the sinks
        self._moved = asyncio.Event()
        self._began_at = time.monotonic()
        self._servers: BackendCheck | None = None  # None: it has not found its servers
        self._checking: asyncio.Task[None] | None = None
        self._answers = AnswerTable()
        self._works: dict[str, ShiftTask] = {}
        self._running: dict[str, asyncio.Task[Any]] = {}  # the tasks of the shifts
        self._watch = ProcessWatch(self._watched_shifts, self._cancel_shift, self._leave, self._place_of)
        self._overdue: set[str] = set()  # shifts that were cancelled for being past their deadlines
        self._begun: dict[str, Shift] = {}  # from the beginning of each until its end is reported
        hung_s = settings.frontier.lease_ttl  # by then other workers have its requests
        self.obey_person: Callable[[WorkerState], None] = self.set_state  # carries out an operator's order
        self._pulse = Heartbeat(
            settings,
            self._loop,
            self._state_for_beat,
            self._obey_orders,
            self._obey_person,
            hung_s=hung_s,
        )
        self.card = WorkerInfo(
            id=this_process(),
            slots=slots,
            lanes=tuple(lanes),
            host=socket.gethostname(),
            pid=os.getpid(),
            version=__version__,
            started_at=time.time(),
        )

    def __repr__(self) -> str:
        return f"<WorkerProcess {self.card.id} {self.card.state} with {len(self._works)} shifts>"

    # ------------------------------------------------------------------ for other threads

    def begin(self) -> None:
        """Open the sinks, so that operators see this process whatever it waits for.

        Raises errors that waiting does not fix: a missing package, an invalid setting.
        """
        self._thread.start()
        self._run_in_loop(self._open_sinks())

    def start(self) -> bool:
        """Begin to beat when the servers are there; ``False`` if it was told to end before.

        Comes after ``begin`` and raises the same errors.
        """
        self._pulse.start_thread()
        is_ready = self._run_in_loop(self._wait_for_servers())
        if is_ready:
            self._pulse.begin_beating()
            self._watch.start()
        return is_ready

    def prefers_another(self, job: str, lane: str) -> bool:
        """Whether this worker is at this job already, while another one has nothing to do."""
        if not any(shift.job == job for shift in list(self._begun.values())):
            return False
        try:
            view = self._pulse.read_roster()
        except StorageError:
            return False
        busy = {shift.worker for shift in view.shifts}
        return any(
            worker.id not in busy
            and lane in worker.lanes
            and worker.state is WorkerState.WORKING
            and worker.beat_at + 3 * BEAT_S > view.at
            for worker in view.workers
        )

    def work_on_shift(self, job: str, lane: str, shift_id: str) -> str:
        """Work on a shift to its end; why it ended, in a word. Blocks."""
        if self.card.state is not WorkerState.WORKING or self._pulse.is_hung:
            return "not begun: this worker takes no shifts now"
        try:
            shift = self._pulse.begin_shift(shift_id, self.card.id)
        except StorageError as error:
            log.warning("a shift of %s was not begun: %s", job, error)
            return "not begun: storage trouble"
        if shift is None:
            return "not begun: it is no longer needed"
        self._begun[shift_id] = shift
        try:
            end = self._run_in_loop(self._run_shift(shift))
            self._report_end(end)
        finally:
            del self._begun[shift_id]
        return f"{end.why.value}: {format_count(end.pages, 'page')}"

    def set_state(self, state: WorkerState) -> None:
        """Take shifts from now on, or none; then those that are under way end."""
        self._loop.call_soon_threadsafe(self._set_state, state)

    def abort(self, timeout_s: float) -> None:
        """Give everything back at once, within the timeout; leave even if the loop is blocked."""
        ends_at = time.monotonic() + timeout_s
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._abandon_shifts(), self._loop).result(timeout_s * 0.7)
        self._pulse.remove_worker(self.card.id, max(ends_at - time.monotonic(), 0.1))

    def close(self) -> None:
        """Strike the worker off and let go of the servers."""
        self._watch.close()
        self._pulse.remove_worker(self.card.id, 3.0)
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._close_backends(), self._loop).result(2.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(JOIN_S)

    def current_work(self) -> dict[str, Any]:
        """Return the current work, for remote control."""
        shifts = [work.current_shift for work in list(self._works.values())]
        return {
            "worker": self.card.id,
            "state": self.card.state.value,
            "slots": self.card.slots,
            "shifts": [
                {"job": s.job, "lane": s.lane, "pages": s.pages, "in_flight": s.in_flight} for s in shifts
            ],
        }

    # ------------------------------------------------------------------ in the thread of the deadlines

    def _watched_shifts(self) -> dict[str, WatchedShift]:
        """Return all shifts, from their beginning until their end is reported."""
        works, settings = dict(self._works), self._settings
        return {
            key: works[key].watched
            if key in works
            else watch_shift(shift, settings.cluster, settings.store.patience)
            for key, shift in dict(self._begun).items()
        }

    def _cancel_shift(self, shift_id: str) -> None:
        self._overdue.add(shift_id)
        self._loop.call_soon_threadsafe(lambda: end_soon(self._running.get(shift_id)))

    def _place_of(self, shift_id: str) -> str:
        """Return where a shift waits, and where the loop is."""
        task, lines = self._running.get(shift_id), []
        with contextlib.suppress(Exception):  # it is read while it may be running
            lines = [] if task is None else stack_of(task)
        if frames := frames_of_thread(self._thread):
            lines += ["The event loop is held up at:", frames]
        return "\n".join(lines)

    def _leave(self) -> None:
        """End the process, whatever hangs in it; give back first the work that others can take over."""
        self.abort(LEAVE_S)
        os._exit(ExitCode.BUG)

    def _run_in_loop(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    # ------------------------------------------------------------------ in the loop

    async def _open_sinks(self) -> None:
        health = watch_process(self._closing, self._read_work)
        health.watch_life(self._read_life)
        self._sinks = self._closing.enter_context(open_sinks(self._settings, health))
        for sink in self._sinks:
            if isinstance(sink, WorkWatcher):
                sink.watch_work(self._count_in_flight, dict.fromkeys(self.card.lanes, self.card.slots))

    async def _wait_for_servers(self) -> bool:
        complaints = ErrorThrottle()
        while self.card.state is WorkerState.WORKING:
            try:
                backends = await self._open_backends()
                await backends.join_fleet()
                roster = backends.require_fleet().roster
                await roster.record_heartbeat(self.card, ())
                await roster.notify_supervisor()
            except StorageError as error:  # a server that starts later than this worker
                pause_s = complaints.report_error(BEGIN, str(error), time.monotonic())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause_s):
                        await self._moved.wait()
            else:
                complaints.clear_error(BEGIN)
                self._servers = BackendCheck(await self._open_backends())
                self._checking = asyncio.create_task(self._servers.run())
                return True
        return False

    def _read_life(self) -> list[PartHealth]:
        """Return the threads and the shifts of this worker; for any thread."""
        return [*self._pulse.read_health(), *self._watch.read_health()]

    def _read_work(self) -> list[PartHealth]:
        """Return its servers; for any thread."""
        return waiting_health(self._began_at) if self._servers is None else self._servers.read_parts()

    async def _open_backends(self) -> Backends:
        async with self._opening:
            if self._backends is None:
                self._backends = await open_backends(self._settings, create=True)
            return self._backends

    def _set_state(self, state: WorkerState) -> None:
        if state is self.card.state:
            return
        self.card = replace(self.card, state=state)
        self._moved.set()
        self._pulse.beat_soon()
        log.info("this worker is now %s; %s under way", state.value, format_count(len(self._works), "shift"))
        if state is not WorkerState.WORKING:
            for work in self._works.values():
                work.stop(EndReason.DRAINED)

    async def _run_shift(self, shift: Shift) -> ShiftResult:
        failed = functools.partial(
            ShiftResult, id=shift.id, job=shift.job, lane=shift.lane, why=EndReason.FAILED
        )
        task = asyncio.current_task()
        assert task is not None
        self._running[shift.id] = task
        try:
            return await self._run_task(shift)
        except StorageError as error:
            return failed(detail=str(error))
        except asyncio.CancelledError:
            if shift.id not in self._overdue:
                raise
            return failed(detail=PAST_DEADLINE, clean=False)
        finally:
            del self._running[shift.id]
            self._overdue.discard(shift.id)

    async def _run_task(self, shift: Shift) -> ShiftResult:
        backends = await self._open_backends()
        work = self._works[shift.id] = ShiftTask(
            shift,
            self._settings,
            backends,
            backends.require_fleet().roster.notify_supervisor,
            self._sinks,
            answers=self._answers,
        )
        if self.card.state is not WorkerState.WORKING:  # told so since it was begun
            work.stop(EndReason.DRAINED)
        try:
            end = await work.run()
        finally:
            del self._works[shift.id]
        ended = ShiftEndedEvent(at=time.time(), job=end.job, lane=end.lane, why=end.why, pages=end.pages)
        for sink in self._sinks:
            sink.emit(ended)
        return end

    def _count_in_flight(self) -> int:
        return sum(work.current_shift.in_flight for work in tuple(self._works.values()))

    def _state_for_beat(self) -> tuple[WorkerInfo, list[Shift]]:
        """Return the state for a beat; called in the pulse's thread."""
        as_begun, works = dict(self._begun), dict(self._works)
        card = replace(self.card, memory_bytes=resident_bytes())
        return card, [works[key].current_shift if key in works else as_begun[key] for key in as_begun]

    def _obey_orders(self, orders: dict[str, EndReason]) -> None:
        """Carry out the answer to a beat. A shift declared dead stops like any other: its results are refused
        anyway."""
        for shift_id, why in orders.items():
            if shift_id in self._works:
                self._works[shift_id].stop(why)

    def _obey_person(self, state: WorkerState) -> None:
        self.obey_person(state)

    def _report_end(self, end: ShiftResult) -> None:
        """Report an end; without a report the missing beats say the same, only later."""
        if end.why is EndReason.FAILED and self.card.state is WorkerState.DRAINING:
            return  # do not wait for a server that is away: this worker leaves, and that says it as well
        try:
            self._pulse.end_shift(replace(end, worker=self.card.id))
        except StorageError as error:
            log.warning("the end of a shift of %s could not be reported: %s", end.job, error)

    async def _abandon_shifts(self) -> None:
        self._set_state(WorkerState.DRAINING)
        works = list(self._works.values())
        await asyncio.gather(*(work.abandon() for work in works), return_exceptions=True)

    async def _close_backends(self) -> None:
        self._closing.close()
        await end_tasks(self._checking)
        if self._backends is not None:
            await self._backends.close()
