"""Joining: by a second, literal reading of RFC 3986 where it and WHATWG agree, and case by case elsewhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.policy import urls

PARTS = re.compile(r"(?:([a-z]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?")


def remove_dots(path: str) -> str:
    """RFC 3986, 5.2.4, step by step."""
    out = ""
    while path:
        if path.startswith(("../", "./")):
            path = path.partition("/")[2]
        elif path.startswith("/./") or path == "/.":
            path = "/" + path[3:]
        elif path.startswith("/../") or path == "/..":
            path, out = "/" + path[4:], out.rpartition("/")[0]
        elif path in (".", ".."):
            path = ""
        else:
            segment = re.match(r"/?[^/]*", path)[0]
            out, path = out + segment, path[len(segment) :]
    return out


def resolve(base: str, reference: str) -> str:
    """RFC 3986, 5.2.2, 5.2.3 and 5.3, without the fragment; an empty path is ``/``."""
    b_scheme, b_host, b_path, b_query = PARTS.match(base).groups()
    scheme, host, path, query = PARTS.match(reference).groups()
    if scheme is None:
        if host is None:
            host = b_host
            if path == "":
                path, query = b_path, b_query if query is None else query
            elif path.startswith("/"):
                path = remove_dots(path)
            else:
                merged = "/" + path if b_path == "" else b_path.rpartition("/")[0] + "/" + path
                path = remove_dots(merged)
        else:
            path = remove_dots(path)
        scheme = b_scheme
    else:
        path = remove_dots(path)
    return f"{scheme}://{host}{path or '/'}" + ("" if query is None else f"?{query}")


segments = st.lists(st.sampled_from(["a", "b", "..", ".", "", "c;d=1", "e,f", "a.b", "..."]), max_size=6)
tails = st.sampled_from(["", "?q", "?", "?a=b&c=../d", "#f", "?q#f/../g"])
hosts = st.sampled_from(["h.example", "other.example", "127.0.0.1", "h.example:8080"])
absolute_paths = segments.map(lambda found: "/" + "/".join(found))
bases = st.builds("{}://{}{}{}".format, st.sampled_from(["http", "https"]), hosts, absolute_paths, tails)
references = st.one_of(
    st.builds("{}{}".format, segments.map("/".join).filter(lambda path: not path.startswith("//")), tails),
    st.builds("{}{}".format, absolute_paths.filter(lambda path: not path.startswith("//")), tails),
    st.builds("//{}{}{}".format, hosts, absolute_paths, tails),
    bases,
)


@pytest.mark.long
@settings(max_examples=500)
@given(bases, references)
def test_references_are_resolved_as_rfc_3986_says(base: str, reference: str) -> None:
    base_as_it_is = urls.join_url(base, "")
    assert base_as_it_is is not None
    assert urls.join_url(base, reference) == resolve(base_as_it_is, reference)


BASE = "https://example.com:8443/dir/page?q#f"
FAILS = None


@pytest.mark.parametrize(
    ("reference", "joined"),
    [
        # Blanks, tabs and line ends around and within.
        (" \tx\n", "https://example.com:8443/dir/x"),
        ("a\tb\r\nc", "https://example.com:8443/dir/abc"),
        ("\x00 /x", "https://example.com:8443/x"),
        ("a b", "https://example.com:8443/dir/a%20b"),
        # Slashes the wrong way, too few, too many.
        ("\\a\\b", "https://example.com:8443/a/b"),
        ("..\\x", "https://example.com:8443/x"),
        ("\\\\other.example\\x", "https://other.example/x"),
        ("https:x", "https://example.com:8443/dir/x"),
        ("https:/x", "https://example.com:8443/x"),
        ("http:x", "http://x/"),
        ("http:/x", "http://x/"),
        ("///other.example/x", "https://other.example/x"),
        ("http:////other.example//x", "http://other.example//x"),
        # Ports.
        ("https://h.example:443/", "https://h.example/"),
        ("http://h.example:443/", "http://h.example:443/"),
        ("http://h.example:00080/", "http://h.example/"),
        ("http://h.example:/", "http://h.example/"),
        ("http://h.example:65536/", FAILS),
        ("http://h.example:x/", FAILS),
        # Hosts.
        ("HTTP://H.EXAMPLE/", "http://h.example/"),
        ("//ExAmPlE.Com", "https://example.com/"),
        ("http://h%2eexample/", "http://h.example/"),
        ("http://%6D.example/", "http://m.example/"),
        ("http://ex%20ample/", FAILS),
        ("http://a<b/", FAILS),
        ("http://a^b/", FAILS),
        ("http://", FAILS),
        ("https://?q", FAILS),
        ("http://日本語.example/", "http://xn--wgv71a119e.example/"),
        ("http://faß.example/", "http://xn--fa-hia.example/"),
        ("http://\uff25\uff38.com/", "http://ex.com/"),
        ("http://h。example/", "http://h.example/"),
        ("http://a\u00adb.example/", "http://ab.example/"),
        # Addresses.
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7F000001/", "http://127.0.0.1/"),
        ("http://0300.0250.1/", "http://192.168.0.1/"),
        ("http://256/", "http://0.0.1.0/"),
        ("http://1.2.3.256/", FAILS),
        ("http://1.2.3.4.5/", FAILS),
        ("http://08.0.0.1/", FAILS),
        ("http://[::1]/", "http://[::1]/"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
        ("http://[1:0:0:2:0:0:0:3]/", "http://[1:0:0:2::3]/"),
        ("http://[::ffff:1.2.3.4]/", "http://[::ffff:102:304]/"),
        ("http://[::1/", FAILS),
        ("http://[g::]/", FAILS),
        # Paths and queries.
        ("/%7Ea/%c3", "https://example.com:8443/%7Ea/%c3"),
        ("/a/%2E%2e/b", "https://example.com:8443/b"),
        ("/a/.%2e/b", "https://example.com:8443/b"),
        ("/a/..", "https://example.com:8443/"),
        ("/é?é", "https://example.com:8443/%C3%A9?%C3%A9"),
        ("?'\"<>", "https://example.com:8443/dir/page?%27%22%3C%3E"),
        ("/'\"<>`{}", "https://example.com:8443/'%22%3C%3E%60%7B%7D"),
        ("#only", "https://example.com:8443/dir/page?q"),
        ("", "https://example.com:8443/dir/page?q"),
        # Other schemes.
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("javascript:alert(1)", "javascript:alert(1)"),
        ("data:,x", "data:,x"),
    ],
)
def test_what_people_write_into_links(reference: str, joined: str | None) -> None:
    assert urls.join_url(BASE, reference) == joined
