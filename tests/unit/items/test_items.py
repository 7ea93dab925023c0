"""Items and their keys."""

import copy
import dataclasses
from datetime import date
from decimal import Decimal

import pytest
from pydantic import BaseModel, field_validator

from gossamer.items.item import Item, is_misfit, key, key_field, key_fields


class Product(Item):
    sku: str = key()
    name: str
    price: Decimal


class Offer(Item):
    shop: str = key()
    day: date = key(default=date(2024, 1, 1))
    products: list[Product] = []


def test_values_are_converted_and_stripped():
    product = Product(sku=" a ", name="x\n", price="12.50")
    assert (product.sku, product.name, product.price) == ("a", "x", Decimal("12.50"))
    assert not is_misfit(product)


def test_a_misfit_is_made_and_keeps_its_values():
    product = Product(sku="a", price="n/a")
    assert is_misfit(product)
    assert product.price == "n/a"
    with pytest.raises(AttributeError):
        _ = product.name
    assert is_misfit(copy.copy(product)) in (True, False)  # copies do not fail
    assert "n/a" in repr(product)


def test_misfits_nested_in_items_are_misfits_of_both():
    misfit = Product(sku="a", name="b", price="n/a")
    assert is_misfit(Offer(shop="s", products=[misfit]))
    assert is_misfit(Offer(shop="s", products=[{"sku": "a"}]))
    assert not is_misfit(Offer(shop="s", products=[{"sku": "a", "name": "b", "price": 1}]))


def test_a_field_that_does_not_exist_is_a_slip_of_the_spider():
    with pytest.raises(TypeError, match=r"Product has no field 'nmae': is name meant\?"):
        Product(sku="a", nmae="b", price=1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "NaN", "1,5", None, "\ud800"])
def test_what_is_no_number_is_a_misfit(bad):
    assert is_misfit(Product(sku="a", name="b", price=bad))


def test_key_fields():
    @dataclasses.dataclass
    class Row:
        number: int = key_field()
        text: str = ""
        part: int = key_field(default=1, metadata={"x": 2})

    class Plain(BaseModel):
        a: int

    assert key_fields(Product) == ("sku",)
    assert key_fields(Offer) == ("shop", "day")
    assert key_fields(Row) == ("number", "part")
    assert key_fields(Plain) == key_fields(dict) == ()
    assert Row(3).part == 1


def test_key_takes_what_a_pydantic_field_takes():
    class Short(Item):
        code: str = key(max_length=3, description="The code.")

    assert is_misfit(Short(code="abcd"))
    assert not is_misfit(Short(code="abc"))


def test_keys_are_inherited_and_validators_run_once():
    calls = []

    class Euro(Product):
        @field_validator("price", mode="before")
        @classmethod
        def parse(cls, value):
            calls.append(value)
            return value.replace("€", "")

    assert key_fields(Euro) == ("sku",)
    assert Euro(sku="a", name="b", price="3€").price == 3
    assert calls == ["3€"]
