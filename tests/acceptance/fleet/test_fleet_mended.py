"""A spider that was mended: what it has failed at is done with the new one, without a new job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.fleet.processes import Fleet, Servers

SPIDER = """
import time

from gossamer import Spider


class Mending(Spider):
    name = "mending"
    settings = {"extract": {"deferred": DEFERRED}, "archive": {"url": "FOLDER"}}
    start_urls = ["SITE/"]

    def parse(self, response):
        time.sleep(SECONDS)
        self.stats.inc("parsed")
        if "product" in response.url:
            yield {"url": response.url, "title": response.css(CSS).get().strip()}
        yield from response.follow_all(css="a")
"""

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    with serve_in_thread(Shop(12, per_page=6, related=0)) as site:
        yield site


def write(folder: Path, site: Site, *, css: str, deferred: bool, seconds: float = 0.0) -> Path:
    spider = folder / "mending.py"
    text = (
        SPIDER.replace("SITE", site.url)
        .replace("FOLDER", str(folder / "archive"))
        .replace("CSS", repr(css))
        .replace("SECONDS", str(seconds))
    )
    spider.write_text(text.replace("DEFERRED", str(deferred)))
    return spider


@pytest.mark.long
@pytest.mark.parametrize("deferred", [False, True])
def test_dead_letters_are_done_by_the_mended_spider(
    deferred: bool, shop: Site, servers: Servers, tmp_path: Path
) -> None:
    """Bug it would catch: every worker refuses the job from then on, and its dead letters are gone."""
    spider = write(tmp_path, shop, css="nothing::text", deferred=deferred)
    with Fleet(tmp_path, servers, workers=1) as fleet:
        job = fleet.submit(spider)
        assert fleet.wait(job, may_fail=True)["dead"] == 12
        assert fleet.run("wait", job, "-q").returncode == 1, "most requests failed, extracted later or not"
        write(tmp_path, shop, css="h1::text", deferred=deferred)
        for worker in fleet.workers:
            worker.kill()
            worker.start()
        fleet.ready()
        said = fleet.run("dead", "retry", job)
        assert said.returncode == 0, said.stderr
        assert "another version here" in said.stdout
        result = fleet.wait(job)
        assert (result["dead"], result["items"]) == (0, 12)


@pytest.mark.long
def test_slow_callbacks_run_once(servers: Servers, tmp_path: Path) -> None:
    """Bug it would catch: while those that are ready together compute, nobody keeps their leases."""
    with (
        serve_in_thread(Shop(60, per_page=60, related=0)) as site,
        Fleet(
            tmp_path, servers, workers=2, slots=1, settings={"frontier.lease_ttl": 2, "concurrency": 64}
        ) as fleet,
    ):
        spider = write(tmp_path, site, css="h1::text", deferred=True, seconds=0.15)
        job = fleet.submit(spider)
        result = fleet.wait(job)
        reasons = [row.reason for row in fleet.ledger(job)]
    assert result["items"] == 60
    assert "expired" not in reasons
    assert result["stats"] == {"parsed": result["pages"]}
