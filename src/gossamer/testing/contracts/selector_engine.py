"""The contract of an engine behind selectors of HTML, as named checks.

Use: ``await check_selector_engine(make)``, or one by one from ``SELECTOR_ENGINE_CHECKS``; ``make(clock)`` is
an async context manager that gives a :class:`~gossamer.ports.selector_engine.SelectorEngine`.
"""

from __future__ import annotations

from gossamer.core.errors import SelectorError
from gossamer.parse.selectors import Selector
from gossamer.ports.selector_engine import SelectorEngine
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["SELECTOR_ENGINE_CHECKS", "check_selector_engine"]

PAGE = """<html lang="en"><head><title>One &amp; two</title></head><body>
<ul id="list"><li class="a first"><a href="/1" title="t">one</a> tail</li>\
<li class="a">two <b>bold</b></li></ul>
<p>Grüße <!-- a comment --><i></i></p><script>if (1 < 2) { x("</p>") }</script></body></html>"""

SELECTOR_ENGINE_CHECKS: ContractSuite[SelectorEngine] = ContractSuite()
"""The checks by name."""


async def check_selector_engine(make: Make[SelectorEngine]) -> None:
    """Run every check on a fresh engine each. Raises ``AssertionError`` for a broken promise."""
    await SELECTOR_ENGINE_CHECKS.run(make)


def _page(engine: SelectorEngine, text: str = PAGE) -> Selector:
    return Selector(engine.parse_document(text)[0], engine=engine)


@SELECTOR_ENGINE_CHECKS.register
async def css_finds_elements_texts_and_attributes_in_document_order(engine: SelectorEngine) -> None:
    """With parsel's ``::text`` and ``::attr()``, and queries that begin at an element."""
    page = _page(engine)
    for query, expected in {
        "title::text": ["One & two"],
        "a::attr(href), li b": ["/1", "<b>bold</b>"],
        ".a::text": [" tail", "two "],
        "#list ::text": ["one", " tail", "two ", "bold"],
        "li:first-child a::attr(title)": ["t"],
        "li:contains('two')::attr(class)": ["a"],
        "p::text": ["Grüße "],
        "script::text": ['if (1 < 2) { x("</p>") }'],
        "nothing": [],
    }.items():
        assert_equal(page.css(query).getall(), expected, query)
    assert_equal([item.css("b::text").get() for item in page.css("li")], [None, "bold"], "within elements")
    assert_equal(page.css("li")[0].css(".first a::text").get(), "one", "the element itself counts")


@SELECTOR_ENGINE_CHECKS.register
async def xpath_finds_nodes_and_values(engine: SelectorEngine) -> None:
    """Numbers, strings, truths; variables; EXSLT's regular expressions; parsel's ``has-class``."""
    page = _page(engine)
    for query, expected in {
        "//li/a/@href": ["/1"],
        "count(//li)": ["2.0"],
        "string(//title)": ["One & two"],
        "boolean(//nothing)": ["0"],
        "//a[re:test(@href, '^/[0-9]$')]/text()": ["one"],
        "//li[has-class('first')]/@class": ["a first"],
        "//comment()": ["<!-- a comment -->"],
        "/html/@lang": ["en"],
    }.items():
        assert_equal(page.xpath(query).getall(), expected, query)
    assert_equal(page.xpath("//a[@title=$t]/text()", t="t").get(), "one", "a variable")
    assert_equal(page.css("ul").xpath("./li[2]/b/text()").get(), "bold", "a path from an element")


@SELECTOR_ENGINE_CHECKS.register
async def a_query_that_is_wrong_is_an_error_that_names_it(engine: SelectorEngine) -> None:
    """A ``SelectorError``, which is a ``ValueError``."""
    page = _page(engine)
    for select, queries in ((page.css, ("a[", "a::before", "", "a,,b")), (page.xpath, ("//[", "no(1)", ""))):
        for query in queries:
            try:
                found = select(query)
            except SelectorError as error:
                assert_holds(repr(query) in str(error), f"the error names {query!r}: {error}")
            else:
                raise AssertionError(f"{query!r} is refused: found {found!r}")


@SELECTOR_ENGINE_CHECKS.register
async def elements_have_markup_and_attributes_and_can_be_removed(engine: SelectorEngine) -> None:
    """The text after a removed element stays; a value has neither markup nor attributes."""
    page = _page(engine)
    (item, _) = page.css("li")
    assert_equal(item.attrib, {"class": "a first"}, "attributes")
    assert_equal(item.get(), '<li class="a first"><a href="/1" title="t">one</a> tail</li>', "markup")
    assert_equal(page.css("title::text")[0].attrib, {}, "a text has no attributes")
    item.css("a").drop()
    assert_equal(page.css("li").get(), '<li class="a first"> tail</li>', "what is left")
    page.css("li::text").drop()
    page.register_namespace("x", "urn:x")
    page.remove_namespaces()
    assert_equal(page.css("li")[0].css("::text").get(), " tail", "texts stay")


@SELECTOR_ENGINE_CHECKS.register
async def nothing_of_a_page_is_lost(engine: SelectorEngine) -> None:
    """However deep it is, however much of it is never closed, and whatever characters are in it."""
    for shape in (
        "<div>",
        "<b>",
        "<ul><li>",
        "<font a=1>",
        "<select><option>",
        "<table><tr><td>",
        "<a href=x>",
    ):
        page = _page(engine, f"<p>start {shape * 5000}<a href='/end'>the end</a>")
        texts = "".join(page.xpath("//text()").getall())
        assert_holds("start" in texts and "the end" in texts, f"the text in 5,000 {shape}")
        if "select" not in shape:  # a list of options holds text alone
            assert_equal(len(page.css("a[href='/end']")), 1, f"the link in 5,000 {shape}")
    odd = _page(engine, "<p>a\x00b\ud800c &#0; \ufffd</p><b>d</b>")
    assert_equal(odd.css("b::text").get(), "d", "the text after odd characters")


@SELECTOR_ENGINE_CHECKS.register
async def what_is_cut_is_said(engine: SelectorEngine) -> None:
    """An element with a huge number of attributes may lose some, and the page then says so; it takes little
    time.
    """
    attributes = " ".join(f"a{number}=1" for number in range(60_000))
    root, cuts = engine.parse_document(f"<p {attributes}>start</p><a href='/end'>the end</a>")
    page = Selector(root, engine=engine)
    assert_equal(page.css("a::attr(href)").getall(), ["/end"], "the link behind it")
    assert_equal(page.css("p::attr(a999)").get(), "1", "its first attributes")
    assert_holds("attributes" in cuts or page.css("p::attr(a59999)"), f"its last one, or a word: {cuts}")


@SELECTOR_ENGINE_CHECKS.register
async def whatever_the_text_is_there_is_a_document(engine: SelectorEngine) -> None:
    """Nothing raises, and nothing is found in nothing."""
    for text in (
        "",
        " ",
        "\x00",
        "<!-- only",
        "<!DOCTYPE html>",
        "<?xml version='1.0'?>",
        "<" * 5000,
        "&" * 5000,
    ):
        page = _page(engine, text)
        assert_equal(page.css("a").getall(), [], f"no link in {text[:10]!r}")
        assert_equal(page.xpath("count(//a)").get(), "0.0", f"no link in {text[:10]!r}")
