"""What a spider counts itself: names, values, and what is in hand."""

from __future__ import annotations

import asyncio
import logging
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from gossamer import Spider, UsageError
from gossamer.engine.stat_changes import JobChanges, begin_job, begin_page
from gossamer.policy.spider_stats import LARGEST, LONGEST_NAME, MAX_NAMES, MOST_AT_ONCE, read_counters
from gossamer.spiders.stats import SpiderStats, changes_of


class Shop(Spider):
    name = "shop"


def test_a_spider_counts_without_a_crawl_as_in_a_test_of_its_callback() -> None:
    shop = Shop()
    shop.stats.inc("products")
    shop.stats.inc("products", 2)
    shop.stats.max("dearest", 12.5)
    shop.stats.max("dearest", 3)
    shop.stats.min("cheapest", 3)
    shop.stats.set("last", -1)
    assert [shop.stats.get(name) for name in ("products", "dearest", "cheapest", "last")] == [3, 12.5, 3, -1]
    assert (shop.stats.get("none"), shop.stats.get("none", 0)) == (None, 0)
    assert Shop().stats.get("products") is None, "each spider has its own"


@pytest.mark.parametrize("name", ["", " ", "x" * (LONGEST_NAME + 1), "a\nb", None, 3])
def test_what_is_no_name_is_refused(name: Any) -> None:
    with pytest.raises(UsageError, match="is not the name of a statistic"):
        Shop().stats.inc(name)


@pytest.mark.parametrize(
    "value", ["1", None, True, float("nan"), float("inf"), LARGEST + 1, 10**400, Decimal("sNaN"), 1j]
)
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(UsageError, match=r"stats\.set\('x', .*\): give a number"):
        Shop().stats.set("x", value)
    with pytest.raises(UsageError, match=r"stats\.inc\('x', .*\): give a number"):
        Shop().stats.inc("x", MOST_AT_ONCE + 1)


@pytest.mark.parametrize("value", [Decimal("12.50"), Fraction(25, 2)])
def test_prices_of_items_are_numbers(value: Any) -> None:
    shop = Shop()
    shop.stats.max("dearest", value)
    assert shop.stats.get("dearest") == 12.5


def test_a_name_belongs_to_one_method() -> None:
    stats = Shop().stats
    stats.inc("x")
    with pytest.raises(UsageError, match=r"counted by stats\.inc\(\) before"):
        stats.max("x", 3)


def test_names_are_bounded_and_what_is_left_out_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    stats = Shop().stats
    with caplog.at_level(logging.WARNING):
        for number in range(MAX_NAMES + 10):
            stats.inc(f"n{number}")
    assert len(caplog.messages) == 1
    assert f"'n{MAX_NAMES}'" in caplog.messages[0]
    assert (stats.get(f"n{MAX_NAMES - 1}"), stats.get(f"n{MAX_NAMES}")) == (1, None)
    stats.inc("n0")
    assert stats.get("n0") == 2


def test_many_workers_may_have_more_names_and_the_first_are_shown() -> None:
    counters = {f"stat:inc:{number:04}": 1000 for number in range(MAX_NAMES * 2)}
    assert read_counters(counters) == {f"{number:04}": 1 for number in range(MAX_NAMES)}


async def test_pages_in_hand_at_the_same_time_count_apart_and_tasks_of_theirs_too() -> None:
    shop = Shop()
    shop.stats.inc("before")
    changes = changes_of(shop)

    async def visit(number: int) -> dict[str, int]:
        page = begin_page(changes)
        shop.stats.inc("pages")
        await asyncio.sleep(0)
        await asyncio.gather(*(count_later(0) for _ in range(number)))
        late.append(asyncio.create_task(count_later(3)))
        return page.end()

    async def count_later(rounds: int) -> None:
        for _ in range(rounds):
            await asyncio.sleep(0)
        shop.stats.inc("in tasks")

    late: list[asyncio.Task[None]] = []
    with begin_job(changes):
        counted = await asyncio.gather(visit(0), visit(1), visit(2))
        await asyncio.gather(*late)
    in_tasks = [one.get("stat:inc:in tasks", 0) for one in counted]
    assert [one["stat:inc:pages"] for one in counted] == [1000] * 3
    assert in_tasks == [0, 1000, 2000]
    assert changes.take_counts() == {"stat:inc:before": 1000, "stat:inc:in tasks": 3000}, "what no page has"
    assert changes.take_counts() == {}
    assert shop.stats.get("in tasks") == 6


def test_a_spider_with_something_else_of_that_name_is_left_alone() -> None:
    class Older(Spider):
        name = "older"

        def __init__(self) -> None:
            self.stats = {"mine": 1}  # type: ignore[assignment]

    assert isinstance(changes_of(Older()), JobChanges)
    assert Older().stats == {"mine": 1}
    assert isinstance(Shop().stats, SpiderStats)
