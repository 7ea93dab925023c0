"""Raw letters in the query of a link are sent in the charset of the page, as browsers send them."""

from __future__ import annotations

import codecs

import pytest

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.parse.charset_codecs import codec_for, encode_query
from gossamer.ports.page_examiner import TruncatedPage
from gossamer.spiders.pagination import Paginate
from gossamer.spiders.response import Response
from gossamer.spiders.rules import Rule, requests_by_rules

URL = "http://h.test/dir/page"


def page(body: bytes, content_type: str, cut: TruncatedPage | None = None) -> Response:
    headers = (("content-type", content_type),)
    fetched = FetchResult(
        url=URL, status=200, headers=headers, body=body, started_at=0, latency_s=0, elapsed_s=0, rung="http"
    )
    return Response(Request(URL), fetched, cut=cut)


# The charset, an href as written on the page, and the URL that is asked for.
LINKS = [
    ("gbk", "/s?q=中文", "/s?q=%D6%D0%CE%C4"),
    ("windows-1251", "/s?q=привет", "/s?q=%EF%F0%E8%E2%E5%F2"),
    ("gb2312", "?price=€", "/dir/page?price=%80"),  # a label of GBK, which has the euro sign at 80
    ("gb18030", "?q=中😀", "/dir/page?q=%D6%D0%949%FC6"),
    ("big5", "/s?q=中文", "/s?q=%A4%A4%A4%E5"),
    ("shift_jis", "/s?q=表①", "/s?q=%95\\%87@"),  # bytes that are ASCII stay as they are
    ("euc-jp", "/s?q=日本①", "/s?q=%C6%FC%CB%DC%AD%A1"),
    ("iso-2022-jp", "/s?q=日本a", "/s?q=%1B$BF|K\\%1B(Ba"),
    ("euc-kr", "/s?q=한국", "/s?q=%C7%D1%B1%B9"),
    ("koi8-r", "/s?q=тест", "/s?q=%D4%C5%D3%D4"),
    ("windows-874", "/s?q=ไทย", "/s?q=%E4%B7%C2"),
    ("x-mac-cyrillic", "/s?q=д", "/s?q=%E4"),
    ("iso-8859-1", "/s?q=é€", "/s?q=%E9%80"),  # a label of windows-1252
    ("windows-1252", "/s?a=é&b=日", "/s?a=%E9&b=%26%2326085%3B"),
    ("windows-1251", "/путь?q=ж", "/%D0%BF%D1%83%D1%82%D1%8C?q=%E6"),  # the path is UTF-8 in any page
    ("windows-1251", " \n/s?q=\nж<>'%41 в #ж ", "/s?q=%E6%3C%3E%27%41%20%E2%20"),
    ("windows-1251", "//ж.test/s?q=ж", "http://xn--f1a.test/s?q=%E6"),
    ("windows-1251", "/s?q=%D0%B6", "/s?q=%D0%B6"),  # escapes are left as they are
    ("windows-1251", "/s#ж?в", "/s"),
    ("utf-8", "/s?q=中", "/s?q=%E4%B8%AD"),
    ("utf-16le", "/s?q=中", "/s?q=%E4%B8%AD"),
]


@pytest.mark.parametrize(("charset", "href", "expected"), LINKS)
@pytest.mark.parametrize("declared_by", ["header", "meta"])
def test_a_query_is_sent_in_the_charset_of_the_page(charset, href, expected, declared_by):
    if declared_by == "meta" and charset.startswith("utf-16"):
        return  # a meta element cannot declare UTF-16
    expected = expected if expected.startswith("http") else f"http://h.test{expected}"
    written = {"gb2312": "html-gbk", "iso-8859-1": "html-windows-1252"}.get(charset, codec_for(charset))
    written = "utf-16-le" if charset == "utf-16le" else written
    meta = f"<meta charset={charset}>" if declared_by == "meta" else ""
    source = f'{meta}<a href="{href}">x</a><a class=next href="{href}">y</a>'
    content_type = "text/html" if meta else f"text/html; charset={charset}"
    response = page(source.encode(written, "xmlcharrefreplace"), content_type)
    links = [a.root.attr("href") for a in response.css("a")]

    assert links == [href, href]
    assert response.links() == [expected]
    assert response.links(css="a") == [expected]
    assert response.urljoin(href) == expected
    assert response.follow(href).url == expected
    assert response.follow(response.css("a")[0]).url == expected
    assert [request.url for request in response.follow_all(css=".next")] == [expected]
    assert [request.url for request in requests_by_rules([Rule(callback="parse")], response)] == [expected]
    assert [request.url for request in Paginate(next="a.next").follow(response)] == [expected]


