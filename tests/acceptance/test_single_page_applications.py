"""Applications of one file each are crawled whole in a browser, whatever they are made of."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit import apps
from kit.command_line import FAST, asked

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["chromium", pytest.param("firefox", marks=pytest.mark.thorough)])
def test_applications_are_crawled_whole(tmp_path: Path, kind: str) -> None:
    with serve_in_thread(apps.serve_app) as site:
        (tmp_path / "apps.py").write_text(apps.write_spider(site.url))
        ran = asked(f"crawl apps.py -s browser.kind={kind}", *FAST, cwd=tmp_path)
        items = asked("export apps", cwd=tmp_path)
    found = {(item["app"], item["text"]) for item in items}
    assert apps.expected_items() - found == set()
    assert (len(found), ran["dead"]) == (len(apps.expected_items()), 0)
