"""The broker: its URL, and its errors in our words."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from gossamer.cluster.packages import Celery, Connection, KombuError, OperationalError
from gossamer.config.settings import Settings
from gossamer.core.errors import SettingError
from gossamer.core.redaction import shown_server
from gossamer.wiring.open import check_serves_fleet
from gossamer.wiring.redis_broker import (
    IN_REDIS,
    broker_meaning,
    find_mistake,
    has_sentinels,
    sentinel_options,
)

BROKERS = (*IN_REDIS, "amqp", "amqps", "pyamqp")
"""The schemes of brokers."""
FORMS = (
    "Write redis://HOST:PORT/DB, redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB (with rediss in place of redis "
    "over TLS) or amqp://USER:PASSWORD@HOST:PORT/VHOST; a Redis Cluster cannot be the broker"
)
CONNECT_S = 5


def broker_url(settings: Settings) -> str:
    """Return the broker's URL. Raises ``SettingError`` if it is missing or invalid."""
    check_serves_fleet(settings)
    url = settings.broker.url or settings.frontier.url or ""
    if not settings.broker.url and url.partition(":")[0] not in BROKERS:
        raise SettingError(
            f"a fleet needs a broker: set broker.url. {FORMS} (a frontier.url of another form serves as both)"
        )
    wrong = _wrong_with(url)
    if wrong:
        name = "broker.url" if settings.broker.url else "frontier.url, which also names the broker,"
        raise SettingError(f"{name} is not a broker URL: {wrong}. {FORMS}")
    return url


def celery_options(url: str) -> dict[str, Any]:
    """Return Celery's configuration for the broker at a URL; Sentinel URLs have a form of their own there."""
    # Publishing fails at once: the publisher retries by itself.
    transport: dict[str, Any] = {
        "socket_connect_timeout": CONNECT_S,
        "visibility_timeout": 3600,
        "max_retries": 1,
        "interval_start": 0,
    }
    options = {"broker_place": shown_server(url), "broker_url": url, "broker_transport_options": transport}
    return options | (sentinel_options(url, transport, CONNECT_S) if has_sentinels(url) else {})


def is_redis(url: str) -> bool:
    """Whether the broker at a URL is a Redis."""
    return url.partition(":")[0] in IN_REDIS


def _wrong_with(url: str) -> str:
    """Return the problem with a broker's URL, without quoting it; empty if the URL is valid."""
    scheme, colon, _ = url.partition("://")
    if not colon or scheme not in BROKERS:
        return f"it does not begin with {', '.join(f'{scheme}://' for scheme in BROKERS)}"
    return find_mistake(url) if has_sentinels(url) else _wrong_with_server(url)


def _wrong_with_server(url: str) -> str:
    try:
        parts = urlsplit(url)
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
    """Return the exceptions of a broker's driver, for a connection or an application."""
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
    """Describe a broker's failure for people, without secrets."""
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
