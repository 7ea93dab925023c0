"""XML is read as XML: what it means in bytes, its links, its limits, and what it must not do."""

from __future__ import annotations

import codecs
import io
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.parse.isolation.limits import ParseLimits, is_suspicious
from gossamer.parse.isolation.process import IsolatedExaminer
from gossamer.parse.selectors import Selector
from gossamer.parse.xml import parse_xml
from gossamer.parse.xml_elements import XmlElementReader
from gossamer.parse.xml_text import cut_xml, decode_xml
from gossamer.spiders.response import Response
from kit.feeds import ATOM, RDF, RSS

URL = "http://h/dir/feed"
RUSSIAN = RDF.replace("ISO-8859-1", "koi8-r").replace("Ä", "Я").encode("koi8-r")


def response(body: str | bytes, content_type: str = "application/rss+xml") -> Response:
    fetched = FetchResult(
        url=URL,
        status=200,
        headers=(("content-type", content_type),),
        body=body.encode() if isinstance(body, str) else body,
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="test",
    )
    return Response(Request(URL), fetched)


def test_a_feed_is_read_as_it_is_written() -> None:
    for content_type in ("application/rss+xml", "text/xml", "application/xml", "text/html", "text/plain", ""):
        feed = response(RSS, content_type)
        assert feed.is_xml
        assert not feed.is_html
        assert feed.selector.type == "xml"
        items = feed.css("item")
        assert items.css("link::text").getall() == ["http://h/1", " /2 "]
        assert items.css("pubDate::text").get() == "Mon, 06 Sep 2021 00:01:00 +0000"
        assert items.css("title::text").get() == "One < two & <b>three</b>"
        feed.selector.register_namespace("g", "http://base.google.com/ns/1.0")
        assert feed.xpath("//g:price/text()").get() == "1.50"
        feed.selector.remove_namespaces()
        assert feed.css("price::attr(currency)").get() == "EUR"


def test_links_of_feeds_are_followed() -> None:
    rss = response(RSS)
    assert rss.links() == ["http://h/", "http://h/1", "http://h/2"]
    followed = [request.url for request in rss.follow_all(css="item > link")]
    assert followed == ["http://h/1", "http://h/2"]
    assert [request.url for request in rss.follow_all(xpath="//item/link/text()")] == followed
    atom = response(ATOM, "application/atom+xml")
    assert atom.links() == ["http://h/", "http://h/blog/first", "http://h/more"]
    (request,) = atom.follow_all(xpath="//*[local-name()='entry']/*[@rel='enclosure']")
    assert request.url == "http://h/dir/first.mp3"
    assert response(RDF).links(deny="/2") == ["http://h/1"]
    assert response("<r><link/><link> </link></r>").links() == []


