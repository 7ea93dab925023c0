"""Stages by name and with options, and those that are built in."""

import logging
import sys
from types import SimpleNamespace

import pytest

from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.core.errors import DropItem, UsageError
from gossamer.items.built_in.duplicates import DuplicateFilter
from gossamer.items.item import Item, key
from gossamer.items.pipeline import DefaultPipeline
from gossamer.items.stages import load_steps
from gossamer.spiders.spider import Spider
from gossamer.targets.discovery import find_target

URL = "http://a.example/1"


class Page:
    def __init__(self, url):
        self.url = url


class Marked:
    def __init__(self, mark="default"):
        self.mark = mark

    def process_item(self, item, spider):
        return {**item, "mark": self.mark}


class Configured(Marked):
    @classmethod
    def from_settings(cls, options, spider):
        return cls(f"{options.get('mark')} of {spider.name}")


class Entry:
    name = "ours"

    def load(self):
        return Marked


async def mark_of(stage, options):
    spider = Spider()
    spider.name, spider.pipelines = "one", [stage]
    pipeline = SpiderPipeline(lambda _: spider, timeout_s=60.0, options=options)
    return (await pipeline.process({}, URL)).data


@pytest.mark.parametrize(
    ("stage", "name", "expected"),
    [
        (Marked, "Marked", b'{"mark":"set"}'),
        (Configured, "Configured", b'{"mark":"set of one"}'),
        (f"{__name__}:Marked", f"{__name__}:Marked", b'{"mark":"set"}'),
        ("ours", "ours", b'{"mark":"set"}'),
        (Marked, "Other", b'{"mark":"default"}'),
    ],
)
async def test_a_stage_is_made_with_the_options_of_its_name(monkeypatch, stage, name, expected):
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(Marked=Marked))
    monkeypatch.setattr("gossamer.items.stages.entry_points", lambda group: [Entry()])
    assert await mark_of(stage, {name: {"mark": "set"}}) == expected


async def test_options_of_no_stage_are_said(caplog):
    with caplog.at_level(logging.WARNING):
        await mark_of(Marked, {"Marcked": {"mark": 1}})
    assert "pipeline.options: 'Marcked' is not a stage of the spider 'one': Marked" in caplog.text


class Nothing:
    pass


class Ordered(Marked):
    order = "later"


class Looker:
    order = "store"

    def process_item(self, item, spider):
        return item


@pytest.mark.parametrize(
    ("stage", "options", "said"),
    [
        (
            Marked,
            {"Marked": {"colour": 1}},
            "'Marked' cannot be made of its options ([pipeline.options.Marked])",
        ),
        (Marked(), {"Marked": {"mark": 1}}, "takes no options: only a class does"),
        (Nothing, {}, "neither a function nor an object with process_item()"),
        (Looker, {}, "neither a function nor an object with process_record()"),
        (Ordered, {}, "the order 'later'; there are clean, validate, deduplicate, enrich, store"),
        ("drop-doubles", {}, "unknown stage 'drop-doubles'; there are drop-duplicates"),
        ("json:no", {}, "the stage 'json:no' cannot be imported"),
        ("drop-duplicates", {}, "[pipeline.options.drop-duplicates]"),
        ("drop-duplicates", {"drop-duplicates": {"by": []}}, "name at least one field"),
        ("drop-duplicates", {"drop-duplicates": {"by": "a", "most": 0}}, "`most` is 0"),
    ],
)
def test_what_is_no_stage_is_refused_with_what_there_is(stage, options, said):
    with pytest.raises(UsageError) as raised:
        load_steps([stage], Spider(), options)
    assert said in str(raised.value)


def test_a_stage_in_the_spiders_own_file_is_of_the_same_classes(tmp_path, monkeypatch):
    """A second import makes a second Product, and `isinstance` in the stage is never true."""
    (tmp_path / "own_stage_shop.py").write_text(
        "from gossamer import Item, Spider\n\n\n"
        "class Product(Item):\n    name: str\n\n\n"
        "class Looker:\n    product = Product\n"
        "    def process_item(self, item, spider):\n        return item\n\n\n"
        "class Shop(Spider):\n    name = 'shop'\n    product = Product\n"
        "    pipelines = ['own_stage_shop:Looker']\n"
    )
    monkeypatch.setattr(sys, "path", [*sys.path])
    spider = find_target(str(tmp_path / "own_stage_shop.py"), {}, None).spider
    (step,) = load_steps(spider.pipelines, spider, {})
    assert step.thing.product is type(spider).product
    assert "own_stage_shop" not in sys.modules


async def test_stages_of_the_settings_come_after_the_spiders_own(monkeypatch):
    def own(item):
        return {**item, "mark": "own", "own": 1}

    monkeypatch.setattr("gossamer.items.stages.entry_points", lambda group: [Entry()])
    spider = Spider()
    spider.pipelines = [own]
    pipeline = SpiderPipeline(lambda _: spider, timeout_s=60.0, stages=["ours"])
    assert (await pipeline.process({}, URL)).data == b'{"mark":"default","own":1}'


class Product(Item):
    sku: str = key()
    name: str = ""
    price: float = 0


async def test_a_duplicate_of_another_page_is_dropped_and_one_of_the_same_page_is_not():
    pipeline = DefaultPipeline(steps=[DuplicateFilter(by=("name", "price"))])
    first, other = Page(URL), Page(f"{URL}/other")
    item = {"sku": "a", "name": "Lamp", "price": "1"}
    await pipeline.process(Product(**item), URL, first)
    with pytest.raises(DropItem, match="duplicate by name and price") as dropped:
        await pipeline.process(Product(**item | {"sku": "b", "price": 1.0}), URL, other)
    assert dropped.value.stage == "DuplicateFilter"
    await pipeline.process(Product(**item), URL, first)  # its page is visited again, after a lost lease
    await pipeline.process(Product(**item | {"price": 2}), URL, other)
    for sku in "ab":  # nothing says that they are the same
        await pipeline.process({"sku": sku}, URL, other)


async def test_duplicates_are_forgotten_beyond_a_bound():
    stage = DuplicateFilter(by="a", most=2)
    for number in (1, 2, 3):
        stage.process_item({"a": number}, None, page=Page(str(number)))
    stage.process_item({"a": 1}, None, page=Page("again"))
    with pytest.raises(DropItem):
        stage.process_item({"a": 3}, None, page=Page("again"))


class Open(Item, extra="allow"):
    sku: str = key()


async def test_what_two_hosts_say_of_one_thing_is_kept_apart():
    """A second shop would overwrite what the first one says, and nothing could be merged."""
    pipeline = DefaultPipeline(steps=["keep-sources"])
    pages = [Page("http://a.example/1"), Page("http://b.example/7")]
    one, other = [await pipeline.process(Product(sku="x", price="1"), page.url, page) for page in pages]
    assert (one.type, one.key, other.key) == ("Product@source", '["x","a.example"]', '["x","b.example"]')
    assert one.data == b'{"sku":"x","name":"","price":1.0,"source_host":"a.example"}'
    open_item = await pipeline.process(Open(sku="x", color="red"), URL, pages[0])
    assert open_item.data == b'{"sku":"x","source_host":"a.example","color":"red"}', "fields of no class stay"
    plain = [await pipeline.process({"sku": "x"}, page.url, page) for page in pages]
    assert plain[0].key != plain[1].key
    with pytest.raises(DropItem, match="price"):
        await pipeline.process(Product(sku="x", price="n/a"), URL, pages[0])
