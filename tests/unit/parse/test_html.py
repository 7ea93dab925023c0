"""A page: base, head, links, text; and pages that mean harm."""

from __future__ import annotations

import gzip
import json
import time
from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.html import HtmlPage
from gossamer.parse.links import MAX_LINKS, extract_links
from gossamer.parse.meta import RobotsDirectives, read_refresh, read_robots_headers
from gossamer.policy.urls import UrlJoiner
from kit.corpora import corpus, from_corpus

URL = "https://example.com/dir/page?q"


def page_of(html: str):
    return HtmlPage(html.encode(), URL, "text/html; charset=utf-8")


TARGETS = [
    "https://example.com/", "https://example.com/dir/", "https://example.com/dir/a.html",
    "https://example.com/dir/sub/b?x=1&y=2", "https://example.com/c;d=1", "https://example.com/%C3%A9?q=%20",
    "https://news.example.org/2031/05/08/long-title-of-an-article/", "http://example.com/plain",
    "https://example.com:8443/port", "https://example.com/?s=amp&copy=1", "https://example.com/dir/page?p=2",
]  # fmt: skip
DECOYS = [
    "<!-- <a href='/comment'>x</a> -->", "<script>document.write('<a href=\"/script\">x</a>')</script>",
    "<style>a[href='/style'] {}</style>", "<textarea><a href='/textarea'>x</a></textarea>",
    "<title><a href='/title'>x</a></title>", "<p data-href='/data' title='<a href=/attribute>'>text</p>",
    "<link rel=stylesheet href=/style.css>", "<img src=/image.png>", "<a name=x>no href</a>",
]  # fmt: skip
WRAPPERS = ["{}", "<p>{}", "<div><ul><li>{}</ul></div>", "<table><tr><td>{}</table>", "<b><i>{}</b></i>"]


def spellings(target):
    """Ways in which a page at ``URL`` may write a link to a target."""
    scheme, _, rest = target.partition("://")
    yield from (
        target,
        f" {target}\n",
        f"{target}#part",
        f"{scheme.upper()}://{rest}",
        f"{scheme}:\\\\{rest}",
    )
    if scheme == "https":
        yield f"//{rest}"
    if target.startswith("https://example.com/"):
        path = target.removeprefix("https://example.com")
        yield from (path, f"..{path}", f"./x/../..{path}", path.replace("/", "\\", 1))
    if target.startswith("https://example.com/dir/") and target != "https://example.com/dir/":
        name = target.removeprefix("https://example.com/dir/")
        yield from (name, f"./{name}#", f"sub/../{name}")


@pytest.mark.slow
@given(st.data())
def test_links_however_they_are_written(data):
    """Pages that are made from known links, in every spelling and in any markup, with decoys between them."""
    targets = data.draw(st.lists(st.sampled_from(TARGETS), max_size=12))
    html = ["<!doctype html><html><head><title>t</title></head><body>"] * data.draw(st.integers(0, 1))
    for target in targets:
        href = escape(data.draw(st.sampled_from([*spellings(target)])))
        tag = data.draw(st.sampled_from(["a", "A", "area"]))
        quoted = data.draw(st.sampled_from([f'"{href}"', f"'{href}'"]))
        text = data.draw(st.sampled_from(["word", "", "<img alt='' src=i.png>", "a &amp; b"]))
        link = f"<{tag} class=x href={quoted}>" + ("" if tag == "area" else f"{text}</{tag}>")
        html.append(data.draw(st.sampled_from(WRAPPERS)).format(link))
        html.append(data.draw(st.sampled_from([*DECOYS, "", "\n"])))
    assert page_of("".join(html)).links.urls == list(dict.fromkeys(targets))


