"""A few items of each reason are kept as examples, whatever is in them, and never a secret."""

import json

import pytest
from hypothesis import given, settings

from gossamer.core.errors import DropItem
from gossamer.core.requests import Entry, Lease, Request
from gossamer.core.results import ExtractResult, Verdict
from gossamer.engine.attempt import OpenAttempt
from gossamer.engine.drop_samples import MAX_BYTES, MOST_A_MINUTE, DropCollector, describe_item
from gossamer.engine.page_results import keep_items
from gossamer.engine.recorder import without_secrets
from gossamer.items.item import Item, key
from gossamer.items.pipeline import DefaultPipeline
from gossamer.runtime.known_secrets import remember_secrets
from gossamer.testing.item_values import given_items

URL = "http://a.example/1"


class Product(Item):
    sku: str = key()
    price: float


def picky(item):
    if isinstance(item, dict):
        raise DropItem("too plain")
    return item


async def sampled(*items, sampler=None, at=60.0):
    dropped = {}
    result = ExtractResult(items=items)
    pipeline = DefaultPipeline(steps=[picky])
    sampler = sampler or DropCollector()
    _, result = await keep_items(pipeline, result, URL, dropped, sampler=sampler, at=at)
    return dropped, result.samples


async def test_a_dropped_item_is_counted_and_shown_with_its_stage_and_page():
    bad = Product(sku="a", price="from 5")
    dropped, (of_type, of_stage) = await sampled(bad, {"a": 1}, Product(sku="b", price=1))
    assert dropped == {"item:Product.price: not a number": 1, "item:too plain": 1}
    assert (of_type.reason, of_type.stage, of_type.type) == ("Product.price: not a number", "", "Product")
    assert (of_type.url, of_type.at) == (URL, 60.0)
    assert json.loads(of_type.data) == {"sku": "a", "price": "from 5"}
    assert (of_stage.reason, of_stage.stage, of_stage.type) == ("too plain", "picky", "item")


async def test_of_a_page_with_thousands_a_few_are_taken_and_all_are_counted():
    sampler = DropCollector()
    dropped, samples = await sampled(*[{"n": n} for n in range(1000)], sampler=sampler)
    assert (dropped, len(samples)) == ({"item:too plain": 1000}, MOST_A_MINUTE)
    assert len((await sampled({}, sampler=sampler, at=119.9))[1]) == 0
    assert len((await sampled({}, sampler=sampler, at=120.0))[1]) == 1


def test_reasons_without_end_are_bounded():
    sampler = DropCollector()
    taken = [sampler.take_sample(f"{n}", "", {}, URL, 0.0) for n in range(1000)]
    assert sum(map(len, taken)) == 500
    for minute in range(1, 10):
        taken += [sampler.take_sample(f"{minute}-{n}", "", {}, URL, 60.0 * minute) for n in range(300)]
    assert sum(map(len, taken)) == 2000, "the store keeps a few of each for good"
    assert sampler.take_sample("1-1", "", {}, URL, 6000.0), "of what is known there are more"


@pytest.mark.slow
@given(given_items())
@settings(max_examples=60, deadline=None)
def test_any_item_makes_a_small_object_of_json(item):
    data = describe_item(item)
    assert len(data) <= MAX_BYTES
    assert isinstance(json.loads(data), dict)
    assert rb"\u0000" not in data


def test_what_has_no_end_is_shown_as_far_as_it_goes():
    endless = {"name": "x" * 10_000}
    endless["me"] = endless
    shown = json.loads(describe_item(endless | {f"f{n}": "y" * 100 for n in range(50)} | {"z": object}))
    assert shown["name"] == "x" * 300 + "..."
    assert "..." in shown["me"]
    assert shown["..."].endswith("more fields")
    assert describe_item(7) == b"{}"


def test_a_known_secret_is_hidden_however_deep_it_is():
    remember_secrets(["s3cr3t-token-value", "90817263"])
    item = {"a": ["s3cr3t-token-value"], "b": {"t": "s3cr3t-token-value"}, "s3cr3t-token-value": 90817263}
    data = describe_item(item | {"c": [1, {"d": 2}]})
    assert b"s3cr3t" not in data
    assert b"90817263" not in data
    assert json.loads(data)["c"] == [1, {"d": 2}]


def test_a_sample_is_stored_without_secrets():
    request = Request(URL, meta={"password": "hush-hush"})
    entry = Entry(request=request, fingerprint=1, host="a.example")
    lease = Lease(entry=entry, token=1, attempt=1, granted_at=1.0, start_by=2.0, deadline=3.0)
    samples = DropCollector().take_sample("bad hush-hush", "", {"a": "hush-hush"}, URL, 0.0)
    made = OpenAttempt(lease=lease, entry=entry, started_at=1.0, worker="w1").make_result(
        Verdict.SUCCESS, samples=samples, dropped={"item:bad hush-hush": 1}
    )
    result = without_secrets(made)
    assert "hush-hush" not in repr(result.samples) + repr(result.dropped)
    (sample,) = result.samples
    assert sample.reason == "bad ***"
    assert json.loads(sample.data) == {"a": "***"}
