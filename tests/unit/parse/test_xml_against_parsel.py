"""XML selectors give what parsel gives with ``type="xml"``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import parsel
import pytest

from gossamer.parse.selectors import Selector
from kit.feeds import ATOM, FEEDS, RSS

CSS = [
    "item", "item > pubDate::text", "link::text", "title::text", "item title", "item:nth-child(4) link::text",
    "guid[isPermaLink]", "guid[isPermaLink=false]::text", "guid[ispermalink]", "enclosure::attr(url)",
    "pubdate",
    "item, channel > title", "channel > *", "*::attr(href)", "item:not(:nth-child(4)) > title::text",
    "item:first-of-type", "title:contains('zwei')", "*|price", "*|link", "item ~ item", "link + title", "#x",
    ".x",
    "item:not(pubDate)", "entry > link::attr(href)", "item *::text", "::text", "enclosure:empty",
    "item:has(guid)",
]  # fmt: skip
XPATH = [
    "//item", "//item/link/text()", "//pubDate/text()", ".//title", "count(//item)", "//item[2]/title/text()",
    "//@url", "//*[local-name()='price']/@currency", "string(//title)", "//item[title]",
    "//guid/@isPermaLink",
    "//item[re:test(link, '[0-9]')]", "//comment()", "//processing-instruction()", "//*/namespace::*[1]/..",
    "/rss/channel/title/text()", "name(/*)", "boolean(//item)", "//item/@nothing", "/*/*", "//title/..",
    "set:distinct(//item/title)", "//item[1]//text()", "1 + 1", "'a'", "//*[has-class('x')]",
]  # fmt: skip


def told(selected: Any) -> list[tuple[str, dict[str, str]]]:
    found = []
    for one in selected:
        is_element = hasattr(one.root, "attrib")
        found.append((one.get(), dict(one.attrib) if is_element else {}))
    return found


@pytest.mark.parametrize("name", FEEDS)
def test_queries_give_what_parsel_gives(name: str) -> None:
    ours, theirs = Selector(text=FEEDS[name], type="xml"), parsel.Selector(text=FEEDS[name], type="xml")
    assert ours.get() == theirs.get()
    assert ours.type == theirs.type == "xml"
    for query in CSS:
        assert told(ours.css(query)) == told(theirs.css(query)), query
    for query in XPATH:
        assert told(ours.xpath(query)) == told(theirs.xpath(query)), query


STEPS: dict[str, Callable[[Any], Any]] = {
    "chained": lambda s: s.css("item").xpath("./title/text()").getall(),
    "relative": lambda s: [item.xpath("string(link)").get() for item in s.xpath("//item")],
    "prefix of the root": lambda s: s.xpath("//g:price/text()", namespaces={"g": "http://base.google.com/ns/1.0"}).get(),
    "namespaces=": lambda s: s.xpath("//a:link/@href", namespaces={"a": "http://www.w3.org/2005/Atom"}).getall(),
    "variables": lambda s: s.xpath("//item[link=$url]/title/text()", url="http://h/1").get(),
    "re": lambda s: s.css("pubDate::text").re(r"\d\d:\d\d"),
    "re_first": lambda s: s.xpath("//title").re_first("<title>(.*)</title>"),
    "attrib": lambda s: s.css("enclosure").attrib,
    "default": lambda s: s.css("nothing::text").get("none"),
    "of a text": lambda s: s.css("*|title::text")[0].css("x").getall(),
    "cdata": lambda s: s.xpath("//item/title/text()").getall(),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_steps_give_what_parsel_gives(name: str) -> None:
    for feed in (RSS, ATOM):
        ours, theirs = Selector(text=feed, type="xml"), parsel.Selector(text=feed, type="xml")
        assert STEPS[name](ours) == STEPS[name](theirs)


def test_namespaces_are_registered_for_what_follows() -> None:
    for feed, uri in ((RSS, "http://base.google.com/ns/1.0"), (ATOM, "http://www.w3.org/2005/Atom")):
        ours, theirs = Selector(text=feed, type="xml"), parsel.Selector(text=feed, type="xml")
        before = ours.css("title")
        for selector in (ours, theirs):
            selector.register_namespace("x", uri)
        for query in ("//x:price", "//x:link/@href"):
            assert told(ours.xpath(query)) == told(theirs.xpath(query))
        assert told(ours.css("x|link, x|price")) == told(theirs.css("x|link, x|price"))
        assert told(ours.css("item").css("x|price")) == told(theirs.css("item").css("x|price"))
        assert before.css("*|title")[:1].getall() == before[:1].getall()


def test_namespaces_are_removed() -> None:
    for feed in FEEDS.values():
        ours, theirs = Selector(text=feed, type="xml"), parsel.Selector(text=feed, type="xml")
        for selector in (ours, theirs):
            selector.remove_namespaces()
        assert ours.get() == theirs.get()
        for query in ("link::attr(href)", "price::text", "encoded::text", "item::attr(about)", "a::text"):
            assert told(ours.css(query)) == told(theirs.css(query)), query


def test_elements_are_dropped_and_what_follows_them_stays() -> None:
    for query in ("//b", "//a", "//*[@x]"):
        ours, theirs = (
            kind(text="<r>1<a>2</a>3<b x='1'>4</b>5<c/>6</r>", type="xml")
            for kind in (Selector, parsel.Selector)
        )
        ours.xpath(query).drop()
        theirs.xpath(query).drop()
        assert ours.get() == theirs.get()
