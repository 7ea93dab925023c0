"""Settings of projects and spiders of Scrapy's as ours."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from scrapy.settings import Settings

from gossamer.adapters.scrapy.settings import AS_SCRAPY, make_settings
from gossamer.config.layers import SettingOption, load_settings
from gossamer.core.errors import SettingError
from gossamer.wiring.rules import block_rules_of


def made(**given: Any) -> dict[str, Any]:
    settings = Settings()
    settings.setdict(given, priority="project")
    found = make_settings(settings, "shop")
    load_settings(spider=found, env={})  # what is made is what our settings take
    return {name: value for name, value in found.items() if AS_SCRAPY.get(name, found) != value}


def test_nothing_is_read_that_nobody_has_set() -> None:
    assert made() == {}, "Scrapy's own defaults are less polite than ours"


@pytest.mark.parametrize(
    ("name", "value", "ours"),
    [
        ("DOWNLOAD_DELAY", 2, {"delay": 2.0}),
        ("CONCURRENT_REQUESTS", "7", {"concurrency": 7}),
        ("CONCURRENT_REQUESTS_PER_DOMAIN", 3, {"per_host": 3}),
        ("ROBOTSTXT_OBEY", False, {"robots": False}),
        ("USER_AGENT", "me", {"user_agent": "me"}),
        ("DEFAULT_REQUEST_HEADERS", {"Accept": "x", "No": None}, {"http.headers": {"Accept": "x"}}),
        ("RETRY_TIMES", 5, {"max_retries": 5}),
        ("RETRY_ENABLED", False, {"max_retries": 0}),
        ("REDIRECT_MAX_TIMES", 4, {"http.max_redirects": 4}),
        ("DEPTH_LIMIT", 0, {}),
        ("DEPTH_LIMIT", 3, {"max_depth": 3}),
        ("CLOSESPIDER_ITEMCOUNT", 10, {"max_items": 10}),
        ("CLOSESPIDER_PAGECOUNT", 10, {"max_pages": 10}),
        ("CLOSESPIDER_TIMEOUT", 60, {"max_time": 60}),
        ("DOWNLOAD_MAXSIZE", 0, {}),
        ("RANDOMIZE_DOWNLOAD_DELAY", True, {"random_delay": True}),
        (
            "DOWNLOAD_SLOTS",
            {"shop.example": {"delay": 2, "concurrency": 3}, "own slot": {"delay": 1}},
            {"domain.shop.example.delay": 2.0, "domain.shop.example.per_host": 3},
        ),
        ("LOG_LEVEL", "DEBUG", {"log.level": "debug"}),
        ("LOG_LEVEL", 20, {"log.level": "info"}),
        ("LOG_LEVEL", "30", {"log.level": "warning"}),
        ("LOG_LEVEL", "WARN", {"log.level": "warning"}),
        ("LOG_LEVEL", "FATAL", {"log.level": "error"}),
        ("LOG_LEVEL", "NOTSET", {"log.level": "debug"}),
        ("CLOSESPIDER_TIMEOUT", 0.6, {"max_time": 0.6}),
        (
            "DEFAULT_REQUEST_HEADERS",
            {b"X-A": b"1", "X-B": ["2", "3"]},
            {"http.headers": {"X-A": "1", "X-B": "2, 3"}},
        ),
        ("DOWNLOAD_TIMEOUT", 0, {}),
    ],
)
def test_each_has_its_counterpart(name: str, value: Any, ours: dict[str, Any]) -> None:
    assert made(**{name: value}) == ours


def test_a_delay_that_follows_the_host_is_a_least_one() -> None:
    assert made(DOWNLOAD_DELAY=0.5, AUTOTHROTTLE_ENABLED=True) == {"min_delay": 0.5}


def test_what_has_no_meaning_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made(MEMUSAGE_LIMIT_MB=5, DNS_RESOLVER="x", BOT_NAME="b")
    (said,) = caplog.messages
    assert said.endswith("'shop' have no meaning here: DNS_RESOLVER, MEMUSAGE_LIMIT_MB")


def test_a_value_that_is_none_names_the_setting() -> None:
    with pytest.raises(SettingError, match="DOWNLOAD_DELAY = 'slow' of the spider 'shop'"):
        made(DOWNLOAD_DELAY="slow")


def test_settings_of_a_project_s_own_code_are_its_own_business(caplog: pytest.LogCaptureFixture) -> None:
    assert made(MONGO_URI="mongodb://db.example", FILES_STORE="files") == {}
    assert not caplog.records


@pytest.mark.parametrize(
    ("given", "is_detected"),
    [
        ({}, False),
        ({"ladder.rungs": ("http", "impersonate")}, True),
        ({"ladder.hosts": {"shop.example": "browser"}}, True),
        ({"proxies.urls": ("http://127.0.0.1:3128",)}, True),
        ({"ladder.rungs": ("http", "impersonate"), "blocks.detect": False}, False),
    ],
)
def test_refusals_are_recognised_where_a_page_can_be_fetched_in_another_way(
    given: dict[str, Any], is_detected: bool
) -> None:
    """Without that no host of a Scrapy spider ever climbs, whatever ladder the operator has set."""
    said = [SettingOption(name, value, name) for name, value in given.items()]
    settings = load_settings(spider=make_settings(Settings(), "shop"), overrides=said, env={}).settings
    assert block_rules_of(settings).is_detected is is_detected