@pytest.mark.parametrize(
    ("body", "content_type", "encoding"),
    [
        (RDF.encode("latin-1"), "text/xml", "windows-1252"),
        (RDF.encode(), "text/xml; charset=utf-8", "UTF-8"),
        (codecs.BOM_UTF8 + RDF.encode(), "text/xml; charset=iso-8859-1", "UTF-8"),
        (codecs.BOM_UTF16_LE + RDF.encode("utf-16-le"), "text/xml", "UTF-16LE"),
        (RDF.encode("utf-16-be"), "text/xml", "UTF-16BE"),
        (RDF.encode("utf-16-le"), "text/xml", "UTF-16LE"),
        (
            b"\n" + RDF.replace("ISO-8859-1", "koi8-r").replace("Ä", "Я").encode("koi8-r"),
            "text/xml",
            "KOI8-R",
        ),
        (RDF.partition("?>")[2].encode(), "text/xml", "UTF-8"),
        (RDF.partition("?>")[2].encode("latin-1"), "text/xml", "windows-1252"),
        (RDF.replace("ISO-8859-1", "nonsense").encode(), "text/xml", "UTF-8"),
    ],
)
def test_the_encoding_is_the_one_that_xml_declares(body: bytes, content_type: str, encoding: str) -> None:
    feed = response(body, content_type)
    assert feed.encoding == encoding
    assert feed.xpath("string(//*[local-name()='title'])").get() in ("Ä", "Я")
    assert decode_xml(body, content_type) == (feed.text, encoding)


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
REFUSED = {
    "laughs": (f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><r>&l9;</r>', "cut_entities"),
    "laughs in an attribute": (
        f'<!DOCTYPE r [<!ENTITY l0 "ha">{LAUGHS}]><r><a b="&l9;"/></r>',
        "cut_entities",
    ),
    "a file": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>', ""),
    "a file by DTD": ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><r>x</r>', ""),
    "the network": ('<!DOCTYPE r [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]><r>&x;</r>', ""),
    "a DTD of the network": ('<!DOCTYPE r SYSTEM "http://127.0.0.1:9/x.dtd"><r>x</r>', ""),
    "an entity, often": (f'<!DOCTYPE r [<!ENTITY x "{"y" * 9999}">]><r>{"&x;" * 9999}</r>', "cut_entities"),
    "300 elements deep": ("<a>" * 300 + "x" + "</a>" * 300, "cut_depth"),
    "a million elements deep": ("<a>" * 1_000_000, "cut_depth"),
    "deep after many errors": ("<r>" + "<b/c>" * 200 + "<a>" * 300, "cut_depth"),
    "a text of 11 MB": ("<r>" + "x" * 11_000_000 + "</r>", "cut_rest"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_expanded_or_loaded_and_what_is_cut_is_flagged(name: str) -> None:
    text, flag = REFUSED[name]
    began = time.process_time()
    feed = response("<?xml version='1.0'?>" + text)
    found = feed.xpath("string()").get("")
    assert time.process_time() - began < 0.4
    assert "root:" not in found
    assert len(found) <= 10_000_000
    assert feed.flags == (("parse_truncated", flag) if flag else ())
    assert feed.dropped == ({"page:parse_truncated": 1} if flag else {})


@pytest.mark.parametrize(
    "place", ["file:///etc/passwd", "/etc/passwd", "test_xml.py", "http://127.0.0.1:9/x.dtd"]
)
@pytest.mark.parametrize("kind", ["SYSTEM", "PUBLIC 'a'"])
def test_the_dtd_of_a_document_is_not_loaded(place: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)  # a place may be relative
    text = f"<!DOCTYPE r {kind} '{place}'><r><item>x</item></r>"
    root, cuts = parse_xml(text)
    assert (root.findtext("item"), cuts) == ("x", ())
    reader = XmlElementReader(io.StringIO(text), "item")
    assert [item.xpath("string()").get() for item in reader.read_elements()] == ["x"]
    assert (reader.cuts, reader.malformed) == ((), "")


@pytest.mark.parametrize("text", ["", " ", "no xml", "<", "<?xml version='1.0'?>", "\x00", "<a", "</a>", "&"])
def test_what_is_no_xml_has_nothing_in_it(text: str) -> None:
    assert Selector(text=text, type="xml").css("item").getall() == []
    parse_xml(text)


def test_a_cut_leaves_so_many_elements_and_characters() -> None:
    text = "<r><!-- <a> --><![CDATA[<a><a>]]><a/>x<b></b><c/></r>"
    assert cut_xml(text, max_tags=9, max_chars=999) == text
    assert cut_xml(text, max_tags=3, max_chars=999) == text.partition("<c/>")[0]
    assert cut_xml(text, max_tags=9, max_chars=5) == text[:5]
    assert cut_xml("<![CDATA[" * 50_000, max_tags=9, max_chars=999_999).startswith("<![CDATA[")


@pytest.fixture
async def isolation() -> AsyncIterator[IsolatedExaminer]:
    isolation = IsolatedExaminer(ParseLimits(max_tags=50_000))
    yield isolation
    isolation.close()


@pytest.mark.slow
async def test_large_xml_is_examined_as_xml(isolation: IsolatedExaminer) -> None:
    whole = RSS.replace(
        "</channel>", f"<item><description>{'<![CDATA[<p>]]>x' * 200_000}</description></item></channel>"
    )
    assert is_suspicious(whole.encode())
    assert await isolation.examine(whole.encode(), "application/rss+xml") is None
    many = f"<r>{'<a/>' * 200_000}</r>".encode()
    cut = await isolation.examine(many, "text/xml")
    assert cut is not None
    assert cut.flags == ("parse_truncated", "cut_rest")
    assert Selector(text=cut.body.decode(), type="xml").xpath("count(//a)").get() == "49999.0"


def test_xml_is_no_page_of_html_and_a_large_one_is_not_read_as_one() -> None:
    large = response("<r>" + "<a>" * 200_000)
    with pytest.raises(ValueError, match="rss"):
        _ = large.page


@pytest.mark.slow
def test_lxml_is_loaded_with_the_first_xml_only() -> None:
    code = (
        "import sys\n"
        "from gossamer.parse.selectors import Selector\n"
        "import gossamer.spiders.response\n"
        "Selector(text='<p>x').css('p').get()\n"
        "assert 'lxml' not in sys.modules\n"
        "assert Selector(text='<r/>', type='xml').get() == '<r/>'\n"
        "assert 'lxml' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
