"""Messages that name shifts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from gossamer.cluster.broker import broker_errors, broker_trouble
from gossamer.cluster.packages import Celery, KombuError, OperationalError
from gossamer.core.errors import StorageError
from gossamer.core.shifts import Shift

TASK = "gossamer.shift"
LIFE_S = 60.0
"""Seconds until a message that nobody took is void; the roster forgets what it asked for sooner."""


def queue_of(fleet: str, lane: str) -> str:
    """The queue of a lane."""
    return f"gossamer.{fleet}.{lane}"


class ShiftPublisher:
    """Publishes shifts."""

    def __init__(self, app: Celery, fleet: str) -> None:
        self._app = app
        self._fleet = fleet

    def publish_shifts(self, shifts: Iterable[Shift]) -> None:
        """Publish them all; blocks. Raises ``StorageError`` when the broker is away."""
        try:
            with self._app.producer_or_acquire() as producer:
                for shift in shifts:
                    self._publish_shift(producer, shift)
        except broker_errors(self._app) as error:
            raise StorageError(broker_trouble(self._app.conf.broker_url, error)) from None

    def _publish_shift(self, producer: Any, shift: Shift, passed_on: int = 0) -> None:
        # Flower and the logs show the shadow instead of the task's name.
        self._app.send_task(
            TASK,
            args=(shift.job, shift.lane, shift.id, passed_on),
            queue=queue_of(self._fleet, shift.lane),
            shadow=f"shift {shift.job} {shift.lane}",
            task_id=f"{shift.id}:{passed_on}" if passed_on else shift.id,
            expires=LIFE_S,
            producer=producer,
            retry=False,
        )

    def pass_on(self, job: str, lane: str, shift_id: str, times: int) -> None:
        """Let another worker take a shift. When that fails, it is asked for again in a few seconds."""
        failing = contextlib.suppress(KombuError, OperationalError, OSError)
        with failing, self._app.producer_or_acquire() as producer:
            self._publish_shift(producer, Shift(id=shift_id, job=job, lane=lane), times)
