"""A Redis that carries messages: its address in Celery's form, and its errors in our words."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from gossamer.drivers.redis.address import CLUSTER, REDIS_SCHEMES, SENTINEL, kind_of, parse_address
from gossamer.drivers.redis.clients import tls_options
from gossamer.drivers.redis.errors import BROKER_RIGHTS, describe_error
from gossamer.drivers.redis.packages import BlockingRetry, NoBackoff

IN_REDIS = tuple(scheme for scheme in REDIS_SCHEMES if kind_of(f"{scheme}://") != CLUSTER)
"""The schemes of brokers that are a Redis; Celery knows no Redis Cluster."""


def broker_meaning(error: BaseException) -> str:
    """Return the problem of a Redis that carries messages, by its driver's error."""
    return describe_error(error, BROKER_RIGHTS)


def has_sentinels(url: str) -> bool:
    """Whether Sentinels name the server at a URL."""
    return kind_of(url) == SENTINEL


def find_mistake(url: str) -> str:
    """Return the mistake in a URL of Sentinels, without quoting the URL; empty without a mistake."""
    try:
        parse_address(url)
    except ValueError as error:
        return str(error)
    return ""


def sentinel_options(url: str, transport: dict[str, Any], connect_s: float) -> dict[str, Any]:
    """Return Celery's configuration for Sentinels, each of which has a URL of its own there."""
    address = parse_address(url)
    tls = tls_options(address)
    retry = BlockingRetry(NoBackoff(), 0)  # the next Sentinel is asked at once
    bounds = {"socket_timeout": connect_s, "socket_connect_timeout": connect_s, "retry": retry}
    parts = urlsplit(address.url)
    login = "".join(parts.netloc.rpartition("@")[:2])
    hosts = [(f"[{host}]" if ":" in host else host, port) for host, port in address.servers]
    found: dict[str, Any] = {
        "broker_url": ";".join(f"sentinel://{login}{host}:{port}{parts.path}" for host, port in hosts),
        "broker_transport_options": transport
        | {"master_name": address.name, "sentinel_kwargs": {**bounds, **tls, **address.sentinel_login}},
    }
    if address.has_tls:
        only = {name: value for name, value in tls.items() if name != "ssl"}
        found["broker_use_ssl"] = {"ssl_cert_reqs": "required", **only}
    return found
