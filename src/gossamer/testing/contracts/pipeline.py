"""The contract of an item pipeline, as named checks.

Use, for a pipeline of your own::

    @asynccontextmanager
    async def make(clock):
        async def build(*steps):  # the pipeline with these user's steps, ready for items
            return MyPipeline(steps)
        yield PipelineSubject(build)

    await check_pipeline(make)                       # all of them, or one by one from PIPELINE_CHECKS
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec

from gossamer.core.errors import DropItem, PipelineError, UnstorableItemError, UsageError
from gossamer.core.results import ItemRecord
from gossamer.core.stages import StageOrder
from gossamer.items.item import Item, key
from gossamer.ports.pipeline import Pipeline
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["PIPELINE_CHECKS", "PipelineSubject", "check_pipeline"]

URL = "http://a.example/1"
Step = Callable[[Any], Any]


@dataclass
class PipelineSubject:
    """A function that makes a pipeline with the user's steps."""

    build: Callable[..., Awaitable[Pipeline]]

    async def process(self, item: Any, *steps: Any) -> ItemRecord:
        """The record that a pipeline with these steps makes of an item."""
        return await (await self.build(*steps)).process(item, URL)

    async def refuse(self, item: Any, *steps: Any) -> Exception:
        """Return the error of a pipeline with these steps for an item; it must not accept the item."""
        try:
            record = await self.process(item, *steps)
        except (DropItem, UnstorableItemError, PipelineError) as error:
            return error
        raise AssertionError(f"{item!r} was to be refused, and became {record!r}")


class Product(Item):
    """An item as users write them."""

    sku: str = key()
    name: str = ""
    price: Decimal = Decimal(0)


def product(**values: Any) -> Product:
    """An item with values as a page gives them."""
    return Product(**values)


PIPELINE_CHECKS: ContractSuite[PipelineSubject] = ContractSuite()
"""The checks by name."""


async def check_pipeline(make: Make[PipelineSubject]) -> None:
    """Run every check on a fresh pipeline each. Raises ``AssertionError`` for a broken promise."""
    await PIPELINE_CHECKS.run(make)


@PIPELINE_CHECKS.register
async def an_item_becomes_a_record(s: PipelineSubject) -> None:
    """With its type, its key, its values as JSON in their order, and the page it was found on."""
    record = await s.process(product(sku="a", name="b", price="1.50"))
    assert_equal((record.type, record.key, record.url), ("Product", "a", URL), "type, key and page")
    assert_equal(list(msgspec.json.decode(record.data)), ["sku", "name", "price"], "fields in their order")
    assert_holds(-(2**63) <= record.hash < 2**63, "the hash has 64 bits, signed")


@PIPELINE_CHECKS.register
async def equal_items_give_equal_records(s: PipelineSubject) -> None:
    """Also in another process: the key and the hash are what tells items apart."""
    items: tuple[Any, ...] = (product(sku="a", name="b", price="1.50"), {"a": 1, "b": ["x", None]})
    for item in items:
        assert_equal(await s.process(item), await s.process(item), f"{item!r}, twice")
    one, other = await s.process({"a": 1, "b": 2}), await s.process({"b": 2, "a": 1})
    assert_equal(one.key, other.key, "a dict is keyed by its content, whatever its order")


@PIPELINE_CHECKS.register
async def the_key_identifies(s: PipelineSubject) -> None:
    """Other values under the same key are the same item, changed; their hash says so."""
    old, new = await s.process(product(sku="a", price=1)), await s.process(product(sku="a", price=2))
    assert_equal(old.key, new.key, "the same item")
    assert_holds(old.hash != new.hash, "with other values")
    other = await s.process(product(sku="b", price=1))
    assert_holds(other.key != old.key, "another key is another item")


@PIPELINE_CHECKS.register
async def strange_text_becomes_json(s: PipelineSubject) -> None:
    """Whatever a page holds: the data is UTF-8 that every JSON reader reads."""
    for text in ("\x00", "\ud800", "\ufffe", "\U0001f577", "\u202e</script>'\"\\"):
        record = await s.process({"text": text, text: 1})
        assert_holds(isinstance(msgspec.json.decode(record.data), dict), f"{text!r} is stored")
        record.key.encode()


@PIPELINE_CHECKS.register
async def what_breaks_its_type_is_dropped_with_a_reason(s: PipelineSubject) -> None:
    """An item that does not hold what its type promises; the reason is short and names the field."""
    for item, field in ((product(sku="a", price="n/a"), "price"), (product(sku=""), "sku")):
        error = await s.refuse(item)
        assert_holds(isinstance(error, DropItem), f"{item!r} is dropped, found {error!r}")
        assert_holds(field in str(error) and len(str(error)) < 300, f"the reason names {field}: {error}")


