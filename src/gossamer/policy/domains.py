"""Which domain a host belongs to, of those that something is said of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from gossamer.core.hosts import DomainRules, FrontierRules, HostState

ValueT = TypeVar("ValueT")
_NOTHING = DomainRules()


def find_domain(table: Mapping[str, ValueT], host: str) -> ValueT | None:
    """What is said of the longest domain that a host (``host`` or ``host:port``) is, or is below."""
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
    """The host with what the rules say of its domain."""
    pace = find_domain(rules.domains, name) if rules.domains else None
    if pace is None and host.own_delay_s is host.own_slots is None:
        return host
    pace = pace or _NOTHING
    return replace(host, own_delay_s=pace.delay_s, own_slots=pace.per_host)
