"""What the settings of domains come to: the longest one counts, with its settings alone."""

from __future__ import annotations

import pytest

from gossamer import Spider
from gossamer.config.layers import load_settings
from gossamer.config.settings import Settings
from gossamer.core.hosts import FrontierRules, HostState
from gossamer.core.requests import Request
from gossamer.policy.domains import adopt_domain
from gossamer.policy.politeness import delay_in_force
from gossamer.targets.loading import load_target
from gossamer.wiring.domains import agent_at, obeys_at
from gossamer.wiring.routing import plan_of
from gossamer.wiring.rules import rules_of

BELOW = {"domain.shop.example.max_size": 9}


class Plain(Spider):
    name = "plain"
    start_urls = ["https://shop.example/"]


class Shop(Plain):
    name = "shop"
    fetch = {"parse": "auto", "parse_price": "impersonate"}

    def parse_price(self, response):
        return ()


def settings_of(**said: object) -> Settings:
    given = {**BELOW, **{f"domain.{name}": value for name, value in said.items()}}
    return load_settings(env={}, overrides=given).settings


def test_a_delay_is_not_that_of_a_domain_above() -> None:
    rules = rules_of(settings_of(**{"example.delay": 5.0}))
    delays = [
        delay_in_force(adopt_domain(HostState(), host, rules), FrontierRules(delay_s=1.0))
        for host in ("example", "other.example", "shop.example", "www.shop.example", "elsewhere.test")
    ]
    assert delays == [5.0, 5.0, 1.0, 1.0, 1.0]


def test_nor_is_whether_robots_txt_is_obeyed() -> None:
    obeys = obeys_at(settings_of(**{"example.robots": False}))
    assert not obeys("https://www.example/x")
    assert obeys("https://shop.example/x"), "as the crawl says it"


def test_robots_txt_is_read_as_whoever_asks_for_the_pages() -> None:
    """Bug it would catch: a site that refuses the agent that its pages are sent is crawled all the same."""
    agent = agent_at(settings_of(**{"example.user_agent": "finder/2"}))
    assert agent("https://www.example") == "finder/2"
    assert agent("https://shop.example").startswith("gossamer/")


@pytest.mark.parametrize(
    ("usual", "said", "rungs"),
    [
        ("http", "browser", {"www.example": "browser", "shop.example": "http", "elsewhere.test": "http"}),
        ("auto", "browser", {"www.example": "browser", "shop.example": "", "elsewhere.test": ""}),
        ("browser", "auto", {"www.example": "", "shop.example": "browser", "elsewhere.test": "browser"}),
    ],
)
def test_nor_is_a_way_to_fetch(usual: str, said: str, rungs: dict[str, str]) -> None:
    settings = settings_of(**{"example.fetch": said}).model_copy(update={"fetch": usual})
    plan = plan_of(settings, load_target(Plain, {}, env={}).target)
    assert {host: plan.named_rung(Request(f"https://{host}/"), host) for host in rungs} == rungs


def test_without_a_word_on_it_callbacks_decide() -> None:
    plan = plan_of(settings_of(), load_target(Shop, {}, env={}).target)
    assert plan.named_rung(Request("https://shop.example/", "parse_price"), "shop.example") == "impersonate"