@from_corpus("pages/links.jsonl", cases=60)
def test_links_of_the_corpus():
    folder = corpus("pages")
    rows = [json.loads(line) for line in (folder / "links.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 60
    total = 0
    for row in rows:
        links = HtmlPage(gzip.decompress((folder / row["file"]).read_bytes()), row["url"]).links.urls
        assert sorted(links) == sorted(row["links"]), row["file"]
        total += len(links)
    assert total == 4460


def test_links_are_absolute_unique_and_in_order():
    page = page_of(
        '<a href="b#1">1</a><area href="/m"><a href="b#2">2</a><a href="?x">3</a><a href="#top">4</a>'
        '<a href=" //other.example/ ">5</a><a href="">6</a><a name=x>7</a><svg><a href="/svg">8</a></svg>'
    )
    assert page.links.urls == [
        "https://example.com/dir/b",
        "https://example.com/m",
        "https://example.com/dir/page?x",
        URL,
        "https://other.example/",
        "https://example.com/svg",
    ]
    assert page.links.dropped == {}


def test_a_blank_before_a_fragment_belongs_to_the_url():
    assert page_of('<a href="a #b">').links.urls == ["https://example.com/dir/a%20"]
    assert page_of('<a href="a ">').links.urls == ["https://example.com/dir/a"]


def test_dropped_links_are_counted():
    page = page_of(
        "<a href='javascript:void(0)'>" * 3
        + "<a href='mailto:a@b'><a href='data:,x'><a href='tel:1'><a href='file:///x'><a href='foo:bar'>"
        + "<a href='http://[x'><a href='http://h:99999/'><a href='/ok'>"
    )
    assert page.links.urls == ["https://example.com/ok"]
    assert page.links.dropped == {"scheme": 8, "invalid": 2}
    many = page_of("<a href=/a><a href=/b><a href=/c>")
    limited = extract_links(many.document, UrlJoiner(URL), limit=2)
    assert limited.urls == ["https://example.com/a", "https://example.com/b"]
    assert limited.dropped == {"too_many": 1}
    assert MAX_LINKS >= 30_000  # real index pages have 28,000


def test_nofollow_needs_every_link_to_say_so():
    page = page_of(
        '<a rel=nofollow href=/a><a rel="ugc NoFollow" href=/b><a href=/b#x><a rel=nofollowing href=/c>'
        "<area rel=nofollow href=/d><a rel=nofollow href=javascript:x>"
    )
    assert page.links.nofollow == {"https://example.com/a", "https://example.com/d"}
    assert len(page.links.urls) == 4
    assert page_of("<a href=/a>").links.nofollow == frozenset()


@pytest.mark.parametrize(
    ("markup", "base"),
    [
        ("", URL),
        ("<base href='/root/'>", "https://example.com/root/"),
        ("<base href='//other.example/x#y'>", "https://other.example/x"),
        ("<base target=_top><base href='/2'><base href='/3'>", "https://example.com/2"),
        ("<body><a href=x></a><p><base href='/late/'>", "https://example.com/late/"),
        ("<base href=''>", URL),
        ("<base href='javascript:alert(1)'><base href='/2'>", URL),
        ("<base href='data:,x'>", URL),
        ("<base href='http://[bad'>", URL),
        ("<template><base href=/wrong/></template>", URL),
        ("<template><base href=/wrong/></template><base href=/2>", "https://example.com/2"),
        ("<div><template shadowrootmode=open><base href=/wrong/></template></div>", URL),
        ("<svg><base href=/wrong/></svg>", URL),
        ("<svg><foreignObject><base href=/in/></foreignObject></svg>", "https://example.com/in/"),
        ("<math><base href=/wrong/></math>", URL),
        ("<noscript><base href=/wrong/></noscript>", URL),
        ("<head><noscript><link rel=x><base target=_top><base href=/wrong/></noscript>", URL),
        ("<noscript><base href=/wrong/></noscript><base href=/2>", "https://example.com/2"),
        ("<noscript><p></noscript><base href=/2>", "https://example.com/2"),
        ("<body><noscript><base href=/wrong/></noscript>", URL),
        ("<head><noscript><img><base href=/wrong/></noscript><base href=/2>", "https://example.com/2"),
        ("<head><noscript><p>x</p><base href=/wrong/></noscript></head>", URL),
        ("<head><noscript><link rel=x></noscript></head><body><div><base href=/3>", "https://example.com/3"),
        ("<base href=/4><noscript><img></noscript>", "https://example.com/4"),
        ("<iframe><base href=/wrong/></iframe>", URL),
        ("<!-- <base href=/wrong/> --><title><base href=/wrong/></title>", URL),
        ("<script>'<base href=/wrong/>'</script><textarea><base href=/wrong/></textarea>", URL),
    ],
)
def test_base(markup, base):
    page = page_of(markup + "<a href='?l'>")
    assert page.base_url == base
    assert page.links.urls[-1] == UrlJoiner(base)["?l"]
    assert page.join_url("#f") == base


def test_a_template_says_nothing_of_its_page():
    page = page_of(
        "<template><meta name=robots content=nofollow><meta http-equiv=refresh content='0;/x'>"
        "<link rel=canonical href=/x><meta name=description content=x></template>"
        "<link rel=canonical href=/y><meta name=description content=y>"
    )
    assert (page.canonical_url, page.description) == ("https://example.com/y", "y")
    assert (page.robots_directives.nofollow, page.meta_refresh) == (False, None)


def test_head():
    page = page_of(
        "<title> A &amp;\n  B </title><link rel='Canonical' href='/c#x'><link rel=canonical href=/second>"
        "<meta name=Description content=' What  it is '><meta property=og:description content=other>"
        "<svg><title>drawing</title></svg>"
    )
    assert page.title == "A & B"
    assert page.description == "What it is"
    assert page.canonical_url == "https://example.com/c"
    assert page.meta_content("nothing", "og:description") == "other"
    empty = page_of(
        "<svg><title>drawing</title></svg><link rel=canonical href='mailto:x'>"
        "<meta name=description content=''>"
    )
    assert (empty.title, empty.description, empty.canonical_url, empty.meta_refresh) == ("", "", None, None)
    assert page_of("<meta property=og:description content=og>").description == "og"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("5; url=/next", (5.0, "/next")),
        (" 0;URL='a b'c", (0.0, "a b")),
        ('1.9,url="x', (1.0, "x")),
        ("3", (3.0, "")),
        ("3;", (3.0, "")),
        (".5;/x", (0.0, "/x")),
        ("7 /x", (7.0, "/x")),
        ("7 ; url = /x ", (7.0, "/x")),
        ("0; urlish", (0.0, "urlish")),
        ("1000000000000;u", (100000000.0, "u")),
        ("url=/x", None),
        ("", None),
        ("-1;url=/x", None),
        ("5x", None),
    ],
)
def test_refresh_language(content, expected):
    assert read_refresh(content) == expected


