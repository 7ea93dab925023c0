"""XML with the slips that feeds have: its texts are kept, in every kind of spider, or the page is flagged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse.references import resolve_references
from gossamer.parse.sitemap import SitemapReader
from gossamer.parse.xml_mending import XmlSlipFilter, mend_xml
from gossamer.spiders.feeds import XMLFeedSpider
from gossamer.spiders.response import Response
from gossamer.testing.callbacks import run_callback

KEPT = {
    "ampersands of a link": ("http://h/p?a=1&b=2&c=3", "http://h/p?a=1&b=2&c=3"),
    "ampersands that begin like a name": ("/p?a=1&copy=2&nbsp=3&lt=4", "/p?a=1&copy=2&nbsp=3&lt=4"),
    "an ampersand alone": ("Q & A &", "Q & A &"),
    "ampersand, number sign": ("a &# b &#; &#x; &#39 c", "a &# b &#; &#x; &#39 c"),
    "names of HTML": ("caf&eacute;&nbsp;&mdash; &hellip;&COPY;", "café\xa0\u2014 …©"),
    "a name of two characters": ("&NotEqualTilde;", "\u2242\u0338"),
    "a name of HTML for a character of markup": ("1 &LT; 2 &QUOT;", '1 < 2 "'),
    "names that nobody knows": ("&foo; &foo.bar; R&D;", "&foo; &foo.bar; R&D;"),
    "references of XML": ("&lt;b&gt; &amp;nbsp; &quot;&apos; &#8364;&#x20AC;", "<b> &nbsp; \"' €€"),
    "a hexadecimal reference in capitals": ("&#X41;", "A"),
    "references to no character": ("a&#0;b&#x1F;c&#xD800;d&#9999999;", "a\ufffdb\ufffdc\ufffdd\ufffd"),
    "control characters": ("a\x0bb\x1fc\x00d\ufffe", "abcd"),
    "a bare less-than sign": ("1 < 2, 5 <6, <<", "1 < 2, 5 <6, <<"),
    "the end of a CDATA section that never began": ("a]]>b ]]", "a]]>b ]]"),
    "a CDATA section": (
        "<![CDATA[a & b &amp; <c> &nbsp; ]] > < ]]>&nbsp;",
        "a & b &amp; <c> &nbsp; ]] > < \xa0",
    ),
    "comments": ("a<!-- & --- < &nbsp; -->&b", "a&b"),
    "instructions": ("a<?php echo '&' < 1; ?>&b", "a&b"),
}
BROKEN = {
    "an element that is never closed": "<rss><item><title>a<item>b",
    "crossed elements": "<rss><item><b><i>a</b></i></item></rss>",
    "markup of HTML in a text": "<rss><item><description>a<br>b</description></item></rss>",
    "an attribute without quotation marks": "<rss><item a=b>c</item></rss>",
    "two roots": "<rss><item>a</item></rss><rss/>",
    "words before the document": "Warning: x in y.php<rss><item>a</item></rss>",
    "half a document": "<rss><item>a</item><item>b</it",
}


class Feed(XMLFeedSpider):
    name = "feed"

    def parse_node(self, response, selector):
        yield {
            "text": "".join(selector.xpath("title//text()").getall()),
            "link": selector.css("link::text").get(),
        }


def response(text: str) -> Response:
    return Response.from_html("http://h/feed", text, headers={"Content-Type": "application/rss+xml"})


def read_by_spider(text: str, iterator: str) -> tuple[list[dict[str, str]], Response]:
    spider, page = Feed(), response(text)
    spider.iterator = iterator
    return list(run_callback(spider.parse, page)), page


@pytest.mark.parametrize(("written", "meant"), KEPT.values(), ids=KEPT)
@pytest.mark.parametrize("iterator", ["iternodes", "xml", "selector"])
def test_slips_cost_no_words(iterator: str, written: str, meant: str) -> None:
    feed = f"<?xml version='1.0'?><rss><channel><item><title>{written}</title></item></channel></rss>"
    if iterator == "selector":
        page = response(feed)
        found = page.xpath("string(//title)").get()
    else:
        (item,), page = read_by_spider(feed, iterator)
        found = item["text"]
    assert found == meant
    assert (page.flags, page.dropped) == ((), {})


def test_what_follows_an_error_keeps_its_references() -> None:
    page = response("<rss><b></i><title>a &amp; b &lt; c &#62; &nbsp;</title></rss>")
    assert page.css("title::text").get() == "a & b < c > \xa0"
    assert page.flags == ("malformed",)


def test_links_and_attributes_keep_their_ampersands() -> None:
    page = response(
        "<feed><link>http://h/p?a=1&b=2&amp;c=3</link><x title='a < b & c &nbsp;'/>"
        "<entry><link href='/q?x=1&y=2&lang=de'/></entry></feed>"
    )
    assert page.links() == ["http://h/p?a=1&b=2&c=3", "http://h/q?x=1&y=2&lang=de"]
    assert page.xpath("string(//x/@title)").get() == "a < b & c \xa0"
    assert page.flags == ()


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("iterator", ["iternodes", "xml", "selector", "links"])
def test_other_damage_is_flagged(iterator: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    if iterator in ("iternodes", "xml"):
        _, page = read_by_spider(text, iterator)
    else:
        page = response(text)
        assert page.css("item") is not None if iterator == "selector" else page.links() == []
    assert page.flags == ("malformed",)
    assert page.dropped == {"feed:malformed": 1}


DECLARED = {
    "as in HTML": ('<!ENTITY nbsp "&#160;"><!ENTITY euro "€">', "a&nbsp;&euro;", "a\xa0€", ()),
    "as in HTML, of a character of markup": (
        '<!ENTITY lt "&#38;#60;"> <!ENTITY amp "&#38;#38;">',
        "&lt;&amp;",
        "<&",
        (),
    ),
    "in a file": ('<!ENTITY % HTMLlat1 SYSTEM "latin1.ent"> %HTMLlat1;', "caf&eacute;", "café", ()),
    "otherwise": (
        '<!ENTITY copy "mine"><!ENTITY x "y">',
        "a&copy;b&x;c",
        "abc",
        ("parse_truncated", "cut_entities"),
    ),
    "for nothing": ('<!ENTITY x "y">', "a", "a", ()),
}


@pytest.mark.parametrize(("subset", "written", "meant", "flags"), DECLARED.values(), ids=DECLARED)
@pytest.mark.parametrize("iterator", ["iternodes", "xml"])
def test_entities_that_a_document_declares(
    iterator: str, subset: str, written: str, meant: str, flags: tuple[str, ...]
) -> None:
    text = f"<!DOCTYPE rss [{subset}]><rss><item><title>{written}</title></item></rss>"
    (item,), page = read_by_spider(text, iterator)
    assert (item["text"], page.flags) == (meant, flags)


PARTS = [*"ab&;<>]-?![ #x1", "nbsp", "<![CDATA[", "]]>", "<!--", "-->", "<?", "?>", "&eacute;", "&#8364;"]


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join), st.integers(1, 7))
def test_slices_are_mended_like_the_whole(text: str, size: int) -> None:
    slips = XmlSlipFilter()
    parts = [slips.mend(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join([*parts, slips.mend("", is_last=True)]) == mend_xml(text)[0]


def test_sitemaps_know_the_same_names() -> None:
    body = "<urlset><url><loc>http://h/caf&eacute;?a=1&b=2&amp;c=&#228;&copy=1</loc></url></urlset>"
    (batch, *_) = SitemapReader(body.encode(), "http://h/").read_batches()
    assert [entry.url for entry in batch] == ["http://h/caf%C3%A9?a=1&b=2&c=%C3%A4&copy=1"]
    assert resolve_references("&foo; & &amp &#1;") == "&foo; & &amp \x01"
