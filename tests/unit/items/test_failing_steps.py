"""The pipeline from an item to its record."""

import asyncio
import dataclasses
import enum
import json
import uuid
from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator

from gossamer.core.errors import DropItem, PipelineError, UnstorableItemError
from gossamer.items import DefaultPipeline
from gossamer.items.item import Item, key, key_field
from gossamer.items.keys import content_hash
from gossamer.testing.clock import run_virtual

URL = "https://shop.example/1"


class Product(Item):
    sku: str = key()
    name: str
    price: Decimal
    stock: int = 0


class Offer(Item):
    shop: str = key()
    number: int = key()
    products: list[Product] = []


@dataclasses.dataclass
class Row:
    number: int = key_field()
    price: Decimal | None = None


class Point(NamedTuple):
    x: int
    y: str


@pytest.fixture
def pipeline():
    return DefaultPipeline()


async def reason(pipeline, item) -> str:
    with pytest.raises(DropItem) as caught:
        await pipeline.process(item, URL)
    return str(caught.value)


async def test_an_item_becomes_a_record(pipeline):
    record = await pipeline.process(Product(sku="a", name="Thing", price="12.50"), URL)
    assert record.type == "Product"
    assert record.key == "a"
    assert record.url == URL
    assert record.data == b'{"sku":"a","name":"Thing","price":"12.50","stock":0}'
    assert record.hash == content_hash(record.data)
    assert -(2**63) <= record.hash < 2**63


async def test_a_dataclass_becomes_the_same_kind_of_record(pipeline):
    record = await pipeline.process(Row("7", "1.50"), URL)
    assert (record.type, record.key, record.data) == ("Row", "7", b'{"number":7,"price":"1.50"}')


async def test_a_plain_dict_is_keyed_by_content_in_any_order(pipeline):
    one = await pipeline.process({"a": 1, "b": "x "}, URL)
    two = await pipeline.process({"b": "x", "a": 1}, URL)
    other = await pipeline.process({"b": "x", "a": 2}, URL)
    assert one.type == "item"
    assert one.data == b'{"a":1,"b":"x"}'
    assert one.key == two.key != other.key
    assert len(one.key) == 32


async def test_several_key_fields_are_a_json_list(pipeline):
    assert (await pipeline.process(Offer(shop='a"b', number=3), URL)).key == r'["a\"b",3]'


async def refusal(pipeline, item) -> str:
    with pytest.raises(UnstorableItemError) as caught:
        await pipeline.process(item, URL)
    return str(caught.value)


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("annotation", "value", "text"),
    [
        (int, 5, "5"),
        (Decimal, "1.0", "1.0"),
        (date, "2024-02-29", "2024-02-29"),
        (datetime, "2024-02-29T10:00:00Z", "2024-02-29T10:00:00Z"),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678", "12345678-1234-5678-1234-567812345678"),
        (Colour, "red", "red"),
        (bool, True, "true"),
    ],
)
async def test_keys_of_other_types(pipeline, annotation, value, text):
    thing = type("Thing", (Item,), {"__annotations__": {"id": annotation}, "id": key()})
    assert (await pipeline.process(thing(id=value), URL)).key == text


async def test_a_long_key_becomes_its_digest(pipeline):
    keys = [
        (await pipeline.process(Product(sku=n * "x", name="", price=1), URL)).key for n in (512, 513, 514)
    ]
    assert len(set(keys)) == 3
    assert keys[0] == 512 * "x"
    assert all(len(text) < 60 for text in keys[1:])


class Checked(Item):
    sku: str = key(default="a")
    price: Decimal = Field(Decimal(1), gt=0)
    ratio: float = 1.0
    count: int = 1
    parts: list[int] = []


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Product(sku="a", name="b", price="n/a"), "Product.price: not a number"),
        (Product(sku="a", price=1), "Product.name: missing"),
        (Product(sku="a", name=None, price=1), "Product.name: None, not a string"),
        (Product(sku=" ", name="b", price=1), "Product.sku: the key is empty"),
        (Checked(price=0), "Checked.price: should be greater than 0"),
        (Checked(ratio=float("nan")), "Checked.ratio: not a finite number"),
        (Checked(count="1.5"), "Checked.count: not a whole number"),
        (Checked(parts=[1, 2, "x"]), "Checked.parts[]: not a whole number"),
        (Offer(shop="s", number=1, products=[{"sku": "a"}]), "Offer.products[].name: missing"),
        (Row("x"), "Row.number: not a whole number"),
        (Row(None), "Row.number: None, not a whole number"),
    ],
)
async def test_drops_say_why_in_few_words(pipeline, item, expected):
    assert await reason(pipeline, item) == expected


class Loose(Item):
    a: Any = None
    b: list[Any] = []


