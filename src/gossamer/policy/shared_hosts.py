"""Crawls that use the same hosts: they share the pace of such a host, and each is slower there.

The scope of a crawl is given by hosts as frontiers know them (``example.com``, ``127.0.0.1:8000``) and by
domains, which include sub-domains on every port (``*.example.com``). Two crawls with one domain need not use
one host: only the hosts of start URLs are certain. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gossamer.policy import urls
from gossamer.policy.scope import domain_of

_ANY_HOST = "*."
COMPARED = 20
"""Hosts of start URLs that are looked for in the domains of another crawl."""
NAMED = 3
"""Other crawls that a sentence names."""


def named_hosts(allowed_domains: Iterable[str], start_urls: Iterable[str]) -> tuple[str, ...]:
    """The hosts that a spider names. Raises :class:`UsageError` for a domain that is none."""
    domains = (domain_of(entry) for entry in allowed_domains)
    names = {_ANY_HOST + name + (f":{port}" if port else "") for name, port in domains}
    return tuple(sorted(names | {host for url in start_urls if (host := urls.host_key(url))}))


def first_hosts(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the hosts that a crawl names which it is sure to ask: the hosts of its start URLs."""
    return tuple(name for name in names if not name.startswith(_ANY_HOST))


def may_share(ours: Sequence[str], theirs: Iterable[str]) -> tuple[str, ...]:
    """Those of our hosts that another crawl may ask, which names ``theirs``; first those that it begins with.

    A crawl that names no domain may ask any host.
    """
    names = set(theirs)
    domains = [name.removeprefix(_ANY_HOST) for name in names if name.startswith(_ANY_HOST)]
    both = [host for host in ours if host in names]
    others = [host for host in ours[:COMPARED] if host not in names and _is_within(host, domains)]
    return (*both, *others)


def _is_within(host: str, domains: Sequence[str]) -> bool:
    bare = urls.parse_origin(f"http://{host}").hostname
    return not domains or any(
        name == domain or name.endswith(f".{domain}") for domain in domains for name in (host, bare)
    )


def describe_sharing(ours: str, host: str, others: Sequence[tuple[str, str]]) -> str:
    """Describe a host shared with other crawls, given by their ids and targets."""
    if len(others) == 1:
        ((theirs, target),) = others
        return (
            f"{ours} and {theirs} ({target}) both crawl {host}: they share its pace and take turns, so each "
            f"has about half of it there until {theirs} ends"
        )
    named = ", ".join(theirs for theirs, _ in others[:NAMED])
    more = f" and {len(others) - NAMED:,} more" if len(others) > NAMED else ""
    return (
        f"{ours} and {len(others):,} other jobs ({named}{more}) crawl {host}: they share its pace and take "
        f"turns, so each has about 1/{len(others) + 1} of it there"
    )
