"""Sitemaps: nothing raises, and where the slices are cut changes nothing."""

from __future__ import annotations

import gzip

from hypothesis import given
from hypothesis import strategies as st

from gossamer.parse import sitemap
from gossamer.parse.sitemap import SitemapEntry, SitemapReader

URL = "http://h.test/map.xml"
PARTS = st.sampled_from(
    [
        b"<urlset>",
        b"<url>",
        b"</url>",
        b"<loc>",
        b"</loc>",
        b"http://h.test/a",
        b"/b?x=1&y=2",
        b"&amp;",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<lastmod>2020</lastmod>",
        b"<sitemap>",
        b"</sitemap>",
        b"<item>",
        b"\n",
        b"<link>",
        b"</link>",
        b"</item>",
        b"<entry>",
        b"<link href='/e'/>",
        b"</entry>",
        b"<x:loc>",
        b"<",
        b">",
        b"\xff\xfe",
        b"\x00",
        b"&#x0;",
        b"&#65;",
        b"<guid>http://h.test/g</guid>",
        b"<html>",
        b"<!ENTITY a 'b'>",
    ]
)


def read(body: bytes) -> tuple[list[SitemapEntry], dict[str, int]]:
    reader = SitemapReader(body, URL)
    return [location for batch in reader.read_batches() for location in batch], reader.trouble


@given(st.binary(max_size=300) | st.lists(PARTS, max_size=40).map(b"".join))
def test_no_body_raises_and_every_entry_is_a_url(body: bytes) -> None:
    for given_body in (body, gzip.compress(body), b"\x1f\x8b" + body, gzip.compress(body)[:-5]):
        assert all(location.url.startswith(("http://", "https://")) for location in read(given_body)[0])


@given(st.lists(PARTS.filter(lambda part: part not in (b"\xff\xfe", b"\0")), max_size=40).map(b"".join))
def test_slices_change_nothing(body: bytes) -> None:
    body = b"<urlset>" + body
    whole = read(body)
    before = sitemap.SLICE, sitemap.HEAD
    try:
        for size in (1, 5, 17):
            sitemap.SLICE, sitemap.HEAD = size, 20
            assert read(body) == whole
    finally:
        sitemap.SLICE, sitemap.HEAD = before


def test_what_an_entry_says() -> None:
    body = (
        b"<urlset><url><loc> /a </loc><lastmod> 2020-01-01 </lastmod></url><sitemap><loc>/s</loc></sitemap>"
    )
    assert read(body)[0] == [
        SitemapEntry("http://h.test/a", "2020-01-01", False),
        SitemapEntry("http://h.test/s", "", True),
    ]
    atom = b"<entry><link rel='self' href='/x'/><link rel=\"alternate\" href=\"/y?a&amp;b\"/></entry>"
    assert [location.url for location in read(atom)[0]] == ["http://h.test/y?a&b"]


def test_images_of_a_feed_are_no_pages() -> None:
    """RSS has ``image`` with ``url`` in it, of the channel or of an item."""
    logo = b"<image><url>http://h.test/logo.png</url>%s</image>"
    items = (
        b"<item>"
        + logo % b""
        + b"<link>http://h.test/1</link></item><item><link>http://h.test/2</link></item>"
    )
    for head in (b'<rss version="2.0">', b'<?xml version="1.0"?><rdf:RDF xmlns="x">'):
        body = head + b"<channel>" + logo % b"<link>http://h.test/</link>" + items
        assert [entry.url for entry in read(body)[0]] == ["http://h.test/1", "http://h.test/2"]
    plain = b"<urlset><url>http://h.test/1</url></urlset>"
    assert [entry.url for entry in read(plain)[0]] == ["http://h.test/1"]