@dataclasses.dataclass
class LooseRow:
    a: Any


def deep() -> Any:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    return value


def endless() -> list[Any]:
    value: list[Any] = []
    value += [value, value]  # twice: to follow it to a depth of 100 would take 2**100 steps
    return value


def circle(kind: Any) -> Any:
    value = kind(a=None)
    value.a = {"x": [value]}
    return value


TOO_DEEP = "nested too deep, or contains itself"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"a": b"x"}, "item.a: a bytes cannot be stored as JSON"),
        ({"a": [{"b": object()}]}, "item.a[].b: a object cannot be stored as JSON"),
        ({"a": float("inf")}, "item.a: not a finite number"),
        ({"a": Decimal("NaN")}, "item.a: not a finite number"),
        ({1: 2}, "item: a field is named 1, which is not a string"),
        ({"a": {1: 2}}, "item.a: has the key 1; keys must be strings"),
        ("text", "a str is not an item: yield an Item, a dict or a dataclass that holds it"),
        (None, "None is not an item: yield an Item, a dict or a dataclass"),
        (Row, "the class Row is not an item: make one, Row(...)"),
        ({"a": deep()}, f"item.a: {TOO_DEEP}"),
        ({"a": endless()}, f"item.a: {TOO_DEEP}"),
        (LooseRow(endless()), f"LooseRow.a: {TOO_DEEP}"),
        (Loose(a=deep()), f"Loose.a: {TOO_DEEP}"),
        (Loose(b=endless()), f"Loose.b: {TOO_DEEP}"),
        ({"a": circle(Loose)}, f"item.a: {TOO_DEEP}"),
        (circle(LooseRow), f"LooseRow.a: {TOO_DEEP}"),
        (Loose(a=circle(LooseRow)), f"Loose.a: {TOO_DEEP}"),
        ({"a": [0] * 1_000_001}, "item.a: more than 1,000,000 values"),
        ({"a": "x" * (64 * 2**20)}, "item: more than 64 MiB as JSON"),
        (Loose(a=object()), "Loose.a: Unable to serialize unknown type: <class 'object'>"),
    ],
)
async def test_what_cannot_be_stored_is_refused_with_its_place(pipeline, item, expected):
    assert await refusal(pipeline, item) == expected


class Soup(str):
    """As the strings of BeautifulSoup and markupsafe are: its methods give its own kind."""

    def strip(self, *args: Any) -> "Soup":
        return Soup(str.strip(self, *args))


class Grade(enum.IntEnum):
    GOOD = 1


class Size(enum.StrEnum):
    LARGE = "l"


class Float64(float):
    """As numpy's."""


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (Soup(" x "), "x"),
        (Float64(1.5), 1.5),
        (type("Whole", (int,), {})(7), 7),
        (Grade.GOOD, 1),
        ([Soup("x"), {Soup("k"): (Float64(2),)}], ["x", {"k": [2.0]}]),
        (type("Row", (list,), {})([Soup("x")]), ["x"]),
        (defaultdict(list, {Soup("k"): [1]}), {"k": [1]}),
        ({Size.LARGE: Size.LARGE}, {"l": "l"}),
        (Point(1, Soup("y")), [1, "y"]),
    ],
)
@pytest.mark.parametrize("kind", [lambda v: {"a": v}, lambda v: Loose(a=v), LooseRow])
async def test_subclasses_of_what_json_knows_are_stored_as_what_they_extend(pipeline, kind, value, stored):
    assert json.loads((await pipeline.process(kind(value), URL)).data)["a"] == stored


async def test_a_field_may_be_named_by_a_subclass_of_text(pipeline):
    assert (await pipeline.process({Soup("a"): 1}, URL)).data == b'{"a":1}'
    assert (await pipeline.process({Size.LARGE: {Size.LARGE: 1}}, URL)).data == b'{"l":{"l":1}}'


@pytest.mark.parametrize("kind", [lambda v: v, lambda v: {"a": v}, lambda v: Loose(a=v), LooseRow])
async def test_no_value_is_lost_when_names_become_one(pipeline, kind):
    names = ["Size ", "Size", " Size", "Size (2)", "Price"]
    data = json.loads((await pipeline.process(kind({name: name for name in names}), URL)).data)
    assert data.get("a", data) == {
        "Size": "Size",
        "Size (2)": "Size",
        "Size (3)": "Size",
        "Size (2) (2)": "Size (2)",
        "Price": "Price",
    }


