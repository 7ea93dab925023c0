"""How the proxies of the settings do: what all crawls of one place have learnt about them."""

from __future__ import annotations

from gossamer.config.settings import Settings
from gossamer.core.record import Record, Time
from gossamer.core.routes import Proxy
from gossamer.policy.proxies import ProxyHealth, Quarantine
from gossamer.wiring.backends import Backends
from gossamer.wiring.proxies import read_listed, read_proxy_health

MOST = 500
"""Proxies that are shown."""


class BlockedHost(Record, frozen=True, kw_only=True):
    """A host that a proxy is not used for."""

    host: str
    until: Time  # then a single request tries it out


class ProxyStatus(Record, frozen=True, kw_only=True):
    """One proxy, without its credentials."""

    name: str
    provider: str
    kind: str
    country: str
    answers: int  # requests that were answered through it, and not refused
    blocks: int  # requests that a host refused
    failures: int  # requests that it failed
    latency_s: float  # a moving average, up to the end of the header; 0: nothing was answered yet
    quarantines: int  # how often it was left alone so far, for single hosts too
    quarantined_until: Time | None  # None: it is in use
    blocked_hosts: tuple[BlockedHost, ...]  # those that it is left alone for, besides


async def list_proxies(settings: Settings, backends: Backends) -> list[ProxyStatus]:
    """All proxies that the settings list, in their order.

    Raises ``SettingError`` and ``MissingServiceError`` for lists that cannot be read.
    """
    proxies = await read_listed(settings, backends.clock)
    found = await read_proxy_health(backends.requests.shared, proxies)
    return [_status_of(proxy, health) for proxy, health in zip(proxies, found, strict=True)]


class ProxyListing(Record, frozen=True, kw_only=True):
    """The proxies that the settings of this process list."""

    at: Time
    proxies: tuple[ProxyStatus, ...]
    has_more: bool  # that are not shown


async def show_proxies(settings: Settings, backends: Backends) -> ProxyListing:
    """The proxies in bounded number; none where the settings list none. Raises as :func:`list_proxies`."""
    found = await list_proxies(settings, backends) if settings.proxies.are_there else []
    return ProxyListing(at=backends.clock.now(), proxies=tuple(found[:MOST]), has_more=len(found) > MOST)


def _status_of(proxy: Proxy, health: ProxyHealth) -> ProxyStatus:
    return ProxyStatus(
        name=proxy.name,
        provider=proxy.provider,
        kind=proxy.kind,
        country=proxy.country,
        answers=health.answers,
        blocks=health.blocks,
        failures=health.failures,
        latency_s=round(health.latency_s, 3),
        quarantines=health.quarantines,
        quarantined_until=_end_of(health.whole),
        blocked_hosts=tuple(
            BlockedHost(host=host, until=until)
            for host, quarantine in sorted(health.hosts.items())
            if (until := _end_of(quarantine)) is not None
        ),
    )


def _end_of(quarantine: Quarantine | None) -> float | None:
    return None if quarantine is None or quarantine.ended_at else quarantine.until
