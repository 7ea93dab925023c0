"""What a spider yields is what is stored: nothing is made, checked or ordered a second time."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from dataclasses import InitVar
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from gossamer.core.errors import DropItem
from gossamer.core.jobs import StoredItem
from gossamer.items import DefaultPipeline
from gossamer.items.built_in.sources import SourceKey
from gossamer.items.item import FileRef, Item, key, key_field
from gossamer.items.restoring import ItemClasses
from gossamer.policy.merge import SOURCE_FIELD

URL = "https://shop.example/1"


@dataclasses.dataclass
class Taxed:
    sku: str = key_field()
    price: float = 0.0
    vat: InitVar[float] = 0.19
    source: str = dataclasses.field(init=False, default="")
    image: FileRef | None = None

    def __post_init__(self, vat: float) -> None:
        self.price = round(self.price * (1 + vat), 2)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    sku: str
    price: float


class Loose(Item):
    model_config = ConfigDict(extra="allow")
    sku: str = key()
    price: float = 0


class Book(Item):
    sku: str = key()
    title: str
    price: float | None = None
    stock: int = 0

    @field_validator("title")
    @classmethod
    def say_what_it_is(cls, title: str) -> str:
        return "Book: " + title

    @field_validator("price", mode="before")
    @classmethod
    def read_price(cls, text: str | None) -> float | None:
        return None if text is None else float(text.replace("€", ""))


class Range(Item):
    low: int
    high: int

    @model_validator(mode="after")
    def check_order(self) -> Range:
        if self.low > self.high:
            raise ValueError("low is above high")
        return self


class Shop:
    """What has the module's classes."""


class Enrich:
    """A stage that assigns a field."""

    order = "enrich"

    def __init__(self, **values: Any) -> None:
        self._values = values

    def process_item(self, item: Any, _spider: Any) -> Any:
        for name, value in self._values.items():
            setattr(item, name, value)
        return item


async def stored(item: Any, *steps: Any) -> dict[str, Any]:
    record = await DefaultPipeline(steps=steps).process(item, URL, SimpleNamespace(url=URL, urljoin=str))
    return json.loads(record.data)


async def test_a_dataclass_is_made_once() -> None:
    """Bug it would catch: ``__post_init__`` adds the tax again, an InitVar is what it is by default."""
    item = Taxed("1", 100.0, vat=0.07, image=" https://shop.example/a.png")
    item.source = "feed"
    for steps in ((), (Enrich(),), (Enrich(sku=" 2 "), Enrich())):
        data = await stored(item, *steps)
        assert (data["price"], data["source"], data["image"]) == (107.0, "feed", "https://shop.example/a.png")
    assert data["sku"] == "2"


async def test_its_fields_are_checked_all_the_same() -> None:
    assert await stored(Frozen("1", "2.5")) == {"sku": "1", "price": 2.5}  # type: ignore[arg-type]
    with pytest.raises(DropItem, match=r"Frozen.price: not a number"):
        await stored(Frozen("1", "cheap"))  # type: ignore[arg-type]


async def test_it_is_given_back_as_it_was_stored() -> None:
    item = Taxed("1", 100.0)
    item.source = "feed"
    record = await DefaultPipeline().process(item, URL)
    at = {"first_seen": 0.0, "last_seen": 0.0, "changed_at": 0.0}
    kept = StoredItem(type="Taxed", key="1", url=URL, data=json.loads(record.data), **at)
    again = ItemClasses(Shop).restore_item(kept)
    assert (again.price, again.source) == (119.0, "feed")


async def test_an_assignment_keeps_what_an_item_has_beside_its_fields() -> None:
    item = Loose(sku="2", colour=" red\ud800 ", size="XL")
    item.price = "9.5"  # type: ignore[assignment]
    expected = {"sku": "2", "price": 9.5, "colour": "red\ufffd", "size": "XL"}
    assert await stored(item) == expected
    assert await stored(item, Enrich(price=9.5)) == expected
    assert await stored(Loose(sku="3", colour=" red "), Enrich()) == {
        "sku": "3",
        "price": 0.0,
        "colour": "red",
    }


async def test_validators_are_asked_once() -> None:
    """Bug it would catch: a validator is given what it has made itself, and makes it twice, or raises."""
    book = Book(sku="1", title="Dune", price="3€")  # type: ignore[arg-type]
    book.sku = "2"
    expected = {"sku": "2", "title": "Book: Dune", "price": 3.0, "stock": 0}
    assert await stored(book) == expected
    assert await stored(book, Enrich(stock="7")) == {**expected, "stock": 7}
    book.price = "4€"  # type: ignore[assignment]
    assert await stored(book) == {**expected, "price": 4.0}
    assert await stored(book, SourceKey()) == {**expected, "price": 4.0, SOURCE_FIELD: "shop.example"}
    with pytest.raises(DropItem, match=r"Book.stock: not a whole number"):
        await stored(book, Enrich(stock="none"))


async def test_validators_of_the_whole_are_asked_when_all_is_assigned() -> None:
    item = Range(low=1, high=2)
    item.low, item.high = 3, 4
    assert await stored(item) == {"low": 3, "high": 4}
    item.low = 5
    with pytest.raises(DropItem, match="low is above high"):
        await stored(item)


# --------------------------------------------------------------------------- numbers


class AnyValue(Item):
    x: Any = None


class Plain(BaseModel):
    x: float


@dataclasses.dataclass
class Row:
    x: float


class Struct(msgspec.Struct):
    x: float


NAN = float("nan")


@pytest.mark.parametrize(
    "item",
    [
        {"i": Row(NAN)},
        {"i": [Plain(x=NAN)]},
        {"i": Struct(float("-inf"))},
        Row(NAN),
        Plain(x=NAN),
        AnyValue(x=NAN),
        AnyValue(x={"y": [NAN]}),
        Loose(sku="1", y=NAN),
    ],
    ids=lambda item: type(item).__name__,
)
async def test_what_is_no_number_is_not_stored_as_nothing(item: Any) -> None:
    """Bug it would catch: it becomes ``null``, and nobody knows that there was something."""
    with pytest.raises(DropItem, match="not a finite number"):
        await stored(item)


# --------------------------------------------------------------------------- sets


SETS = """
import asyncio, dataclasses
from typing import Any
from pydantic import BaseModel
from gossamer.items import DefaultPipeline
from gossamer.items.item import Item
W = {"red", "green", "blue", "new", "sale"}
class P(Item):
    tags: set[str]
class Inner(BaseModel):
    tags: frozenset[str]
class Q(Item):
    inner: Inner
    x: Any = None
@dataclasses.dataclass
class D:
    tags: set[str]
    x: Any = None
items = [P(tags=W), {"t": [W, {"u": frozenset(W)}]}, Q(inner=Inner(tags=W), x={"y": (W, 1)}), D(W, [W])]
items.append({"t": {1, "a", (2, "b")}})
for item in items:
    print(asyncio.run(DefaultPipeline().process(item, "http://a/")).data.decode())
"""


@pytest.mark.long
def test_sets_are_stored_in_one_order() -> None:
    """Bug it would catch: an item counts as changed, or is another one, whenever a process has begun anew."""
    told = {
        subprocess.run(
            [sys.executable, "-c", SETS],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
    assert '{"tags":["blue","green","new","red","sale"]}' in told.pop()