@PIPELINE_CHECKS.register
async def what_is_not_an_item_is_the_spiders_slip(s: PipelineSubject) -> None:
    """It fails its page with a description; it is neither stored nor silently dropped."""
    for thing in (7, "text", None, object(), {"a": object()}):
        error = await s.refuse(thing)
        assert_holds(isinstance(error, UnstorableItemError), f"{thing!r} cannot be stored, found {error!r}")
        assert_holds(str(error), "and the error says why")


@PIPELINE_CHECKS.register
async def steps_run_in_order(s: PipelineSubject) -> None:
    """Functions and coroutines; each gets the result of the one before."""

    def first(item: dict[str, str]) -> dict[str, str]:
        return {**item, "steps": item["steps"] + "1"}

    async def second(item: dict[str, str]) -> dict[str, str]:
        await asyncio.sleep(0)
        return {**item, "steps": item["steps"] + "2"}

    record = await s.process({"steps": ""}, first, second, first)
    assert_equal(msgspec.json.decode(record.data), {"steps": "121"}, "in their order")


class RoundingStep:
    """A stage that needs typed values, and options."""

    order = StageOrder.ENRICH

    def __init__(self, digits: int = 0) -> None:
        self.digits = digits

    def process_item(self, item: Any, spider: Any) -> Any:
        """The item with its price rounded."""
        item.price = round(item.price, self.digits)
        return item


@PIPELINE_CHECKS.register
async def steps_run_by_their_order(s: PipelineSubject) -> None:
    """Whatever the order in which they are listed; those of later orders see values of the item's type."""
    ran: list[str] = []

    def stage(name: str, order: StageOrder) -> Step:
        def run(item: Any) -> Any:
            ran.append(name)
            if order in (StageOrder.CLEAN, StageOrder.VALIDATE):
                assert_equal(item.price, "1.555", "an early stage sees the spider's own item")
            elif order is not StageOrder.STORE:
                assert_equal(item.price, Decimal("1.555"), "a late one sees the value")
            return item

        run.order = order  # type: ignore[attr-defined]
        return run

    late, early = [*StageOrder][::-1], [*StageOrder]
    stages = [stage(f"{order}-{number}", order) for order in late for number in (1, 2)]
    misfit: Any = product(sku="a")
    misfit.price = "1.555"
    record = await s.process(misfit, *stages, RoundingStep())
    assert_equal(
        ran, [f"{order}-{number}" for order in early for number in (1, 2)], "by order, then as listed"
    )
    assert_equal(msgspec.json.decode(record.data)["price"], "2", "and the changes of a late stage are stored")


@PIPELINE_CHECKS.register
async def what_a_late_step_spoils_is_dropped(s: PipelineSubject) -> None:
    """Its result is checked like the spider's own, and it never gets an invalid item."""

    def spoil(item: Any) -> Any:
        ran.append(item)
        item.price = "n/a"
        return item

    ran: list[Any] = []
    spoil.order = StageOrder.ENRICH  # type: ignore[attr-defined]
    for price, times in ((1, 1), ("x", 0)):
        ran.clear()
        error = await s.refuse(product(sku="a", price=price), spoil)
        assert_holds(isinstance(error, DropItem) and "price" in str(error), f"it is dropped: {error!r}")
        assert_equal(len(ran), times, "items that the stage has seen")


@PIPELINE_CHECKS.register
async def a_step_gets_the_page_at_hand(s: PipelineSubject) -> None:
    """As its parameter ``page``, if it has one; ``None`` without a page."""

    def look(item: Any, page: Any) -> Any:
        return {**item, "page": str(page)}

    class PageStep:
        def process_item(self, item: Any, spider: Any, page: Any) -> Any:
            return {**item, "again": str(page)}

    pipeline = await s.build(look, PageStep)
    for page in ("the page", None):
        record = await pipeline.process({"a": 1}, URL, page)
        wanted = {"a": 1, "page": str(page), "again": str(page)}
        assert_equal(msgspec.json.decode(record.data), wanted, "both kinds of stages see it")


@PIPELINE_CHECKS.register
async def a_step_that_looks_sees_the_record(s: PipelineSubject) -> None:
    """It gets the stored form, after all other steps; its result is ignored, its errors count."""
    seen: list[Any] = []

    class RecordStep:
        order = StageOrder.STORE

        async def process_record(self, record: Any, spider: Any) -> None:
            seen.append(record)
            if record.key == "b":
                raise LookupError("the index is away")

    record = await s.process(product(sku="a"), RecordStep)
    assert_equal(seen, [record], "the record that is stored")
    error = await s.refuse(product(sku="b"), RecordStep)
    assert_holds(
        isinstance(error, PipelineError) and "RecordStep" in str(error), f"the page fails: {error!r}"
    )