async def test_nul_and_lone_surrogates_are_replaced(pipeline):
    dirty, clean = " a\0b\ud800c\ud83d\ude00 ", "a\ufffdb\ufffdc\U0001f600"
    model = await pipeline.process(Product(sku="k", name=dirty, price=1), URL)
    assert json.loads(model.data)["name"] == clean
    plain = await pipeline.process({dirty: [dirty, {"x": (dirty,)}]}, URL)
    assert json.loads(plain.data) == {clean: [clean, {"x": [clean]}]}
    nul = await pipeline.process(Product(sku="k\0", name="", price=1), URL)
    assert nul.key == "k\ufffd"


class Brand(Item):
    name: str


class Maker(BaseModel):
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    name: str


class Nested(Item):
    maker: Maker | None = None
    brand: Brand | None = None
    label: Label | None = None
    tags: set[str] = set()


@pytest.mark.parametrize(
    "make",
    [
        lambda text: {"a": Maker(name=text)},
        lambda text: {"a": Label(text)},
        lambda text: {"a": {"name": {text}}},
        lambda text: Loose(a=[Label(text), frozenset({text})]),
        lambda text: LooseRow([Maker(name=text)]),
        lambda text: Nested(maker=Maker(name=text)),
        lambda text: Nested(brand=Brand(name=text)),
        lambda text: Nested(label=Label(text)),
        lambda text: Nested(tags={text}),
    ],
)
async def test_text_is_cleaned_wherever_it_is_in_an_item(pipeline, make):
    """One such text must not cost the item, or its page."""
    data = (await pipeline.process(make(" a\0b\ud800 "), URL)).data
    assert '"a\ufffdb\ufffd"'.encode() in data


async def test_json_forms_of_other_values(pipeline):
    record = await pipeline.process(
        {
            "when": datetime(2024, 1, 2, 3, tzinfo=UTC),
            "day": date(2024, 1, 2),
            "price": Decimal("1.10"),
            "big": 2**80,
            "colour": Colour.RED,
            "model": Product(sku="a", name="b", price=1),
            "row": Row(1, Decimal(2)),
            "none": None,
        },
        URL,
    )
    assert json.loads(record.data) == {
        "when": "2024-01-02T03:00:00Z",
        "day": "2024-01-02",
        "price": "1.10",
        "big": 2**80,
        "colour": "red",
        "model": {"sku": "a", "name": "b", "price": "1", "stock": 0},
        "row": {"number": 1, "price": "2"},
        "none": None,
    }


async def test_assigned_values_are_checked_again(pipeline):
    product = Product(sku="a", name="b", price=1)
    product.price = "2.50"
    assert json.loads((await pipeline.process(product, URL)).data)["price"] == "2.50"
    product.price = "n/a"
    assert await reason(pipeline, product) == "Product.price: not a number"
    repaired = Product(sku="a", name="b", price="n/a")
    repaired.price = 3
    assert json.loads((await pipeline.process(repaired, URL)).data)["price"] == "3"


async def test_the_users_item_is_not_changed(pipeline):
    product = Product(sku="a", name="b", price=1)
    product.name = " b "
    await pipeline.process(product, URL)
    assert product.name == " b "
    plain = {"a": " b "}
    await pipeline.process(plain, URL)
    assert plain == {"a": " b "}


async def test_validators_that_expect_raw_text_run_once(pipeline):
    class Euro(Product):
        @field_validator("price", mode="before")
        @classmethod
        def parse(cls, value):
            return value.removesuffix("€")

    assert json.loads((await pipeline.process(Euro(sku="a", name="b", price="3€"), URL)).data)["price"] == "3"


async def test_models_that_are_not_ours_work(pipeline):
    class Foreign(BaseModel):
        id: int = Field(alias="ID", json_schema_extra={"key": True})
        text: str

    record = await pipeline.process(Foreign(ID=4, text=" x\0"), URL)
    assert (record.key, record.data) == ("4", b'{"id":4,"text":"x\xef\xbf\xbd"}')


async def test_a_dataclass_with_annotations_that_cannot_be_checked(pipeline):
    class Odd:
        pass

    @dataclasses.dataclass
    class Loose:
        a: int
        b: Odd | str

    assert (await pipeline.process(Loose(1, "x"), URL)).data == b'{"a":1,"b":"x"}'
    assert await refusal(pipeline, Loose(1, Odd())) == "Loose.b: a Odd cannot be stored as JSON"


@pytest.mark.parametrize("empty", [None, "", "  ", [], {}])
async def test_required_fields(empty):
    pipeline = DefaultPipeline(require_fields=["price"])
    assert await reason(pipeline, {"price": empty}) == "item.price: required, but empty"
    assert await reason(pipeline, {}) == "item.price: required, but missing"
    assert (await pipeline.process({"price": 0}, URL)).data == b'{"price":0}'


