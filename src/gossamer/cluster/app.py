"""The Celery application: what its messages are, and what they must never be.

A message names a shift, and holds nothing of value: no URL, no setting, no result. It is acknowledged when
it is received; lost, late and doubled ones are recognised by the roster, and the supervisor asks again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gossamer.config import Settings, load_settings
from gossamer.words.errors import ServiceMissing, SettingError, StorageError
from gossamer.words.servers import shown_server
from gossamer.words.shifts import SEED_LANE, Shift

try:
    from celery import Celery
    from celery.exceptions import SecurityWarning
    from kombu import Connection, Queue
    from kombu.exceptions import KombuError, OperationalError
except ImportError as error:
    raise ServiceMissing(
        f"a fleet needs other packages ({error.name} is missing): pip install 'gossamer[cluster]'"
    ) from None

TASK = "gossamer.shift"
LIFE_S = 60.0
"""Seconds until a message that nobody took is void; the roster forgets what it asked for sooner."""
REDIS = ("redis:", "rediss:", "redis+cluster:")
"""How the URL of a Redis begins."""
BROKERS = ("redis", "rediss", "amqp", "amqps", "pyamqp")
"""The schemes of brokers."""


def queue_of(fleet: str, lane: str) -> str:
    """The queue of a lane."""
    return f"gossamer.{fleet}.{lane}"


def broker_url(settings: Settings) -> str:
    """The broker's URL. Raises ``SettingError`` for one that is none, or without a Redis for the requests."""
    if not (settings.frontier.url or "").startswith(REDIS):
        raise SettingError("a fleet keeps its requests in Redis: set frontier.url to redis://HOST/0")
    url = settings.broker.url or settings.frontier.url or ""
    if url.startswith(("redis+cluster:", "sqlite:")) or not url:
        raise SettingError(
            "a fleet needs a broker: set broker.url to redis://HOST/0 or amqp://USER@HOST/VHOST "
            "(a frontier.url of redis:// serves as both)"
        )
    wrong = _wrong_with(url)
    if wrong:
        name = "broker.url" if settings.broker.url else "frontier.url, which names the broker, too,"
        raise SettingError(
            f"{name} is no URL of a broker: {wrong}. Write redis://HOST:PORT/DB (rediss:// for TLS) or "
            "amqp://USER:PASSWORD@HOST:PORT/VHOST"
        )
    return url


def _wrong_with(url: str) -> str:
    """What is wrong with a broker's URL, without a word of it; nothing, if nothing is."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in BROKERS or "://" not in url:
            return f"it does not begin with {', '.join(f'{scheme}://' for scheme in BROKERS)}"
        _ = parts.port
        database = parts.path.strip("/")
    except ValueError:
        return "its host or port cannot be read (in a password, write / as %2F, # as %23, @ as %40)"
    if "@" in parts.path + parts.query + parts.fragment:
        return "there is an @ behind its host (in a password, write / as %2F, # as %23, ? as %3F, @ as %40)"
    if parts.scheme.startswith("redis") and database and not database.isdecimal():
        return "its database is no number"
    try:
        Connection(url)  # connects to nothing yet
    except (TypeError, ValueError, KeyError):
        return "it has parameters behind the ? that no broker has"
    return ""


@cache
def application() -> Celery:
    """The application by the environment and ``gossamer.toml``."""
    from gossamer.cluster.tasks import register

    loaded = load_settings(env=os.environ, start=Path.cwd())
    return register(make_app(loaded.settings), loaded.settings)


def make_app(settings: Settings, lanes: Sequence[str] = ("http", SEED_LANE)) -> Celery:
    """An application that consumes the queues of ``lanes``."""
    fleet = settings.cluster.fleet
    url = broker_url(settings)
    app = Celery("gossamer", broker=url, set_as_current=False)
    if url.startswith("redis"):
        # What was received and not acknowledged is not put back: it holds nothing of value, and trying to
        # ends the worker when the connection is gone (kombu 5.7).
        from kombu.transport.redis import Channel

        Channel.do_restore = False
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_queues=[Queue(queue_of(fleet, lane), durable=False, auto_delete=False) for lane in lanes],
        task_default_queue=queue_of(fleet, "http"),
        # Remote control and events are of one fleet, too, whatever else uses the broker.
        control_exchange=f"gossamer.{fleet}.control",
        event_exchange=f"gossamer.{fleet}.events",
        worker_consumer="gossamer.cluster.consumer:PatientConsumer",
        worker_pool="threads",
        worker_concurrency=2,
        worker_prefetch_multiplier=1,
        # A message in a busy worker's hands is one that an idle one lacks; RabbitMQ's can be no fewer.
        worker_disable_prefetch=url.startswith("redis"),
        worker_hijack_root_logger=False,
        worker_send_task_events=True,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_channel_error_retry=True,
        broker_connection_timeout=5,
        # Who publishes is told at once that it cannot be done: it tries again by itself.
        broker_transport_options={
            "socket_connect_timeout": 5,
            "visibility_timeout": 3600,
            "max_retries": 1,
            "interval_start": 0,
        },
    )
    return app


class Publisher:
    """Publishes shifts."""

    def __init__(self, app: Celery, fleet: str) -> None:
        self._app = app
        self._fleet = fleet

    def publish(self, shifts: Iterable[Shift]) -> None:
        """Publish them all; blocks. Raises ``StorageError`` when the broker is away."""
        try:
            with self._app.producer_or_acquire() as producer:
                for shift in shifts:
                    self._publish(producer, shift)
        except broker_errors(self._app) as error:
            raise StorageError(broker_trouble(self._app.conf.broker_url, error)) from None

    def _publish(self, producer: Any, shift: Shift, passed_on: int = 0) -> None:
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
            self._publish(producer, Shift(id=shift_id, job=job, lane=lane), times)


def check_broker(settings: Settings) -> None:
    """Connect to the broker; blocks. Raises ``StorageError`` when it is away or refuses."""
    with make_app(settings) as app, app.connection_for_write() as connection:
        try:
            connection.connect()
            connection.default_channel.close()
        except broker_errors(connection) as error:
            raise StorageError(broker_trouble(app.conf.broker_url, error)) from None


def broker_errors(connection: Any) -> tuple[type[BaseException], ...]:
    """What a broker's driver raises, by one of its connections or an application."""
    if isinstance(connection, Celery):
        connection = connection.connection_for_write()
    return (
        KombuError,
        OperationalError,
        OSError,
        *connection.connection_errors,
        *connection.channel_errors,
    )


def broker_trouble(url: str, error: BaseException) -> str:
    """What is wrong with a broker, for people; no secrets."""
    while isinstance(error, KombuError | OperationalError) and error.__cause__ is not None:
        error = error.__cause__
    after = "shifts are asked for again when that is mended"
    if url.startswith("redis"):
        from gossamer.wiring.in_redis import broker_meaning

        return f"the broker {shown_server(url)} {broker_meaning(error)}; {after}"
    said = " ".join(str(error).split()) or type(error).__name__
    return (
        f"the broker {shown_server(url)} cannot be used ({said}): is it running, and are user, password and "
        f"virtual host right? {after[0].upper()}{after[1:]}"
    )


def quiet() -> None:
    """Celery's own lines that repeat what a worker says anyway."""
    from gossamer.cluster.consumer import is_news

    for name in ("celery.app.trace", "celery.worker.strategy", "kombu.transport.redis"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("celery.worker.consumer.consumer").addFilter(is_news)
    warnings.filterwarnings("ignore", category=SecurityWarning)  # no message of ours is ever unpickled
