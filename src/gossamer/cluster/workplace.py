"""A worker process's place of work: one event loop in a thread, in which all its shifts run.

Celery's threads only wait here for the end of the shift that their message named. The place beats once a
second for all its shifts, and does what the answer says.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from gossamer.cluster.work import Work
from gossamer.config import Settings
from gossamer.engine.fleet_parts import Complaints, FleetOptions
from gossamer.version import __version__
from gossamer.wiring.desk import Desk, open_desk
from gossamer.wiring.in_redis import roster_of
from gossamer.words.errors import GossamerError, OperatorError, StorageError
from gossamer.words.shifts import ShiftEnd, Why, WorkerCard, WorkerState

BEAT_S = 1.0
BEGIN = "cannot begin yet"
"""What servers that are away when a process starts are complained of as."""

log = logging.getLogger("gossamer.worker")
T = TypeVar("T")


class Workplace:
    """Where the shifts of one process run. Its public methods are for other threads."""

    def __init__(self, settings: Settings, *, slots: int, lanes: Sequence[str]) -> None:
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="gossamer-loop", daemon=True)
        self._desk: Desk | None = None
        self._opening = asyncio.Lock()
        self._moved = asyncio.Event()
        self._works: dict[str, Work] = {}
        self._beating: asyncio.Task[None] | None = None
        host = socket.gethostname()
        self.card = WorkerCard(
            id=f"{host}:{os.getpid()}:{secrets.token_hex(3)}",
            slots=slots,
            lanes=tuple(lanes),
            host=host,
            pid=os.getpid(),
            version=__version__,
        )

    def __repr__(self) -> str:
        return f"<Workplace {self.card.id} {self.card.state} with {len(self._works)} shifts>"

    # ------------------------------------------------------------------ for other threads

    def start(self) -> bool:
        """Begin to beat, when the servers are there; ``False``: it was told to end before.

        Raises what waiting does not mend: a driver that is missing, a setting that is wrong.
        """
        self._thread.start()
        return self._call(self._start())

    def prefers_another(self, job: str, lane: str) -> bool:
        """Whether this worker is at this job already, while another one has nothing to do."""
        if not any(work.shift.job == job for work in list(self._works.values())):
            return False
        return self._call(self._is_another_idle(lane))

    def work(self, job: str, lane: str, shift_id: str) -> str:
        """Work on a shift to its end; why it ended, in a word. Blocks."""
        return self._call(self._shift(job, lane, shift_id))

    def move(self, state: WorkerState) -> None:
        """Take shifts from now on, or none; then those that are under way end."""
        self._loop.call_soon_threadsafe(self._set_state, state)

    def abort(self, timeout_s: float) -> None:
        """Give everything back at once, within so many seconds."""
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._abort(), self._loop).result(timeout_s)

    def close(self) -> None:
        """Strike the worker off and let go of the servers."""
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(5.0)
        self._loop.call_soon_threadsafe(self._loop.stop)

    def stats(self) -> dict[str, Any]:
        """What it does now, for remote control."""
        shifts = [work.shift for work in list(self._works.values())]
        return {
            "worker": self.card.id,
            "state": self.card.state.value,
            "slots": self.card.slots,
            "shifts": [
                {"job": s.job, "lane": s.lane, "pages": s.pages, "in_flight": s.in_flight} for s in shifts
            ],
        }

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    # ------------------------------------------------------------------ in the loop

    async def _start(self) -> bool:
        complaints = Complaints(FleetOptions(), random.random)
        while self.card.state is WorkerState.WORKING:
            try:
                roster = roster_of(await self._at_desk()).roster
                await roster.beat(self.card, ())
                await roster.ring()
            except StorageError as error:  # a server that starts later than this worker
                pause_s = complaints.say(BEGIN, str(error), time.monotonic())
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._moved.wait(), pause_s)
            else:
                complaints.well(BEGIN)
                self._beating = asyncio.create_task(self._beat())
                return True
        return False

    async def _at_desk(self) -> Desk:
        async with self._opening:
            if self._desk is None:
                self._desk = await open_desk(self._settings, create=True)
            return self._desk

    def _set_state(self, state: WorkerState) -> None:
        if state is self.card.state:
            return
        self.card = replace(self.card, state=state)
        self._moved.set()
        log.info("this worker is %s now; %d shifts under way", state.value, len(self._works))
        if state is not WorkerState.WORKING:
            for work in self._works.values():
                work.stop(Why.DRAINED)

    async def _is_another_idle(self, lane: str) -> bool:
        try:
            view = await roster_of(await self._at_desk()).roster.look()
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

    async def _shift(self, job: str, lane: str, shift_id: str) -> str:
        if self.card.state is not WorkerState.WORKING:
            return "not begun: this worker takes no shifts now"
        try:
            desk = await self._at_desk()
            roster = roster_of(desk).roster
            shift = await roster.begin(shift_id, self.card.id)
        except StorageError as error:
            log.warning("a shift of %s was not begun: %s", job, error)
            return "not begun: storage trouble"
        if shift is None:
            return "not begun: nobody asks for it any more"
        work = Work(shift, self._settings, desk, roster.ring)
        self._works[shift_id] = work
        try:
            end = await work.run()
        finally:
            del self._works[shift_id]
        await self._tell(end)
        return f"{end.why.value}: {end.pages} pages"

    async def _tell(self, end: ShiftEnd) -> None:
        """Report an end; without a report the missing beats say the same, only later."""
        if end.why is Why.FAILED and self.card.state is WorkerState.DRAINING:
            return  # do not wait for a server that is away: this worker leaves, and that says it as well
        try:
            assert self._desk is not None
            await roster_of(self._desk).roster.end((replace(end, worker=self.card.id),))
        except StorageError as error:
            log.warning("the end of a shift of %s could not be reported: %s", end.job, error)

    async def _beat(self) -> None:
        """Say every second that this worker lives, and do what the answers say. Never ends by itself."""
        is_away = False
        while True:
            try:
                assert self._desk is not None
                shifts = [work.shift for work in self._works.values()]
                orders = await roster_of(self._desk).roster.beat(self.card, shifts)
                for shift_id, why in orders.items():
                    # One that was declared dead stops like any other: its late results are refused anyway.
                    if shift_id in self._works:
                        self._works[shift_id].stop(why)
                if is_away:
                    log.info("the roster is back")
                is_away = False
            except GossamerError as error:
                if not is_away:
                    log.warning("no beat: %s", error)
                is_away = True
            except Exception:
                log.exception("no beat")
            with contextlib.suppress(
                TimeoutError
            ):  # at once when it takes no more shifts, or takes them again
                await asyncio.wait_for(self._moved.wait(), BEAT_S)
            self._moved.clear()

    async def _abort(self) -> None:
        self._set_state(WorkerState.DRAINING)
        works = list(self._works.values())
        await asyncio.gather(*(work.abandon() for work in works), return_exceptions=True)
        await self._leave()

    async def _leave(self) -> None:
        if self._desk is not None:
            await roster_of(self._desk).roster.leave(self.card.id)

    async def _close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        try:
            with contextlib.suppress(OperatorError):
                await self._leave()
        finally:
            if self._desk is not None:
                await self._desk.close()
