"""``find_end()`` of a spider: when the crawl ends, and what is said of one that is written wrong."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer import Spider, crawl
from gossamer.core.errors import UsageError


class Ending(Spider):
    name = "ending"
    start_urls = ["http://127.0.0.1:9/"]
    settings = {"robots": False, "max_retries": 0}


class Says(Ending):
    def find_end(self) -> str:
        return "enough"


class Waits(Ending):
    async def find_end(self) -> str:  # type: ignore[override]
        return ""


class Raises(Ending):
    def find_end(self) -> str:
        raise ValueError("no file")


class SaysYes(Ending):
    def find_end(self) -> Any:
        return True


async def test_a_crawl_ends_with_what_it_says() -> None:
    assert (await crawl(Says, memory=True)).finish_reason == "stopped: enough"


@pytest.mark.parametrize(
    ("spider", "said"),
    [
        (Waits, "write it without async"),
        (Raises, r"in find_end\(\) of the spider ending:.*"),
        (SaysYes, "returned True"),
    ],
)
async def test_what_is_no_reason_is_told_as_the_spiders_slip(spider: type[Spider], said: str) -> None:
    """Bug it would catch: a coroutine counts as a reason, and every crawl ends before its first page."""
    with pytest.raises(UsageError, match=said):
        await crawl(spider, memory=True)
