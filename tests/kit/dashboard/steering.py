"""A user's way through the dashboard, from the start of a crawl to its export, and the requests its site
sees.

The same on this machine and on a fleet: ``steer_crawl`` gets the address.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Download, Page, expect

from gossamer.testing.site import Hit, Site
from kit.dashboard.hostile_shop import MENDED, REFUSED
from kit.dashboard.visitor import Visitor
from kit.fleet.steps import until

SLOW_S, QUICK_S = 0.25, 0.02
"""The delay with which the crawl begins, and the one that it gets meanwhile."""
expect.set_options(timeout=15_000)  # a topic rests for 5 s at most, and the machine may be busy

PICTURES = os.environ.get("GOSSAMER_TEST_PICTURES", "")
"""A folder for a picture of each step; by default there are none."""
RUNS_NOTHING = "main img, main script, main iframe, main object, main a[href^='javascript:' i]"


@dataclass
class Steering:
    """A crawl, its site and its user."""

    visitor: Visitor
    site: Site
    run: Callable[..., subprocess.CompletedProcess[str]]  # the command line, on the same data
    downloads: Path
    job: str = ""
    steps: int = 0

    @property
    def page(self) -> Page:
        return self.visitor.page

    def hits_of(self, start: str) -> list[Hit]:
        """The requests for pages whose path begins like this."""
        return [hit for hit in self.site.hits if hit.path.startswith(start)]

    def seen(self, name: str) -> None:
        """A step is done: nothing that strangers wrote has become more than text."""
        self.steps += 1
        assert self.page.locator(RUNS_NOTHING).count() == 0, name
        assert "broken" not in self.page.title(), name
        self.picture(name)

    def picture(self, name: str) -> None:
        """Save a picture of the page, for inspection."""
        if PICTURES:
            self.page.screenshot(path=f"{PICTURES}/{self.steps:02}-{name}.png", full_page=True)

    def go(self, end: str) -> Page:
        """A place of the job, as its links lead there."""
        return self.visitor.walk(f"/jobs/{self.job}{end}")

    def has_said(self, text: str | re.Pattern[str]) -> None:
        """Wait until the latest toast has this text."""
        expect(self.page.locator(".toast").last).to_contain_text(text)


def steer_crawl(crawl: Steering) -> None:
    """Do all of it, in the order of a user."""
    try:
        start_it(crawl)
        watch_it_move(crawl)
        paused_at = pause_it(crawl)
        export_items(crawl)
        look_at_a_page(crawl)
        resume_it(crawl, paused_at)
        change_its_delay(crawl)
        undo_that(crawl)
        mend_a_dead_letter(crawl)
        drop_the_other_and_take_it_back(crawl)
        look_around(crawl)
        cancel_it(crawl)
    except BaseException:
        crawl.picture("failed")
        raise


def start_it(crawl: Steering) -> None:
    page = crawl.visitor.go("/new")
    page.get_by_label("What to crawl").fill(crawl.site.url)
    page.get_by_label("Seconds between two requests to a host").fill(str(SLOW_S))
    crawl.seen("form")
    page.get_by_role("button", name="Start the crawl").click()
    page.wait_for_url("**/jobs/*", timeout=30_000)
    crawl.job = page.url.rpartition("/")[2]


def watch_it_move(crawl: Steering) -> None:
    """Its numbers grow without a question of the page: the stream tells them."""
    page, asked = crawl.page, list[str]()
    done = page.locator(".states li", has_text="done").locator(".n")
    expect(done).to_have_text(re.compile(r"[1-9]\d*"), timeout=20_000)
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(2):
        before = done.inner_text()
        expect(done).not_to_have_text(before)
        assert int(done.inner_text()) > int(before)
    assert not [url for url in asked if url.endswith(f"/jobs/{crawl.job}")], "the page asked itself"
    crawl.seen("moves")


def pause_it(crawl: Steering) -> float:
    page = crawl.page
    until(lambda: len(crawl.hits_of("/refused")) == len(REFUSED), 20, "a refused page was requested")
    expect(page.locator(".states li", has_text="dead").locator(".n")).to_have_text("2", timeout=20_000)
    page.keyboard.press("p")
    crawl.has_said(f"{crawl.job} is paused.")
    expect(page.locator("h1")).to_have_text(f"{crawl.job} is paused.")
    crawl.seen("paused")
    return time.time()


def export_items(crawl: Steering) -> None:
    """The file of the dashboard is that of the command line, and each of its items is a page of the site."""
    page = crawl.go("/items")
    expect(page.locator("main tbody").last).to_contain_text(crawl.site.url)
    crawl.seen("items")
    page.get_by_role("button", name="Download…").click()
    crawl.seen("download")
    with page.expect_download() as coming:
        page.get_by_role("link", name="Download").click()
    lines = text_of(coming.value, crawl.downloads).splitlines()
    done = crawl.run("export", crawl.job)
    assert done.returncode == 0, done.stderr
    assert sorted(lines) == sorted(done.stdout.splitlines())
    visited = {f"{crawl.site.url}{hit.path}" for hit in crawl.site.hits if hit.status == 200}
    assert {item_url(line) for line in lines} <= visited
    assert len(lines) > 5


def text_of(download: Download, folder: Path) -> str:
    path = folder / download.suggested_filename
    download.save_as(path)
    assert path.suffix == ".jsonl", path
    return path.read_text()


def item_url(line: str) -> str:
    item: dict[str, Any] = json.loads(line)
    return str(item["url"])


def look_at_a_page(crawl: Steering) -> None:
    """The life of the page with the worst of titles. It is searched for: the list begins with the latest."""
    page = crawl.go("/items")
    search = page.get_by_placeholder("Text in any field")
    search.fill("document.title")
    search.press("Enter")
    page.locator("main tbody tr", has_text="<script>").first.click()
    expect(page.locator(".side")).to_contain_text("<script>document.title='broken'</script>")
    crawl.seen("item")
    page.locator(".side a.url").first.click()
    page.wait_for_url("**/page?*")
    expect(page.locator("main")).to_contain_text("Its life")
    expect(page.locator("main h1")).to_contain_text("fetched")
    crawl.seen("life")


def resume_it(crawl: Steering, paused_at: float) -> None:
    page = crawl.go("")
    resumed_at = time.time()
    late = [hit for hit in crawl.site.hits if paused_at + 1.0 < hit.at < resumed_at]
    assert not late, "it rests while it is paused"
    page.get_by_role("button", name="Resume").click()
    crawl.has_said(f"{crawl.job} goes on.")
    count = len(crawl.site.hits)
    until(lambda: len(crawl.site.hits) > count + 2, 30, "it goes on")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    crawl.seen("resumed")


def change_its_delay(crawl: Steering) -> None:
    page = crawl.page
    page.get_by_role("button", name="Change limits").click()
    page.get_by_label("Seconds between two starts at one host").fill(str(QUICK_S))
    expect(page.locator("dialog")).to_contain_text(f"delay: {SLOW_S} → {QUICK_S}")
    crawl.seen("limits")
    page.locator("dialog").get_by_role("button", name="Change limits").click()
    crawl.has_said("were changed")
    until(lambda: mean_gap(crawl, 8) < SLOW_S * 0.6, 15, "the site sees it go faster")
    crawl.seen("faster")


def mean_gap(crawl: Steering, count: int) -> float:
    """Seconds between the latest requests."""
    hits = crawl.site.hits[-count:]
    return (hits[-1].at - hits[0].at) / (len(hits) - 1)


def undo_that(crawl: Steering) -> None:
    crawl.page.get_by_role("button", name="Undo").last.click()
    crawl.has_said("The former limits hold again.")
    until(lambda: mean_gap(crawl, 4) > SLOW_S * 0.9, 15, "the site sees it go slower again")
    crawl.seen("undone")


def mend_a_dead_letter(crawl: Steering) -> None:
    """Fix the letter's URL and retry it; its page and the links on it are fetched."""
    page = crawl.go("/dead")
    expect(page.locator("main tbody tr")).to_have_count(2)
    crawl.seen("letters")
    page.locator("main tbody tr", has_text="script").first.click()
    expect(page.locator(".side")).to_contain_text("400")
    crawl.seen("letter")
    page.locator(".side").get_by_role("button", name="Edit and retry…").click()
    page.locator("dialog").get_by_label("URL").fill(crawl.site.url + MENDED)
    crawl.seen("edited")
    page.locator("dialog").get_by_role("button", name="Retry", exact=True).click()
    crawl.has_said("1 request waits again.")
    expect(page.locator("main tbody tr")).to_have_count(1)
    until(lambda: crawl.hits_of("/mended"), 20, "the fixed page is fetched")
    page = crawl.visitor.walk(f"/page?job={crawl.job}&url={quote(crawl.site.url + MENDED, safe='')}")
    expect(page.locator("main h1")).to_contain_text("was fetched", timeout=20_000)
    crawl.seen("succeeded")


