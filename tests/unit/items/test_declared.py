"""The kinds that the fields of items declare."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from gossamer.items import declared
from gossamer.items.declared import declared_kinds, nameable_kinds
from gossamer.items.item import Item
from gossamer.spiders.generic import GenericSpider
from gossamer.spiders.spider import Spider


class Colour(StrEnum):
    RED = "red"


class Thing(Item):
    sku: str
    price: Decimal | None = None
    size: Annotated[int, Field(ge=0)] = 0
    seen: datetime.datetime | None = None
    tags: list[str] = []
    facts: dict[str, Any] = {}
    is_new: bool = False
    colour: Colour = Colour.RED
    state: Literal["old", "new"] = "old"
    anything: Any = None
    either: int | str = 0


@dataclass
class Note:
    text: str
    rating: float | None = None


class Things(Spider):
    name = "things"
    items = (Thing, Note)


def test_each_declared_field_has_its_kind_and_what_may_be_anything_has_none() -> None:
    assert declared_kinds(Things, ["Thing", "Note", "item", "Unknown"]) == {
        "Thing.sku": "text",
        "Thing.price": "decimal",
        "Thing.size": "number",
        "Thing.seen": "date",
        "Thing.tags": "list",
        "Thing.facts": "object",
        "Thing.is_new": "boolean",
        "Thing.colour": "text",
        "Thing.state": "text",
        "Thing.anything": "",
        "Thing.either": "",
        "Note.text": "text",
        "Note.rating": "number",
    }


def test_the_types_that_a_spider_can_name_are_found_before_it_has_items(monkeypatch) -> None:
    """A fleet has items without their spider: their kinds are kept when the job is submitted."""
    found = nameable_kinds(Things)
    assert found == declared_kinds(Things, ["Thing", "Note"])
    monkeypatch.setattr(declared, "MOST_FIELDS", 3)
    assert nameable_kinds(Things) is None, "a plan stays small"


def test_a_spider_without_types_of_items_declares_nothing() -> None:
    assert nameable_kinds(GenericSpider) == {}