def test_meta_refresh_of_a_page():
    assert page_of("<meta http-equiv=Refresh content='0;url=x'>").meta_refresh == (
        0.0,
        "https://example.com/dir/x",
    )
    assert page_of("<base href=/b/><meta http-equiv=refresh content=9>").meta_refresh == (9.0, URL)
    assert page_of("<noscript><meta http-equiv=refresh content='0;url=x'></noscript>").meta_refresh is None
    assert page_of("<meta http-equiv=refresh content='0;url=javascript:x'>").meta_refresh is None
    second = "<meta http-equiv=refresh content=x><meta http-equiv=refresh content='1;/y'>"
    assert page_of(second).meta_refresh == (1.0, "https://example.com/y")


def test_robots():
    assert page_of("<meta name=ROBOTS content='NoIndex , follow'>").robots_directives == RobotsDirectives(
        True, False
    )
    assert page_of("<meta name=robots content=none>").robots_directives == RobotsDirectives(True, True)
    page = page_of("<meta name=robots content=noindex><meta name=GossamerBot content=nofollow>")
    assert page.robots_directives == RobotsDirectives(True, False)
    assert page.robots_for("gossamerbot") == RobotsDirectives(True, True)
    assert page_of("<meta name=otherbot content=none>").robots_for("gossamerbot") == RobotsDirectives()
    assert RobotsDirectives(True, False) | RobotsDirectives(False, True) == RobotsDirectives(True, True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["noindex, nofollow"], (True, True)),
        (["noindex", "nofollow"], (True, True)),
        (["otherbot: noindex, nofollow"], (False, False)),
        (["GossamerBot: nofollow, otherbot: noindex"], (False, True)),
        (["otherbot: noindex, gossamerbot: nofollow"], (False, True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], (True, False)),
        (["max-snippet: 5, nofollow"], (False, True)),
        (["NONE"], (True, True)),
        ([], (False, False)),
    ],
)
def test_robots_headers(values, expected):
    assert read_robots_headers(values, "gossamerbot") == expected


