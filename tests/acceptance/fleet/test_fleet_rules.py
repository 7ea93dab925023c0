"""Link rules on a fleet: the same items as in one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from acceptance.test_link_rules import PRODUCTS, spider_file
from gossamer.testing.shop import Shop
from gossamer.testing.site import serve_in_thread
from kit.fleet.processes import Fleet, Servers

pytestmark = pytest.mark.timeout(300)


@pytest.mark.long
def test_pages_that_rules_lead_to_are_crawled_by_all_workers(servers: Servers, tmp_path: Path) -> None:
    with serve_in_thread(Shop(PRODUCTS)) as site, Fleet(tmp_path, servers, workers=2) as fleet:
        result = fleet.crawl(spider_file(tmp_path, site))
    assert (result["finish_reason"], result["items"], result["dead"]) == ("finished", PRODUCTS, 0)
