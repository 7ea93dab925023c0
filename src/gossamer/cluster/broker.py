"""The broker: its URL, and its errors in our words."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from gossamer.cluster.packages import Celery, Connection, KombuError, OperationalError
from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.core.redaction import shown_server
from gossamer.wiring.open import check_serves_fleet
from gossamer.wiring.redis import broker_meaning

IN_REDIS = ("redis", "rediss")
"""The schemes of brokers that are a Redis."""
BROKERS = (*IN_REDIS, "amqp", "amqps", "pyamqp")
"""The schemes of brokers."""


def broker_url(settings: Settings) -> str:
    """The broker's URL. Raises ``SettingError`` for one that is none, or without a Redis for the requests."""
    check_serves_fleet(settings)
    url = settings.broker.url or settings.frontier.url or ""
    if not settings.broker.url and url.partition(":")[0] not in BROKERS:
        raise SettingError(
            "a fleet needs a broker: set broker.url to redis://HOST/0 or amqp://USER@HOST/VHOST "
            "(a frontier.url of redis:// serves as both)"
        )
    wrong = _wrong_with(url)
    if wrong:
        name = "broker.url" if settings.broker.url else "frontier.url, which names the broker, too,"
        raise SettingError(
            f"{name} is not a broker URL: {wrong}. Write redis://HOST:PORT/DB (rediss:// for TLS) or "
            "amqp://USER:PASSWORD@HOST:PORT/VHOST"
        )
    return url


def is_redis(url: str) -> bool:
    """Whether the broker at a URL is a Redis."""
    return url.partition(":")[0] in IN_REDIS


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
    if parts.scheme in IN_REDIS and database and not database.isdecimal():
        return "its database is not a number"
    try:
        Connection(url)  # connects to nothing yet
    except (TypeError, ValueError, KeyError):
        return "it has parameters behind the ? that no broker has"
    return ""


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
    if is_redis(url):
        return f"the broker {shown_server(url)} {broker_meaning(error)}; {after}"
    said = " ".join(str(error).split()) or type(error).__name__
    return (
        f"the broker {shown_server(url)} cannot be used ({said}): is it running, and are user, password and "
        f"virtual host right? {after[0].upper()}{after[1:]}"
    )
