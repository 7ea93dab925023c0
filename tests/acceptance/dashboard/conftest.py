"""One browser, and the page over canned answers, for a module of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from kit.dashboard.canned_answers import answer
from kit.dashboard.canned_server import CannedServer, serve_canned
from kit.dashboard.visitor import CHROMIUM, Visitor


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM)
        yield browser
        browser.close()


@pytest.fixture
def canned() -> Iterator[CannedServer]:
    """The page over made-up answers, well at the beginning of each test."""
    with serve_canned(answer) as site:
        yield site


@pytest.fixture
def visitor(chromium: Browser, canned: CannedServer) -> Iterator[Visitor]:
    """Somebody with a wide window, who minds errors of the console."""
    with Visitor(chromium, canned.url) as someone:
        yield someone
