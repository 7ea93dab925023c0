"""A worker with a ladder: what is refused takes the next rung, and nothing is lost or charged."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Container
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.errors import MissingServiceError
from gossamer.core.events import NoticeEvent
from gossamer.core.lifecycle import FinishReason
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import Route
from gossamer.engine.fixed_router import FixedRouter
from gossamer.engine.parts import EngineParts
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.routing.ladder import LadderStore
from gossamer.fetch.routing.router import LadderRouter
from gossamer.policy.ladder import LadderRules
from gossamer.policy.rung_plan import RungPlan
from gossamer.shared.memory import MemorySharedState
from kit.engine import URL, Kit, Site, follow, virtually

Headers = tuple[tuple[str, str], ...]

CHALLENGE: Headers = (("content-type", "text/html"), ("cf-mitigated", "challenge"))
STEP = "climbs from http to impersonate: cloudflare: the header cf-mitigated: challenge"


class GatedSite(Site):
    """A site that refuses the rung ``http`` from its fifth request on, and others; a rung may be missing."""

    def __init__(
        self,
        clock: Any,
        refuses: Container[str] = (),
        missing: str = "",
        how: tuple[int, Headers] = (403, CHALLENGE),
        free: int = 5,
    ) -> None:
        super().__init__(clock, 0.1)
        self.left = free
        self.refuses = refuses
        self.missing = missing
        self.how = how
        self.routes: list[Route] = []

    async def fetch(self, request: Request, route: Any = None) -> FetchResult:
        if route.rung == self.missing:
            raise MissingServiceError("there is no Chromium")
        self.routes.append(route)
        self.left -= route.rung == "http"
        is_refused = route.rung in self.refuses or (route.rung == "http" and self.left < 0)
        page = replace(await super().fetch(request), rung=route.rung)
        status, headers = self.how
        return replace(page, status=status, headers=headers) if is_refused else page


def make_parts(kit: Kit, site: GatedSite, rungs: tuple[str, ...], shared: MemorySharedState) -> EngineParts:
    """A worker's own, over what all of them share."""
    store = LadderStore(shared, kit.clock, remember_s=1e6)
    router = LadderRouter(store, RungPlan(rungs), LadderRules(), kit.clock, kit.events)
    return kit.with_parts(fetcher=site, router=router)


def make_supervisor(kit: Kit, site: GatedSite, rungs: tuple[str, ...], shared: Any = None) -> Supervisor:
    parts = make_parts(kit, site, rungs, shared or MemorySharedState(kit.clock))
    options = replace(kit.shift, concurrency=kit.shift.concurrency if shared is None else 2)
    return Supervisor(parts, Worker(parts, options), drain_s=5.0)


def crawl(*rungs: str, workers: int = 1, count: int = 40, **site: Any) -> tuple[Kit, GatedSite, Any]:
    """A crawl of a page and those that it leads to, eight at a time."""

    async def main() -> tuple[Kit, GatedSite, Any]:
        kit = Kit()
        gated = GatedSite(kit.clock, **site)
        pages = [f"{URL}{n}" for n in range(count)]
        kit.pages.yields = {URL: follow(*pages)}
        shared = MemorySharedState(kit.clock) if workers > 1 else None
        others = [
            Worker(
                make_parts(kit, gated, rungs, shared), replace(kit.shift, worker=f"w{number}", concurrency=2)
            )
            for number in range(1, workers)
        ]
        running = [asyncio.create_task(worker.run()) for worker in others]
        summary = await make_supervisor(kit, gated, rungs, shared).run(kit.seeds_of(URL))
        for worker in others:
            worker.stop()
        await asyncio.gather(*running)
        return kit, gated, summary

    return virtually(main)


def test_every_page_arrives_and_the_host_climbs_once() -> None:
    kit, site, summary = crawl("http", "impersonate")
    assert summary.reason is FinishReason.FINISHED
    verdicts = kit.ledger.verdicts
    assert {url for url, verdict, _ in verdicts if verdict == "success"} >= {f"{URL}{n}" for n in range(40)}
    assert sum(verdict == "dead" for _, verdict, _ in verdicts) == 0
    notices = [event.text for event in kit.events.of(NoticeEvent)]
    assert notices == [f"site.test {STEP}"]
    refused = [verdict for _, verdict, reason in verdicts if reason == "blocked"]
    assert 1 <= len(refused) <= 8, "no more than were in flight"
    rungs = [rung for rung, _ in itertools.groupby(route.rung for route in site.routes)]
    assert rungs == ["http", "impersonate"]


