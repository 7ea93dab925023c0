"""URLs: the WHATWG cases, the canonical form, fingerprints and hosts."""

from __future__ import annotations

import csv
import json

import can_ada
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.policy import urls
from gossamer.policy.urls import (
    DEFAULT_OPTIONS,
    SESSION_PARAMETERS,
    TRACKING_PARAMETERS,
    UrlJoiner,
    UrlOptions,
)
from kit.corpora import corpus, from_corpus

CARET = "the standard began to escape ^ in paths after the parser's tables were made; servers read both alike"
OPAQUE = "blanks at the end of an opaque path are kept by the newest standard; no http URL has an opaque path"

# What the parser does otherwise than the newest standard, each case with its reason.
WPT_EXCEPTIONS = {
    "non-special:opaque  ?hi": OPAQUE,
    "non-special:opaque  #hi": OPAQUE,
    "non-special:opaque \t\t  \t#hi": OPAQUE,
    "non-special:opaque \t\t  #hi": OPAQUE,
    "non-special:opaque\t\t  \r #hi": OPAQUE,
    "foo://host/ !\"$%&'()*+,-./:;<=>@[\\]^_`{|}~": CARET,
    "wss://host/ !\"$%&'()*+,-./:;<=>@[\\]^_`{|}~": CARET,
}


@from_corpus("url/urltestdata.json", cases=891)
def test_the_standards_own_cases():
    cases = [
        case for case in json.loads(corpus("url/urltestdata.json").read_text()) if isinstance(case, dict)
    ]
    assert len(cases) == 891
    differing = set()
    for case in cases:
        expected = None if case.get("failure") else case["href"].partition("#")[0]
        if urls.join_url(case["base"] or "", case["input"]) != expected:
            differing.add(case["input"])
    normal = {name.replace("\r", ""): name for name in WPT_EXCEPTIONS}
    assert {name.replace("\r", "") for name in differing} == set(normal)


def csv_rows(name: str) -> list[list[str]]:
    lines = corpus(f"url/{name}").read_text(encoding="utf-8").splitlines()
    return [
        [field.strip() for field in next(csv.reader([line], skipinitialspace=True))]
        for line in lines
        if line.strip() and not line.startswith("#")
    ]


SLASHES = "an empty path segment is a segment: RFC 3986 and WHATWG keep //, and servers tell them apart"
QUERY_SET = "WHATWG leaves these characters in a query as they are, and so do browsers"
BARE_PERCENT = "WHATWG never repairs a % that escapes nothing; %25 would be another URL"
EMPTY_QUERY = "with and without ? are two URLs by RFC 3986 section 6.2.3 and WHATWG"
EMPTY_VALUE = "a= and a are told apart by many servers"
NO_SCHEME = "not absolute; the command line completes what a person typed, links are joined first"
NOT_HTTP = "neither http nor https"

# Rows of the other normaliser's file that this one answers otherwise, even with escapes and order normalised.
WEIRD_EXCEPTIONS = {
    "http://x.com/?x[y]=1": QUERY_SET,
    "http://foo.com//aa/bb/foo.html": SLASHES,
    "http://foo.com/aa//bb/foo.html": SLASHES,
    "http://foo.com/aa/bb//foo.html": SLASHES,
    "http://foo.com//aa//bb//foo.html": SLASHES,
    "http://foo.com////aa////bb//foo.html": SLASHES,
    "http://foo.com////aa////bb////foo.html": SLASHES,
    "file:///foo/bar.txt": NOT_HTTP,
    "ftp:/": NOT_HTTP,
    "ftp://foo.com/index.html": NOT_HTTP,
    "file:/path/index.html": NOT_HTTP,
    "file:/var/www/html/////./bar/index.html": NOT_HTTP,
    "file:/var/www/html/foo/../bar/index.html": NOT_HTTP,
    "http:////": "no host, so no URL",
    "http:///////": "no host, so no URL",
    "http://example.com?": EMPTY_QUERY,
    "http://example.com/?": EMPTY_QUERY,
    "https://www.last.fm/music/Prefuse+73/_/90%+of+My+Mind+Is+With+You": BARE_PERCENT,
    "http://www.example.com/a/c/../b/search?q=foobar%": BARE_PERCENT,
    "http://www.example.com/p%zz%77%v": BARE_PERCENT,
    "http://www.example.com/search?q=foobar%": BARE_PERCENT,
    "http://www.example.com/search?q=foobar%2": BARE_PERCENT,
    "http://www.example.com/a/c/../b/search?q=foobar^": QUERY_SET,
    "http://www.example.com/a/c/../b/search?q=foobar`": QUERY_SET,
    "http://www.example.com/a/c/../b/search?q=foobar|": QUERY_SET,
    "foo.com/index.html": NO_SCHEME,
    "http://foo.com/index?a=1&b=": EMPTY_VALUE,
    "http://foo.com/index?b=&a=1": EMPTY_VALUE,
    "http://foo.com/index?b=1&a=1&": EMPTY_VALUE,
    "http://foo.com/index?&b=1&a=1": EMPTY_VALUE,
    "http://foo.com/index?&=1&a=1": EMPTY_VALUE,
    "http://foo.com/index?=1&b=1&a=1": EMPTY_VALUE,
}


