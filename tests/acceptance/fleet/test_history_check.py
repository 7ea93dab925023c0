"""The history check itself: it passes a crawl by one process, and fails for everything that may be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kit.fleet import spiders
from kit.fleet.history import judge, learnt, pace
from kit.fleet.serving import Asked, ServedSite
from kit.fleet.site import Catalogue, Truth
from kit.fleet.stored import Stored, Tried, from_sqlite
from kit.programs import crawl, rows, run

PAGES = 450
FAST = ("--delay", "0", "--per-host", "64", "-s", "retry_backoff=0.1")


@dataclass(frozen=True)
class Crawled:
    """An embedded crawl of a small catalogue."""

    url: str
    truth: Truth
    hits: list[Asked]
    data: Path

    def stored(self) -> Stored:
        exported = run("export", "catalogue", "--data", self.data)
        assert exported.returncode == 0, exported.stderr
        return from_sqlite(self.data, exported.stdout)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp("catalogue")
    with ServedSite(folder / "site", "catalogue", PAGES, 0) as site:
        spider = spiders.write(folder, "catalogue", spiders.CATALOGUE, url=site.url)
        result = crawl(spider, "--data", folder / "data", *FAST)
        assert (result["pages"], result["dead"], result["finish_reason"]) == (PAGES, 0, "finished")
        yield Crawled(site.url, Catalogue(PAGES).truth(site.url), site.hits(), folder / "data")


def test_an_embedded_crawl_passes(crawled: Crawled) -> None:
    stored = crawled.stored()
    judge(crawled.truth, crawled.hits, stored)
    assert len(stored.pages) == PAGES
    statuses = {status for given in crawled.truth.answers.values() for status in given}
    assert statuses == {200, 301, 404, 500}, "the site has all that it should have"
    assert any(len(given) == 2 for given in crawled.truth.answers.values())
    judge(learnt(crawled.hits, stored), crawled.hits, stored)


@pytest.mark.long
def test_a_second_run_finds_the_site_as_the_first(tmp_path: Path) -> None:
    with ServedSite(tmp_path / "site", "catalogue", 120, 0) as site:
        spider = spiders.write(tmp_path, "catalogue", spiders.CATALOGUE, url=site.url)
        for name in ("one", "two"):
            site.begin()
            crawl(spider, "--data", tmp_path / name, *FAST)
            stored = from_sqlite(
                tmp_path / name, run("export", "catalogue", "--data", tmp_path / name).stdout
            )
            judge(Catalogue(120).truth(site.url), site.hits(), stored)
            assert site.count() == len(site.hits())


def test_a_page_that_is_lost_or_doubled_in_the_database_is_named(crawled: Crawled) -> None:
    url = f"{crawled.url}/p/77"
    (lost,) = rows(crawled.data, f"select * from page where url = '{url}'")
    rows(crawled.data, f"delete from page where url = '{url}'")
    with pytest.raises(AssertionError, match=rf"pages lost: not in the store, 1: {url}$"):
        judge(crawled.truth, crawled.hits, crawled.stored())
    places = ", ".join("null" if value in (None, lost[0]) else repr(value) for value in lost)
    for _ in range(2):
        rows(crawled.data, f"insert into page values ({places})")
    with pytest.raises(AssertionError, match=rf"pages stored more than once, 1: {url} \(2 times\)$"):
        judge(crawled.truth, crawled.hits, crawled.stored())
    rows(crawled.data, f"delete from page where id = (select max(id) from page where url = '{url}')")
    judge(crawled.truth, crawled.hits, crawled.stored())


def test_every_kind_of_disagreement_is_a_complaint_of_its_own(crawled: Crawled) -> None:
    """One thing wrong at a time; the complaint says what."""
    stored, hits, truth, url = crawled.stored(), crawled.hits, crawled.truth, f"{crawled.url}/p/5"
    first = next(hit for hit in hits if hit.url == url)
    others = [hit for hit in hits if hit.url != url]
    private = Asked(0.0, first.host, "/private/7", 200)
    elsewhere = Asked(0.0, first.host, "/nowhere", 404)
    product = next(line for line in stored.lines if '"F-000005"' in line)
    without_it = [line for line in stored.lines if line != product]
    changed = product.replace("F-000005", "F-99999")
    ledger = list(stored.ledger)
    without = [tried for tried in ledger if tried.url != url]
    for text, seen, kept in (
        (f"never fetched, 1: {url}", others, stored),
        (f"1 requests were made again, 0 may be, 1: {url} (1 more)", [*hits, first], stored),
        ("fetched although robots.txt forbids it, 1:", [*hits, private], stored),
        ("fetched, but no link leads there, 1:", [*hits, elsewhere], stored),
        ("pages in the store that are none, 1:", hits, replace(stored, pages=[*stored.pages, url + "0000"])),
        ("items lost: not in the export, 1:", hits, replace(stored, lines=without_it)),
        ("items exported more than once, 1:", hits, replace(stored, lines=[*stored.lines, product])),
        ("items in the export that are none, 1:", hits, replace(stored, lines=[*stored.lines, changed])),
        (
            f"answers in the ledger that the site never gave, 1: {url} (2 rows, 1 requests)",
            hits,
            replace(stored, ledger=[*ledger, Tried(url, "success", 200)]),
        ),
        (
            f"not the last answer of the site in the ledger, 1: {url} (no row)",
            hits,
            replace(stored, ledger=without),
        ),
        ("requests without a row in the ledger", hits, replace(stored, ledger=without)),
        (
            f"dead letters, 1: {url}",
            hits,
            replace(stored, ledger=[*ledger, Tried(url, "dead", 0, "timeout")]),
        ),
    ):
        with pytest.raises(AssertionError) as failed:
            judge(truth, seen, kept)
        assert text in str(failed.value), text


@pytest.mark.long
def test_what_a_kill_may_cost_is_no_complaint(crawled: Crawled) -> None:
    hits = [*crawled.hits, *crawled.hits[40:43]]
    judge(crawled.truth, hits, crawled.stored(), refetched=3)
    with pytest.raises(AssertionError, match="3 requests were made again, 2 may be"):
        judge(crawled.truth, hits, crawled.stored(), refetched=2)


def asked(host: str, *times: float) -> list[Asked]:
    return [Asked(at, host, f"/{number}", 200) for number, at in enumerate(times)]


def test_pace_counts_short_gaps_of_each_host_and_the_use_of_what_is_allowed() -> None:
    even = pace([*asked("a", 0, 0.2, 0.4, 0.6, 0.8, 1.0), *asked("b", 0.1, 0.3, 0.5, 0.7, 0.9, 1.1)], 0.2)
    assert (even.hosts, even.requests, even.gaps, even.kept) == (2, 12, 10, 1.0)
    assert even.used == pytest.approx(1.0, abs=0.11)  # a window of 0.9 s holds 9 of 9 or one less
    assert even.used_overall == pytest.approx(12 / 13)
    half = pace([*asked("a", *(n * 0.4 for n in range(50))), *asked("b", *(n * 0.4 for n in range(50)))], 0.2)
    assert half.used == pytest.approx(0.5)
    crowded = pace(asked("a", 0, 0.2, 0.37, 0.57), 0.2)
    assert crowded.kept == pytest.approx(2 / 3)
    assert "170 ms before http://a/2" in str(crowded)
    assert pace(asked("a", 0, 0.2, 0.385), 0.2).kept == 1.0, "a tenth of the delay is given"
