"""Applications of one file each are crawled whole by a fleet whose workers have a browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.testing.site import serve_in_thread
from kit import apps
from kit.fleet.processes import Fleet, Servers

pytestmark = [pytest.mark.timeout(300), pytest.mark.thorough]


@pytest.mark.parametrize("kind", ["chromium", "firefox"])
def test_applications_are_crawled_whole(servers: Servers, tmp_path: Path, kind: str) -> None:
    settings = {"browser.kind": kind, "per_host": 2, "concurrency": 2, "delay": 0}
    with (
        serve_in_thread(apps.serve_app) as site,
        Fleet(tmp_path, servers, workers=2, slots=1, settings=settings) as fleet,
    ):
        fleet.ready()
        spider = tmp_path / "apps.py"
        spider.write_text(apps.write_spider(site.url))
        job = fleet.submit(spider)
        result = fleet.wait(job, timeout_s=240)
        lines = fleet.run("export", job, "-o", "-", "--format", "jsonl").stdout.splitlines()
    found = {(item["app"], item["text"]) for item in map(json.loads, lines)}
    assert apps.expected_items() - found == set()
    assert (len(found), result["dead"]) == (len(apps.expected_items()), 0)
