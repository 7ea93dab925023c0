"""Spiders in TOML: what their fields read, where they lead, and what is said of a file that is wrong."""

import json
import tomllib
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gossamer import Request
from gossamer.core.errors import UsageError
from gossamer.core.results import FetchResult
from gossamer.spiders.declarative.document import FieldDocument
from gossamer.spiders.declarative.fields import read_fields
from gossamer.spiders.declarative.reading import find_line, parse_document
from gossamer.spiders.declarative.spider import load_spider, make_spider
from gossamer.spiders.response import Response

URL = "http://shop.test/list/lamps"
PAGE = """
<title>Lamps</title>
<script type="application/ld+json">{"@type": "Product", "offers": {"price": "12.50"}}</script>
<h1> Old
  <b>lamps</b></h1>
<p class=price>EUR 1.299,00</p><p class=count>1,234</p>
<p class=day>31.12.2026</p><p class=iso>2026-12-31T08:00</p>
<p class=stock>In stock</p><p class=off>no</p><p class=empty></p>
<a class=product href="../p/1?x=1">One</a> <a class=product href="/p/2">Two</a><img src="/i/1.jpg">
"""


def page(content: Any = PAGE, url: str = URL) -> Response:
    is_html = isinstance(content, str)
    fetched = FetchResult(
        url=url,
        status=200,
        headers=(("content-type", "text/html; charset=utf-8" if is_html else "application/json"),),
        body=(content if is_html else json.dumps(content)).encode(),
        started_at=0.0,
        latency_s=0.0,
        elapsed_s=0.0,
        rung="http",
    )
    return Response(Request(url), fetched)


def read(response: Response, **said: Any) -> Any:
    return read_fields(response, {"it": FieldDocument.model_validate(said)}, response).get("it", "nothing")


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ({"select": ["h1"]}, "Old lamps"),
        ({"select": ["h1 b::text"]}, "lamps"),
        ({"select": ["//h1/b"], "clean": ["upper"]}, "LAMPS"),
        ({"select": ["h7", "h1"]}, "Old lamps"),
        ({"select": ["h7"]}, "nothing"),
        ({"page": "url"}, URL),
        ({"page": "title"}, "Lamps"),
        ({"select": [".count"], "type": "int"}, 1234),
        ({"select": [".count"], "type": "float", "decimal_mark": "."}, 1234.0),
        ({"select": [".price"], "type": "decimal"}, Decimal("1299.00")),
        ({"select": [".price"], "re": r"[A-Z]+"}, "EUR"),
        ({"select": [".price"], "re": r"(\d+)\."}, "1"),
        ({"select": [".price"], "re": "USD"}, "nothing"),
        ({"select": ["h1"], "type": "int"}, "Old lamps"),  # the pipeline says that it is no number
        ({"select": [".day"], "type": "date", "format": "%d.%m.%Y"}, date(2026, 12, 31)),
        ({"select": [".iso"], "type": "datetime"}, datetime(2026, 12, 31, 8)),
        ({"select": ["h1"], "type": "date", "format": "%Y"}, "Old lamps"),
        ({"select": [".stock"], "type": "bool"}, True),
        ({"select": [".off"], "type": "bool"}, False),
        ({"select": [".empty"], "type": "bool"}, True),
        ({"select": [".sold-out"], "type": "bool"}, False),
        ({"select": ["a.product"], "type": "url"}, "http://shop.test/p/1?x=1"),
        ({"select": ["img"], "type": "file"}, "http://shop.test/i/1.jpg"),
        ({"select": ["a.product"], "type": "list[str]"}, ["One", "Two"]),
        ({"select": ["a.gone"], "type": "list[str]"}, []),
        ({"select": ["h1 b"], "type": "html"}, "<b>lamps</b>"),
        ({"select": ["$[*].offers.price"], "type": "decimal"}, Decimal("12.50")),
    ],
)
def test_what_a_field_reads(said: dict[str, Any], value: Any) -> None:
    found = read(page(), **said)
    assert found == value
    assert type(found) is type(value)


def test_what_a_page_does_not_say_of_itself_is_nothing() -> None:
    """And not all of its text."""
    bare = page("<p>A long text of a page that has neither.</p>")
    assert read(bare, page="description") == "nothing"
    assert read(bare, page="title") == "nothing"
    assert read(bare, page="text") == "A long text of a page that has neither."


