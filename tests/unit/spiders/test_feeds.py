"""Feed spiders give what Scrapy's give; what is malformed is counted, and nothing holds a whole feed."""

import asyncio
import logging
import sys
from subprocess import run

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.http import TextResponse, XmlResponse
from scrapy.utils.iterators import csviter, xmliter_lxml

from gossamer import CSVFeedSpider, Request, Response, XMLFeedSpider
from gossamer.core.errors import UsageError
from gossamer.core.results import FetchResult
from gossamer.parse.csv_rows import CsvReader
from gossamer.parse.feed_text import open_text
from gossamer.parse.xml_elements import XmlElementReader
from gossamer.testing.callbacks import run_callback

URL = "http://h.test/feed"
RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss xmlns:g="http://base.google.com/ns/1.0"><channel><title>t</title>
<item id="1"><title>One &amp; <![CDATA[<b>two</b>]]></title><g:price>1.50</g:price></item> tail
<item id="2"><title>Grüße</title><g:price>2</g:price><item id="3"><title>inner</title></item></item>
<g:item><title>of g</title></g:item></channel></rss>"""


def feed(body, content_type):
    return Response.from_html(URL, body, headers={"content-type": content_type})


def rows_of(body: str, **options):
    reader = CsvReader(open_text(body.encode()), **options)
    return list(reader.read_rows()), reader


def elements_of(body, name, namespaces=None):
    reader = XmlElementReader(open_text(body if isinstance(body, bytes) else body.encode()), name, namespaces)
    return list(reader.read_elements()), reader


# --------------------------------------------------------------------------- CSV


@given(
    rows=st.lists(
        st.lists(st.text("ab,;\"'\n\r ä\u2028\x0b", max_size=4), min_size=1, max_size=4), max_size=6
    ),
    delimiter=st.sampled_from(",;"),
)
def test_rows_are_those_of_scrapy(rows, delimiter):
    body = "\n".join(delimiter.join('"' + field.replace('"', '""') + '"' for field in row) for row in rows)
    theirs = list(csviter(TextResponse(URL, body=body.encode(), encoding="utf-8"), delimiter=delimiter))
    ours, reader = rows_of(body, delimiter=delimiter)
    assert ours == theirs
    wrong = [row for row in rows[1:] if len(row) != len(rows[0])]
    assert bool(reader.trouble) == bool(wrong)


def test_lines_that_are_no_rows_are_counted_and_the_others_are_read():
    rows, reader = rows_of('a,b\n1,2\n\n3\n4,5\n6,7,8\n"9\n9",10\n')
    assert rows == [{"a": "1", "b": "2"}, {"a": "4", "b": "5"}, {"a": "9\n9", "b": "10"}]
    assert (reader.trouble, reader.first) == ({"fields": 2}, "line 4: 1 fields instead of 2")


def test_a_quotation_mark_that_nobody_closes_costs_the_lines_up_to_the_limit_of_a_field():
    body = 'a,b\n1,2\n"3,4\n' + "5,6\n" * 60_000
    rows, reader = rows_of(body)
    assert rows[0] == {"a": "1", "b": "2"}
    assert len(rows) + sum(reader.trouble.values()) == 60_002
    assert reader.trouble["malformed"] > 30_000
    assert "field larger than field limit" in reader.first


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1252", "shift_jis"])
def test_the_text_of_a_feed_is_read_in_its_encoding(encoding):
    text = "name\n" + ("日本\n" if encoding == "shift_jis" else "Grüße\n") * 20_000
    declared = f"text/csv; charset={encoding}" if encoding == "shift_jis" else "text/csv"
    assert open_text(text.encode(encoding), declared).read() == text


@pytest.mark.parametrize(
    ("row", "encoding"),
    [
        ("Новости города;Погода на сегодня", "windows-1251"),
        ("今日のニュース;天気予報と交通情報", "shift_jis"),
        ("Grüße aus Köln;schöne Plätze", "windows-1252"),
    ],
)
def test_a_table_that_names_no_charset_is_guessed_like_a_page(row, encoding):
    fetched = FetchResult(
        url=URL, status=200, headers=(("content-type", "text/csv"),), body=f"a;b\n{row}\n".encode(encoding),
        started_at=0, latency_s=0, elapsed_s=0, rung="http",
    )  # fmt: skip
    (found,) = run_callback(Table().parse, Response(Request(URL), fetched))
    assert list(found.values()) == row.split(";")


class Table(CSVFeedSpider):
    name = "table"
    delimiter = ";"

    def parse_row(self, response, row):
        yield row


class Prices(CSVFeedSpider):
    name = "prices"
    delimiter = ";"
    quotechar = "'"
    headers = ("sku", "price")

    def adapt_response(self, response):
        response.body = response.body.replace(b"EUR", b"")
        return response

    async def parse_row(self, response, row):
        yield row
        if row["sku"] == "b":
            yield response.follow("/b", self.parse_row)

    def process_results(self, response, results):
        return reversed(results)


def test_a_spider_gets_each_row(caplog):
    page = feed("a;1 EUR\n'b';'2;2'\nc\n", "text/csv")
    with caplog.at_level(logging.WARNING):
        items, requests = [], []
        for result in run_callback(Prices().parse, page):
            (items if isinstance(result, dict) else requests).append(result)
    assert items == [{"sku": "a", "price": "1 "}, {"sku": "b", "price": "2;2"}]
    assert [request.url for request in requests] == ["http://h.test/b"]
    assert page.dropped == {"feed:fields": 1}
    assert "http://h.test/feed: not all of the feed was read; line 3: 1 fields instead of 2" in caplog.text


# --------------------------------------------------------------------------- XML


@pytest.mark.parametrize("name", ["item", "title", "g:price", "g:item", "channel", "nothing"])
def test_elements_are_those_of_scrapy(name):
    theirs = list(xmliter_lxml(XmlResponse(URL, body=RSS.encode(), encoding="utf-8"), name))
    ours, reader = elements_of(RSS, name)
    assert [one.xpath("string()").get() for one in ours] == [one.xpath("string()").get() for one in theirs]
    assert [one.attrib for one in ours] == [one.attrib for one in theirs]
    assert [one.xpath("//title/text()").getall() for one in ours] == [
        one.xpath("//title/text()").getall() for one in theirs
    ]
    assert (reader.cuts, reader.malformed) == ((), "")


def test_names_have_the_namespaces_that_a_spider_gives_them():
    atom = '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>a</title></entry></feed>'
    spaces = {"n": "http://www.w3.org/2005/Atom"}
    (entry,), _ = elements_of(atom, "n:entry", spaces)
    assert entry.xpath("n:title/text()").get() == entry.css("n|title::text").get() == "a"
    assert len(elements_of(atom, "entry")[0]) == 1
    assert elements_of(atom, "n:entry")[0] == []
    (price, _), _ = elements_of(RSS, "x:price", {"x": "http://base.google.com/ns/1.0"})
    assert price.xpath("string()").get() == "1.50"


def test_xml_that_is_broken_is_read_as_far_as_it_makes_sense_and_said():
    found, reader = elements_of("<r><item>1</item><item>2 & 3</item><item>4", "item")
    assert [item.xpath("string()").get() for item in found[:2]] == ["1", "2 & 3"]
    assert reader.malformed.startswith("line 1: ")
    for nothing in ("", " ", "no xml", "\x00"):
        assert elements_of(nothing, "item")[0] == []


def test_xml_that_exceeds_the_limits_is_cut_and_said():
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><r><item>x&b;</item></r>'
    (item,), _ = elements_of(bomb, "item")
    assert item.xpath("string()").get() == "x"
    found, reader = elements_of("<r><item>1</item>" + "<d>" * 300 + "<item>2</item>", "item")
    assert (found[0].xpath("string()").get(), reader.cuts) == ("1", ("depth",))
    outside = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><r><item>x&a;</item></r>'
    assert elements_of(outside, "item")[0][0].xpath("string()").get() == "x"


LONG = """
import resource
from gossamer.parse.feed_text import open_text
from gossamer.parse.xml_elements import XmlElementReader

