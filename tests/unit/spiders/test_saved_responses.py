"""A callback is tested on a page that nobody fetched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gossamer import Item, Request, Response, Spider, key
from gossamer.testing.callbacks import run_callback

URL = "https://shop.example/products/1"
PAGE = "<title>Käse</title><h1>Käse</h1><a href='/next'>next</a>"


class Product(Item):
    sku: str = key()
    name: str


class Shop(Spider):
    name = "shop"

    def parse_product(self, response: Response, page: int = 1) -> Any:
        yield Product(sku=f"{page}", name=response.css("h1::text").get() or "")
        yield from response.follow_all(css="a")

    async def parse_later(self, response: Response) -> Any:
        return [response.json(), None]

    async def parse_piecewise(self, response: Response) -> Any:
        yield {"kind": response.content_type, "page": response.meta["page"]}


def test_a_callback_is_tested_in_one_line() -> None:
    items = list(Shop().parse_product(Response.from_html(URL, PAGE)))
    assert items == [Product(sku="1", name="Käse"), Request("https://shop.example/next")]


def test_what_a_response_has_can_be_said() -> None:
    response = Response.from_html(
        URL, PAGE, status=404, headers={"X-One": "1", "Set-Cookie": ["a=1", "b=2"]}, meta={"page": 2}
    )
    assert (response.url, response.status, response.meta) == (URL, 404, {"page": 2, "depth": 0})
    assert response.headers["x-one"] == "1"
    assert response.headers.getlist("Set-Cookie") == ["a=1", "b=2"]
    assert (response.encoding, response.text) == ("UTF-8", PAGE)
    assert Response.from_html(URL, "", cb_kwargs={"page": 3}).cb_kwargs == {"page": 3}
    request = Request(URL, meta={"a": 1})
    assert Response.from_html(URL, PAGE, request=request).request is request


def test_bytes_are_read_in_the_charset_that_is_said_or_found() -> None:
    page = PAGE.encode("latin-1")
    assert Response.from_html(URL, page, encoding="latin-1").css("h1::text").get() == "Käse"
    assert Response.from_html(URL, b"<meta charset=latin-1>" + page).css("h1::text").get() == "Käse"
    assert Response.from_html(URL, PAGE, encoding="utf-16").css("h1::text").get() == "Käse"
    assert Response.from_html(URL, b'{"a": 1}', headers={"Content-Type": "application/json"}).is_html is False


def test_a_file_says_what_it_is_by_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "page.json").write_text('{"a": [1]}')
    (tmp_path / "feed.xml").write_text("<rss><item>1</item></rss>")
    assert Response.from_file(tmp_path / "page.html", URL).css("h1::text").get() == "Käse"
    assert Response.from_file(str(tmp_path / "page.json"), URL).json() == {"a": [1]}
    feed = Response.from_file(tmp_path / "feed.xml")
    assert (feed.url, feed.is_xml) == ("http://localhost/feed.xml", True)
    assert feed.xpath("//item/text()").get() == "1"
    with pytest.raises(FileNotFoundError):
        Response.from_file(tmp_path / "none.html")


def test_a_browser_has_noted_where_a_page_came_from(tmp_path: Path) -> None:
    file = tmp_path / "saved.html"
    file.write_text(f"<!DOCTYPE html>\n<!-- saved from url=(0031){URL} -->\n{PAGE}")
    assert Response.from_file(file).url == URL
    assert Response.from_file(file, "https://other.example/").url == "https://other.example/"


def test_callbacks_of_every_kind_run_with_a_loop_and_without() -> None:
    shop, page = Shop(), Response.from_html(URL, PAGE, cb_kwargs={"page": 4})
    assert run_callback(shop.parse_product, page)[0] == Product(sku="4", name="Käse")
    assert run_callback(shop.parse_product, page, page=5)[0] == Product(sku="5", name="Käse")
    answer = Response.from_html(
        URL, '{"a": 1}', headers={"content-type": "application/json"}, meta={"page": 1}
    )
    assert run_callback(shop.parse_later, answer) == [{"a": 1}]
    assert run_callback(shop.parse_piecewise, answer) == [{"kind": "application/json", "page": 1}]


async def test_callbacks_run_where_a_loop_runs() -> None:
    answer = Response.from_html(URL, "[1]")
    assert run_callback(Shop().parse_later, answer) == [[1]]
