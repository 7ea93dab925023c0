"""The tasks of the application, and how a Celery worker's life moves its place of work.

The place is made when Celery's worker is ready, in its own process: no loop, pool or connection exists at
import.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from types import FrameType
from typing import Any

from celery import Celery, signals
from celery.worker.control import control_command, inspect_command

from gossamer.cluster.app import TASK, queue_of, quiet
from gossamer.cluster.workplace import Workplace
from gossamer.config import Settings
from gossamer.words.errors import OperatorError
from gossamer.words.shifts import WorkerState

STOPPED = 3
MISSING = 4
AT_ONCE_S = 0.8
"""How long a worker may give back what it holds when it is told a second time to end."""

log = logging.getLogger("gossamer.worker")


class Station:
    """The one place of work of this process, and the signals that move it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.place: Workplace | None = None
        self._consumer: Any = None
        self._queues: list[str] = []

    def open(self, sender: Any = None, **_: object) -> None:
        """Celery's worker is ready."""
        self._consumer, controller = sender, sender.controller
        prefix = queue_of(self._settings.cluster.fleet, "")
        self._queues = [queue.name for queue in controller.app.amqp.queues.consume_from.values()]
        lanes = [name.removeprefix(prefix) for name in self._queues if name.startswith(prefix)]
        self.place = Workplace(self._settings, slots=controller.concurrency, lanes=lanes)
        try:
            self.place.start()
        except OperatorError as error:
            log.error("%s", error)  # noqa: TRY400 - a person's to mend, and said as such
            os._exit(MISSING)
        log.info(
            "worker %s takes shifts: %d slots, lanes %s",
            self.place.card.id,
            controller.concurrency,
            ", ".join(lanes),
        )

    def drain(self, **_: object) -> None:
        """Celery was told to shut down; told again, this process ends at once."""
        if self.place is None:
            os._exit(STOPPED)
        self.place.move(WorkerState.DRAINING)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            with contextlib.suppress(ValueError):
                signal.signal(number, self._leave)

    def move(self, state: WorkerState) -> None:
        """Take shifts from now on, or none: no message either, which another worker could begin."""
        assert self.place is not None
        consumer = self._consumer
        for name in self._queues:
            if state is WorkerState.WORKING:
                consumer.call_soon(consumer.add_task_queue, name, name, "direct", name)
            else:
                consumer.call_soon(consumer.cancel_task_queue, name)
        self.place.move(state)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        log.warning("told again to end: giving everything back")
        if self.place is not None:
            self.place.abort(AT_ONCE_S)
        os._exit(STOPPED)

    def close(self, **_: object) -> None:
        """Celery's worker has ended."""
        if self.place is not None:
            self.place.close()


def register(app: Celery, settings: Settings) -> Celery:
    """The application with its task, and with a place of work for the worker that it may become."""
    quiet()
    station = Station(settings)

    @app.task(name=TASK, ignore_result=True)
    def shift(job: str, lane: str, shift_id: str) -> str:
        """Work on a job's lane for a while."""
        if station.place is None:
            return "not begun: this worker is not ready"
        return station.place.work(job, lane, shift_id)

    signals.worker_ready.connect(station.open, weak=False)
    signals.worker_shutting_down.connect(station.drain, weak=False)
    signals.worker_shutdown.connect(station.close, weak=False)
    _STATIONS[id(app)] = station
    return app


_STATIONS: dict[int, Station] = {}


def _station(state: Any) -> Station:
    return _STATIONS[id(state.app)]


@control_command()
def drain(state: Any) -> dict[str, str]:
    """Take no new shifts; end those under way; the process stays."""
    _station(state).move(WorkerState.DRAINING)
    return {"ok": "draining"}


@control_command()
def pause_shifts(state: Any) -> dict[str, str]:
    """Take no shifts until told to resume."""
    _station(state).move(WorkerState.PAUSED)
    return {"ok": "paused"}


@control_command()
def resume_shifts(state: Any) -> dict[str, str]:
    """Take shifts again."""
    _station(state).move(WorkerState.WORKING)
    return {"ok": "working"}


@inspect_command()
def shifts(state: Any) -> dict[str, Any]:
    """What this worker works on."""
    place = _station(state).place
    return {} if place is None else place.stats()
