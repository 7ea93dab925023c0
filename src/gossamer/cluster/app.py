"""The Celery application and the rules for its messages.

A message names a shift and carries nothing of value: no URL, no setting, no result. It is acknowledged on
receipt; the roster recognises lost, late and duplicate ones, and the supervisor asks again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from gossamer.cluster.broker import (
    CONNECT_S,
    broker_errors,
    broker_trouble,
    broker_url,
    celery_options,
    is_redis,
)
from gossamer.cluster.celery_log import set_up_log
from gossamer.cluster.packages import Celery, Queue, RedisChannel
from gossamer.cluster.publisher import queue_of
from gossamer.cluster.tasks import register_task
from gossamer.config.layers import load_settings
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.shifts import EXTRACT_LANE, PAGE_LANE, SEED_LANE


@cache
def configured_app() -> Celery:
    """Return the application by the environment and ``gossamer.toml``."""
    loaded = load_settings(env=os.environ, start=Path.cwd())
    set_up_log(loaded.settings)
    return register_task(make_app(loaded.settings), loaded.settings)


def make_app(settings: Settings, lanes: Sequence[str] = ()) -> Celery:
    """Return an application that consumes the queues of ``lanes``; without any, of all the fleet's lanes."""
    fleet = settings.cluster.fleet
    lanes = lanes or (*settings.cluster.lanes, EXTRACT_LANE, SEED_LANE)
    url = broker_url(settings)
    app = Celery("gossamer", set_as_current=False)
    if is_redis(url):
        # Unacknowledged messages are not put back: they hold nothing of value, and trying to do so ends
        # the worker when the connection is gone (kombu 5.7).
        RedisChannel.do_restore = False
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_queues=[Queue(queue_of(fleet, lane), durable=False, auto_delete=False) for lane in lanes],
        task_default_queue=queue_of(fleet, PAGE_LANE),
        # Remote control and events belong to one fleet, even if others use the broker.
        control_exchange=f"gossamer.{fleet}.control",
        event_exchange=f"gossamer.{fleet}.events",
        worker_consumer="gossamer.cluster.consumer:PatientConsumer",
        worker_pool="threads",
        worker_concurrency=2,
        worker_prefetch_multiplier=1,
        # A message in a busy worker's hands is one that an idle one lacks; RabbitMQ's can be no fewer.
        worker_disable_prefetch=is_redis(url),
        worker_hijack_root_logger=False,
        worker_send_task_events=True,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_channel_error_retry=True,
        broker_connection_timeout=CONNECT_S,
        **celery_options(url),
    )
    return app


def check_broker(settings: Settings) -> None:
    """Connect to the broker; blocks. Raises ``StorageError`` when it is away or refuses."""
    with make_app(settings) as app, app.connection_for_write() as connection:
        try:
            connection.connect()
            connection.default_channel.close()
        except broker_errors(connection) as error:
            raise StorageError(broker_trouble(app.conf.broker_place, error)) from None
