"""Keeps a worker connected to its broker: it waits while the broker is away, full or refuses something.

Guarantee: no failure of the broker ends the worker. It logs one line when trouble begins and one when it is
over, and retries less and less often; running shifts continue meanwhile.
"""

from __future__ import annotations

import logging
import time
import warnings
from typing import Any

from celery.exceptions import CPendingDeprecationWarning
from celery.worker.consumer import Consumer
from celery.worker.consumer.consumer import CONNECTION_RETRY
from celery.worker.state import maybe_shutdown

from gossamer.cluster.broker import broker_errors, broker_trouble
from gossamer.cluster.packages import SecurityWarning
from gossamer.fleet.error_throttle import ErrorThrottle

BROKER = "no messages"
LOOK_S = 0.2


class PatientConsumer(Consumer):  # type: ignore[misc] # it has no types
    """Celery's consumer, which complains and waits as the rest of a fleet does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._complaints = ErrorThrottle()

    def ensure_connected(self, conn: Any) -> Any:
        """Return the connection when it is there, however long that takes."""
        while True:
            maybe_shutdown()
            try:
                conn.connect()
            except broker_errors(conn) as error:
                self._wait_after(error)
            else:
                self.first_connection_attempt = False
                return conn

    def on_connection_error_before_connected(self, exc: BaseException) -> None:
        """Handle a broker that was reached and refuses the worker's first commands."""
        self._wait_after(exc)

    def on_connection_error_after_connected(self, exc: BaseException) -> None:
        """It is lost, or refuses something."""
        self._wait_after(exc)
        with warnings.catch_warnings():  # of messages that are acknowledged late, which ours are not
            warnings.simplefilter("ignore", CPendingDeprecationWarning)
            super().on_connection_error_after_connected(exc)

    def on_ready(self) -> None:
        """Messages come in from now on."""
        self._complaints.clear_error(BROKER)
        super().on_ready()

    def _wait_after(self, error: BaseException) -> None:
        """Log the trouble, and wait before the next attempt, unless the worker is ending."""
        text = broker_trouble(self.app.conf.broker_place, error)
        until = time.monotonic() + self._complaints.report_error(BROKER, text, time.monotonic())
        while time.monotonic() < until:
            maybe_shutdown()
            time.sleep(LOOK_S)


def is_news(record: logging.LogRecord) -> bool:
    """Whether a line of Celery's consumer adds anything to the worker's own."""
    return not (isinstance(record.args, tuple) and record.args and record.args[0] == CONNECTION_RETRY)


def quiet_celery() -> None:
    """Silence Celery's own lines that repeat the worker's."""
    for name in ("celery.app.trace", "celery.worker.strategy", "kombu.transport.redis"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("celery.worker.consumer.consumer").addFilter(is_news)
    warnings.filterwarnings("ignore", category=SecurityWarning)  # no message of ours is ever unpickled
