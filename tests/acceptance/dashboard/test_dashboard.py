"""A crawl from the dashboard, as a person does it: started, watched, steered, mended, its items taken."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from gossamer.testing.site import Site, serve_in_thread
from kit import programs
from kit.dashboard.hostile_shop import HostileShop
from kit.dashboard.served import serve_dashboard
from kit.dashboard.steering import Steering, steer_crawl
from kit.dashboard.visitor import Visitor

pytestmark = pytest.mark.slow


@pytest.fixture
def shop() -> Iterator[Site]:
    with serve_in_thread(HostileShop(200)) as site:
        yield site


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[str]:
    """In an empty folder, as somebody begins."""
    try:
        with serve_dashboard(tmp_path, "-s", "dashboard.allow_private=true") as url:
            yield url
    finally:
        programs.end_crawls(tmp_path)


@pytest.mark.long
def test_a_crawl_is_steered_from_its_start_to_its_export(
    chromium: Browser, dashboard: str, shop: Site, tmp_path: Path
) -> None:
    with Visitor(chromium, dashboard) as someone:
        run = partial(programs.run, cwd=tmp_path)
        steer_crawl(Steering(someone, shop, run, tmp_path / "downloads"))