@from_corpus("url/weirdToNormalizedUrls.csv", cases=112)
def test_weird_urls_of_another_normaliser():
    options = UrlOptions(unescape=True, sort_query=True)
    rows = csv_rows("weirdToNormalizedUrls.csv")
    assert len(rows) > 100
    differing = {weird for weird, normal in rows if urls.canonicalise_url(weird, options) != normal}
    assert differing == set(WEIRD_EXCEPTIONS)


@from_corpus("url/invalidUrls.csv", cases=2)
def test_invalid_urls():
    rows = csv_rows("invalidUrls.csv")
    assert len(rows) == 2
    for (url,) in rows:
        assert urls.canonicalise_url(url) is None


@from_corpus("url/url-resolve.csv", cases=22)
def test_resolving_as_others_do():
    rows = csv_rows("url-resolve.csv")
    assert len(rows) > 20
    for reference, base, expected in rows:
        assert urls.join_url(base, reference) == expected.partition("#")[0]


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://example.com:443/a/./b/../c", "https://example.com/a/c"),
        ("https://example.com:8443/", "https://example.com:8443/"),
        ("http://example.com/a#b", "http://example.com/a"),
        ("http://example.com/A?B=C", "http://example.com/A?B=C"),  # case stays
        ("http://example.com/a%2Fb%2fc", "http://example.com/a%2Fb%2fc"),  # never another segment
        ("http://example.com/%252F", "http://example.com/%252F"),
        ("http://example.com/%2e%2e/a", "http://example.com/a"),  # a dot segment by the standard
        ("http://example.com/a%00b", "http://example.com/a%00b"),
        ("http://example.com/%zz", "http://example.com/%zz"),
        ("http://example.com/a;p=1?", "http://example.com/a;p=1?"),
        ("http://example.com//a", "http://example.com//a"),
        ("http://example.com/?b=1&a=2", "http://example.com/?b=1&a=2"),  # order stays
        ("http://example.com./", "http://example.com/"),
        ("http://example.com.:8080/x./y", "http://example.com:8080/x./y"),
        ("http://example.com/x./y", "http://example.com/x./y"),
        ("http://user:secret@example.com/", "http://example.com/"),
        ("http://user@example.com/@me", "http://example.com/@me"),
        ("http://example.com/@me?mail=a@b", "http://example.com/@me?mail=a@b"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://[::FFFF:127.0.0.1]:80/", "http://[::ffff:7f00:1]/"),
        ("http://bücher.example/ü?ü", "http://xn--bcher-kva.example/%C3%BC?%C3%BC"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        (" http://exam\tple.com/\n", "http://example.com/"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("http://example.com/a b", "http://example.com/a%20b"),
        ("http://example.com/\ud800", "http://example.com/%EF%BF%BD"),
        ("http://example.com/?utm_source=x", "http://example.com/"),
        ("http://example.com/?a=1&UTM_Medium=x&gclid&b=2", "http://example.com/?a=1&b=2"),
        ("http://example.com/?fbclid=1&utm_id=2&", "http://example.com/"),
        ("http://example.com/?xutm_source=1&gclidx=2", "http://example.com/?xutm_source=1&gclidx=2"),
        ("http://example.com/utm_source=x", "http://example.com/utm_source=x"),
        ("http://example.com/?q=a?utm_x", "http://example.com/?q=a?utm_x"),
    ],
)
def test_canonical_form(url, canonical):
    assert urls.canonicalise_url(url) == canonical
    assert urls.canonicalise_url(canonical) == canonical


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/relative",
        "example.com",
        "mailto:a@b",
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://example.com/",
        "file:///etc/passwd",
        "blob:http://example.com/x",
        "view-source:http://example.com/",
        "http://",
        "http:///",
        "http://exa mple.com/",
        "http://example.com:99999/",
        "http://./",
        "http://127.1../",
        "http://example.com../",
        "http://[::1",
        "http://1.2.3.4.5.6/",
        "http://" + "a." * 127 + "com/",  # longer than DNS allows
        "http://example.com/" + "a" * 8192,
        "http://example.com/?" + "a=1&" * 100_000,
        "http://example.com/" + "a/" * 1_000_000,
    ],
)
def test_no_canonical_form(url):
    assert urls.canonicalise_url(url) is None


