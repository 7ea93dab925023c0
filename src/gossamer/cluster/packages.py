"""Imports Celery and Kombu; without them, an error says which packages to install."""

from __future__ import annotations

from gossamer.core.errors import MissingServiceError
from gossamer.install import install_command

try:
    from celery import Celery
    from celery.exceptions import SecurityWarning
    from kombu import Connection, Queue
    from kombu.exceptions import KombuError, OperationalError
    from kombu.transport.redis import Channel as RedisChannel
except ImportError as error:
    raise MissingServiceError(
        f"a fleet needs other packages ({error.name} is missing): {install_command('cluster')}"
    ) from None

__all__ = [
    "Celery",
    "Connection",
    "KombuError",
    "OperationalError",
    "Queue",
    "RedisChannel",
    "SecurityWarning",
]