body = b"<r>" + b"<item><title>some title</title><text>and some text</text></item>" * 150_000 + b"</r>"
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for _ in XmlElementReader(open_text(body), "item").read_elements())
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_long_feed_is_not_held_as_a_tree():
    done = run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    count, grown_mb = map(int, done.stdout.split())
    assert count == 150_000
    assert grown_mb < 5, "the tree would have 80 MB, its empty elements 9"


class News(XMLFeedSpider):
    name = "news"
    namespaces = [("g", "http://base.google.com/ns/1.0")]

    def parse_node(self, response, node):
        return {"title": node.xpath("title/text()").get(), "price": node.xpath("g:price/text()").get()}


@pytest.mark.parametrize("iterator", ["iternodes", "xml"])
def test_a_spider_gets_each_element(iterator):
    spider = News()
    spider.iterator = iterator
    items = run_callback(spider.parse, feed(RSS, "application/rss+xml"))
    expected = {("One & <b>two</b>", "1.50"), ("Grüße", "2"), ("inner", None)}
    assert {(item["title"], item["price"]) for item in items} == expected
    assert spider.selects("parse") == (iterator == "xml")
    assert spider.selects("page")
    assert spider.watches("parse")
    assert not spider.watches("page")


def test_a_spider_may_read_html_and_says_how_it_reads():
    spider = News()
    spider.iterator, spider.itertag = "html", "li"
    spider.parse_node = lambda response, node: {"text": node.css("::text").get()}
    page = feed("<ul><li>a<li>b</ul>", "text/html")
    assert run_callback(spider.parse, page) == [{"text": "a"}, {"text": "b"}]
    spider.iterator = "regex"
    with pytest.raises(UsageError, match="iterator of the spider 'news' is 'regex'"):
        run_callback(spider.parse, page)


def test_what_is_missing_of_a_feed_is_counted():
    broken = feed("<r><item><title>1</title></item><item>", "text/xml")
    assert len(run_callback(News().parse, broken)) >= 1
    assert broken.dropped == {"feed:malformed": 1}
    deep = feed(f"<r>{'<d>' * 300}", "text/xml")
    assert run_callback(News().parse, deep) == []
    assert (deep.flags, deep.dropped) == (("parse_truncated", "cut_depth"), {"page:parse_truncated": 1})


def test_a_spider_without_its_method_says_so():
    for kind, method in ((CSVFeedSpider, "parse_row"), (XMLFeedSpider, "parse_node")):
        with pytest.raises(NotImplementedError, match=f"has no method '{method}'"):
            run_callback(kind().parse, feed("<a>\n<item/></a>", "text/xml"))


def test_others_have_their_turn_while_a_feed_is_read():
    async def run():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        async for _ in Quiet().parse(feed("a\n" + "1\n" * 1000, "text/csv")):
            pass
        counting.cancel()
        return turns

    assert asyncio.run(run()) >= 10


class Quiet(CSVFeedSpider):
    def parse_row(self, response, row):
        return None
