"""Selectors: parsel's interface, one behaviour at a time."""

from __future__ import annotations

import re

import parsel
import pytest

from gossamer.parse.selectors import Selector, SelectorList

PAGE = """<!doctype html><html lang=en><head><title>T &amp; t</title></head><body class="x y">
<ul id=menu><li class="item first">one <b>bold</b> tail</li><li class=item data-n=2>two</li>
<li class=item></li></ul>
<div>outer <div>inner <p>deep</p></div> end</div>
<a href="/a?x=1&amp;y=2" title="A">link</a><a name=anchor>no href</a><p> </p><!-- note -->
<p>price: 12.50 &euro; &lt;b&gt;</p></body></html>"""


@pytest.fixture(scope="module")
def page() -> Selector:
    return Selector(text=PAGE)


@pytest.fixture(scope="module")
def theirs() -> parsel.Selector:
    return parsel.Selector(text=PAGE)


QUERIES = [
    "li::text",
    "li ::text",
    "::text",
    "*::text",
    "div::text",  # texts of nested elements interleave
    "div ::text",
    "a::attr(href)",
    "a::ATTR( title )",
    "a::attr(href), a::attr(title)",
    "title::text, li::text",
    "li.item.first",
    "li.item:not(.first)::attr(data-n)",
    "ul > li + li::text",
    "ul>li~li::text",
    "li:empty::attr(class)",
    "p:empty",
    "p:not(:empty)::text",
    'p:contains("price")::text',
    "p:contains(deep)::text",
    "li:contains('a\\'b')",
    "[data-n!='2']::attr(id)",
    "a[href][title]::attr(title)",
    'a[title="A"], a[title="a,b"]',
    "body *::attr(class)",
    "body > *::attr(id)",
    "html::attr(lang)",
    ":root::attr(lang)",
    "nothing::text",
]


@pytest.mark.parametrize("query", QUERIES)
def test_css_like_parsel(page, theirs, query):
    assert page.css(query).getall() == theirs.css(query).getall()


NESTED = [
    "div",
    "div::text",
    "div p::text",
    "div > div::text",
    "body div",
    "p::text",
    "div ::text",
    "div, p",
    ":contains(deep)",
]


@pytest.mark.parametrize("query", NESTED)
def test_css_within_an_element_like_parsel(page, theirs, query):
    for ours, other in zip(page.css("div, p"), theirs.css("div, p"), strict=True):
        assert ours.css(query).getall() == other.css(query).getall()


EXPRESSIONS = [
    "//li[1]",
    "//li/text()",
    "//a/@href",
    "string(//li)",
    "count(//li)",
    "1 div 4",
    "boolean(//li)",
    "boolean(//video)",
    "//comment()",
    "body/ul/@id",
    "./body/@class",
    "//li[2]/preceding-sibling::li/b/text()",
    '//li[has-class("item", "first")]/b/text()',
    "//li[not(has-class('first'))]/@data-n",
    '//p[re:test(., "pri.e")]/text()',
    '//a[re:test(@href, "^/A", "i")]/@title',
    "normalize-space(//p[last()])",
    "//video",
    "'text'",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_xpath_like_parsel(page, theirs, expression):
    assert page.xpath(expression).getall() == theirs.xpath(expression).getall()


def test_xpath_variables_and_namespaces(page):
    assert page.xpath("//li[@data-n=$n]/text()", n=2).get() == "two"
    assert page.xpath("//*[@id=$which]/@id", which="menu").getall() == ["menu"]
    svg = Selector(text="<a id=html></a><svg><a id=svg></a></svg>")
    assert svg.xpath("//s:a/@id", namespaces={"s": "http://www.w3.org/2000/svg"}).getall() == ["svg"]


def test_chaining_and_lists(page):
    items = page.css("li")
    assert isinstance(items, SelectorList)
    assert len(items) == 3
    assert isinstance(items[0], Selector)
    assert isinstance(items[1:], SelectorList)
    assert items[1:].css("::text").getall() == ["two"]
    assert items.xpath("./b").css("::text").get() == "bold"
    assert [item.attrib.get("data-n") for item in items] == [None, "2", None]
    assert not page.css("video")
    assert page.css("ul")[0].xpath("..").attrib == {"class": "x y"}
    assert items.attrib == {"class": "item first"}
    assert page.css("video").attrib == {}
    assert page.attrib == {"lang": "en"}


def test_get(page):
    assert page.css("video::text").get() is None
    assert page.css("video::text").get(default="none") == "none"
    assert page.css("video").extract_first() is None
    assert page.css("b").get() == "<b>bold</b>"
    assert page.css("b").extract() == ["<b>bold</b>"]
    assert page.css("b")[0].getall() == ["<b>bold</b>"]
    assert page.get().startswith('<html lang="en"><head>')
    assert str(page.css("b::text")[0]) == "bold"
    assert bool(page.xpath("'x'")[0]) is True
    assert bool(page.xpath("''")[0]) is False
    assert page.css("title")[0].css("::text")[0].css("x") == []  # a text holds nothing
    assert page.css("title::text")[0].xpath("..") == []
    assert repr(page.css("b")[0]) == "<Selector query='b' data='<b>bold</b>'>"


@pytest.mark.parametrize(
    "regex",
    [
        r"\d+",
        r"(\d+)\.(\d+)",
        r"(?P<extract>\d+)\.\d+",
        r"(price)|(never)",
        "€.*",
        re.compile("PRICE", re.IGNORECASE),
    ],
)
@pytest.mark.parametrize("entities", [True, False])
def test_re_like_parsel(page, theirs, regex, entities):
    for query in ("p", "p::text"):
        ours, other = page.css(query), theirs.css(query)
        assert ours.re(regex, entities) == other.re(regex, entities)
        assert ours.re_first(regex, "default", entities) == other.re_first(regex, "default", entities)
    assert page.css("p")[1].re_first("absent") is None


def test_bad_queries_are_named(page):
    for query in ("a[", "a::before", "li:nonsense", "", "a,,b", "a >", "::attr()"):
        with pytest.raises(ValueError, match=re.escape(repr(query))):
            page.css(query)
    for query in ("//[", "nosuch(1)", "//a[@b=$unbound]", ""):
        with pytest.raises(ValueError, match=re.escape(repr(query))):
            page.xpath(query)


def test_drop():
    page = Selector(text="<p>a<b>c</b>d</p>")
    page.css("b").drop()
    assert page.css("p").get() == "<p>ad</p>"


def test_empty_page():
    assert Selector(text="").css("a").getall() == []
    assert Selector(text="").xpath("//a").get() is None