def drop_the_other_and_take_it_back(crawl: Steering) -> None:
    page = crawl.go("/dead")
    page.locator("main tbody tr").first.click()
    page.locator(".side").get_by_role("button", name="Drop…").click()
    crawl.seen("drop")
    page.locator("dialog").get_by_role("button", name="Drop 1").click()
    crawl.has_said("1 dead letter was dropped.")
    expect(page.locator("main")).to_contain_text("No dead letters.")
    crawl.seen("dropped")
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator("main tbody tr")).to_have_count(1)
    crawl.seen("taken-back")


def look_around(crawl: Steering) -> None:
    """In each view all parts are there, and what strangers wrote breaks no layout."""
    for view in ("hosts", "errors", "attempts", "settings"):
        page = crawl.go(f"/{view}")
        assert page.locator(".fault").all_inner_texts() == [], view
        assert crawl.visitor.spilled() == [], view
        crawl.seen(view)


def cancel_it(crawl: Steering) -> None:
    page = crawl.go("")
    expect(page.locator("#h-changes")).to_be_visible()
    crawl.seen("changes")
    page.get_by_role("button", name="Cancel…").click()
    page.get_by_role("button", name=f"Cancel {crawl.job}").click()
    crawl.has_said("is cancelled in 10 s")
    expect(page.locator("h1")).to_have_text(f"{crawl.job} is paused.")
    crawl.seen("cancelled")
