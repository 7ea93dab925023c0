"""The configured domain of a host. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from gossamer.core.hosts import DomainRules, FrontierRules, HostState

ValueT = TypeVar("ValueT")
_NOTHING = DomainRules()


def find_domain(table: Mapping[str, ValueT], host: str) -> ValueT | None:
    """Return the value of the longest domain that contains a host (``host`` or ``host:port``)."""
    if host in table:
        return table[host]
    name, colon, port = host.rpartition(":")
    name = name if colon and port.isdigit() else host
    while name not in table:
        _, dot, name = name.partition(".")
        if not dot:
            return None
    return table[name]


def adopt_domain(host: HostState, name: str, rules: FrontierRules) -> HostState:
    """Return the host with the rules of its domain applied."""
    pace = find_domain(rules.domains, name) if rules.domains else None
    if pace is None and host.own_delay_s is host.own_slots is None:
        return host
    pace = pace or _NOTHING
    return replace(host, own_delay_s=pace.delay_s, own_slots=pace.per_host)
