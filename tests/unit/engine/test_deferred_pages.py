"""A page that is fetched by one worker and read by another gives what one worker would make of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Entry, Request
from gossamer.core.results import DEFERRED, EXTRACTED, Attempt, ExtractResult, FetchResult, Verdict
from gossamer.core.shifts import EXTRACT_LANE, PAGE_LANE
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.policy.deferral import defer_entry, page_entry_of, twin_of
from kit.engine import CALM, URL, Kit, Site, follow, virtually


class ArchivingSite(Site):
    """A site whose answers are kept, each in a place of its own."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.clock)
        self.kept: dict[str, FetchResult] = {}

    async def fetch(self, request: Request, route: Any = None) -> FetchResult:
        """The answer, and where it is kept."""
        found = await super().fetch(request, route)
        place = f"j/w-00001.warc.gz:{len(self.kept)}:1"
        self.kept[place] = found
        return replace(found, archived=place)


class Archive(Site):
    """What was kept, by its place; nothing of it comes from a network."""

    rung = "archive"

    def __init__(self, site: ArchivingSite) -> None:
        super().__init__(site.clock)
        self.site = site
        self.asked: list[Request] = []

    async def fetch(self, request: Request, route: Any = None) -> FetchResult:
        """The answer at the request's place."""
        self.asked.append(request)
        found = self.site.kept.get(request.archived)
        if found is None:
            raise FetchError(Fault.NOT_ARCHIVED, "gone")
        return replace(found, rung=self.rung)


class Two:
    """A worker that fetches and one that extracts, on one frontier."""

    def __init__(self, rules: FrontierRules = CALM) -> None:
        self.kit = Kit(rules)
        self.site = ArchivingSite(self.kit.site)
        self.archive = Archive(self.site)
        self.defers = True
        self.fetching = self.kit.with_parts(fetcher=self.site, defers_page=lambda *_: self.defers)
        self.extracting = self.kit.with_parts(
            fetcher=self.archive, is_extracting=True, robots=None, router=None
        )

    async def crawl(self, *urls: str, **options: Any) -> dict[str, list[Attempt]]:
        """Both work until the job is over; the rows of each page."""
        reader = Worker(self.extracting, replace(self.kit.shift, lane=EXTRACT_LANE, worker="reader"))
        reading = asyncio.create_task(reader.run())
        worker = Worker(self.fetching, self.kit.shift)
        await Supervisor(self.fetching, worker).run(self.kit.seeds_of(*urls, **options))
        reader.stop()
        await reading
        rows: dict[str, list[Attempt]] = {}
        for result in self.kit.ledger.results:
            for row in result.attempts:
                rows.setdefault(row.url, []).append(row)
        return rows


def test_a_deferred_page_gives_what_it_would_give_at_once() -> None:
    async def main(*, deferred: bool) -> Any:
        two = Two()
        two.defers = deferred
        first = follow(URL + "a", URL + "b")
        two.kit.pages.yields = {URL: replace(first, items=({"n": 1},)), URL + "a": follow(URL, URL + "c")}
        rows = await two.crawl(URL, meta={"m": 1})
        pages = {replace(result.page, at=0.0) for result in two.kit.ledger.results if result.page}
        times = {result.page.url: result.page.at for result in two.kit.ledger.results if result.page}
        assert times == {url: tries[0].at for url, tries in rows.items()}, "those of their fetches"
        return two, rows, sorted(two.kit.ledger.items), pages

    _, _, items, pages = virtually(lambda: main(deferred=False))
    two, rows, same_items, same_pages = virtually(lambda: main(deferred=True))
    assert (same_items, same_pages) == (items, pages)
    assert len(pages) == 4
    for url, (fetched, read) in rows.items():
        assert (fetched.rung, fetched.verdict, fetched.flags) == ("http", Verdict.SUCCESS, (DEFERRED,)), url
        assert (read.rung, read.verdict, read.flags) == ("archive", Verdict.SUCCESS, (EXTRACTED,)), url
        assert fetched.fingerprint == read.fingerprint, "it is one page"
        assert (read.worker, read.via, read.depth) == ("reader", fetched.via, fetched.depth)
    assert len(two.site.log) == 4, "each page is fetched once"
    assert {request.lane for request in two.archive.asked} == {EXTRACT_LANE}


