"""A crawl from the dashboard, as a person does it: started, watched, steered, mended, its items taken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from gossamer.testing.site import Site, serve_in_thread
from kit.dashboard.canned_answers import HOSTILE
from kit.dashboard.hostile_shop import HostileShop
from kit.dashboard.served import serve_dashboard
from kit.dashboard.visitor import Visitor

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with serve_in_thread(HostileShop(60)) as site:
        yield site


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("project")
    with serve_dashboard(folder, "-s", "dashboard.allow_private=true") as url:
        yield url


def go_on_from(page: Page, before: int) -> None:
    """Wait until more was done than before."""
    done = page.locator(".states .n").nth(3)
    expect(done).not_to_have_text(f"{before:,}")


def test_a_crawl_is_started_steered_and_mended(chromium: Browser, dashboard: str, shop: Site) -> None:
    with Visitor(chromium, dashboard) as someone:
        page = someone.go("/")
        expect(page.locator("h1")).to_have_text("Nothing was crawled yet.")
        job = start_crawl(page, shop)
        steer(page, someone, job)
        mend(page, someone, job, shop)
        take_items(page, someone, job)
        meet_strangers(page, someone, job)


def start_crawl(page: Page, shop: Site) -> str:
    page.get_by_label("What to crawl").fill(shop.url + "/")
    page.get_by_label("Seconds between two requests to a host").fill("0.2")
    page.get_by_role("button", name="Start the crawl").click()
    page.wait_for_url("**/jobs/*", timeout=30_000)
    expect(page.get_by_role("button", name="Pause")).to_be_enabled(timeout=20_000)
    go_on_from(page, 0)
    return page.url.rsplit("/", 1)[1]


def steer(page: Page, someone: Visitor, job: str) -> None:
    page.keyboard.press("p")
    expect(page.locator("h1")).to_have_text(f"{job} is paused.", timeout=15_000)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Pause")).to_be_enabled(timeout=30_000)
    page.keyboard.press("l")
    page.get_by_label("Seconds between two starts at one host").fill("0.02")
    page.get_by_role("dialog").get_by_role("button", name="Change limits").click()
    expect(page.locator(".toast").last).to_contain_text("were changed")
    page.get_by_role("link", name="Settings").first.click()
    row = page.locator("tr[data-id='delay']")
    expect(row).to_contain_text("0.02")
    expect(row).to_contain_text("changed while running")
    someone.walk(f"/jobs/{job}")
    expect(page.locator("h1")).to_have_text(f"{job} is finished: nothing is left to do.", timeout=60_000)


def mend(page: Page, someone: Visitor, job: str, shop: Site) -> None:
    someone.walk(f"/jobs/{job}/dead")
    page.locator("tbody tr").first.click()
    expect(page.locator(".side h2")).to_contain_text("client")
    expect(page.locator(".side")).to_contain_text("/refused?name=")
    shop.app.is_mended = True  # type: ignore[attr-defined]
    page.keyboard.press("e")
    page.get_by_role("dialog").get_by_label("Priority").fill("3")
    expect(page.get_by_role("dialog")).to_contain_text("priority → 3")
    page.get_by_role("dialog").get_by_role("button", name="Retry").click()
    expect(page.locator(".toast").last).to_contain_text("1 request waits again.")
    someone.walk(f"/jobs/{job}/dead")
    expect(page.locator("main")).to_contain_text("No dead letters.", timeout=30_000)


def take_items(page: Page, someone: Visitor, job: str) -> None:
    someone.walk(f"/jobs/{job}/items")
    page.get_by_role("button", name="Download").click()
    with page.expect_download() as download:
        page.get_by_role("dialog").get_by_role("link", name="Download").click()
    lines = download.value.path().read_text().splitlines()
    assert len(lines) > 60
    assert all(json.loads(line) for line in lines)


def meet_strangers(page: Page, someone: Visitor, job: str) -> None:
    """Whatever they wrote is text, in every view."""
    for view in ("", "/hosts", "/errors", "/dead", "/items", "/attempts", "/settings"):
        someone.walk(f"/jobs/{job}{view}")
        assert page.locator(".fault").all_inner_texts() == [], view
        assert someone.spilled() == [], view
    someone.walk(f"/jobs/{job}/items?q=document.title")
    expect(page.locator("main tbody")).to_contain_text(HOSTILE[0])
    someone.walk(f"/jobs/{job}/attempts?status=400")
    page.locator("tbody tr a.url").first.click()
    expect(page.locator("h1.answer")).to_be_visible()
    assert page.locator("main script, main img").count() == 0
