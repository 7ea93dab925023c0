"""A page that came, but on which a browser could not do what it was opened for."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.core.browsing import PageFailure
from gossamer.core.errors import Fault, FetchError
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.browser.screenshots import ScreenshotFolder
from kit.engine import URL, Kit, virtually


async def crawl_failing(failure: PageFailure, status: int = 200) -> Kit:
    """A crawl of one page with that failure."""
    kit = Kit()
    kit.site.replies[URL] = replace(kit.site.page(URL, status), failure=failure)
    await Supervisor(kit.parts, Worker(kit.parts, kit.shift), drain_s=5.0).run(kit.seeds_of(URL))
    return kit


def rows_of(kit: Kit) -> list[tuple[str, str, int]]:
    rows = [row for result in kit.ledger.results for row in result.attempts]
    return [(row.verdict.value, row.reason, row.status) for row in rows]


def test_what_did_not_appear_is_tried_again_and_no_success() -> None:
    failure = PageFailure(fault=Fault.MISSING, detail="step 1, click '#more': no such element after 10 s")
    kit = virtually(crawl_failing, failure)
    assert rows_of(kit) == [*[("retry", "missing", 200)] * 3, ("dead", "missing", 200)]
    assert kit.ledger.results[-1].attempts[0].detail == failure.detail


def test_the_spiders_own_mistake_is_a_dead_letter_at_once() -> None:
    kit = virtually(crawl_failing, PageFailure(fault=Fault.CALLBACK, detail="LookupError: no menu"))
    assert rows_of(kit) == [("dead", "callback", 200)]


def test_the_status_of_a_page_goes_before_what_failed_on_it() -> None:
    kit = virtually(crawl_failing, PageFailure(fault=Fault.MISSING, detail="no .price"), 404)
    assert rows_of(kit) == [("skipped", "gone", 404)]


PICTURE = b"\x89PNG picture"


async def crawl_with_pictures(
    folder: Path, *, max_files: int = 10, keeps_all: bool = False, keeps_html: bool = False
) -> Kit:
    """A crawl of three pages with pictures: one succeeds, one fails in its browser, one is refused."""
    kit = Kit()
    good = replace(kit.site.page(URL), screenshot=PICTURE)
    lost = FetchError(Fault.TOO_LARGE)
    lost.screenshot = PICTURE
    failure = PageFailure(fault=Fault.CALLBACK, detail="no menu")
    kit.site.replies = {
        URL: good,
        URL + "failing": replace(good, url=URL + "failing", failure=failure),
        URL + "lost": lost,
    }
    store = ScreenshotFolder(
        folder, "shop/1", max_files=max_files, keeps_all=keeps_all, keeps_html=keeps_html
    )
    parts = kit.with_parts(screenshots=store)
    seeds = kit.seeds_of(URL, URL + "failing", URL + "lost")
    await Supervisor(parts, Worker(parts, kit.shift), drain_s=5.0).run(seeds)
    return kit


def flags_of(kit: Kit) -> dict[str, tuple[str, ...]]:
    rows = [row for result in kit.ledger.results for row in result.attempts]
    return {row.url.removeprefix(URL): row.flags for row in rows}


def test_the_ledger_names_the_pictures_of_pages_that_failed(tmp_path: Path) -> None:
    flags = flags_of(virtually(crawl_with_pictures, tmp_path))
    assert flags[""] == ()
    for name in ("failing", "lost"):
        (flag,) = flags[name]
        word, _, file = flag.partition(":")
        assert (word, (tmp_path / file).read_bytes()) == ("screenshot", PICTURE)
        assert file.startswith("shop_1/")
        assert file.endswith("-1.png")
    assert len(list(tmp_path.rglob("*.png"))) == 2


def test_the_html_is_kept_beside_the_picture_where_that_is_wanted(tmp_path: Path) -> None:
    kit = virtually(lambda: crawl_with_pictures(tmp_path, keeps_html=True))
    (page,) = tmp_path.rglob("*.html")
    failing = kit.site.replies[URL + "failing"]
    assert page.read_bytes() == failing.body  # type: ignore[union-attr]
    assert page.with_suffix(".png").read_bytes() == PICTURE
    assert len(list(tmp_path.rglob("*.png"))) == 2, "a page that was lost has a picture alone"


def test_all_pictures_are_kept_where_that_is_wanted(tmp_path: Path) -> None:
    flags = flags_of(virtually(lambda: crawl_with_pictures(tmp_path, keeps_all=True)))
    assert all(flag.startswith("screenshot:shop_1/") for (flag,) in flags.values())
    assert len(list(tmp_path.rglob("*.png"))) == 3


def test_a_picture_that_cannot_be_kept_costs_no_page(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flags = flags_of(virtually(lambda: crawl_with_pictures(tmp_path, max_files=1)))
    assert len(list(tmp_path.rglob("*.png"))) == 1
    assert ("no_screenshot",) in flags.values()
    blocked = tmp_path / "file"
    blocked.write_text("")
    flags = flags_of(virtually(crawl_with_pictures, blocked))
    assert flags["failing"] == flags["lost"] == ("no_screenshot",)
    assert "cannot be written" in caplog.text
