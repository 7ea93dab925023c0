"""Where a request to the dashboard, or for metrics, comes from, by what its headers say. Pure."""

from __future__ import annotations

import ipaddress
import re

NAMES = ("localhost",)
_PORT = re.compile(r":[0-9]{0,5}\Z")
SAME = ("same-origin", "none")
"""Values that browsers send for requests of their own pages and of typed addresses."""


def is_loopback(host: str) -> bool:
    """Whether a host, with or without a port, is this machine and no other: by address, or ``localhost``.

    No other name will do: a page may give its own name the address of this machine (DNS rebinding). A server
    that listens on ``::`` sees 127.0.0.1 as ``::ffff:127.0.0.1``.
    """
    name = _without_port(host).lower().rstrip(".")
    if name in NAMES:
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    mapped = address.ipv4_mapped if address.version == 6 else None
    return (mapped or address).is_loopback


def is_same_origin(host: str, origin: str | None, fetch_site: str | None) -> bool:
    """Whether a request was made by a page of the host that it goes to, or by no page at all.

    Browsers say what page made a request that may change something, by one of both headers.
    """
    if fetch_site is not None:
        return fetch_site in SAME
    if origin is None:  # a program
        return True
    scheme, _, named = origin.partition("://")
    return scheme in ("http", "https") and bool(named) and named.lower() == host.lower()


def _without_port(host: str) -> str:
    return host if host.count(":") > 1 and host[0] != "[" else _PORT.sub("", host)
