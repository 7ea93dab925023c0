"""A spider logs in by whichever way pages are fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit.command_line import FAST, asked
from kit.log_in_site import CHECK, PAGES, Club, spider_file
from kit.programs import rows

pytestmark = pytest.mark.server


@pytest.mark.parametrize("way", ["impersonate", pytest.param("browser", marks=pytest.mark.thorough)])
def test_every_page_behind_a_log_in_is_had(way: str, tmp_path: Path) -> None:
    app, data = Club(uses=9), tmp_path / "data"
    with serve_in_thread(app) as site:
        spider = spider_file(tmp_path, site.url, CHECK)
        result = asked("crawl", spider, *FAST, "--data", data, "-s", f"fetch={way}", cwd=tmp_path)
    assert (result["finish_reason"], result["dead"], result["items"]) == ("finished", 0, PAGES)
    assert app.log_ins > 1
    assert set(rows(data, "select rung from attempt")) == {(way,)}
    assert set(rows(data, "select verdict, reason from attempt")) == {
        ("success", ""),
        ("retry", "logged_out"),
    }
