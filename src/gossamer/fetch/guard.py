"""The guard of connected addresses: no link, redirect or DNS trick leads into a private network.

It judges the address that is really connected: for names, literal addresses, every hop of a redirect, and a
name that resolves differently the second time (DNS rebinding). Places that the operator named are exempt. A
proxy resolves names itself, so only literal addresses can be judged there. An IPv4 address is public unless
RFC 6890 lists it, an IPv6 address only within 2000::/3; an IPv4 address inside one (v4-mapped, NAT64, 6to4)
decides. One public address is a cloud's internal service. Ports of other services are closed, as in browsers.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple

from gossamer.fetch.resolver import AddressInfo
from gossamer.policy.urls import parse_origin

_V4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(network), word)
    for network, word in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier-grade NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "a cloud's own service"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),  # the broadcast address included
    )
)
_V6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(network), word)
    for network, word in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("2001::/23", "reserved"),  # Teredo, benchmarking, ORCHID
        ("2001:db8::/32", "documentation"),
        ("3fff::/20", "documentation"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


BAD_PORTS = frozenset(
    (
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179),
        *(389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636),
        *(989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566),
        *(6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    )
)
"""Ports that browsers do not connect to (Fetch standard, "bad port")."""


class GuardError(OSError):
    """A place that the operator did not name, and that only the operator may name; ``what`` says why."""

    def __init__(self, what: str) -> None:
        super().__init__(
            errno.EPERM, f"{what}; to allow the host and port, name it in start_urls or allowed_domains"
        )


NO_ADDRESS = "no address"
LOCAL_ENDINGS = (".localhost", ".local", ".internal", ".home.arpa")
"""Names that mean something else, or nothing, outside of a network (RFC 6761, 6762, 8375; ICANN)."""


@lru_cache(maxsize=4096)
def refusal_for(address: str) -> str:
    """Return why a numeric address is refused (``loopback``, ``private``, ...); ``""`` if it is public."""
    try:
        if ":" in address:
            return _refusal_v6(IPv6Address(address.partition("%")[0]))
        return _refusal_v4(IPv4Address(address))
    except AddressValueError:
        return NO_ADDRESS


def _refusal_v4(address: IPv4Address) -> str:
    return next((word for network, word in _V4 if address in network), "")


def _refusal_v6(address: IPv6Address) -> str:
    embedded = address.ipv4_mapped or address.sixtofour
    if embedded is None and address in _NAT64:
        embedded = IPv4Address(int(address) & 0xFFFF_FFFF)
    if embedded is not None:
        return _refusal_v4(embedded)
    word = next((word for network, word in _V6 if address in network), "")
    return word or ("" if address in _GLOBAL_UNICAST else "reserved")


def is_private_name(host: str) -> bool:
    """Return whether a host is private by its name: a non-public address, or a local name."""
    bare = _normalise_host(host)
    refusal = refusal_for(bare)
    if refusal != NO_ADDRESS:
        return bool(refusal)
    return "." not in bare or bare.endswith(LOCAL_ENDINGS)


class TrustedPlace(NamedTuple):
    """A host that the operator named, on a port; 0: on all ports."""

    host: str
    port: int = 0

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else host


def read_place(text: str) -> TrustedPlace:
    """Parse ``host``, ``host:port`` or ``[address]:port``; a bare IPv6 address has no port."""
    host, colon, port = text.rpartition(":")
    if not (colon and port.isascii() and port.isdigit()) or (":" in host and not host.endswith("]")):
        return TrustedPlace(_normalise_host(text))
    return TrustedPlace(_normalise_host(host), _one_for_web(int(port)))


def place_of(url: str) -> str:
    """Return the place of a URL."""
    origin = parse_origin(url)
    return str(TrustedPlace(_normalise_host(origin.hostname), _one_for_web(int(origin.port or 80))))


def _one_for_web(port: int) -> int:
    """Treat both web ports as one: a site answers at both, and leads from one to the other."""
    return 80 if port == 443 else port


def _normalise_host(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()


class AddressGuard:
    """Decides which hosts may be private, and filters the addresses of all others.

    A strict guard allows no host to be private, not even a named one.
    """

    def __init__(self, trusted_hosts: Iterable[str] = (), *, is_strict: bool = False) -> None:
        self._is_strict = is_strict
        self._trusted = set[TrustedPlace]() if is_strict else set(map(read_place, trusted_hosts))
        self._hosts = {place.host for place in self._trusted}
        self.told: Callable[[str], None] | None = None  # who else is to hear of a host that is trusted

    def __repr__(self) -> str:
        return f"Guard({sorted(self._trusted)})"

    def trust_place(self, text: str) -> None:
        """Trust another place that the operator named (found by a spider's start): see :func:`read_place`."""
        place = read_place(text)
        if place not in self._trusted and not self._is_strict:
            self._trusted.add(place)
            self._hosts.add(place.host)
            if self.told is not None:
                self.told(str(place))

    @property
    def trusted_places(self) -> frozenset[str]:
        """The hosts that may be private, with their ports."""
        return frozenset(map(str, self._trusted))

    def is_named(self, host: str) -> bool:
        """Return whether the operator named exactly this host (no sub-domains), on any port."""
        return bool(self._hosts) and _normalise_host(host) in self._hosts

    def is_trusted(self, host: str, port: int) -> bool:
        """Return whether the operator named this host on this port, or on all."""
        if not self.is_named(host):
            return False
        bare = _normalise_host(host)
        return (bare, _one_for_web(port)) in self._trusted or (bare, 0) in self._trusted

    def check_port(self, host: str, port: int) -> None:
        """Raises :class:`GuardError` for a port of another service, unless the operator named the host."""
        if port in BAD_PORTS and not self.is_trusted(host, port):
            raise GuardError(f"port {port} belongs to a service other than the web")

    def check_target(self, host: str, port: int) -> None:
        """Judge a target for a proxy by its text alone, since the proxy itself resolves names.

        Raises :class:`GuardError` for a private address in any notation, a name of this machine, or a port
        of another service, unless the operator named the host.
        """
        self.check_port(host, port)
        bare = _normalise_host(host)
        refusal = "loopback" if bare == "localhost" or bare.endswith(".localhost") else ""
        with suppress(OSError):  # not an address
            refusal = refusal_for(bare if ":" in bare else socket.inet_ntoa(socket.inet_aton(bare)))
        if refusal and not self.is_trusted(host, port):
            raise GuardError(f"not a public address ({refusal})")

    def open_to(self, host: str, port: int, rows: Sequence[AddressInfo]) -> Sequence[AddressInfo]:
        """Return those addresses of a host that are allowed on a port; :class:`GuardError` if none is."""
        if self.is_trusted(host, port):
            return rows
        public = [row for row in rows if not refusal_for(row[4][0])]
        if rows and not public:
            raise GuardError(f"not a public address ({refusal_for(rows[0][4][0])})")
        return public
