"""A host that goes away and comes back, on virtual time: nothing is charged to its pages meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import FinishReason
from gossamer.core.requests import Request
from gossamer.core.results import ExtractResult
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.cached import CACHE_JOB, CachedFetcher
from gossamer.policy.retry import LONGEST_PAUSE_S
from gossamer.testing.archive import MemoryArchive
from kit.engine import CALM, URL, Kit, follow, virtually

pytestmark = pytest.mark.slow

PAGES = 60
DEFAULT = FrontierRules()


class Outage:
    """A site of which nothing comes back between two times, in seconds from the start of the crawl."""

    def __init__(self, kit: Kit, begins_s: float, lasts_s: float, fault: Fault) -> None:
        self.kit, self.fault = kit, fault
        self.begins_at = kit.clock.now() + begins_s
        self.ends_at = self.begins_at + lasts_s
        self.probes: list[float] = []

    async def __call__(self, request: Request) -> Any:
        now = self.kit.clock.now()
        if not self.begins_at <= now < self.ends_at:
            return self.kit.site.page(request.url)
        self.probes.append(now)
        if self.fault in (Fault.TIMEOUT_HEADERS, Fault.TIMEOUT_CONNECT):
            await self.kit.clock.sleep(20.0)
        raise FetchError(self.fault, "gone")


def crawl(
    rules: FrontierRules,
    lasts_s: float,
    fault: Fault,
    *,
    begins_s: float = 2.0,
    pages: int = PAGES,
    **options: Any,
) -> tuple[Kit, Outage, RunSummary]:
    async def main() -> tuple[Kit, Outage, RunSummary]:
        kit = Kit(rules, latency_s=0.05)
        outage = Outage(kit, begins_s, lasts_s, fault)
        urls = [f"{URL}{number}" for number in range(pages)]
        kit.site.replies = dict.fromkeys([URL, *urls], outage)
        kit.pages.yields = {URL: follow(*urls)}
        worker = Worker(kit.parts, kit.shift)
        return kit, outage, await Supervisor(kit.parts, worker, **options).run(kit.seeds_of(URL))

    return virtually(main)


FAULTS = [Fault.CONNECT, Fault.TIMEOUT_HEADERS, Fault.TIMEOUT_CONNECT, Fault.DNS, Fault.DNS_TEMPORARY]


@pytest.mark.parametrize(
    "fault", [*FAULTS[:2], *(pytest.param(fault, marks=pytest.mark.thorough) for fault in FAULTS[2:])]
)
@pytest.mark.parametrize("lasts_s", [20.0, 65.0, 127.0, 1800.0])
@pytest.mark.parametrize("rules", [DEFAULT, replace(CALM, per_host=16), replace(CALM, max_retries=0)])
def test_a_host_that_comes_back_has_lost_no_page(rules: FrontierRules, lasts_s: float, fault: Fault) -> None:
    begins_s = 2.0 if rules is DEFAULT else 0.2
    _, outage, ran = crawl(rules, lasts_s, fault, begins_s=begins_s, pages=PAGES if rules is DEFAULT else 400)
    assert (ran.reason, ran.stats.dead, ran.stats.waiting) == (FinishReason.FINISHED, 0, 0)
    late_s = ran.ended_at - outage.ends_at
    assert late_s < 160 + 0.1 * lasts_s, f"and it is noticed soon: {late_s}"
    alone = [b - a for a, b in pairwise(outage.probes[rules.per_host :])]
    assert all(gap > 0.45 for gap in alone), "one request at a time, with pauses"


@pytest.mark.parametrize("lasts_s", [20.0, 600.0, pytest.param(3 * 3600.0, marks=pytest.mark.thorough)])
def test_a_machine_that_was_without_a_network_has_lost_no_page(lasts_s: float) -> None:
    _, outage, ran = crawl(DEFAULT, lasts_s, Fault.LOCAL)
    assert (ran.reason, ran.stats.dead, ran.stats.waiting) == (FinishReason.FINISHED, 0, 0)
    assert ran.ended_at - outage.ends_at < 120, "and it is noticed soon"


@pytest.mark.slow
def test_a_host_that_does_not_come_back_is_given_up_when_the_patience_with_it_is_spent() -> None:
    rules = replace(DEFAULT, host_patience_s=3600.0)
    kit, outage, ran = crawl(rules, 1e9, Fault.CONNECT)
    verdicts = [(verdict, reason) for _, verdict, reason in kit.ledger.verdicts if verdict == "dead"]
    assert set(verdicts) == {("dead", "host_lost")}
    assert ran.stats.dead == len(verdicts) == PAGES - len(kit.site.log) + 1 + len(outage.probes)
    assert 3600 <= ran.ended_at - outage.begins_at < 3600 + 600
    assert len(outage.probes) < 3600 / LONGEST_PAUSE_S * 2 + 12


@pytest.mark.parametrize("pages", [1, 30])
def test_a_host_that_has_never_answered_is_given_up_within_two_minutes(pages: int) -> None:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(DEFAULT)
        urls = [f"{URL}{number}" for number in range(pages)]
        kit.site.replies = dict.fromkeys(urls, FetchError(Fault.CONNECT, "refused"))
        return kit, await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(*urls))

    kit, ran = virtually(main)
    assert ran.stats.dead == pages
    reasons = {reason for _, verdict, reason in kit.ledger.verdicts if verdict == "dead"}
    assert reasons <= {"connect", "host_down"}
    assert ("host_down" in reasons) == (pages > 8)
    assert ran.ended_at - ran.started_at < 130


def one_bad_page(answer: Callable[[Kit], Any], *, per_host: int, others: int) -> tuple[Kit, RunSummary]:
    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(replace(DEFAULT, per_host=per_host), latency_s=0.05)
        kit.site.replies = {URL + "bad": answer(kit)}
        kit.pages.yields = {URL: follow(URL + "bad", *(f"{URL}{n}" for n in range(others)))}
        return kit, await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))

    return virtually(main)


def hangs(kit: Kit) -> Any:
    async def hang(request: Request) -> Any:
        await kit.clock.sleep(20.0)
        raise FetchError(Fault.TIMEOUT_HEADERS, "nothing")

    return hang


@pytest.mark.long
@pytest.mark.parametrize("per_host", [1, 4])
def test_a_page_that_alone_hangs_its_host_is_charged(per_host: int) -> None:
    kit, ran = one_bad_page(hangs, per_host=per_host, others=3000)
    assert (ran.stats.dead, ran.stats.done) == (1, 3001)
    tries = [row for row in kit.ledger.verdicts if row[0] == URL + "bad"]
    assert [verdict for _, verdict, _ in tries] == ["retry"] * 4 + ["dead"]
    assert tries[-1][2] == "timeout_headers"


@pytest.mark.parametrize("others", [0, 1, 30])
def test_a_page_that_hangs_is_given_up_also_when_nothing_else_is_left(others: int) -> None:
    _, ran = one_bad_page(hangs, per_host=1, others=others)
    assert (ran.stats.dead, ran.stats.done) == (1, others + 1)
    assert ran.ended_at - ran.started_at < 1800, "not for as long as the patience with a host that is silent"


@pytest.mark.parametrize("others", [0, 1, 500])
def test_a_page_that_alone_gives_503_ends_as_a_dead_letter(others: int) -> None:
    kit, ran = one_bad_page(lambda _: 503, per_host=1, others=others)
    assert (ran.stats.dead, ran.stats.done) == (1, others + 1)
    assert (URL + "bad", "dead", "throttled") in kit.ledger.verdicts
    assert ran.ended_at - ran.started_at < 1200 + others * 0.4


@pytest.mark.long
def test_some_pages_that_are_always_refused_do_not_hold_a_crawl_for_hours() -> None:
    """Nor when they alone are left: a look a minute at the host would be twenty minutes for each."""

    async def main() -> RunSummary:
        kit = Kit(DEFAULT, latency_s=0.05)
        urls = [f"{URL}{number}" for number in range(2000)]
        kit.site.replies = dict.fromkeys(urls[::100], 503)
        kit.pages.yields = {URL: follow(*urls)}
        return await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))

    ran = virtually(main)
    assert (ran.stats.done, ran.stats.dead) == (1981, 20)
    assert ran.ended_at - ran.started_at < 3600


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, 12])
@pytest.mark.parametrize("answer", [hangs, lambda _: 503], ids=["hang", "503"])
def test_pages_that_always_fail_do_not_keep_the_others_from_being_fetched(answer: Any, count: int) -> None:
    async def main() -> RunSummary:
        kit = Kit(replace(DEFAULT, per_host=2), latency_s=0.05)
        bad = [f"{URL}bad{number}" for number in range(count)]
        kit.site.replies = dict.fromkeys(bad, answer(kit))
        kit.pages.yields = {URL: follow(*bad, *(f"{URL}{n}" for n in range(300)))}
        return await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))

    ran = virtually(main)
    assert (ran.stats.done, ran.stats.dead) == (301, count)
    assert ran.ended_at - ran.started_at < 2 * 3600


def test_no_cache_answers_for_a_host_that_is_asked_whether_it_answers() -> None:
    """The page that led to the failing one was in the cache: the host was never seen well again."""

    async def main() -> RunSummary:
        kit, archive = Kit(DEFAULT, latency_s=0.05), MemoryArchive()
        kit.site.replies = {f"{URL}bad": FetchError(Fault.CONNECT, "reset")}
        paths = ["new", "bad", *map(str, range(30))]
        linked = tuple(Request(f"{URL}{path}", via=URL) for path in paths)
        kit.pages.yields = {URL: ExtractResult(requests=linked)}
        cache = CachedFetcher(kit.site, archive, archive.open_writer(CACHE_JOB), kit.clock)
        for path in ("", *paths[2:]):
            await cache.fetch(Request(f"{URL}{path}"))
        await cache.close()
        cache = CachedFetcher(kit.site, archive, archive.open_writer(CACHE_JOB), kit.clock)
        parts = kit.with_parts(fetcher=cache)
        return await Supervisor(parts, Worker(parts, kit.shift), max_time_s=600.0).run(kit.seeds_of(URL))

    ran = virtually(main)
    assert ran.reason == FinishReason.FINISHED
    assert (ran.stats.done, ran.stats.dead) == (32, 1)


def test_an_outage_may_be_interrupted_and_the_time_nobody_asked_does_not_count() -> None:
    async def main() -> tuple[RunSummary, RunSummary]:
        kit = Kit(replace(DEFAULT, host_patience_s=1000.0), latency_s=0.05)
        urls = [f"{URL}{number}" for number in range(PAGES)]
        outage = Outage(kit, 2.0, 90_000.0, Fault.CONNECT)
        kit.site.replies = dict.fromkeys([URL, *urls], outage)
        kit.pages.yields = {URL: follow(*urls)}
        first = await Supervisor(kit.parts, Worker(kit.parts, kit.shift), max_time_s=600.0).run(
            kit.seeds_of(URL)
        )
        await kit.clock.sleep(outage.ends_at - kit.clock.now() - 100.0)
        second = await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(), resumed=True)
        return first, second

    first, second = virtually(main)
    assert (first.reason, first.stats.dead) == (FinishReason.MAX_TIME, 0)
    assert first.stats.waiting > 30
    assert (second.reason, second.stats.dead) == (FinishReason.FINISHED, 0)


def test_dead_letters_of_a_lost_host_can_be_retried() -> None:
    async def main() -> tuple[int, RunSummary]:
        kit = Kit(replace(DEFAULT, host_patience_s=100.0), latency_s=0.05)
        urls = [f"{URL}{number}" for number in range(PAGES)]
        kit.site.replies = dict.fromkeys([URL, *urls], Outage(kit, 2.0, 200.0, Fault.CONNECT))
        kit.pages.yields = {URL: follow(*urls)}
        await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))
        await kit.clock.sleep(100.0)
        revived = await kit.frontier.revive_letters(DeadLetterFilter(reason="host_lost"))
        return revived, await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(
            kit.seeds_of(), resumed=True
        )

    revived, ran = virtually(main)
    assert revived > 30
    assert (ran.reason, ran.stats.dead, ran.stats.done) == (FinishReason.FINISHED, 0, PAGES + 1)
