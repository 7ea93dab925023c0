"""The address of a Redis: one server, a primary that Sentinels name, or a cluster. Needs no driver.

Guarantee: errors never quote an address, since any part of it may be of a password.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from gossamer.core.record import Record

CLUSTER, SENTINEL = "cluster", "sentinel"
ADDRESSES = {
    "redis://HOST:PORT/DB": "one server",
    "rediss://HOST:PORT/DB": "one server, over TLS",
    "redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB": "the primary that Sentinels call NAME",
    "rediss+sentinel://HOST:PORT,HOST:PORT/NAME/DB": "the same; servers and Sentinels over TLS",
    "redis+cluster://HOST:PORT,HOST:PORT": "a Redis Cluster, by one or several of its nodes",
    "rediss+cluster://HOST:PORT,HOST:PORT": "the same, over TLS",
}
"""The forms of an address, and where each leads."""
REDIS_SCHEMES = tuple(form.partition(":")[0] for form in ADDRESSES)
FORMS = (
    "write redis://HOST:PORT/DB, redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB for the primary that Sentinels "
    "call NAME, or redis+cluster://HOST:PORT for a Redis Cluster; with rediss in place of redis it is over "
    "TLS; in a password write %2F for /, %3F for ?, %23 for #, %40 for @"
)
SENTINEL_PARAMETERS = {"sentinel_username": "username", "sentinel_password": "password"}
"""Parameters for Sentinels that require a password of their own."""
_PORTS = {CLUSTER: 6379, SENTINEL: 26379}


class RedisPlace(Record, frozen=True):
    """An address as a driver needs it."""

    url: str
    """One server, as ``redis://`` or ``rediss://``, with user, password, database and parameters."""

    kind: str = ""  # CLUSTER, SENTINEL or empty
    servers: tuple[tuple[str, int], ...] = ()  # of a cluster: nodes; the Sentinels
    name: str = ""  # that the Sentinels know the primary by
    sentinel_login: Mapping[str, str] = {}

    def __repr__(self) -> str:  # without user and password
        return f"<RedisPlace {self.kind} of {len(self.servers)}>"

    @property
    def has_tls(self) -> bool:
        """Whether servers and Sentinels are reached over TLS."""
        return self.url.startswith("rediss:")


def kind_of(url: str) -> str:
    """Whether an address is of a cluster, of Sentinels, or (empty) of one server."""
    return url.partition("://")[0].partition("+")[2]


def parse_address(url: str) -> RedisPlace:
    """Return the parts of an address. Raises ``ValueError`` with the reason."""
    kind = kind_of(url)
    if kind not in _PORTS:
        return RedisPlace(url=url)
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError("a host in it cannot be read") from None
    if "@" in parts.path + parts.query + parts.fragment:
        raise ValueError("there is an @ behind its hosts")
    login, at, hosts = parts.netloc.rpartition("@")
    if "@" in login:
        raise ValueError("it has more than one @; user and password are written once, before the first host")
    servers = tuple(_parse_host(host, _PORTS[kind]) for host in hosts.split(","))
    name, _, database = parts.path.strip("/").rpartition("/")
    if kind == SENTINEL and not name:
        name, database = database, ""
    if kind == SENTINEL and not name:
        raise ValueError("it does not say by which NAME its Sentinels know the primary")
    if kind == CLUSTER and (name or database not in ("", "0")):
        raise ValueError("a Redis Cluster has no databases but 0")
    if database and not database.isdecimal():
        raise ValueError("its database is not a number")
    given = parse_qsl(parts.query, keep_blank_values=True)
    query = urlencode([(key, value) for key, value in given if key not in SENTINEL_PARAMETERS])
    scheme, (host, port) = parts.scheme.partition("+")[0], servers[0]
    shown_host = f"[{host}]" if ":" in host else host
    return RedisPlace(
        url=f"{scheme}://{login}{at}{shown_host}:{port}/{database or 0}{f'?{query}' if query else ''}",
        kind=kind,
        servers=servers,
        name=unquote(name),
        sentinel_login={
            SENTINEL_PARAMETERS[key]: value for key, value in given if key in SENTINEL_PARAMETERS
        },
    )


def _parse_host(text: str, port: int) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        found = parts.hostname, parts.port or port
    except ValueError:
        raise ValueError("a host or port in it cannot be read") from None
    if not found[0] or parts.path:
        raise ValueError("a host in it has no name")
    return found[0], found[1]
