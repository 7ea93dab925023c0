"""Whether two crawls may ask the same host: each keeps a pace of its own there, and the host meets both.

What a crawl may ask is named by hosts as frontiers know them (``example.com``, ``127.0.0.1:8000``) and by
domains, which stand for their sub-domains on every port, too (``*.example.com``). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.policy import urls
from gossamer.policy.scope import domain_of

_ANY_HOST = "*."


def named_hosts(allowed_domains: Iterable[str], start_urls: Iterable[str]) -> tuple[str, ...]:
    """The hosts that a spider names. Raises :class:`UsageError` for a domain that is none."""
    domains = (domain_of(entry) for entry in allowed_domains)
    names = {_ANY_HOST + name + (f":{port}" if port else "") for name, port in domains}
    return tuple(sorted(names | {host for url in start_urls if (host := urls.host_key(url))}))


def shared_host(ours: Iterable[str], theirs: Iterable[str]) -> str | None:
    """A host or domain that both may ask, as far as one is known."""
    others = [_parts(name) for name in theirs if name]
    for name in ours:
        host, port, is_domain = _parts(name)
        for other, other_port, other_is_domain in others:
            is_same = host == other and (port == other_port or _is_any(port, is_domain))
            if is_same or (host == other and _is_any(other_port, other_is_domain)):
                return host
            if is_domain and other.endswith(f".{host}") and port in ("", other_port):
                return other
            if other_is_domain and host.endswith(f".{other}") and other_port in ("", port):
                return host
    return None


def _is_any(port: str, is_domain: bool) -> bool:
    return is_domain and not port


def _parts(name: str) -> tuple[str, str, bool]:
    """The host's name, its port (none: the usual one, or of a domain any), and whether it is a domain."""
    place = urls.place(f"http://{name.removeprefix(_ANY_HOST)}")
    port = place.host_key.removeprefix(place.hostname).removeprefix(":")
    return place.hostname, port, name.startswith(_ANY_HOST)
