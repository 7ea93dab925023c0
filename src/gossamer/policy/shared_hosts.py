"""Whether two crawls may ask the same host: then they share its pace, and each is slower there.

What a crawl may ask is named by hosts as frontiers know them (``example.com``, ``127.0.0.1:8000``) and by
domains, which stand for their sub-domains on every port, too (``*.example.com``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gossamer.policy import urls
from gossamer.policy.scope import domain_of

_ANY_HOST, _ANY_PORT = "*.", "*"


def named_hosts(allowed_domains: Iterable[str], start_urls: Iterable[str]) -> tuple[str, ...]:
    """The hosts that a spider names. Raises :class:`UsageError` for a domain that is none."""
    domains = (domain_of(entry) for entry in allowed_domains)
    names = {_ANY_HOST + name + (f":{port}" if port else "") for name, port in domains}
    return tuple(sorted(names | {host for url in start_urls if (host := urls.host_key(url))}))


def shared_host(ours: Iterable[str], theirs: Iterable[str]) -> str | None:
    """A host or domain that both may ask, as far as one is known. Costs what it takes to read both once."""
    others = _NamedHosts(name for name in theirs if name)
    for name in ours:
        if (host := others.shared_with(*_parse_name(name))) is not None:
            return host
    return None


class _NamedHosts:
    """What one crawl names, to be asked about many other names."""

    def __init__(self, names: Iterable[str]) -> None:
        self._places: set[tuple[str, str]] = set()  # hosts and domains with their ports
        self._domains: set[tuple[str, str]] = set()
        self._below: dict[tuple[str, str], str] = {}  # a host below a domain, on a port or (none) on any
        for name in names:
            host, port, is_domain = _parse_name(name)
            self._places |= {(host, port), (host, _ANY_PORT)}
            if is_domain:
                self._domains.add((host, port or _ANY_PORT))
            for domain in _domains_above(host):
                self._below.setdefault((domain, port or _ANY_PORT), host)
                self._below.setdefault((domain, _ANY_PORT), host)

    def shared_with(self, host: str, port: str, is_domain: bool) -> str | None:
        """A host that is asked by whoever names this one, too."""
        asked = port or _ANY_PORT if is_domain else port
        if (host, asked) in self._places:
            return host
        if any({(name, port), (name, _ANY_PORT)} & self._domains for name in (host, *_domains_above(host))):
            return host
        return self._below.get((host, asked)) if is_domain else None


def _domains_above(host: str) -> Iterator[str]:
    while host := host.partition(".")[2]:
        yield host


def _parse_name(name: str) -> tuple[str, str, bool]:
    """The host's name, its port (none: the usual one, or of a domain any), and whether it is a domain."""
    place = urls.parse_origin(f"http://{name.removeprefix(_ANY_HOST)}")
    port = place.host_key.removeprefix(place.hostname).removeprefix(":")
    return place.hostname, port, name.startswith(_ANY_HOST)