def test_the_spider_sees_the_request_as_it_was_made() -> None:
    """Else one that yields it again would send a page to the archive that is to be fetched."""

    async def main() -> Any:
        two = Two()
        seen: list[Request] = []
        extract = two.kit.pages.extract

        async def look(request: Request, fetched: FetchResult) -> ExtractResult:
            seen.append(request)
            again = request.replace(url=URL + "again") if request.url == URL else None
            found = await extract(request, fetched)
            return replace(found, requests=(again,)) if again else found

        two.kit.pages.extract = look  # type: ignore[method-assign]
        await two.crawl(URL, cb_kwargs={"a": 1}, priority=2)
        return two, seen

    two, seen = virtually(main)
    assert [(request.lane, request.archived, request.priority) for request in seen] == [
        (PAGE_LANE, "", 2)
    ] * 2
    assert [url for _, url in two.site.log] == [URL, URL + "again"]


def test_what_an_extraction_fails_with_is_the_pages() -> None:
    async def main() -> Any:
        two = Two(replace(CALM, max_retries=1))
        two.kit.pages.yields = {
            URL: ExtractResult(fault="callback", error="no price"),
            URL + "moved": ExtractResult(refresh_to=URL + "target"),
        }
        await two.crawl(URL, URL + "moved")
        return two

    two = virtually(main)
    reasons = {(url, verdict, reason) for url, verdict, reason in two.kit.ledger.verdicts}
    assert (URL, "dead", "callback") in reasons
    assert (URL + "moved", "redirect", "") in reasons
    assert (URL + "target", "success", "") in reasons
    assert [url for _, url in two.site.log] == [URL, URL + "moved", URL + "target"], "the target is fetched"


def test_a_body_that_is_gone_is_a_dead_letter() -> None:
    async def main() -> Any:
        two = Two()
        two.site.kept = _Forgetful()  # type: ignore[assignment]
        two.kit.pages.yields["errback"] = ExtractResult(items=({"lost": 1},))
        rows = await two.crawl(URL, errback="lost")
        return two, rows

    two, rows = virtually(main)
    _, read = rows[URL]
    assert (read.verdict, read.reason) == (Verdict.DEAD, "not_archived")
    assert two.kit.pages.errbacks == [(URL, "not_archived")]
    assert len(two.kit.ledger.items) == 1, "what the errback gives is kept"


class _Forgetful(dict[str, FetchResult]):
    def get(self, key: str, default: Any = None) -> Any:
        return default


@pytest.mark.parametrize("budget", [1, 3])
def test_the_budget_of_pages_counts_a_page_once(budget: int) -> None:
    async def main() -> Any:
        two = Two(FrontierRules(delay_s=5.0, per_host=1, max_pages=budget))
        two.kit.pages.yields = {URL: follow(*(f"{URL}{n}" for n in range(9)))}
        await two.crawl(URL)
        return two, await two.kit.frontier.read_stats()

    two, stats = virtually(main)
    assert (stats.pages, len(two.site.log)) == (budget, budget)
    assert len([result for result in two.kit.ledger.results if result.page]) == budget, "all of them are read"


def test_a_worker_that_extracts_is_never_too_late() -> None:
    """Nobody is crowded by it: were leases given back, a heavy callback would starve those behind it."""

    async def main() -> Any:
        two = Two()
        extract = two.kit.pages.extract

        async def take_long(request: Request, fetched: FetchResult) -> ExtractResult:
            await two.kit.clock.sleep(30.0)
            return await extract(request, fetched)

        two.kit.pages.extract = take_long  # type: ignore[method-assign]
        await two.crawl(*(f"{URL}{n}" for n in range(40)))
        return two

    two = virtually(main)
    assert len(two.archive.asked) == 40
    assert two.kit.clock.now() < two.site.log[0][0] + 60.0, "all at once"


def test_a_page_without_a_place_is_read_at_once() -> None:
    """An answer that the archive does not keep would be lost."""

    async def main() -> Kit:
        kit = Kit()
        parts = kit.with_parts(defers_page=lambda *_: True)
        await Supervisor(parts, Worker(parts, kit.shift)).run(kit.seeds_of(URL))
        return kit

    (result,) = virtually(main).ledger.results
    assert (result.attempts[0].flags, result.page is not None) == ((), True)


@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["a.example", "a.example:8080"]))
def test_a_page_is_found_again_from_its_extraction(fingerprint: int, host: str) -> None:
    """One beyond 64 bits could not be stored; one that is not given back would make two pages of one."""
    request = Request(URL, callback="item", meta={"a": 1}, priority=-1, errback="lost", depth=3, via=URL)
    entry = Entry(request=request, fingerprint=fingerprint, host=host)
    deferred = defer_entry(entry, "j/w-00001.warc.gz:0:9")
    assert page_entry_of(deferred) == entry
    assert page_entry_of(entry) is entry
    assert -(2**63) <= deferred.fingerprint < 2**63
    assert deferred.fingerprint != fingerprint
    assert twin_of(deferred.fingerprint) == fingerprint