async def test_steps_run_in_order_sync_or_async():
    class Scrapy:
        opened = closed = None

        def open_spider(self, spider):
            type(self).opened = spider

        async def close_spider(self, spider):
            type(self).closed = spider

        async def process_item(self, item, spider):
            return {**item, "spider": spider}

    def double(item):
        return {**item, "a": item["a"] * 2}

    async def add(item, spider):
        return {**item, "a": item["a"] + 1}

    pipeline = DefaultPipeline(steps=[Scrapy, double, add], spider="shop")
    await pipeline.open_steps()
    assert (await pipeline.process({"a": 2}, URL)).data == b'{"a":5,"spider":"shop"}'
    await pipeline.close_steps()
    assert (Scrapy.opened, Scrapy.closed) == ("shop", "shop")


def with_step(step: Any, **options: Any) -> DefaultPipeline:
    return DefaultPipeline(steps=[step], **options)


async def test_a_step_may_drop_an_item_with_its_reason():
    def dropper(item):
        raise DropItem(item["why"])

    assert await reason(with_step(dropper), {"why": "too dear"}) == "too dear"
    assert await reason(with_step(dropper), {"why": ""}) == "dropped by dropper"
    assert len(await reason(with_step(dropper), {"why": "x" * 10_000})) == 200


def failing(item, spider):
    return item["a"]["b"]


def leaving(item):
    raise SystemExit(1)


async def cancelled(item):
    raise asyncio.CancelledError


def forgetful(item):
    item["x"] = 1


def junk(item):
    return "text"


async def timed_out(item):
    raise TimeoutError("the database is away")


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (failing, "TypeError: 'int' object is not subscriptable"),
        (leaving, "SystemExit: 1"),
        (cancelled, "CancelledError"),
        (forgetful, "forgetful returned None, which is not an item: a step returns the item"),
        (junk, "junk returned a str, which is not an item"),
        (timed_out, "TimeoutError: the database is away"),
    ],
)
async def test_a_step_that_fails_in_any_other_way_fails_its_page(step, told):
    with pytest.raises(PipelineError) as caught:
        await with_step(step).process({"a": 1}, URL)
    assert step.__name__ in str(caught.value)
    assert str(caught.value).rstrip().endswith(told)
    assert "usercode.py" not in str(caught.value)
    assert "pipeline.py" not in str(caught.value)


def test_a_step_that_waits_for_ever_has_failed_after_its_time():
    async def hanging(item):
        await asyncio.Event().wait()

    with pytest.raises(PipelineError, match="TimeoutError: it took longer than 60 s"):
        run_virtual(lambda _: with_step(hanging).process({}, URL))


async def test_an_interrupt_is_for_the_whole_crawl():
    def interrupted(item):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await with_step(interrupted).process({}, URL)


class Hook:
    """A step that says when it is opened and closed, and may fail at either."""

    def __init__(self, name: str, log: list[str], *, fails: str = "") -> None:
        self.name, self.log, self.fails = name, log, fails

    def open_spider(self, spider):
        self._note("open")

    async def close_spider(self, spider):
        self._note("close")

    def process_item(self, item, spider):
        return item

    def _note(self, what: str) -> None:
        self.log.append(f"{what} {self.name}")
        if what == self.fails:
            raise SystemExit(f"{self.name} does not {what}")


async def test_a_step_that_does_not_close_leaves_none_open():
    log: list[str] = []
    pipeline = DefaultPipeline(steps=[Hook("a", log, fails="close"), Hook("b", log)])
    await pipeline.open_steps()
    (failure,) = await pipeline.close_steps()
    assert log == ["open a", "open b", "close a", "close b"]
    assert failure.startswith("in the pipeline step Hook.close_spider()")
    assert failure.rstrip().endswith("SystemExit: a does not close")
    assert await pipeline.close_steps() == []


async def test_a_step_that_does_not_open_leaves_none_open():
    log: list[str] = []
    pipeline = DefaultPipeline(steps=[Hook("a", log), Hook("b", log, fails="open"), Hook("c", log)])
    with pytest.raises(SystemExit):
        await pipeline.open_steps()
    assert log == ["open a", "open b", "close a"]


class Crooked(Item):
    a: Any = None

    @field_validator("a")
    @classmethod
    def divide(cls, value):
        return 1 / 0 if value == "zero" else value


async def test_a_validator_that_raises_is_a_slip_of_the_spider(pipeline):
    item = Crooked(a=1)
    item.a = "zero"
    assert "ZeroDivisionError" in await refusal(pipeline, item)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(st.characters(exclude_categories=())), JSON, max_size=5))
def test_any_json_object_gives_a_record_that_is_stable(item):
    pipeline = DefaultPipeline()
    record = pipeline.build_record(item, URL)
    assert b"\\u0000" not in record.data.replace(rb"\\", b"")
    again = pipeline.build_record(json.loads(record.data), URL)
    assert (again.key, again.data) == (record.key, record.data)
