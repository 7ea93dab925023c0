"""What a spider counts on a fleet: all workers together, in the summary and in the status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acceptance.test_spider_stats import COUNTED, PAGES, chain_app, write_spider
from gossamer.testing.site import serve_in_thread
from kit.fleet.processes import Fleet, Servers

pytestmark = pytest.mark.timeout(300)


@pytest.mark.long
def test_workers_count_together(servers: Servers, tmp_path: Path) -> None:
    with serve_in_thread(chain_app) as site, Fleet(tmp_path, servers, workers=2) as fleet:
        result = fleet.crawl(write_spider(tmp_path, site.url))
        status = json.loads(fleet.run("status", "counting", "--json").stdout)
    assert (result["finish_reason"], result["pages"]) == ("finished", PAGES)
    assert result["stats"] == status["stats"] == COUNTED
