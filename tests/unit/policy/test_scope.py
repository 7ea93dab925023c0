"""What a crawl may touch."""

from __future__ import annotations

import re

import pytest

from gossamer.core.errors import UsageError
from gossamer.policy.scope import IGNORED_EXTENSIONS, Scope, extension_of


def test_empty_scope_allows_every_page():
    scope = Scope()
    assert scope.check_url("http://example.com/") is None
    assert scope.check_url("https://127.0.0.1:8000/x.pdf") is None


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://example.com/", None),
        ("https://www.example.com:8443/a", None),
        ("http://a.b.example.com", None),
        ("http://notexample.com/", "offsite"),
        ("http://example.com.evil.test/", "offsite"),
        ("http://evil.test/example.com", "offsite"),
        ("http://example.com@evil.test/", "offsite"),
        ("http://evil.test\\@example.com/", "offsite"),
        ("http:////evil.test/example.com/", "offsite"),
        ("http:////////example.com/", None),
        ("http://com/", "offsite"),
        ("http://127.0.0.1:8000/", None),
        ("http://127.0.0.1:8001/", "offsite"),
        ("http://127.0.0.1/", "offsite"),
        ("http://a.127.0.0.1:8000/", "bad_url"),  # no such host can be
        ("https://secure.test/", None),
        ("http://secure.test/", "offsite"),  # port 80, and 443 was named
        ("http://[::1]:9000/", None),
        ("http://[::2]/", "offsite"),
        ("https://xn--bcher-kva.test/", None),
        ("mailto:a@example.com", "scheme"),
        ("javascript:void(0)", "scheme"),
        ("file://example.com/", "scheme"),
        ("ftp://example.com/", "scheme"),
        ("http://", "bad_url"),
        ("", "scheme"),
    ],
)
def test_domains(url, refused):
    scope = Scope(["example.com", "127.0.0.1:8000", "secure.test:443", "::1", "bücher.test"])
    assert scope.check_url(url) == refused
    assert scope.check_url(url) == refused  # the remembered answer


@pytest.mark.parametrize("entry", ["*.example.com", ".Example.com", "http://example.com/", " example.com "])
def test_ways_to_write_a_domain(entry):
    scope = Scope([entry])
    assert scope.check_url("http://sub.example.com:81/") is None
    assert scope.check_url("http://example.org/") == "offsite"
    assert "example.com" in repr(scope)


@pytest.mark.parametrize("entry", ["", "*", "a b", "http://", "user@example.com", "example.com:x", "[::1"])
def test_bad_domains_are_named(entry):
    with pytest.raises(UsageError, match=re.escape(repr(entry))):
        Scope([entry])


def test_patterns():
    scope = Scope(include=[r"/docs/", re.compile("/API/", re.IGNORECASE)], exclude=[r"\?print=1"])
    assert scope.check_url("http://h/docs/a") is None
    assert scope.check_url("http://h/api/a") is None
    assert scope.check_url("http://h/blog/a") == "not_included"
    assert scope.check_url("http://h/docs/a?print=1") == "excluded"
    with pytest.raises(UsageError, match=r"\(unclosed"):
        Scope(exclude=["(unclosed"])


def test_schemes_and_length():
    assert Scope(schemes=["https"]).check_url("http://h/") == "scheme"
    assert Scope(schemes=["HTTPS"]).check_url("https://h/") is None
    assert Scope(max_length=20).check_url("http://h/" + "a" * 20) == "too_long"
    assert Scope().check_url("http://h/?" + "a" * 10_000) == "too_long"


def test_extensions_are_refused_only_when_asked():
    scope = Scope(deny_extensions=IGNORED_EXTENSIONS)
    assert scope.check_url("http://h/a.PDF?x=1") == "extension"
    assert scope.check_url("http://h/a.tar.gz") == "extension"
    assert scope.check_url("http://h/a.html") is None
    assert scope.check_url("http://h/a?file=x.pdf") is None
    assert scope.check_url("http://h.zip/") is None
    assert Scope(deny_extensions=[".htm"]).check_url("http://h/a.htm") == "extension"


@pytest.mark.parametrize(
    ("url", "suffix"),
    [
        ("http://h/a.b.Jpg#x.y", "jpg"),
        ("http://h/a.d/b", ""),
        ("http://h", ""),
        ("http://h/.", ""),
        ("x", ""),
    ],
)
def test_extension(url, suffix):
    assert extension_of(url) == suffix


def test_memory_of_hosts_is_bounded():
    scope = Scope(["example.com"])
    for number in range(25_000):
        assert scope.check_url(f"http://h{number}.test/") == "offsite"
    assert len(scope._by_place) <= 10_000
    assert scope.check_url("http://example.com/") is None