def test_the_ledger_has_every_step() -> None:
    kit, _, _ = crawl("http", "impersonate")
    rows = [row for result in kit.ledger.results for row in result.attempts if row.reason == "blocked"]
    assert {(row.rung, row.verdict.value) for row in rows} == {("http", "retry")}
    details = [row.detail.split(";")[0] for row in rows]
    assert details[0] == STEP
    assert set(details[1:]) <= {"tried again by impersonate"}


def test_at_the_top_it_is_a_dead_letter() -> None:
    kit, _, summary = crawl("http", "impersonate", refuses={"impersonate"})
    assert summary.reason is FinishReason.FINISHED
    dead = [reason for _, verdict, reason in kit.ledger.verdicts if verdict == "dead"]
    assert dead
    assert set(dead) == {"blocked"}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("how", [(403, ()), (302, (("location", "/login"),))])
def test_what_only_looks_refused_on_two_rungs_loses_no_page(how: tuple[int, Headers], workers: int) -> None:
    """Nor does the log-in to which visitors are sent count as a page."""
    rungs = ("http", "impersonate", "browser")
    kit, site, _ = crawl(*rungs, workers=workers, refuses={"impersonate"}, how=how)
    pages = {url for url, verdict, _ in kit.ledger.verdicts if verdict == "success"}
    assert pages == {URL, *(f"{URL}{n}" for n in range(40))}
    assert {verdict for _, verdict, _ in kit.ledger.verdicts} == {"success", "retry"}
    assert list(dict.fromkeys(route.rung for route in site.routes)) == list(rungs)


def test_a_log_in_on_the_highest_rung_is_a_refusal_and_can_be_tried_again() -> None:
    how = (302, (("location", "/login?next=x"),))
    kit, site, _ = crawl("http", "impersonate", refuses={"http", "impersonate"}, how=how)
    assert [url for url, verdict, _ in kit.ledger.verdicts if verdict == "success"] == []
    ended = [(url, reason) for url, verdict, reason in kit.ledger.verdicts if verdict != "retry"]
    assert ended == [(URL, "blocked")], "the page itself is the dead letter"
    assert {url for _, url in site.log} == {URL}, "and nobody goes to the log-in"


def test_a_rung_that_cannot_be_used_is_skipped_and_no_page_is_lost() -> None:
    kit, site, summary = crawl("http", "browser", "impersonate", missing="browser")
    assert summary.reason is FinishReason.FINISHED
    assert len({url for url, verdict, _ in kit.ledger.verdicts if verdict == "success"}) == 41
    assert {route.rung for route in site.routes} == {"http", "impersonate"}
    told = [event.text for event in kit.events.of(NoticeEvent) if event.level == "error"]
    assert told == ["the rung browser is skipped, since it cannot be used here: there is no Chromium"]


def test_the_only_rung_that_cannot_be_used_ends_the_crawl_and_keeps_the_request() -> None:
    async def main() -> None:
        kit = Kit()
        site = GatedSite(kit.clock, missing="browser")
        with pytest.raises(MissingServiceError, match="no Chromium"):
            await make_supervisor(kit, site, ("browser",)).run(kit.seeds_of(URL))
        assert kit.ledger.results == []
        assert (await kit.frontier.read_stats()).waiting == 1

    virtually(main)


async def test_in_a_plain_crawl_a_request_may_name_a_rung() -> None:
    router = FixedRouter()
    assert await router.choose_route(Request(URL, fetch="browser"), "site.test") == Route(rung="browser")
    with pytest.raises(MissingServiceError, match="needs a mobile proxy"):
        await router.choose_route(Request(URL, fetch="http+mobile"), "site.test")
    for fetch in ("", "auto"):
        assert await router.choose_route(Request(URL, fetch=fetch), "site.test") is not None
        assert (await router.choose_route(Request(URL, fetch=fetch), "site.test")).rung == "http"


@pytest.mark.parametrize("count", [0, 1, 40])
def test_the_only_start_url_climbs_though_it_only_looks_refused(count: int) -> None:
    kit, site, _ = crawl(
        "http", "impersonate", "browser", count=count, refuses={"impersonate"}, how=(403, ()), free=0
    )
    pages = {url for url, verdict, _ in kit.ledger.verdicts if verdict == "success"}
    assert pages == {URL, *(f"{URL}{n}" for n in range(count))}
    assert [rung for rung, _ in itertools.groupby(route.rung for route in site.routes)] == [
        *("http", "impersonate", "browser")
    ]


def test_a_page_that_is_forbidden_to_all_leads_no_host_up_that_answers_others() -> None:
    """Also where nothing else is left to be fetched."""
    kit, site, _ = crawl("http", "impersonate", count=1, how=(403, ()), free=1)
    assert [reason for _, verdict, reason in kit.ledger.verdicts if verdict == "dead"] == ["client"]
    assert {route.rung for route in site.routes} == {"http"}
