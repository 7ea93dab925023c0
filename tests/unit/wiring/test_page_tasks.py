"""Where the pictures of pages go, and who says what is done on pages."""

from pathlib import Path

from gossamer import Browsing, Request, Spider
from gossamer.config.settings import Settings
from gossamer.core.requests import Entry, Lease
from gossamer.targets.discovery import CrawlTarget
from gossamer.wiring.page_tasks import guide_of, screenshots_of
from kit.engine import JOB


def test_pictures_are_kept_as_the_settings_say(tmp_path: Path) -> None:
    def kept(**browser: object) -> object:
        return screenshots_of(Settings.model_validate({"data": str(tmp_path), "browser": browser}), JOB)

    assert kept(screenshots="never") is None
    failures, everything = kept(), kept(screenshots="always")
    assert (failures.keeps_all, everything.keeps_all) == (False, True)  # type: ignore[attr-defined]


async def test_they_are_below_the_data_directory_and_bounded(tmp_path: Path) -> None:
    settings = Settings.model_validate({"data": str(tmp_path), "browser": {"max_screenshots": 1}})
    store = screenshots_of(settings, JOB)
    assert store is not None
    names = [await store.keep(lease(number), b"png") for number in (-1, 2)]
    assert names == [f"{JOB.id}/ffffffffffffffff-1.png", ""]
    assert (tmp_path / "screenshots" / names[0]).read_bytes() == b"png"


def lease(fingerprint: int) -> Lease:
    entry = Entry(request=Request("http://a/"), fingerprint=fingerprint, host="a")
    return Lease(entry=entry, token=1, granted_at=0, start_by=0, deadline=0, attempt=1)


def test_the_guide_asks_the_targets_spider() -> None:
    class Shop(Spider):
        name = "shop"
        browser = Browsing(wait_for="h1")

    spider = Shop()
    target = CrawlTarget("shop.py", "shop", spider, lambda _: spider)
    assert guide_of(Settings(), target).browsing_for(Request("http://a/")) == spider.browser
