"""Items of Scrapy's spiders, as they are stored."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
import scrapy
from itemadapter import ItemAdapter

from gossamer.adapters.scrapy.items import AdaptedItem, is_output
from gossamer.core.foreign import ForeignItem
from gossamer.items.pipeline import DefaultPipeline


class Colour(Enum):
    RED = "red"


class Quote(scrapy.Item):
    text = scrapy.Field()
    author = scrapy.Field(serializer=lambda value: value.upper())


@dataclass
class Pair:
    left: int
    right: Any = None


def test_items_are_stored_as_scrapy_exports_them() -> None:
    pipeline = DefaultPipeline()
    quote = Quote(author="ada")
    quote["text"] = " as it is \n"
    record = pipeline.build_record(AdaptedItem(quote, "page#1"), "http://a.example/")
    assert (record.type, record.key, record.url) == ("Quote", "page#1", "http://a.example/")
    names = [name for name in ItemAdapter(quote).field_names() if name in quote]
    stored = json.loads(record.data)
    assert stored == {"text": " as it is \n", "author": "ADA"}
    assert [*stored] == names
    same = [pipeline.build_record(AdaptedItem({"a": 1}, f"page#{n}"), "u") for n in (1, 2)]
    assert same[0].data == same[1].data
    assert same[0].key != same[1].key, "equal items are two"
    assert {record.type for record in same} == {"item"}


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ({3}, [3]),
        ((1, (2,)), [1, [2]]),
        (b"x\xff", "x\ufffd"),
        (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (Decimal("1.50"), "1.50"),
        (Colour.RED, "red"),
        (Pair(1, [Quote(text="x")]), {"left": 1, "right": [{"text": "x"}]}),
        (scrapy.Request("http://a.example/"), "<Request GET http://a.example/>"),
        ("half \ud800", "half \ufffd"),
        (2**70, 2**70),
        ({1: "one"}, {"1": "one"}),
        (object, str(object)),
    ],
)
def test_what_json_has_no_form_for(value: Any, stored: Any) -> None:
    item = AdaptedItem({"v": value}, "k")
    assert item.to_values() == {"v": stored}
    DefaultPipeline().build_record(item, "u")


def test_what_is_an_item() -> None:
    assert all(map(is_output, ({}, Quote(), Pair(1))))
    assert not any(map(is_output, (None, "text", 3, [{}], scrapy.Request("http://a.example/"))))
    assert isinstance(AdaptedItem({}, "k"), ForeignItem)
