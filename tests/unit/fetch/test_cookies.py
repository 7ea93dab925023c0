"""Cookies stay where they belong, in bounded number."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from gossamer.core.cookies import Cookie
from gossamer.fetch.sessions import cookies
from gossamer.fetch.sessions.cookies import MAX_COOKIES, MAX_ENTRY_BYTES, MAX_JAR_BYTES, CookieJar

NOW = 1_800_000_000.0
SHOP = "https://www.shop.co.uk/a/b"


def book(*lines: str, url: str = SHOP, session: str = "") -> CookieJar:
    made = CookieJar(100)
    made.store_cookies(session, url, lines, NOW)
    return made


def sent(made: CookieJar, url: str = SHOP, session: str = "", now: float = NOW) -> str:
    return made.cookie_header(session, url, now)


# --------------------------------------------------------------------------- where they go


def test_a_cookie_comes_back_to_its_host_and_session() -> None:
    made = book('a="x y"; Path=/; HttpOnly', "c=2; Path=/; Max-Age=100")
    assert sent(made) == 'a="x y"; c=2'
    assert sent(made, session="other") == ""
    assert sent(made, "https://shop.co.uk/") == ""
    assert sent(made, "https://x.www.shop.co.uk/") == ""


def test_a_domain_cookie_reaches_the_whole_registrable_domain_and_no_more() -> None:
    made = book("a=1; Domain=.shop.co.uk; Path=/")
    assert sent(made, "https://api.shop.co.uk/x") == "a=1"
    assert sent(made, "https://shop.co.uk/") == "a=1"
    assert sent(made, "https://other.co.uk/") == ""
    assert sent(made, "https://xshop.co.uk/") == ""


def test_a_domain_cookie_of_a_subdomain_stays_below_it() -> None:
    made = book("a=1; Domain=www.shop.co.uk; Path=/")
    assert sent(made, "https://x.www.shop.co.uk/") == "a=1"
    assert sent(made, "https://xwww.shop.co.uk/") == ""
    assert sent(made, "https://shop.co.uk/") == ""


def test_where_no_host_is_there_are_no_cookies() -> None:
    assert len(book("a=1", url="mailto:me@shop.co.uk")) == 0


def test_nothing_is_looked_up_while_nobody_sets_cookies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cookies, "registrable_domain", None)  # reading the list of suffixes takes 0.1 s
    assert sent(CookieJar(10)) == ""


@pytest.mark.parametrize(
    "line", ["a=1; Domain=co.uk", "a=1; Domain=other.co.uk", "__Host-a=1; Path=/", "=", ""]
)
def test_what_is_refused_makes_no_jar(line: str) -> None:
    made = book(line)
    assert len(made) == 0
    assert sent(made) == ""


def test_secure_cookies_are_not_sent_in_the_clear() -> None:
    made = book("__Host-a=1; Secure; Path=/", "__Secure-b=2; Secure; Path=/")
    assert sent(made) == "__Host-a=1; __Secure-b=2"
    assert sent(made, "http://www.shop.co.uk/") == ""


def test_sites_below_a_private_suffix_do_not_share() -> None:
    made = book("a=1; Domain=github.io; Path=/", "b=2; Path=/", url="https://me.github.io/")
    assert sent(made, "https://me.github.io/") == "b=2"
    assert sent(made, "https://you.github.io/") == ""


def test_a_public_suffix_has_cookies_for_itself_only() -> None:
    made = book("a=1; Domain=github.io; Path=/", url="https://github.io/")
    assert sent(made, "https://github.io/") == "a=1"
    assert sent(made, "https://me.github.io/") == ""


@pytest.mark.parametrize(
    ("own", "other"), [("127.0.0.1", "127.0.0.2"), ("[::1]", "[::2]"), ("10.0.0.1", "110.0.0.1")]
)
def test_addresses_have_cookies_of_their_own(own: str, other: str) -> None:
    made = book("a=1; Path=/", url=f"http://{own}:8000/")
    assert sent(made, f"http://{own}:9000/") == "a=1"  # RFC 6265, 8.5: ports do not isolate
    assert sent(made, f"http://{other}/") == ""


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/a", "a"),
        ("/a/", "a"),
        ("/a/x", "a"),
        ("/a?x", "a"),
        ("/ab", ""),
        ("/", ""),
        ("/x/a", ""),
        ("/A", ""),
    ],
)
def test_paths(path: str, wanted: str) -> None:
    assert sent(book("a=; Path=/a"), "https://www.shop.co.uk" + path) == (wanted and "a=")


def test_a_path_with_a_slash_at_its_end_is_not_met_by_the_name_without() -> None:
    made = book("a=1; Path=/a/")
    assert sent(made, "https://www.shop.co.uk/a") == ""
    assert sent(made, "https://www.shop.co.uk/a/b") == "a=1"


def test_longer_paths_first_then_the_older() -> None:
    made = book("a=1; Path=/", "b=2; Path=/a", "c=3; Path=/", "d=4; Path=/a")
    made.store_cookies("", SHOP, ["a=5; Path=/"], NOW)  # set again: as old as it was
    assert sent(made) == "b=2; d=4; a=5; c=3"


# --------------------------------------------------------------------------- how long they live


def test_a_cookie_ends() -> None:
    made = book("a=1; Max-Age=10", "b=2; Expires=Fri, 15 Jan 2027 08:00:20 GMT", "c=3")
    assert sent(made, now=NOW + 9) == "a=1; b=2; c=3"
    assert sent(made, now=NOW + 10) == "b=2; c=3"
    assert sent(made, now=NOW + 20) == "c=3"


def test_what_ended_is_forgotten_and_is_new_when_it_comes_again() -> None:
    made = book("a=1; Max-Age=10", "b=2")
    made.store_cookies("", SHOP, ["a=3"], NOW + 10)
    assert sent(made, now=NOW + 10) == "b=2; a=3"
    made = book("a=1; Max-Age=10")
    made.store_cookies("", SHOP, ["b=2; Max-Age=0"], NOW + 10)
    assert len(made) == 0


@pytest.mark.parametrize("end", ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_cookie_is_deleted_by_name_domain_and_path(end: str) -> None:
    made = book("a=1; Path=/", "a=2; Path=/a", "a=3; Path=/; Domain=shop.co.uk", "b=4; Path=/")
    made.store_cookies("", SHOP, [f"a=; Path=/; {end}"], NOW)
    assert sent(made) == "a=2; a=3; b=4"
    made.store_cookies("", SHOP, [f"a=; Path=/a; {end}", f"a=; Path=/; Domain=shop.co.uk; {end}"], NOW)
    assert sent(made) == "b=4"
    made.store_cookies("", SHOP, [f"b=; Path=/; {end}"], NOW)
    assert len(made) == 0


def test_secure_cookies_are_not_replaced_hidden_or_deleted_in_the_clear() -> None:
    made = book("a=1; Secure; Path=/; Domain=shop.co.uk")
    clear = "http://www.shop.co.uk/a/b"
    made.store_cookies(
        "", clear, ["a=2; Path=/; Domain=shop.co.uk", "a=3; Path=/a", "a=; Max-Age=0; Path=/"], NOW
    )
    assert sent(made) == "a=1"
    made.store_cookies("", clear, ["b=4; Path=/"], NOW)
    made.store_cookies("", "http://api.shop.co.uk/", ["a=5; Path=/"], NOW)
    assert sent(made) == "a=1; b=4"
    made.store_cookies("", SHOP, ["a=6; Path=/; Domain=shop.co.uk"], NOW)
    assert sent(made, clear) == "a=6; b=4"


def test_a_secure_cookie_guards_its_name_at_its_host_and_path_only() -> None:
    made = book("a=1; Secure; Path=/a")
    made.store_cookies(
        "", "http://shop.co.uk/", ["a=2; Domain=shop.co.uk; Path=/a/b", "b=3; Domain=shop.co.uk"], NOW
    )
    made.store_cookies("", "http://www.shop.co.uk/", ["a=4; Path=/", "a=5; Path=/ab"], NOW)
    assert sent(made) == "a=1; b=3; a=4"
    assert sent(made, "http://www.shop.co.uk/ab") == "a=5; b=3; a=4"


# --------------------------------------------------------------------------- how many


def names(header: str) -> set[str]:
    return {pair.partition("=")[0] for pair in header.split("; ")}


def test_ten_thousand_cookies() -> None:
    made = book("login=1; Path=/; Secure")
    for start in range(0, 10_000, 100):
        made.store_cookies("", SHOP, [f"c{n}=v; Path=/" for n in range(start, start + 100)], NOW)
    kept = names(sent(made))
    assert len(kept) == MAX_COOKIES
    assert {"login", "c9999", "c9821"} <= kept  # insecure ones go first, then the oldest


def test_no_more_lines_are_read_than_can_be_kept() -> None:
    lines = iter([f"c{n}=v" for n in range(10_000)])
    made = CookieJar(10)
    made.store_cookies("", SHOP, lines, NOW)
    assert next(lines) == f"c{MAX_COOKIES}=v"
    made = book(*(f"c{number}={'x' * 4000}" for number in range(100)))
    assert names(sent(made)) == {f"c{number}" for number in range(16)}


def test_a_cookie_of_a_megabyte_hides_no_other() -> None:
    assert sent(book("a=" + "x" * 1_000_000, "b=1; Comment=" + "x" * 10_000, "c=1")) == "c=1"


def test_bytes_are_bounded() -> None:
    made = CookieJar(10)
    for number in range(50):
        made.store_cookies("", SHOP, [f"c{number}={'x' * 3000}"], NOW)
        assert len(sent(made)) < MAX_JAR_BYTES + 100
        assert names(sent(made)) == {f"c{n}" for n in range(max(0, number - 20), number + 1)}


def test_the_jar_used_least_recently_is_forgotten() -> None:
    made = CookieJar(3)
    for session in ("a", "b", "c"):
        made.store_cookies(session, SHOP, ["a=1; Path=/"], NOW)
    assert sent(made, session="a") == "a=1"
    made.store_cookies("d", SHOP, ["a=1; Path=/"], NOW)
    assert len(made) == 3
    assert [sent(made, session=session) for session in ("a", "b", "c", "d")] == ["a=1", "", "a=1", "a=1"]


# --------------------------------------------------------------------------- kept elsewhere


def test_a_dumped_jar_is_the_same_when_loaded() -> None:
    made = book("b=é; Path=/a; Max-Age=9", "a=1; Path=/; Secure; Domain=shop.co.uk", "c=2; Path=/a")
    record = made.dump_jar("", "shop.co.uk")
    assert record is not None
    other = CookieJar(10)
    other.load_jar("s", "shop.co.uk", record)
    for now in (NOW, NOW + 9):
        for url in (SHOP, "http://www.shop.co.uk/a", "https://shop.co.uk/"):
            assert sent(other, url, "s", now) == sent(made, url, now=now)
    assert other.dump_jar("s", "shop.co.uk") == record
    assert made.dump_jar("", "other.co.uk") is None


def test_a_record_cannot_bring_cookies_of_another_site_or_without_number() -> None:
    there = Cookie("a", "1", "other.co.uk", "/", False, False, NOW + 9)
    here = [Cookie(f"c{n}", "1", "shop.co.uk", "/", False, False, NOW + 9) for n in range(1000)]
    made = CookieJar(10)
    made.load_jar("", "shop.co.uk", msgspec.msgpack.encode(here))
    assert len(names(sent(made))) == MAX_COOKIES
    made.load_jar("", "shop.co.uk", msgspec.msgpack.encode([there]))
    assert len(made) == 0


def test_entries_of_web_storage_keep_no_cookie_out_and_the_short_ones_stay() -> None:
    place = ("www.shop.co.uk", "localStorage https://www.shop.co.uk", True, False, float("inf"))
    long = [Cookie(f"e{n}", "x" * 30_000, *place) for n in range(20)]
    made = book("a=1")
    made.keep_cookies("", SHOP, [*long, Cookie("token", "5", *place)], NOW)
    assert sent(made) == "a=1"
    kept = made.list_entries("", SHOP, NOW)
    assert "token" in {one.name for one in kept}
    assert 200_000 < sum(len(one.name) + len(one.value) for one in kept) <= MAX_ENTRY_BYTES


@settings(deadline=None)  # the first example may read the list of suffixes
@given(st.binary())
@example(b"\x91\x97\xa1\xff\xa1b\xa1c\xa1d\xc2\xc2\xcb" + bytes(8))
def test_a_damaged_record_is_an_empty_jar(record: bytes) -> None:
    made = book("a=1")
    made.load_jar("", "shop.co.uk", record)
    assert sent(made) == ""


# --------------------------------------------------------------------------- whatever they send

LABELS = st.sampled_from(["a", "b", "www", "co", "uk", "com", "github", "io", "ck", "kobe", "jp", "city"])
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(".".join) | st.sampled_from(
    ["127.0.0.1", "[::1]", "a.co.uk", "b.a.co.uk", "a.github.io", "b.github.io", "a.kobe.jp", "city.kobe.jp"]
)
SUFFIXES = PublicSuffixList()


@st.composite
def hosts_and_domain(draw: st.DrawFn) -> tuple[str, str, str]:
    """Two hosts and a domain that often have an end in common."""
    end = draw(HOSTS)
    near = st.sampled_from([end, f"a.{end}", f"b.a.{end}"] if end[-1].isalpha() else [end])
    above = st.sampled_from([end, end.partition(".")[2] or end])
    return draw(near | HOSTS), draw(near | HOSTS), draw(above | HOSTS)


@settings(deadline=None)
@given(hosts_and_domain(), st.booleans())
@example(("a.co.uk", "b.co.uk", "co.uk"), True)
@example(("b.a.co.uk", "a.co.uk", "a.co.uk"), True)
@example(("127.0.0.1", "126.0.0.1", "0.0.1"), True)
def test_a_cookie_is_sent_exactly_where_it_was_set_for(hosts: tuple[str, str, str], has_domain: bool) -> None:
    setter, asker, domain = hosts
    made = CookieJar(10)
    attribute = f"; Domain={domain}" if has_domain else ""
    made.store_cookies("", f"https://{setter}/", [f"a=1; Path=/{attribute}"], NOW)
    if has_domain and is_registered(domain):
        is_for = is_at_or_below(setter, domain) and is_at_or_below(asker, domain)
    else:  # an address or a suffix may be named by itself, and is then meant alone
        is_for = asker == setter and (not has_domain or domain == setter)
    assert (sent(made, f"https://{asker}/") == "a=1") == is_for


def is_at_or_below(host: str, domain: str) -> bool:
    return host.split(".")[-len(domain.split(".")) :] == domain.split(".")


def is_registered(domain: str) -> bool:
    return domain[-1].isalpha() and SUFFIXES.privatesuffix(domain) is not None


@settings(deadline=None)
@given(st.lists(st.text(st.characters())), st.text(st.characters()), st.text(st.characters()))
@example(["a=1"], "", "http://\ud800/")
@example(["a=1; Path=/"], "\ud800", "https://h.example/")
def test_no_text_raises(lines: list[str], session: str, url: str) -> None:
    made = CookieJar(2)
    for where in (url, SHOP):
        made.store_cookies(session, where, lines, NOW)
        made.cookie_header(session, where, NOW).encode("latin-1")
    made.dump_jar(session, "shop.co.uk")
