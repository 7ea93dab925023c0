"""The state that a spider keeps from one run to the next."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.settings import Settings

from gossamer.adapters.scrapy.crawler import AdaptedCrawler
from gossamer.adapters.scrapy.state import FILE, read_state, write_state
from gossamer.core.errors import UsageError


class Shop(Spider):
    name = "shop"


def spider_of(folder: Path | None) -> tuple[AdaptedCrawler, Any]:
    settings = Settings()
    settings.set("JOBDIR", folder and str(folder), priority="project")
    crawler = AdaptedCrawler(Shop, settings)
    return crawler, crawler.make_spider({})


def test_the_next_run_has_the_state_of_the_last(tmp_path: Path) -> None:
    crawler, spider = spider_of(tmp_path / "job")
    read_state(crawler)
    assert spider.state == {}
    spider.state["seen"] = {1, 2}
    spider.state["until"] = date(2026, 1, 2)
    write_state(crawler)
    crawler, spider = spider_of(tmp_path / "job")
    read_state(crawler)
    assert spider.state == {"seen": {1, 2}, "until": date(2026, 1, 2)}


def test_what_no_file_can_hold_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    crawler, spider = spider_of(tmp_path)
    spider.state = {"open": lambda: 0}
    write_state(crawler)
    assert "function" in caplog.text
    assert not (tmp_path / FILE).exists()


def test_without_a_folder_an_attribute_of_this_name_is_the_spider_s_own() -> None:
    crawler, spider = spider_of(None)
    spider.state = "Ohio"
    read_state(crawler)
    write_state(crawler)
    assert spider.state == "Ohio"


@pytest.mark.parametrize(
    "text", ["{", "[]", "1", '{"$": "set"}', '{"$": 1, "of": 1}', '{"$": "set", "of": 1}']
)
def test_a_damaged_state_is_an_error_that_names_its_file(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    crawler, _ = spider_of(tmp_path)
    with pytest.raises(UsageError, match=FILE):
        read_state(crawler)