def test_a_base_element_is_resolved_like_a_link():
    body = '<base href="/ж/?q=ж"><a href="?q=в">x</a>'.encode("cp1251")
    response = page(body, "text/html; charset=windows-1251")
    assert response.page.base_url == "http://h.test/%D0%B6/?q=%E6"
    assert response.links() == ["http://h.test/%D0%B6/?q=%E2"]


@pytest.mark.parametrize("href", ["mailto:a@h.test?subject=привет", "ws://h.test/?q=привет"])
def test_other_schemes_are_sent_as_utf8(href):
    response = page(b"<p>", "text/html; charset=windows-1251")
    assert response.urljoin(href).endswith("=%D0%BF%D1%80%D0%B8%D0%B2%D0%B5%D1%82")


@pytest.mark.parametrize("charset", ["windows-1251", "utf-8"])
def test_urls_of_data_for_machines_are_links(charset):
    body = (
        '<link rel=canonical href="/c?q=ж"><meta property="og:image" content="/i?q=ж">'
        '<meta http-equiv=refresh content="9;url=/r?q=ж"><div itemscope><a itemprop=url href="?q=ж#ж">x</a>'
        "<b itemprop=name>ж?q=ж</b>"
        '<div itemprop=offer itemscope><img itemprop=image src="/путь?q=ж"></div></div>'
    )
    response = page(body.encode(charset), f"text/html; charset={charset}")
    query = {"windows-1251": "?q=%E6", "utf-8": "?q=%D0%B6"}[charset]
    (item,) = response.microdata()
    assert item["properties"] == {
        "url": [f"{URL}{query}#%D0%B6"],
        "name": ["ж?q=ж"],
        "offer": [{"properties": {"image": [f"http://h.test/%D0%BF%D1%83%D1%82%D1%8C{query}"]}}],
    }
    assert response.opengraph() == {"image": f"http://h.test/i{query}"}
    assert response.page.canonical_url == f"http://h.test/c{query}"
    assert response.page.meta_refresh == (9.0, f"http://h.test/r{query}")


def test_a_page_that_was_cut_still_knows_its_charset():
    body = '<a href="/s?q=привет">x</a>'
    cut = TruncatedPage(body=body.encode(), encoding="windows-1251", cuts={"depth": 1})
    response = page(body.encode("cp1251"), "text/html; charset=windows-1251", cut)
    assert response.links() == ["http://h.test/s?q=%EF%F0%E8%E2%E5%F2"]


FEED = '<?xml version="1.0" encoding="windows-1251"?><rss><item><link>/s?q=привет</link></item></rss>'


@pytest.mark.parametrize("content_type", ["application/rss+xml", "text/xml; charset=windows-1251"])
def test_links_of_a_feed_are_in_the_charset_of_the_feed(content_type):
    response = page(FEED.encode("cp1251"), content_type)
    expected = "http://h.test/s?q=%EF%F0%E8%E2%E5%F2"
    assert response.links() == [expected]
    assert response.follow(response.xpath("//link")[0]).url == expected


def test_links_in_plain_text_are_in_its_charset_and_those_in_json_are_utf8():
    expected = {"text/plain": "%E6", "application/json": "%D0%B6"}
    for kind, query in expected.items():
        assert page(b"x", f"{kind}; charset=windows-1251").urljoin("?ж") == f"{URL}?{query}"


def test_a_lone_surrogate_is_the_replacement_character():
    assert encode_query("\ud800", "GBK") == "%26%2365533%3B"


CHARSETS = [
    *("IBM866", "KOI8-R", "KOI8-U", "macintosh", "x-mac-cyrillic", "x-user-defined", "windows-874"),
    *(f"ISO-8859-{part}" for part in (*range(2, 9), "8-I", 10, 13, 14, 15, 16)),
    *(f"windows-125{part}" for part in range(9)),
    *("GBK", "gb18030", "Big5", "EUC-JP", "ISO-2022-JP", "Shift_JIS", "EUC-KR"),
]


@pytest.mark.parametrize("encoding", CHARSETS)
def test_what_is_encoded_is_decoded_to_the_same_text(encoding):
    codec = codecs.lookup(codec_for(encoding))
    text = "aя中日한é①ü€ｱ~"
    written = text.encode(codec.name, "ignore")
    read = written.decode(f"whatwg-{encoding.lower()}")
    assert read.replace("ア", "ｱ") == "".join(c for c in text if _has(codec.name, c))


def _has(codec: str, char: str) -> bool:
    try:
        char.encode(codec)
    except UnicodeEncodeError:
        return False
    return True