def test_fields_of_json() -> None:
    response = page(
        {"total": 3, "price": 1.5, "on": False, "tags": ["a", "b"], "more": {"deep": [1]}, "no": None}
    )
    assert read(response, select=["$.total"], type="int") == 3
    assert read(response, select=["$.total"]) == "3"
    assert read(response, select=["$.price"], type="decimal") == Decimal("1.5")
    assert read(response, select=["$.on"], type="bool") is False
    assert read(response, select=["$.tags"], type="list[str]") == ["a", "b"]
    assert read(response, select=["$.more"], type="json") == {"deep": [1]}
    assert read(response, select=["$.no"]) == "nothing"
    assert read(response, select=["$.more"]) == {"deep": [1]}, "the pipeline says that it is no text"


def test_blocks_of_json_are_read_by_paths_and_others_by_selectors() -> None:
    field = {"it": FieldDocument.model_validate({"select": ["b", "$.name"]})}
    response = page("<p><b>Two</b></p>")
    assert read_fields({"name": "One"}, field, response) == {"it": "One"}
    assert read_fields(response.css("p")[0], field, response) == {"it": "Two"}


def test_links_of_json_that_are_no_urls_are_said() -> None:
    text = FULL.replace('{ select = "a", deny = "/p/3" }', '{ select = "$.links[*]" }')
    spider = make_spider(parse_document(text, tomllib.loads(text), "x.toml"))()
    with pytest.raises(ValueError, match=r"follow \(\$\.links\[\*\]\) finds JSON values that are not URLs"):
        list(spider.listing(page({"links": [{"href": "/p/1"}]})))  # type: ignore[attr-defined]


FULL = """
name = "shop"
start_urls = ["http://shop.test/list/lamps"]
start = "listing"

[items.Product]
key = "link"
[items.Product.fields]
link = { select = "a", type = "url" }
name = "a"
note = { select = "i", optional = true }

[pages.product]
match = "/p/"
items = "Product"

[pages.listing]
items = { type = "Product", each = ".entry" }
follow = [{ select = "a", deny = "/p/3" }, { allow = ["/more/"], page = "listing", priority = 2 }]
paginate = { next = ".next" }
"""
LISTING = """
<div class=entry><a href=/p/1>One</a></div><div class=entry><a href=/p/2>Two</a><i>new</i></div>
<div class=entry><a href=/p/3>Three</a></div><a href=/more/4>More</a><a href=/q/5 rel=nofollow>Q</a>
<b class=next href=/list/lamps/2></b>
"""


def test_a_page_gives_its_items_its_links_and_the_next_page(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(FULL)
    spider = load_spider(tmp_path / "shop.toml")()
    results = list(spider.listing(page(LISTING)))  # type: ignore[attr-defined]
    items = [one.model_dump() for one in results if not isinstance(one, Request)]
    assert items == [
        {"link": "http://shop.test/p/1", "name": "One", "note": None},
        {"link": "http://shop.test/p/2", "name": "Two", "note": "new"},
        {"link": "http://shop.test/p/3", "name": "Three", "note": None},
    ]
    requests = [
        (one.url.removeprefix("http://shop.test"), one.callback)
        for one in results
        if isinstance(one, Request)
    ]
    assert requests == [
        ("/p/1", "product"),
        ("/p/2", "product"),
        ("/more/4", "listing"),
        ("/more/4", "listing"),
        ("/list/lamps/2", "listing"),
    ]
    assert type(items and results[0]).__name__ == "Product"
    assert next(spider.parse(page(PAGE, "http://shop.test/p/1"))).name == "One", "by its URL"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "shop"', "", "x.toml: name: missing"),
        (
            "[pages.product]",
            "[pages.start]",
            "x.toml, line 13: pages.start: 'start' is a word of every spider",
        ),
        (
            'start = "listing"',
            'start = "listings"',
            "line 4: start: unknown page type 'listings'; did you mean",
        ),
        (
            'key = "link"',
            'key = "url"',
            "line 7: items.Product.key: unknown field 'url' (allowed: link, name",
        ),
        ('type = "url"', 'type = "text"', "line 9: items.Product.fields.link.type: unknown type 'text'"),
        (
            'name = "a"',
            'name = "a["',
            "line 10: items.Product.fields.name.select[0]: invalid CSS selector 'a['",
        ),
        ('name = "a"', "name = {}", "line 10: items.Product.fields.name: say where the value is"),
        ('name = "a"', 'copy = "a"', "line 10: items.Product.fields.copy: 'copy' is a word of every item"),
        (
            "note = { select",
            'note = { type = "int", default = "none", select',
            "line 11: items.Product.fields.note.default: 'none' is not of",
        ),
        (
            'each = ".entry"',
            'each = "$.entries"',
            "line 9: items.Product.fields.link: it finds nothing in a block of '$.entries'",
        ),
        (
            "[pages.product]",
            "[pages.document]",
            "line 13: pages.document: 'document' is a word of every spider",
        ),
        (
            'next = ".next" }',
            'param = "p", total = "i", of = "a/b" }',
            "line 20: pages.listing.paginate: 'a/b' cannot be",
        ),
        ('match = "/p/"', 'match = "("', "line 14: pages.product.match: '(' is not a regular expression"),
        (
            'each = ".entry"',
            'every = "p"',
            "line 18: pages.listing.items[0].every: unknown key (allowed: type, each)",
        ),
        (
            'next = ".next"',
            'param = "page"',
            "line 20: pages.listing.paginate: the end of the listing is not defined",
        ),
        (
            'type = "Product", each',
            'type = "Produkt", each',
            "unknown item type 'Produkt'; did you mean 'Product'",
        ),
        (
            'start = "listing"',
            "settings = { dely = 1 }",
            "line 4: settings.dely: unknown setting; did you",
        ),
        ("[pages.product]", "[page.product]", "line 13: page: unknown key; did you mean 'pages'?"),
        ('name = "a"', "name = 3", "line 10: items.Product.fields.name: it must be a table"),
        (
            "priority = 2",
            "priority = true",
            "line 19: pages.listing.follow[1].priority: it must be a whole number",
        ),
    ],
)
def test_what_is_wrong_is_said_with_line_and_key(old: str, new: str, said: str) -> None:
    assert old in FULL
    text = FULL.replace(old, new)
    with pytest.raises(UsageError) as raised:
        parse_document(text, tomllib.loads(text), "x.toml")
    assert said in str(raised.value)