@PIPELINE_CHECKS.register
async def a_step_is_found_by_its_name(s: PipelineSubject) -> None:
    """Text stands for a class of a module, or for one that is built in or installed."""
    record = await s.process(product(sku="a", price="2.7"), f"{__name__}:RoundingStep")
    assert_equal(msgspec.json.decode(record.data)["price"], "3", "the class that the text names has run")
    for name in ("gossamer.nowhere:Stage", f"{__name__}:Nothing", "no-such-stage"):
        try:
            await s.process({}, name)
        except UsageError as error:
            assert_holds(name in str(error), f"the error names the stage: {error}")
        else:
            raise AssertionError(f"{name} is not a stage, but was accepted")


@PIPELINE_CHECKS.register
async def a_dropped_item_names_its_stage(s: PipelineSubject) -> None:
    """That of a step, and none for what breaks the promises of its own type."""

    def picky(item: Any) -> Any:
        raise DropItem("too cheap")

    error = await s.refuse({"a": 1}, picky)
    assert_equal(getattr(error, "stage", None), "picky", "the step that dropped it")
    error = await s.refuse(product(sku=""))
    assert_equal(getattr(error, "stage", None), "", "no step dropped it")


@PIPELINE_CHECKS.register
async def a_step_may_drop_an_item(s: PipelineSubject) -> None:
    """With its reason, and without running the steps after it."""
    ran: list[Any] = []

    def drop(item: Any) -> Any:
        raise DropItem("too cheap")

    error = await s.refuse({"a": 1}, drop, ran.append)
    assert_holds(isinstance(error, DropItem) and str(error) == "too cheap", "with the step's own reason")
    assert_equal(ran, [], "the item is gone")


@PIPELINE_CHECKS.register
async def a_step_that_fails_fails_the_page(s: PipelineSubject) -> None:
    """Whatever it raises or returns; the error names the step. Nothing is stored half-way."""

    def broken(item: Any) -> Any:
        raise LookupError("the database is away")

    def exits(item: Any) -> Any:
        raise SystemExit(3)

    def forgetful(item: Any) -> Any:
        return None

    for step in (broken, exits, forgetful):
        error = await s.refuse({"a": 1}, step)
        assert_holds(isinstance(error, PipelineError), f"{step.__name__} fails its page, found {error!r}")
        assert_holds(step.__name__ in str(error), f"the error names the step: {error}")


@PIPELINE_CHECKS.register
async def the_end_of_the_task_is_not_a_failure(s: PipelineSubject) -> None:
    """A worker that must stop does not wait for a step."""
    waiting = asyncio.Event()

    async def wait(item: Any) -> Any:
        waiting.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(s.process({"a": 1}, wait))
    await waiting.wait()
    task.cancel()
    (ended,) = await asyncio.gather(task, return_exceptions=True)
    assert_holds(isinstance(ended, asyncio.CancelledError), f"it is cancelled, found {ended!r}")


@PIPELINE_CHECKS.register
async def the_users_item_is_not_changed(s: PipelineSubject) -> None:
    """The callback may continue to use it."""
    given = {"name": " a ", "list": ["x\x00"]}
    before = msgspec.json.encode(given)
    await s.process(given)
    assert_equal(msgspec.json.encode(given), before, "the item is as it was")


@PIPELINE_CHECKS.register
async def a_page_at_hand_changes_nothing_by_itself(s: PipelineSubject) -> None:
    """An item has the same record whether it comes with its page or, as from an errback, with none."""
    pipeline = await s.build()
    with_page = await pipeline.process({"a": 1}, URL, object())
    assert_equal(with_page, await pipeline.process({"a": 1}, URL), "the record is the same")


@PIPELINE_CHECKS.register
async def items_do_not_mix(s: PipelineSubject) -> None:
    """However many pass at the same time."""

    async def slow(item: dict[str, int]) -> dict[str, int]:
        for _ in range(item["n"] % 3):
            await asyncio.sleep(0)
        return item

    pipeline = await s.build(slow)
    records = await asyncio.gather(*(pipeline.process({"n": n}, f"{URL}{n}") for n in range(20)))
    found = [(msgspec.json.decode(record.data)["n"], record.url) for record in records]
    assert_equal(found, [(n, f"{URL}{n}") for n in range(20)], "each is its own record")
