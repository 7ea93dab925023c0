"""Whatever value pydantic takes, an item of it is stored equal, or is refused by name and alone."""

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from pydantic import TypeAdapter

from gossamer import Item, key
from gossamer.core.errors import DropItem, UnstorableItemError
from gossamer.items.clean import clean_value, with_sorted_sets
from gossamer.items.pipeline import DefaultPipeline
from gossamer.testing.item_values import KINDS, given_items, item_records, model_items, stored_items

URL = "http://a.example/1"
PIPELINE = DefaultPipeline()


def record_or_refusal(item):
    try:
        return PIPELINE.build_record(item, URL), ""
    except (DropItem, UnstorableItemError) as error:
        return None, str(error)


@pytest.mark.slow
@given(model_items())
@settings(max_examples=80, deadline=None)
def test_an_item_is_read_back_equal_or_refused_by_the_name_of_a_field(item):
    record, refusal = record_or_refusal(item)
    if record is None:
        assert any(refusal.startswith(f"Generated.{name}") for name in type(item).model_fields), refusal
        return
    wanted = type(item).model_validate(clean_value(item.__dict__))
    found = type(item).model_validate_json(record.data)
    of_found, of_wanted = (with_sorted_sets(one).model_dump_json(warnings=False) for one in (found, wanted))
    assert of_found == of_wanted
    for name, field in type(item).model_fields.items():
        if field.annotation is not Any:  # there JSON alone says what it was: a list, or a tuple
            assert getattr(found, name) == getattr(wanted, name)


@pytest.mark.slow
@given(given_items())
@settings(max_examples=80, deadline=None)
def test_a_record_is_text_that_every_database_takes(item):
    record, refusal = record_or_refusal(item)
    if record is None:
        assert refusal
        return
    text = record.data.decode() + record.key
    assert "\0" not in text
    assert rb"\u0000" not in record.data.replace(rb"\\", b"")
    assert isinstance(msgspec.json.decode(record.data), dict)


@pytest.mark.slow
@given(given_items())
@settings(max_examples=50, deadline=None)
def test_the_item_itself_is_left_as_it_was(item):
    before = copy.deepcopy(item if isinstance(item, dict) else item.__dict__)
    record_or_refusal(item)
    assert (item if isinstance(item, dict) else item.__dict__) == before


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_kind_gives_values_that_its_annotation_takes(kind):
    adapter = TypeAdapter(kind)

    @given(KINDS[kind])
    @settings(max_examples=10, deadline=None, database=None)
    def check(value):
        adapter.validate_python(clean_value(value))

    check()


@pytest.mark.slow
@given(item_records(), stored_items())
@settings(max_examples=20, deadline=None)
def test_records_and_stored_items_are_what_their_names_say(record, item):
    assert isinstance(msgspec.json.decode(record.data), dict)
    assert item.first_seen <= item.changed_at <= item.last_seen


def test_nul_in_bytes_is_replaced_and_the_text_of_its_escape_stays() -> None:
    """A database that takes no NUL would else refuse the whole batch."""

    class Raw(Item):
        sku: str = key()
        body: bytes

    record, _ = record_or_refusal(Raw(sku="a", body=b"\x00 \\u0000"))
    assert record is not None
    assert msgspec.json.decode(record.data) == {"sku": "a", "body": "\ufffd \\u0000"}