def test_no_password_is_in_the_file() -> None:
    text = (
        FULL
        + '[login]\nurl = "http://shop.test/in"\nfields = { user = "SHOP_USER", word = "hunter2-secret" }\n'
    )
    with pytest.raises(
        UsageError, match=r"line 23: login\.fields\.word: it must be the name of an environment"
    ) as raised:
        parse_document(text, tomllib.loads(text), "x.toml")
    assert "hunter2-secret" not in str(raised.value)


def test_the_line_of_a_place() -> None:
    text = 'a.b = 1\n[c]\nd = {\n  e = 1 }\n[[f]]\n"odd key" = 2\n'
    places = (("a", "b"), ("a",), ("c",), ("c", "d"), ("c", "d", "e"), ("f", 0, "odd key"), ("g",))
    assert [find_line(text, place) for place in places] == [1, 1, 2, 3, 3, 6, None]
    text = "x = [\n  { y = 1 },\n  { y = 2 },\n]\nz = [{ y = 1 }, { y = 2 }]\n[[f]]\ng = 1\n[[f]]\ng = 2\n"
    for place, line in ((("x", 0, "y"), 2), (("x", 1, "y"), 3), (("z", 1, "y"), 5), (("f", 1, "g"), 9)):
        assert find_line(text, place) == line


def test_files_that_cannot_be_spiders(tmp_path: Path) -> None:
    for name, text, said in (
        ("gossamer.toml", "delay = 0", "has the settings of a project"),
        ("broken.toml", "name = ", "is not TOML"),
        ("none.toml", None, "cannot be read"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(UsageError, match=said):
            load_spider(tmp_path / name)


def test_a_default_has_the_type_of_its_field() -> None:
    text = FULL.replace("note = { ", 'note = { type = "decimal", default = "1.50", ')
    made = make_spider(parse_document(text, tomllib.loads(text), "x.toml"))
    assert made.item_classes["Product"](link="x", name="y").note == Decimal("1.50")  # type: ignore[attr-defined]


async def test_a_spider_whose_pages_are_given_to_it_has_no_start_urls() -> None:
    text = FULL.replace('start_urls = ["http://shop.test/list/lamps"]', "start_urls = []")
    made = make_spider(parse_document(text, tomllib.loads(text), "x.toml"))
    assert [request async for request in made().start()] == []


def test_a_file_of_an_editor_that_marks_utf_8(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_bytes(b"\xef\xbb\xbf" + FULL.replace("\n", "\r\n").encode())
    assert load_spider(tmp_path / "shop.toml").name == "shop"


def test_each_class_is_like_one_in_python() -> None:
    made = make_spider(parse_document(FULL, tomllib.loads(FULL), "x.toml"))
    assert (made.name, made.__name__, made().start_urls) == ("shop", "Shop", ["http://shop.test/list/lamps"])
    assert made(start_urls=["http://other.test/"]).start_urls == ["http://other.test/"]
    with pytest.raises(TypeError):
        made(category="lamps")  # type: ignore[call-arg]
