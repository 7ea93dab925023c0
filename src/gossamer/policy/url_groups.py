"""Groups of URLs that a site makes by the same rule: pattern, family, host, domain. Pure.

===========  ==================================  =====================================================
group        looks like                          its URLs
===========  ==================================  =====================================================
a pattern    ``http://h.test/a/#/c?x&y``         differ in numbers and in the values of their query
a family     ``http://h.test/a/#/c?*``,          have one path with whatever query; or no query, and
             ``http://h.test/a/*``               one first directory
a host       ``http://h.test/**``                are of one host
a domain     ``*.h.test``                        are of hosts of one registrable domain
===========  ==================================  =====================================================
"""

from __future__ import annotations

import re

from gossamer.policy.url_parser import head_of
from gossamer.policy.urls import hostname_of, registrable_domain

_VARIABLE = re.compile(r"(?<![^/])[^/\d]*\d[^/]*")


def pattern_of(url: str) -> str:
    """The pattern of a canonical URL."""
    head = head_of(url)
    path, _, query = url[len(head) :].partition("?")
    if not query:
        return f"{head}{_VARIABLE.sub('#', path)}?"
    names = "&".join(sorted({parameter.partition("=")[0] for parameter in query.split("&")}))
    end = "=" if names.endswith("*") else ""  # or it would look like a family
    return f"{head}{_VARIABLE.sub('#', path)}?{names}{end}"


def wider_groups_of(group: str) -> tuple[str, ...]:
    """The groups that all URLs of a group belong to, the smaller one first; of a domain none are known."""
    if is_domain(group) or group.endswith("**"):
        return ()
    host = host_group_of(group)
    if is_family(group):
        return (host,)
    path, _, names = group.partition("?")
    if names:
        return f"{path}?*", host
    head = host[:-2]
    first, more, _ = path[len(head) :].partition("/")
    return f"{head}{first}/*" if more else f"{head}*", host


def groups_of(url: str) -> tuple[str, str, str]:
    """Pattern, family and host of a canonical URL."""
    pattern = pattern_of(url)
    family, host = wider_groups_of(pattern)
    return pattern, family, host


def family_of(url: str) -> str:
    """The family of a canonical URL."""
    return groups_of(url)[1]


def host_group_of(url: str) -> str:
    """All URLs of the host of a URL, or of a group."""
    return f"{head_of(url)}**"


def domain_group_of(url: str) -> str:
    """All hosts of the registrable domain of a URL, or of a group of one host."""
    return f"*.{registrable_domain(hostname_of(head_of(url)))}"


def is_domain(group: str) -> bool:
    """Whether a group is that of a domain."""
    return group.startswith("*.")


def is_family(group: str) -> bool:
    """Whether a group is one path with whatever query, or a directory."""
    return group.endswith("*") and not group.endswith("**") and not is_domain(group)


def is_pattern(group: str) -> bool:
    """Whether a group is the smallest there is."""
    return not group.endswith("*") and not is_domain(group)
