"""Fields that name files: their URLs are made whole, stored, and told to whoever fetches them."""

import json
from dataclasses import dataclass, field

import pytest
from pydantic import BaseModel

from gossamer import FileRef, Item, Request, key
from gossamer.core.errors import DropItem
from gossamer.core.results import ExtractResult, FetchResult
from gossamer.engine.page_results import keep_items
from gossamer.items.item import file_fields
from gossamer.items.pipeline import DefaultPipeline
from gossamer.policy.urls import UrlOptions
from gossamer.spiders.response import Response

PAGE = "http://a.example/shop/one"


class Product(Item):
    name: str = key()
    image: FileRef | None = None
    more: list[FileRef] = []
    price: float = 0.0


class Plain(BaseModel):
    file: FileRef


@dataclass
class Note:
    file: FileRef
    others: tuple[FileRef, ...] = field(default=())


class Unmarked(Item):
    name: str = key()


def response(body=b"<base href='/base/'>"):
    fetched = FetchResult(
        url=PAGE, status=200, headers=(("content-type", "text/html"),), body=body, started_at=0.0,
        latency_s=0.0, elapsed_s=0.0, rung="http",
    )  # fmt: skip
    return Response(Request(PAGE), fetched)


def test_the_fields_are_found_by_their_types():
    assert [file_fields(kind) for kind in (Product, Plain, Note, Unmarked, dict)] == [
        ("image", "more"), ("file",), ("file", "others"), (), (),
    ]  # fmt: skip


async def test_urls_are_stored_as_the_items_of_their_files_have_them():
    pipeline = DefaultPipeline(url_options=UrlOptions(drop_parameters=("sid",)))
    more = ["x.png#top", "//cdn.example/y.png?sid=1", "data:image/png,z", ""]
    record = await pipeline.process(Product(name="a", image="x.png", more=more), PAGE, response())
    base = "http://a.example/base/"
    assert json.loads(record.data) == {
        "name": "a",
        "image": f"{base}x.png",
        "more": [f"{base}x.png", "http://cdn.example/y.png", "data:image/png,z", ""],
        "price": 0.0,
    }
    assert record.files == (f"{base}x.png", "http://cdn.example/y.png", "data:image/png,z")
    note = await pipeline.process(Note("/n.pdf", ("m.pdf",)), PAGE)
    assert json.loads(note.data) == {
        "file": "http://a.example/n.pdf",
        "others": ["http://a.example/shop/m.pdf"],
    }
    assert (await pipeline.process(Unmarked(name="a"), PAGE)).files == ()


async def test_an_item_that_is_dropped_names_no_file():
    with pytest.raises(DropItem, match=r"Product\.price: not a number"):
        await DefaultPipeline().process(Product(name="a", image="x.png", price="free"), PAGE)
    with pytest.raises(DropItem, match=r"Product\.image: not a string"):
        await DefaultPipeline().process(Product(name="a", image=7), PAGE)


async def test_files_of_items_become_requests_once_and_what_is_no_url_is_counted():
    items = (Product(name="a", image="/x.png"), Product(name="b", image="/x.png", more=["http://["]))
    result = ExtractResult(items=items, requests=(Request("http://a.example/next"),), response=response())
    dropped = {}
    kept, result = await keep_items(DefaultPipeline(), result, PAGE, dropped)
    assert len(kept) == 2
    assert [(r.url, r.saves is None, r.fetch) for r in result.requests[:2]] == [
        ("http://a.example/next", True, ""), ("http://a.example/x.png", False, "http"),
    ]  # fmt: skip
    assert len(result.requests) + sum(dropped.values()) == 3


async def test_the_items_of_a_page_name_so_many_files_and_no_more(monkeypatch):
    """One page made to be long filled the frontier: a callback has a limit, and lists in items had none."""
    monkeypatch.setattr("gossamer.engine.page_results.MAX_FILES", 3)
    items = tuple(Product(name=name, more=[f"/{name}{n}.png" for n in range(4)]) for name in "ab")
    dropped = {}
    kept, result = await keep_items(
        DefaultPipeline(), ExtractResult(items=items, response=response()), PAGE, dropped
    )
    assert [len(record.files) for record in kept] == [4, 4], "the items say what the page says"
    assert [request.url[-6:] for request in result.requests] == ["a0.png", "a1.png", "a2.png"]
    assert dropped == {"link:too_many": 5}
