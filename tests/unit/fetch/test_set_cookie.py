"""One Set-Cookie line, attribute by attribute."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.core.cookies import Cookie
from gossamer.fetch.sessions.set_cookie import (
    MAX_AGE_S,
    MAX_COOKIE_BYTES,
    cookie_origin_of,
    read_cookie,
    read_date,
)

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp()
SHOP = "https://www.shop.co.uk/a/b?c=/d/"


def read(line: str, url: str = SHOP) -> Cookie | None:
    return read_cookie(line, cookie_origin_of(url), NOW)


def got(line: str, url: str = SHOP) -> Cookie:
    cookie = read(line, url)
    assert cookie is not None
    return cookie


def test_a_plain_cookie() -> None:
    assert got("a=1") == Cookie("a", "1", "www.shop.co.uk", "/a", True, False, math.inf, NOW)


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        (" a \t=\t1 ; Path=/", "a", "1"),
        ('a="x y"', "a", '"x y"'),
        ('a="x;y"', "a", '"x'),  # quotes do not protect: no browser reads them
        ("a=b=c==", "a", "b=c=="),
        ("a=", "a", ""),
        ("a=1, b=2", "a", "1, b=2"),
        ("a=\t1\t2", "a", "1\t2"),
        ("a[b]=(c)", "a[b]", "(c)"),
        ("a=日", "a", "日".encode().decode("latin-1")),
        ("a=\ud800", "a", "?"),
        ("no name at all", "", "no name at all"),
        ("=nameless", "", "nameless"),
        (" = a=b", "", "a=b"),
    ],
)
def test_names_and_values(line: str, name: str, value: str) -> None:
    cookie = got(line)
    assert (cookie.name, cookie.value) == (name, value)


@pytest.mark.parametrize(
    "line",
    [
        "",
        ";",
        "=",
        " = ; Path=/",
        "__Host-a; Path=/",  # without a name it would be sent as one that has this name
        "=__Secure-a=1",
        "__http-a",
        "a=1\r\nX: y",
        "a=1\0",
        "a=1; Path=/\x7f",
        "a=" + "x" * MAX_COOKIE_BYTES,
        "a=" + "é" * (MAX_COOKIE_BYTES // 2),  # two bytes each
        "a=1; Domain=co.uk",
        "a=1; Domain=uk",
        "a=1; Domain=..shop.co.uk",
        "a=1; Domain=shop.co.uk.",
        "a=1; Domain=hop.co.uk",
        "a=1; Domain=other.co.uk",
        "a=1; Domain=api.shop.co.uk",
        "a=1; Domain=x.www.shop.co.uk",
        "a=1; Domain=www.shop.co.uk.evil.example",
        "a=1; Domain=shop.co.u\N{KELVIN SIGN}",  # its lower case is a plain k
        "__Host-a=1; Path=/",
        "__Host-a=1; Secure",
        "__Host-a=1; Secure; Path=/a",
        "__Host-a=1; Secure; Path=/; Domain=shop.co.uk",
        "__Host-a=1; Secure; Path=/; Domain=www.shop.co.uk",
        "__hOST-a=1; Path=/",
        "__Http-a=1; Secure",
        "__Http-a=1; HttpOnly",
        "__hTTP-a=1; Path=/",
        "__Host-Http-a=1; Secure; HttpOnly",
        "__Host-Http-a=1; Secure; Path=/",
        "__Host-Http-a=1; Secure; HttpOnly; Path=/; Domain=shop.co.uk",
        "a=1; Domain=other.example; Domain=",
        "a=1; Domain=api.shop.co.uk; Domain",
        "__Secure-a=1; Path=/",
        "__secure-a=1; Path=/",
    ],
)
def test_refused(line: str) -> None:
    assert read(line) is None


def test_the_longest_cookie_that_fits() -> None:
    assert len(got("a=" + "x" * (MAX_COOKIE_BYTES - 1)).value) == MAX_COOKIE_BYTES - 1


@pytest.mark.parametrize(
    "line",
    [
        "__Host-a=1; Secure; Path=/",
        "__Secure-a=1; Secure",
        "__Hosta=1",
        "__Http-a=1; Secure; HttpOnly",
        "__Http-a=1; Secure; HttpOnly; Domain=shop.co.uk",
        "__Host-Http-a=1; httponly; Secure; Path=/",
        "__Httpa=1",
    ],
)
def test_prefixes_with_what_they_ask_for(line: str) -> None:
    assert read(line) is not None


def test_secure_cookies_cannot_be_set_in_the_clear() -> None:
    assert read("a=1; Secure", "http://www.shop.co.uk/") is None
    assert got("a=1; secure=0; HttpOnly; SameSite=Strict").is_secure


@pytest.mark.parametrize(
    ("attributes", "domain", "is_host_only"),
    [
        ("Domain=shop.co.uk", "shop.co.uk", False),
        ("DOMAIN = .Shop.CO.UK ", "shop.co.uk", False),
        ("Domain=www.shop.co.uk", "www.shop.co.uk", False),
        ("Domain=", "www.shop.co.uk", True),
        ("Domain=shop.co.uk; Domain=", "shop.co.uk", False),
        ("Domain=.", "www.shop.co.uk", True),
        ("Domain=other.example; Domain=shop.co.uk", "shop.co.uk", False),
        ("Domain=" + "x" * 1025, "www.shop.co.uk", True),
    ],
)
def test_domains(attributes: str, domain: str, is_host_only: bool) -> None:
    cookie = got(f"a=1; {attributes}")
    assert (cookie.domain, cookie.is_host_only) == (domain, is_host_only)


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("https://me.github.io/", "a=1; Domain=github.io"),
        ("https://localhost/", "a=1; Domain=host"),
        ("http://127.0.0.1/", "a=1; Domain=0.0.1"),
        ("http://[::1]/", "a=1; Domain=1]"),
        ("https://www.foo.ck/", "a=1; Domain=ck"),
    ],
)
def test_domains_that_nobody_registered(url: str, line: str) -> None:
    assert read(line, url) is None
    assert read("a=1", url) is not None


@pytest.mark.parametrize(
    ("attributes", "url", "path"),
    [
        ("", "https://h.example/", "/"),
        ("", "https://h.example/a", "/"),
        ("", "https://h.example/a/", "/a"),
        ("", "https://h.example/a/b/c?d=/e/f", "/a/b"),
        ("", "https://h.example", "/"),
        ("Path=", "https://h.example/a/b", "/a"),
        ("Path=x", "https://h.example/a/b", "/a"),
        ("Path=/x; Path=y", "https://h.example/a/b", "/a"),
        ("Path=/x; Path=/y/", "https://h.example/a/b", "/y/"),
        ("Path=/x; Path=/" + "y" * 1024, "https://h.example/a/b", "/x"),
    ],
)
def test_paths(attributes: str, url: str, path: str) -> None:
    assert got(f"a=1; {attributes}", url).path == path


@pytest.mark.parametrize(
    ("attributes", "expires_at"),
    [
        ("", math.inf),
        ("Max-Age=60", NOW + 60),
        ("Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", NOW + 60),
        ("Max-Age=0; Expires=Tue, 05 May 2026 12:00:00 GMT", -math.inf),
        ("Max-Age=-5", -math.inf),
        ("Max-Age=1h; Expires=Tue, 05 May 2026 12:00:00 GMT", NOW + 86400),
        ("Max-Age=+60", math.inf),
        ("Max-Age=-", math.inf),
        ("Max-Age=", math.inf),
        ("Max-Age=\u0663", math.inf),
        ("Max-Age=60; Max-Age=soon", NOW + 60),
        ("Max-Age=" + "9" * 1000, NOW + MAX_AGE_S),
        ("Expires=Fri, 31 Dec 9999 23:59:59 GMT", NOW + MAX_AGE_S),
        ("Expires=Thu, 01 Jan 1970 00:00:01 GMT", 1.0),
        ("Expires=never", math.inf),
        ("Expires=Tue, 05 May 2026 12:00:00 GMT; Expires=never", NOW + 86400),
    ],
)
def test_ends(attributes: str, expires_at: float) -> None:
    assert got(f"a=1; {attributes}").expires_at == expires_at


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Wed, 09 Jun 2021 10:18:14 GMT", (2021, 6, 9, 10, 18, 14)),
        ("Wed, 09-Jun-21 10:18:14 GMT", (2021, 6, 9, 10, 18, 14)),
        ("Wednesday, 09-Jun-99 10:18:14 GMT", (1999, 6, 9, 10, 18, 14)),
        ("Wed Jun  9 10:18:14 2021", (2021, 6, 9, 10, 18, 14)),
        ("2021 9 JUNE 1:2:3", (2021, 6, 9, 1, 2, 3)),
        ("9th jun 70 10:18:14pm +0200", (1970, 6, 9, 10, 18, 14)),
        ("09 Jun 69 10:18:14", (2069, 6, 9, 10, 18, 14)),
        ("09 Jun 2021 10:18:14 11:00:00 10 Jul 2022", (2021, 6, 9, 10, 18, 14)),
        ("29 Feb 2024 00:00:00", (2024, 2, 29, 0, 0, 0)),
        ("01 Jan 1601 00:00:00", (1601, 1, 1, 0, 0, 0)),
    ],
)
def test_dates(text: str, wanted: tuple[int, int, int, int, int, int]) -> None:
    assert read_date(text) == datetime(*wanted, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "Wed, 09 Jun 2021",
        "09 2021 10:18:14",
        "Jun 10:18:14 2021",
        "09 Jun 10:18:14",
        "32 Jun 2021 10:18:14",
        "30 Feb 2021 10:18:14",
        "00 Jun 2021 10:18:14",
        "09 Jun 2021 24:00:00",
        "09 Jun 2021 10:60:00",
        "09 Jun 2021 10:18:60",
        "09 Jun 2021 10:18",
        "09 Jun 2021 10:18:141",
        "09 Jun 1600 10:18:14",
        "09 Jun 20210 10:18:14",
        "2021-06-09T10:18:14Z",  # ISO 8601 is no cookie date
        "\u0660\u0669 Jun 2021 10:18:14",
    ],
)
def test_no_dates(text: str) -> None:
    assert read_date(text) is None


@given(st.datetimes(datetime(1601, 1, 1), datetime(9999, 12, 31)))
def test_the_usual_form_of_any_date(date: datetime) -> None:
    text = date.strftime("%a, %d-%b-") + f"{date.year:04} {date:%H:%M:%S} GMT"
    assert read_date(text) == date.replace(microsecond=0, tzinfo=UTC).timestamp()


PIECES = st.sampled_from(
    [
        "a",
        "=",
        ";",
        " ",
        "Path=/",
        "Domain=",
        "www.shop.co.uk",
        "Max-Age=",
        "9",
        "-",
        "Expires=",
        "09 Jun 2021",
    ]
)


@settings(deadline=None)  # the first example may read the list of suffixes
@given(st.one_of(st.text(st.characters()), st.lists(PIECES | st.text(max_size=3)).map("".join)))
@example("a=1; Domain=\ud800; Path=/\ud800; Expires=\ud800")
def test_no_text_raises_and_what_is_kept_can_be_sent(line: str) -> None:
    read_date(line)
    cookie = read(line)
    if cookie is not None:
        sent = f"{cookie.name}={cookie.value}"
        sent.encode("latin-1")
        assert not set(sent) & set("\r\n\0;")
        assert cookie.path.startswith("/")
