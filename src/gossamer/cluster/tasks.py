"""The tasks of the application, and how a Celery worker's life moves its place of work.

The place is made when Celery's worker starts, in its own process: no loop, pool or connection exists at
import. It takes shifts when Celery has found its broker.

Remote control (``celery -A gossamer.cluster``, Flower): ``inspect shifts``; ``control pause_shifts``,
``control resume_shifts``, ``control drain`` (the process stays; ``shutdown`` drains and ends it). Celery's
own ``stats``, ``add_consumer`` and ``pool_*`` mean what they always do, and know nothing of shifts.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
from types import FrameType
from typing import Any, NoReturn

from celery import Celery, signals
from celery.concurrency.thread import TaskPool
from celery.worker import state as celery_state
from celery.worker.control import control_command, inspect_command

from gossamer.cluster.consumer import quiet_celery
from gossamer.cluster.publisher import TASK, ShiftPublisher, queue_of
from gossamer.cluster.worker_process import WorkerProcess
from gossamer.config.settings import Settings
from gossamer.core.errors import OperatorError
from gossamer.core.exits import ExitCode
from gossamer.core.shifts import WorkerState
from gossamer.core.text import format_count

MOST_PASSES = 3
"""How often a shift is passed on to an idle worker before it is begun in any case."""
GARBAGE = 700
"""Objects made between two searches for garbage, once the worker is at work (Python's own number)."""
AT_ONCE_S = 0.8
"""How long a worker may give back its requests after a second signal to end."""

log = logging.getLogger("gossamer.worker")


class SignalHandler:
    """The one place of work of this process, and the signals that move it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.place: WorkerProcess | None = None
        self._consumer: Any = None
        self._queues: list[str] = []
        self.is_open = False  # it takes shifts
        self._is_told = False

    def on_worker_start(self, instance: Any = None, **_: object) -> None:
        """Celery's worker starts; its broker may be away."""
        if not issubclass(instance.pool_cls, TaskPool):
            log.error("shifts run in threads: start the worker with `-P threads`, or without -P")
            os._exit(ExitCode.USAGE)
        prefix = queue_of(self._settings.cluster.fleet, "")
        self._queues = [queue.name for queue in instance.app.amqp.queues.consume_from.values()]
        lanes = [name.removeprefix(prefix) for name in self._queues if name.startswith(prefix)]
        self.place = WorkerProcess(self._settings, slots=instance.concurrency, lanes=lanes)
        self.place.obey_person = self._obey_person
        try:
            self.place.begin()
        except OperatorError as error:
            _leave(error)

    def on_worker_ready(self, sender: Any = None, **_: object) -> None:
        """Celery's worker has found its broker."""
        assert self.place is not None
        self._consumer = sender
        # In the place of Celery's, which never end a shift and call Ctrl-C a failure.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        try:
            if not self.place.start():
                return
        except OperatorError as error:
            _leave(error)
        self.is_open = True
        gc.collect()
        gc.freeze()  # imported objects stay: no collection has to visit them
        gc.set_threshold(
            GARBAGE
        )  # the start of the process had few searches, which a long life cannot afford
        log.info(
            "worker %s takes shifts: %s, lanes %s",
            self.place.card.id,
            format_count(self.place.card.slots, "slot"),
            ", ".join(self.place.card.lanes),
        )

    def on_shutting_down(self, **_: object) -> None:
        """Handle a signal that ends Celery before its worker was ready: there are no shifts yet."""
        os._exit(ExitCode.OK)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Told to end: drain; told again: end at once."""
        if not self.is_open:
            os._exit(ExitCode.OK)
        assert self.place is not None
        if self._is_told:
            log.warning("told again to stop: giving everything back")
            self.place.abort(AT_ONCE_S)
            os._exit(ExitCode.STOPPED)
        self._is_told = True
        self.place.set_state(WorkerState.DRAINING)
        celery_state.should_stop = 0

    def _obey_person(self, state: WorkerState) -> None:
        """Carry out the dashboard's order; a worker that is told to end ends."""
        if not self._is_told:
            self.set_state(state)

    def set_state(self, state: WorkerState) -> None:
        """Take shifts from now on, or none: no message either, which another worker could begin."""
        assert self.place is not None
        consumer = self._consumer
        for name in self._queues:
            if state is WorkerState.WORKING:
                consumer.call_soon(consumer.add_task_queue, name, name, "direct", name)
            else:
                consumer.call_soon(consumer.cancel_task_queue, name)
        self.place.set_state(state)

    def on_worker_shutdown(self, **_: object) -> None:
        """Celery's worker has ended."""
        if self.place is not None:
            self.place.close()


def _leave(error: OperatorError) -> NoReturn:
    """Exit at once with the error: only an operator can fix it."""
    log.error("%s", error)
    os._exit(error.exit_code)


def register_task(app: Celery, settings: Settings) -> Celery:
    """Return the application with its task, and with a place of work for the worker that it may become."""
    quiet_celery()
    station = SignalHandler(settings)
    publisher = ShiftPublisher(app, settings.cluster.fleet)

    @app.task(name=TASK, ignore_result=True)
    def shift(job: str, lane: str, shift_id: str, passed_on: int = 0) -> str:
        """Work on a job's lane for a while."""
        if station.place is None or not station.is_open:
            return "not begun: this worker is not ready"
        if passed_on < MOST_PASSES and station.place.prefers_another(job, lane):
            publisher.pass_on(job, lane, shift_id, passed_on + 1)
            return "passed on: this worker is at this job already, and another one is idle"
        return station.place.work_on_shift(job, lane, shift_id)

    signals.celeryd_after_setup.connect(station.on_worker_start, weak=False)
    signals.worker_ready.connect(station.on_worker_ready, weak=False)
    signals.worker_shutting_down.connect(station.on_shutting_down, weak=False)
    signals.worker_shutdown.connect(station.on_worker_shutdown, weak=False)
    _STATIONS[id(app)] = station
    return app


_STATIONS: dict[int, SignalHandler] = {}


def _handler_of(panel: Any) -> SignalHandler:
    return _STATIONS[id(panel.app)]


@control_command()
def drain(panel: Any) -> dict[str, str]:
    """Take no new shifts; end those under way; the process stays."""
    _handler_of(panel).set_state(WorkerState.DRAINING)
    return {"ok": "draining"}


@control_command()
def pause_shifts(panel: Any) -> dict[str, str]:
    """Take no shifts until told to resume."""
    _handler_of(panel).set_state(WorkerState.PAUSED)
    return {"ok": "paused"}


@control_command()
def resume_shifts(panel: Any) -> dict[str, str]:
    """Take shifts again."""
    _handler_of(panel).set_state(WorkerState.WORKING)
    return {"ok": "working"}


@control_command()
def shutdown(panel: Any, msg: str = "", **_: object) -> None:
    """End as by SIGTERM; Celery's own command waits for shifts that never get a signal to end."""
    os.kill(os.getpid(), signal.SIGTERM)


@inspect_command()
def shifts(panel: Any) -> dict[str, Any]:
    """Return the worker's current shifts."""
    place = _handler_of(panel).place
    return {} if place is None else place.current_work()
