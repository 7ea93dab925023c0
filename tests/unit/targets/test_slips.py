"""Attributes of a spider that are probably misspelt are told of, and no others."""

from __future__ import annotations

import pytest

from gossamer import Spider
from gossamer.targets.slips import find_overridden, find_slips


def spider_with(**own):
    return type("Shop", (Spider,), {"name": "shop", "__module__": "shop", **own})


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("start_url", "start_urls"),
        ("allowed_domain", "allowed_domains"),
        ("pipeline", "pipelines"),
        ("max_page", "max_pages"),
        ("custom_settings", "settings"),
        ("custom_setting", "settings"),
        ("requires", "require"),
        ("required_fields", "require_fields"),
        ("item_pipelines", "pipelines"),
        ("urls", "start_urls"),
    ],
)
def test_a_misspelt_attribute_is_named_with_what_is_meant(wrong, meant):
    said = f"the spider 'shop' has an attribute {wrong}: is {meant} meant?"
    assert find_slips(spider_with(**{wrong: ["x"]})) == [said]
    assert find_slips(type("Other", (spider_with(**{wrong: ["x"]}),), {"__module__": "shop"})) == [said]


def test_attributes_of_ones_own_are_nobodys_business():
    def parse(self, response):
        return [self.start_url for _ in range(3)]

    def closed(self, reason):
        def say():
            return self.allowed_domain

        return say()

    assert find_slips(spider_with(start_url="x", parse=parse)) == []
    assert find_slips(spider_with(allowed_domain="x", closed=closed)) == []
    assert find_slips(spider_with(start_url="x", start_urls=["y"])) == []
    assert find_slips(spider_with(base_url="x", pages=3, delay=1.0, concurrency=4, rule=lambda: 1)) == []
    assert find_slips(Spider) == []


def test_an_attribute_in_the_place_of_a_method_is_named_with_what_is_meant():
    assert find_overridden(spider_with(required=["h1"])) == (
        "the spider 'shop' has a list named required, the name of a method: is require meant?"
    )
    assert find_overridden(spider_with(selects="h1")).endswith(": give it another name")
    assert find_overridden(Spider) == ""


def test_a_method_that_gossamer_could_not_call_is_named_with_how_it_calls_it():
    assert find_overridden(spider_with(required=lambda self: [])) == (
        "the spider 'shop' has a method required(self), and Gossamer calls required(self, callback): give it "
        "another name, or these parameters"
    )
    for fits in (
        {"parse": lambda self, response, page: []},
        {"closed": lambda self, reason="": None},
        {"required": lambda self, *args, **kwargs: []},
        {"start": lambda self: []},
        {"selects": staticmethod(lambda callback: True)},
    ):
        assert find_overridden(spider_with(**fits)) == ""
