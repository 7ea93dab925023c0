"""Pages that some workers fetch and others read: the same as if every worker did both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from acceptance.fleet.conftest import Known, known
from kit.fleet.history import judge
from kit.fleet.processes import Fleet, Servers
from kit.fleet.steps import until
from kit.fleet.stored import Stored

PAGES = 300


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Known]:
    yield from known(tmp_path_factory.mktemp("deferred"), "small", PAGES, 0.01)


@pytest.fixture
def site(small: Known) -> Known:
    """The catalogue, as if nobody had been there."""
    small.site.begin()
    return small


def deferring(folder: Path, servers: Servers, *, fetching: int = 1, reading: int = 1) -> Fleet:
    """A fleet whose workers either fetch or read."""
    env = {"GOSSAMER_EXTRACT__DEFERRED": "true", "GOSSAMER_ARCHIVE__URL": str(folder / "pages")}
    fleet = Fleet(folder, servers, workers=0, env=env)
    for lanes in ("http",) * fetching + ("extract",) * reading:
        fleet.add_worker("--lanes", lanes)
    return fleet


def fetched(stored: Stored) -> Stored:
    """The same without the rows of extractions, which the site cannot know of."""
    return replace(stored, ledger=[tried for tried in stored.ledger if tried.rung != "archive"])


@pytest.mark.long
def test_a_deferred_crawl_gives_the_same(site: Known, servers: Servers, tmp_path: Path) -> None:
    with deferring(tmp_path, servers, fetching=2) as fleet:
        result = fleet.crawl(site.spider)
        stored = fleet.stored(result["job"])
        judge(site.truth, site.site.hits(), fetched(stored))
        counts = (result["pages"], result["items"], result["attempts"], result["dead"])
        asked = len([hit for hit in site.site.hits() if hit.path != "/robots.txt"])
        assert counts == (len(site.truth.pages), len(site.truth.items), asked, 0)
        by_rung = Counter((tried.rung, tried.worker) for tried in stored.ledger if tried.status == 200)
        assert len([rung for rung, _ in by_rung if rung == "archive"]) == 1
        workers = [worker for _, worker in by_rung]
        assert len(workers) == len(set(workers)), "who fetches runs no callback"

        site.site.begin()
        some = fleet.crawl(site.spider, "--max-pages", "40")
        assert (some["finish_reason"], some["pages"]) == ("max_pages", 40), "each counts once, and is read"
        pages = [hit for hit in site.site.hits() if hit.path != "/robots.txt" and hit.status == 200]
        assert len(pages) == 40, "no more than that is asked for; redirects are no pages"


@pytest.mark.thorough
def test_workers_of_both_kinds_may_be_killed(site: Known, servers: Servers, tmp_path: Path) -> None:
    with deferring(tmp_path, servers, fetching=2, reading=2) as fleet:
        job = fleet.submit(site.spider)
        first, *_, last = fleet.workers
        for victim, at in ((first, 60), (last, 150)):
            site.site.wait_for(at)
            victim.kill()
        result = fleet.wait(job)
        stored = fleet.stored(job)
    judge(site.truth, site.site.hits(), fetched(stored), refetched=fleet.in_flight)
    assert result["finish_reason"] == "finished"


@pytest.mark.long
def test_a_page_that_is_gone_from_the_archive_is_a_dead_letter(
    site: Known, servers: Servers, tmp_path: Path
) -> None:
    with deferring(tmp_path, servers, reading=0) as fleet:
        job = fleet.submit(site.spider)
        until(lambda: len(fleet.ledger(job)) == 1, 20, "the first page")
        explained = fleet.run("explain", f"{site.site.url}/")
        assert "It was fetched and archived, and waits for a worker" in explained.stdout, explained.stderr
        for file in (tmp_path / "pages").rglob("*.warc.gz*"):
            file.unlink()
        fleet.add_worker("--lanes", "extract")
        fleet.ready()
        until(lambda: len(fleet.ledger(job)) == 2, 20, "its extraction")
        assert fleet.ledger(job)[-1].reason == "not_archived"
        letters = json.loads(fleet.run("dead", "list", job, "--json").stdout)
        assert [letter["reason"] for letter in letters] == ["not_archived"]
