"""robots.txt by RFC 9309: statuses, bytes, groups, and the verdicts of Google's parser on real files."""

from __future__ import annotations

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.policy.robots import (
    MAX_BYTES,
    MAX_WILDCARDS,
    RobotsAccess,
    RobotsRecord,
    RobotsRules,
    interpret_response,
    product_token,
)
from kit.corpora import corpus, from_corpus

DENY_ALL = b"User-agent: *\nDisallow: /\n"


def rules(text: str | bytes) -> RobotsRules:
    return RobotsRules(
        interpret_response(200, text.encode() if isinstance(text, str) else text, "text/plain")
    )


def allowed(text: str | bytes, path: str, agent: str = "gossamer") -> bool:
    return rules(text).may_fetch(f"https://site.example{path}", agent)


@pytest.mark.slow
@from_corpus("robots/google_verdicts.jsonl", cases=2166)
def test_agrees_with_google_where_protego_does_and_on_all_disputes_but_one() -> None:
    folder = corpus("robots")
    known: dict[str, RobotsRules] = {}
    agreed, disputes = 0, []
    for line in (folder / "google_verdicts.jsonl").read_text().splitlines():
        row = json.loads(line)
        name = row["file"]
        if name not in known:
            known[name] = rules((folder / "real" / name).read_bytes())
        ours = known[name].may_fetch(row["url"], row["ua"])
        if row["allowed"] == row["protego"]:
            agreed += 1
            assert ours == row["allowed"], row
        elif ours != row["allowed"]:
            disputes.append(name)
    assert agreed == 2134
    assert disputes == [
        "wild__www.amadeus.com"
    ]  # a rule that is an absolute URL: obeyed as its author meant it


@pytest.mark.parametrize(
    ("status", "access"),
    [
        (200, RobotsAccess.RULES),
        (206, RobotsAccess.RULES),
        (301, RobotsAccess.OPEN),
        (400, RobotsAccess.OPEN),
        (401, RobotsAccess.OPEN),
        (403, RobotsAccess.OPEN),
        (404, RobotsAccess.OPEN),
        (410, RobotsAccess.OPEN),
        (429, RobotsAccess.CLOSED),
        (500, RobotsAccess.CLOSED),
        (503, RobotsAccess.CLOSED),
        (999, RobotsAccess.CLOSED),
        (None, RobotsAccess.CLOSED),
    ],
)
def test_statuses(status: int | None, access: RobotsAccess) -> None:
    record = interpret_response(status, DENY_ALL)
    assert record.access is access
    assert RobotsRules(record).may_fetch("https://a.example/x", "gossamer") is (access is RobotsAccess.OPEN)
    assert (record.fault != "") is (access is RobotsAccess.CLOSED)


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" + DENY_ALL,
        b"\xff\xfe" + DENY_ALL.decode().encode("utf-16-le"),
        b"\xfe\xff" + DENY_ALL.decode().encode("utf-16-be"),
        DENY_ALL.replace(b"\n", b"\r"),
        DENY_ALL.replace(b"\n", b"\r\n"),
        b"\n\n  " + DENY_ALL.lower(),
        DENY_ALL.upper() + b"\0",
        b"\xff\xff latin \xe9\n" + DENY_ALL + b"# " + b"x" * 100,
    ],
)
def test_encodings_and_line_ends(body: bytes) -> None:
    assert not allowed(body, "/x")


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", ""),
        (b"<!doctype html><title>404</title>", "text/html"),
        (bytes(range(256)) * 8 + DENY_ALL, ""),
        (b"\0" * 100 + DENY_ALL, ""),
        (DENY_ALL, "image/png"),
        (b"not a robots file at all", ""),
    ],
)
def test_no_rules(body: bytes, content_type: str) -> None:
    record = interpret_response(200, body, content_type)
    assert record.access is RobotsAccess.OPEN
    assert RobotsRules(record).may_fetch_all("gossamer")


@from_corpus("robots/real", cases=5)
def test_html_pages_among_the_real_files_allow_all() -> None:
    folder = corpus("robots") / "real"
    pages = [
        file for file in folder.iterdir() if file.read_bytes()[:200].lstrip().lower().startswith(b"<!doct")
    ]
    assert len(pages) >= 5
    for page in pages:
        assert interpret_response(200, page.read_bytes(), "text/html").access is RobotsAccess.OPEN, page.name


def test_a_line_that_the_limit_cuts_is_dropped() -> None:
    head = "User-agent: *\n"
    body = head + "#" * (MAX_BYTES - len(head) - len("\nDisallow: /")) + "\nDisallow: /private\n"
    assert interpret_response(200, body.encode()).text.endswith("#\n")
    assert allowed(body, "/public")


@pytest.mark.parametrize(
    ("line", "agent", "applies"),
    [
        ("gossamer", "gossamer", True),
        ("Gossamer", "gossamer/1.0 (+https://x.example)", True),
        ("gossamer/2.0", "gossamer", True),
        ("goss", "gossamer", False),
        ("gossamer-news", "gossamer", False),
        ("gossamerbot", "gossamer", False),
        ("foobot", "Mozilla/5.0 (compatible; Foobot/2.1; +http://x)", True),
        ("mozilla", "Mozilla/5.0 (compatible; Foobot/2.1; +http://x)", False),
        ("* ", "anything", True),
    ],
)
def test_product_tokens_match_as_a_whole(line: str, agent: str, applies: bool) -> None:
    assert allowed(f"User-agent: {line}\nDisallow: /", "/x", agent) is not applies