def test_options():
    assert (
        urls.canonicalise_url("http://h.example/?b&a=2&a=1", UrlOptions(sort_query=True))
        == "http://h.example/?a=2&a=1&b"
    )
    assert (
        urls.canonicalise_url("http://h.example/%7e%c3%2f", UrlOptions(unescape=True))
        == "http://h.example/~%C3%2F"
    )
    assert (
        urls.canonicalise_url("http://h.example/%2541", UrlOptions(unescape=True)) == "http://h.example/%2541"
    )
    keep = UrlOptions(drop_parameters=())
    assert urls.canonicalise_url("http://h.example/?utm_source=x", keep) == "http://h.example/?utm_source=x"
    sessions = UrlOptions(drop_parameters=TRACKING_PARAMETERS + SESSION_PARAMETERS)
    assert (
        urls.canonicalise_url("http://h.example/?PHPSESSID=1&p=2&utm_x=3", sessions)
        == "http://h.example/?p=2"
    )
    assert urls.canonicalise_url("http://h.example/abc", UrlOptions(max_length=19)) is None
    assert (
        urls.canonicalise_url("http://h.example/ä", UrlOptions(max_length=20)) is None
    )  # too long once escaped
    assert UrlOptions() == DEFAULT_OPTIONS
    assert hash(UrlOptions()) == hash(DEFAULT_OPTIONS)


def test_joiner_remembers():
    joiner = UrlJoiner("https://example.com/a/b")
    assert joiner["c#d"] == "https://example.com/a/c"
    assert joiner["?q"] == "https://example.com/a/b?q"
    assert joiner["http://[x"] is None
    assert joiner["\udc80"] == "https://example.com/a/%EF%BF%BD"
    assert len(joiner) == 4
    assert UrlJoiner("no base")["x"] is None
    assert UrlJoiner("no base")["http://h/"] == "http://h/"


authority_chars = st.text("ab.:@/\\?#[]% \t1", max_size=12)
starts = st.sampled_from(["http:", "https://", " http:/", "ftp://"])
odd_urls = st.builds("{}{}{}/{}".format, starts, authority_chars, authority_chars, authority_chars)


@given(odd_urls)
@example("http://evil.example\\@good.example/")
@example("http://good.example@evil.example/x")
def test_canonical_form_is_a_fixed_point_and_has_the_same_host(url):
    canonical = urls.canonicalise_url(url)
    if canonical is not None:
        assert urls.canonicalise_url(canonical) == canonical
        assert urls.parse_origin(canonical) == urls.parse_origin(url)
        assert "@" not in canonical.split("/")[2]


@given(odd_urls)
@example("http:////////evil.example/good.example/")
@example("  http://evil.example/")
@example("http:/1 /")
@example("http://1../")
@example("http://good.example /x")
def test_a_place_is_read_as_the_parser_reads_the_whole_url(url):
    try:
        parsed = can_ada.parse(url)
    except ValueError:
        assert urls.hostname_of(url) == ""
        return
    name = parsed.hostname.removesuffix(".")
    assert urls.hostname_of(url) == ("" if name.endswith(".") else name)


def test_fingerprints_tell_requests_apart():
    key = b"job"
    first = urls.fingerprint_of("GET", "http://h/a", b"", key)
    assert first == urls.fingerprint_of("GET", "http://h/a", b"", key)
    assert first == 671943045536275084  # stored in frontiers: must not change between releases
    others = {
        urls.fingerprint_of("GET", "http://h/b", b"", key),
        urls.fingerprint_of("HEAD", "http://h/a", b"", key),
        urls.fingerprint_of("POST", "http://h/a", b"", key),
        urls.fingerprint_of("POST", "http://h/a", b"x", key),
        urls.fingerprint_of("GET", "http://h/a", b"x", key),
        urls.fingerprint_of("GET", "http://h/a", b"", b"other"),
    }
    assert len(others) == 6
    assert first not in others
    sample = [urls.fingerprint_of("GET", f"http://h/{n}", b"", key) for n in range(1000)]
    assert len(set(sample)) == 1000
    assert any(value < 0 for value in sample)
    assert all(-(2**63) <= value < 2**63 for value in sample)