def test_frames():
    page = page_of(
        "<iframe src=/a></iframe><iframe src='about:blank'></iframe><iframe></iframe><iframe src=/a></iframe>"
    )
    assert page.frame_urls == ["https://example.com/a"]


def test_text():
    page = page_of(
        "<nav><a href=/>Home</a></nav><h1>Head</h1><script>no()</script><style>no{}</style>"
        "<p>One <b>two</b></p>"
    )
    assert page.visible_text().split() == ["Home", "Head", "One", "two"]
    assert page.main_text() == page.visible_text()  # too short for an article
    assert page.article() is None
    assert "# Head" in page.markdown()


def test_article():
    prose = "".join(
        f"<p>Sentence number {n}, which says something at length, and more of it.</p>" for n in range(12)
    )
    page = page_of(
        "<html lang=en><title>T</title><meta name=author content=Ann><meta property=og:image content=/i.png>"
        f"<nav><a href=/>Home</a></nav><article><h1>Head</h1>{prose}<a href=/more>more</a></article>"
    )
    article = page.article()
    assert article is not None
    assert "number 11" in article.text
    assert "Home" not in article.text
    assert "[more](https://example.com/more)" in article.markdown
    assert (article.author, article.language, article.image) == ("Ann", "en", "https://example.com/i.png")
    assert "Home" not in page.main_text()


HOSTILE = {
    "deep": b"<a href=/0></a>" + b"<div>" * 100_000 + b"<a href=/x>x</a>",
    "misnested": b"<p><b><i>" * 20_000 + b"<a href=/x>",
    "tables": b"<table><tr><td>" * 20_000 + b"<a href=/x>",
    "anchors in anchors": b"<a href=/x>" * 50_000,
    "attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(100_000)) + b"><a href=/x>",
    "long attribute": b'<p x="' + b"y" * 5_000_000 + b'"><a href=/x>',
    "long href": b'<a href="/' + b"y/" * 1_000_000 + b'"><a href=/x>',
    "unclosed comment": b"<a href=/x><!-- " + b"<a>- " * 200_000,
    "unclosed script": b"<a href=/x><script>" + b"<!-- <script " * 100_000,
    "comments": b"<a href=/x>" + b"<!--" * 200_000,
    "less-than": b"<a href=/x>" + b"<" * 500_000,
    "NUL": b"<a hr\0ef=/n>\0</a><a href=/x>\0" * 1000,
    "bases": b"<base href='javascript:x'>" * 10_000 + b"<a href=/x>",
    "refreshes": b"<a href=/x><meta http-equiv=refresh content='" + b"1" * 200_000 + b" '>",
    "rels": b"<a href=/x rel='" + b"nofollow " * 100_000 + b"'>",
    "JSON-LD": b"<a href=/x><script type=application/ld+json>" + b"[" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_read_in_bounded_time(name):
    started = time.process_time()
    page = HtmlPage(HOSTILE[name], URL, "text/html")
    assert "https://example.com/x" in page.links.urls
    assert page.title == ""
    assert page.meta_refresh is None or name == "refreshes"
    page.main_text()
    page.selector.css("div a::text").getall()
    assert time.process_time() - started < 3  # all below 0.3 s on the machine it was written on
