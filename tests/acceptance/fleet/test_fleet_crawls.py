"""The same spider gives the same pages and items in one process and on a fleet of any size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acceptance.fleet.conftest import Known
from acceptance.test_documentation_sites import truth, unpacked
from kit.corpora import from_corpus
from kit.fleet import spiders
from kit.fleet.history import judge, learnt
from kit.fleet.processes import FULL, Fleet, Servers
from kit.fleet.serving import ServedSite
from kit.fleet.stored import Stored, from_sqlite
from kit.made_docs import START, make_docs
from kit.programs import crawl, run
from kit.saved_shop import PAGES, PRODUCTS, spider_file

LONG_S = 900 if FULL else 150
EMBEDDED = ("--delay", "0", "--per-host", "64", "-s", "retry_backoff=0.2")

pytestmark = pytest.mark.timeout(2 * LONG_S)


def embedded(spider: Path, data: Path) -> tuple[dict[str, Any], Stored]:
    """A crawl in one process, on SQLite."""
    result = crawl(spider, "--data", data, *EMBEDDED)
    exported = run("export", result["job"], "--data", data)
    assert exported.returncode == 0, exported.stderr
    return result, from_sqlite(data, exported.stdout)


@pytest.mark.long
@pytest.mark.parametrize(
    ("workers", "broker"),
    [
        pytest.param(1, "redis", marks=pytest.mark.thorough),
        (2, "rabbit"),
        pytest.param(4, "redis", marks=pytest.mark.thorough),
    ],
)
def test_the_catalogue(
    workers: int,
    broker: str,
    catalogue: Known,
    servers: Servers,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if broker == "rabbit":
        servers = servers.with_broker(request.getfixturevalue("amqp_url"))
    with Fleet(tmp_path, servers, workers=workers) as fleet:
        result = fleet.crawl(catalogue.spider, timeout_s=LONG_S)
        stored = fleet.stored(result["job"])
        fleet.all_alive()
    judge(catalogue.truth, catalogue.site.hits(), stored)
    counts = (result["finish_reason"], result["pages"], result["items"], result["dead"])
    assert counts == ("finished", len(catalogue.truth.pages), len(catalogue.truth.items), 0)
    at_work = {tried.worker.partition("/")[0] for tried in stored.ledger}
    print(f"{workers} workers, {broker}: {result['pages_per_second']} pages/s, by {sorted(at_work)}")


@pytest.mark.long
def test_the_catalogue_in_one_process_gives_the_same_lines(
    catalogue: Known, servers: Servers, tmp_path: Path
) -> None:
    result, alone = embedded(catalogue.spider, tmp_path / "alone")
    judge(catalogue.truth, catalogue.site.hits(), alone)
    catalogue.site.begin()
    with Fleet(tmp_path, servers) as fleet:
        together = fleet.crawl(catalogue.spider, timeout_s=LONG_S)
        stored = fleet.stored(together["job"])
    judge(catalogue.truth, catalogue.site.hits(), stored)
    assert sorted(stored.lines) == sorted(alone.lines)
    same = ("spider", "finish_reason", "pages", "items", "attempts", "retries", "dead", "bytes", "by_status")
    assert {name: together[name] for name in same} == {name: result[name] for name in same}


def test_the_saved_shop(servers: Servers, tmp_path: Path) -> None:
    with ServedSite(tmp_path / "site", "shop", 0.02) as site:
        spider = spider_file(tmp_path, site.url)
        _, alone = embedded(spider, tmp_path / "alone")
        known = learnt(site.hits(), alone)
        site.begin()
        with Fleet(tmp_path, servers, workers=2) as fleet:
            result = fleet.crawl(spider, timeout_s=LONG_S)
            assert (result["pages"], result["items"], result["dead"]) == (PAGES, PRODUCTS, 0)
            judge(known, site.hits(), fleet.stored(result["job"]))


@pytest.mark.thorough
def test_a_site_of_documentation(servers: Servers, tmp_path: Path) -> None:
    known = make_docs(tmp_path / "docs")
    pages, attempts = the_same_on_a_fleet(tmp_path / "docs", START, servers, tmp_path)
    assert (pages, attempts) == (len(known.pages | known.texts), known.attempts)


@pytest.mark.long
@from_corpus("debian-docs")
def test_python_documentation(servers: Servers, tmp_path: Path) -> None:
    known = truth("python3.11-doc")
    folder = unpacked("python3.11-doc", known["doc_root"])
    pages, attempts = the_same_on_a_fleet(folder, known["start"], servers, tmp_path)
    assert (pages, attempts) == (known["reachable_html_urls"], known["distinct_in_scope_urls"])


def the_same_on_a_fleet(folder: Path, start: str, servers: Servers, tmp_path: Path) -> tuple[int, int]:
    """Crawl a folder's site in one process and on four workers; how many pages and attempts it takes."""
    with ServedSite(tmp_path / "site", "folder", str(folder)) as site:
        spider = spiders.write(tmp_path, "docs", spiders.DOCS, url=site.url, start=start.lstrip("/"))
        _, alone = embedded(spider, tmp_path / "alone")
        plan = learnt(site.hits(), alone)
        site.begin()
        with Fleet(tmp_path, servers, workers=4) as fleet:
            result = fleet.crawl(spider, timeout_s=LONG_S)
            judge(plan, site.hits(), fleet.stored(result["job"]))
    return len(plan.pages), result["attempts"]