def test_hosts():
    assert urls.host_key("https://example.com/a") == "example.com"
    assert urls.host_key("https://Example.com:443") == "example.com"
    assert urls.host_key("http://example.com:443/") == "example.com:443"
    assert urls.host_key("http://[::1]:8000/") == "[::1]:8000"
    assert urls.hostname_of("http://u:p@example.com:8000/a@b") == "example.com"
    assert urls.origin_of("http://example.com:8000/a") == "http://example.com:8000"
    assert urls.origin_of("https://example.com/a?b") == "https://example.com"
    assert urls.host_key("mailto:x@y") == urls.hostname_of("nonsense") == urls.origin_of("") == ""
    assert urls.hostname_of("http://" + "a" * 400 + "/") == "a" * 400


def test_registrable_domains():
    assert urls.registrable_domain("news.bbc.co.uk") == "bbc.co.uk"
    assert urls.registrable_domain("WWW.Example.com.") == "example.com"
    assert urls.registrable_domain("a.someone.github.io") == "someone.github.io"
    assert urls.registrable_domain("co.uk") == "co.uk"
    assert urls.registrable_domain("localhost") == "localhost"
    assert urls.registrable_domain("127.0.0.1") == "127.0.0.1"
    assert urls.registrable_domain("[::1]") == "[::1]"


# --------------------------------------------------------------------------- host names of other scripts

OLDER_TABLES = ["xn--a", "xn--", "a.b.xn--0", "xn--pokxncvks", "xn--8i7caa", "xn--1ug.example", "2.xn--mgbb"]
"""Labels that do not decode, or to what would be written otherwise: they pass through, as in browsers."""


@pytest.mark.parametrize("host", OLDER_TABLES)
def test_an_ascii_host_is_what_it_is(host):
    url = f"http://{host}/a^b"
    assert urls.canonicalise_url(f"HTTP://{host.upper()}/a/b") == f"http://{host}/a/b"
    assert urls.hostname_of(url) == host
    assert urls.origin_of(f"https://user:pw@{host}.:8443/") == f"https://{host}:8443"
    assert urls.canonicalise_url(f"http://user:pw@{host}./a?utm_source=x") == f"http://{host}/a"
    assert urls.join_url(f"http://{host}/a/b", "../c?d#e") == f"http://{host}/c?d"
    assert urls.join_url("http://other.example/", f"//{host}/x") == f"http://{host}/x"


SPELLINGS = {
    "FAẞ.de": "xn--fa-hia.de",
    "faß.de": "xn--fa-hia.de",
    "fa%C3%9F.de": "xn--fa-hia.de",
    "FA%E1%BA%9E.de": "xn--fa-hia.de",
    "XN--FA-HIA.de": "xn--fa-hia.de",
    "Bücher.example": "xn--bcher-kva.example",
    "例え.jp": "xn--r8jz45g.jp",
    "\uff45xample.com": "example.com",
    "%65xample.com": "example.com",
}


@pytest.mark.parametrize(("written", "host"), SPELLINGS.items())
def test_every_spelling_of_a_host_is_one_host(written, host):
    for url in (f"http://{written}/a", f" http:/\\{written}/a", f"http:////{written}/a"):
        assert urls.canonicalise_url(url) == f"http://{host}/a", url
        assert urls.hostname_of(url) == host, url
    for base in ("http://other.example/x", f"http://{host}/x", f"http://{written}/x", "http://fass.de/"):
        for href in (f"//{written}/a", f"\t/\n/{written}/a", f"http://{written}/a"):
            assert urls.join_url(base, href) == f"http://{host}/a", (base, href)
    assert urls.join_url(f"http://{written}/x/y", "ä%41?ü") == f"http://{host}/x/%C3%A4%41?%C3%BC"


@pytest.mark.parametrize("host", ["xn--ä.de", "a\u200bb\u202e.de", "\u00ad", "exa mple.com", "a%00b"])
def test_what_is_no_host_has_no_url(host):
    assert urls.canonicalise_url(f"http://{host}/") is None
    assert urls.join_url("http://other.example/", f"//{host}/") is None
    assert urls.hostname_of(f"http://{host}/") == ""


@given(st.text("aZßẞü\uff41x-n%4.1", min_size=1, max_size=12))
@example("xn--a")
@example("FAẞ")
def test_both_ways_to_a_host_lead_to_the_same_one(host):
    canonical = urls.canonicalise_url(f"http://{host}/a")
    assert urls.join_url("http://other.example/", f"//{host}/a") == urls.join_url(f"http://{host}/", "/a")
    if canonical is not None:
        assert urls.canonicalise_url(canonical) == canonical
        assert urls.parse_origin(canonical) == urls.parse_origin(f"http://{host}/a")
