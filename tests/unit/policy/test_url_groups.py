"""Groups of URLs: what a pattern, a family, a host and a domain are, and which group is inside which."""

from __future__ import annotations

import pytest

from gossamer.policy.url_groups import (
    domain_group_of,
    family_of,
    groups_of,
    is_domain,
    is_family,
    is_pattern,
    pattern_of,
    wider_groups_of,
)


def test_patterns() -> None:
    assert pattern_of("http://h.test/2024/11/a?b=1&a=2") == "http://h.test/#/#/a?a&b"
    assert pattern_of("http://h.test/x9y/a") == "http://h.test/#/a?"
    assert pattern_of("http://h.test/") == "http://h.test/?"
    assert pattern_of("http://h2.test:80/b1") != pattern_of("http://h1.test:80/b1")


def test_a_url_belongs_to_a_pattern_a_family_and_a_host() -> None:
    assert groups_of("http://h.test/a/b1/c?x=1&y=2") == (
        "http://h.test/a/#/c?x&y",
        "http://h.test/a/#/c?*",
        "http://h.test/**",
    )
    assert family_of("http://h.test/a/b/c") == "http://h.test/a/*"
    assert family_of("http://h.test/a1/b") == "http://h.test/#/*"
    assert family_of("http://h.test/a") == family_of("http://h.test/") == "http://h.test/*"
    assert domain_group_of("http://a.h.test:81/b") == domain_group_of("http://c.h.test/**") == "*.h.test"


@pytest.mark.parametrize(
    ("group", "wider"),
    [
        ("http://h.test/a/#?", ("http://h.test/a/*", "http://h.test/**")),
        ("http://h.test/a/#?x", ("http://h.test/a/#?*", "http://h.test/**")),
        ("http://h.test/a/*", ("http://h.test/**",)),
        ("http://h.test/a?*", ("http://h.test/**",)),
        ("http://h.test/**", ()),
        ("*.h.test", ()),
    ],
)
def test_wider_groups(group: str, wider: tuple[str, ...]) -> None:
    assert wider_groups_of(group) == wider
    assert is_domain(group) is (group == "*.h.test")
    assert is_pattern(group) is (len(wider) == 2)
    assert is_family(group) is (len(wider) == 1)


@pytest.mark.parametrize("query", ["*=1", "a*=1", "**", "x=?", "=&&", "?*"])
@pytest.mark.parametrize("path", ["", "a", "a/b*", "a*/*", "**"])
def test_an_odd_url_has_its_groups_too(path: str, query: str) -> None:
    pattern, family, host = groups_of(f"http://h.test/{path}?{query}")
    assert is_pattern(pattern)
    assert is_family(family)
    assert wider_groups_of(pattern) == (family, host)
    assert wider_groups_of(family) == (host,)