def test_own_group_goes_before_everybodys_and_groups_of_one_name_are_one() -> None:
    text = """
        User-agent: gossamer
        Disallow: /a
        User-agent: *
        Disallow: /
        User-agent: other
        User-agent: GOSSAMER
        Disallow: /b
    """
    assert [allowed(text, path) for path in ("/a", "/b", "/c")] == [False, False, True]
    assert not allowed(text, "/c", "unknown")
    assert allowed("User-agent: gossamer\nDisallow:\nUser-agent: *\nDisallow: /", "/x")


def test_crawl_delay_does_not_end_a_group_but_belongs_to_the_names_above_it() -> None:
    text = "User-agent: gossamer\nCrawl-delay: 7\n\nUser-agent: *\nCrawl-delay: 2\nDisallow: /x"
    assert not allowed(text, "/x")  # RFC 9309, 2.2.4: other records must not interfere
    assert rules(text).crawl_delay("gossamer") == 7
    assert rules(text).crawl_delay("unknown") == 2


@pytest.mark.parametrize(
    ("value", "delay"),
    [("10", 10.0), ("0.5", 0.5), ("1e9", 1e9), ("-1", None), ("NaN", None), ("inf", None), ("soon", None)],
)
def test_crawl_delay_values(value: str, delay: float | None) -> None:
    assert rules(f"User-agent: *\nCrawl-delay: {value}\n").crawl_delay("gossamer") == delay


def test_longest_match_wins_and_the_file_itself_is_allowed() -> None:
    text = "User-agent: *\nDisallow: /*.php$\nAllow: /ok/\nDisallow: /\n"
    assert allowed(text, "/ok/page")
    assert not allowed(text, "/ok.php")
    assert allowed(text, "/robots.txt")


def test_sitemaps_are_absolute_once_and_http() -> None:
    text = "Sitemap: /a.xml\nsitemap: https://x.example/b.xml\nSitemap: /a.xml\nSitemap: file:///etc/passwd\nSitemap:"
    record = msgspec.structs.replace(
        interpret_response(200, text.encode()), url="https://site.example/robots.txt"
    )
    assert RobotsRules(record).sitemap_urls == ("https://site.example/a.xml", "https://x.example/b.xml")
    assert RobotsRules(record).may_fetch_all("gossamer")


def test_records_can_be_stored() -> None:
    record = interpret_response(
        200, b"\xff" + "User-agent: *\nDisallow: /\u00e9".encode() + b"\nAllow: /x" * 9
    )
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(record), type=RobotsRecord)
    assert again == record


HOSTILE = {
    "agents times rules": b"".join(b"User-agent: a%d\n" % n for n in range(15_000))
    + b"".join(b"Disallow: /%d\n" % n for n in range(15_000)),
    "wildcards": b"User-agent: *\n" + b"".join(b"Disallow: /*q%d$\n" % n for n in range(30_000)),
    "stars": b"User-agent: *\nDisallow: /" + b"*a" * 250_000,
    "line ends": b"\n" * 500_000,
    "blanks": b" \t" * 250_000,
    "blanks behind a name": b"user-agent" + b" " * 500_000 + b"=",
    "nested quantifiers": b"User-agent: *\nDisallow: /(a+)+$" + b"a" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_take_linear_time(name: str) -> None:
    start = time.process_time()
    found = rules(HOSTILE[name])
    found.may_fetch("https://a.example/" + "a" * 2000 + "!", "gossamer")
    assert time.process_time() - start < 1.0
    start = time.process_time()
    found.may_fetch("https://a.example/" + "a" * 2000 + "?", "gossamer")
    assert time.process_time() - start < 0.1


def test_the_limit_of_wildcards_keeps_the_first_ones() -> None:
    text = (
        "User-agent: *\n" + "".join(f"Disallow: /*w{n}$\n" for n in range(MAX_WILDCARDS + 1)) + "Disallow: /p"
    )
    assert not allowed(text, f"/w{MAX_WILDCARDS - 1}")
    assert allowed(text, f"/w{MAX_WILDCARDS}")
    assert not allowed(text, "/p")


@given(
    st.binary(max_size=400), st.sampled_from([b"", b"User-agent: *\n", b"User-agent: gossamer\nDisallow: "])
)
def test_no_bytes_raise(junk: bytes, head: bytes) -> None:
    found = rules(head + junk)
    assert found.may_fetch("https://a.example/b", "gossamer") in (True, False)
    assert found.crawl_delay("gossamer") is None or found.crawl_delay("gossamer") >= 0
    assert all(url.startswith("http") for url in found.sitemap_urls)


@given(st.text())
def test_any_user_agent_has_a_token(user_agent: str) -> None:
    assert product_token(user_agent) == product_token(user_agent).lower()
