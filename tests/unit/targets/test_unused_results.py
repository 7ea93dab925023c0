"""Requests and items that are made and not given away, as far as the source says it."""

from __future__ import annotations

from gossamer import Item, Spider
from gossamer.targets.unused_results import find_unused_results


class Fact(Item):
    text: str


class FirstOfSome(Spider):
    name = "first"

    def parse(self, response):
        for script in response.css("script::text").getall():
            if "price" not in script:
                continue
            return Fact(text=script)
        return None


class FirstOfAll(Spider):
    name = "all"

    def parse(self, response):
        for text in response.css("p::text").getall():
            return Fact(text=text)
        return None


def test_a_loop_that_returns_the_first_that_fits_is_no_mistake() -> None:
    assert find_unused_results(FirstOfSome) == []
    (said,) = find_unused_results(FirstOfAll)
    assert said.endswith(
        "in parse(): `return` ends the loop with its first Fact(...); write `yield Fact(...)`"
    )


def test_a_spider_of_code_that_no_file_has_is_left_alone() -> None:
    names: dict[str, type[Spider]] = {}
    exec("class Other(base):\n    name = 'other'\n", {"__name__": "cell", "base": FirstOfAll}, names)
    assert find_unused_results(names["Other"]) == []
