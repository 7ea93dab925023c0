"""Messages that name shifts.

A message has no date after which it is void: Celery compares such dates by the clocks of two machines, and a
worker whose clock is ahead would drop every shift without a word. The roster alone decides, by its own time:
it lets each shift begin once, and only while the supervisor asks for it. So a message that is late costs its
worker one question. Messages that no worker takes are deleted before they become many.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence
from typing import Any

from gossamer.cluster.broker import broker_errors, broker_trouble
from gossamer.cluster.packages import Celery, KombuError, OperationalError
from gossamer.core.errors import StorageError
from gossamer.core.shifts import Shift

TASK = "gossamer.shift"
MOST_WAITING = 10_000
"""More messages in one queue than shifts can be waiting: no worker takes them, and nearly all are void."""

log = logging.getLogger("gossamer.fleet")


def queue_of(fleet: str, lane: str) -> str:
    """Return the queue of a lane."""
    return f"gossamer.{fleet}.{lane}"


class ShiftPublisher:
    """Publishes shifts."""

    def __init__(self, app: Celery, fleet: str) -> None:
        self._app = app
        self._fleet = fleet

    def publish_shifts(self, shifts: Sequence[Shift]) -> None:
        """Publish them all; blocks. Raises ``StorageError`` when the broker is away."""
        try:
            with self._app.producer_or_acquire() as producer:
                for lane in dict.fromkeys(shift.lane for shift in shifts):
                    self._drop_void(producer, queue_of(self._fleet, lane))
                for shift in shifts:
                    self._publish_shift(producer, shift)
        except broker_errors(self._app) as error:
            raise StorageError(broker_trouble(self._app.conf.broker_place, error)) from None

    def _drop_void(self, producer: Any, name: str) -> None:
        """Empty a queue that no worker reads; shifts that are still asked for are asked for again."""
        queue = self._app.amqp.queues[name](producer.channel)
        waiting = queue.queue_declare().message_count
        if waiting >= MOST_WAITING:
            queue.purge()
            log.warning(
                "%d messages that no worker had taken were deleted from the queue %s; see whether the "
                "workers reach the broker. Shifts that are still needed are asked for again",
                waiting,
                name,
            )

    def _publish_shift(self, producer: Any, shift: Shift, passed_on: int = 0) -> None:
        # Flower and the logs show the shadow instead of the task's name.
        self._app.send_task(
            TASK,
            args=(shift.job, shift.lane, shift.id, passed_on),
            queue=queue_of(self._fleet, shift.lane),
            shadow=f"shift {shift.job} {shift.lane}",
            task_id=f"{shift.id}:{passed_on}" if passed_on else shift.id,
            producer=producer,
            retry=False,
        )

    def pass_on(self, job: str, lane: str, shift_id: str, times: int) -> None:
        """Let another worker take a shift. When that fails, it is asked for again in a few seconds."""
        failing = contextlib.suppress(KombuError, OperationalError, OSError)
        with failing, self._app.producer_or_acquire() as producer:
            self._publish_shift(producer, Shift(id=shift_id, job=job, lane=lane), times)
