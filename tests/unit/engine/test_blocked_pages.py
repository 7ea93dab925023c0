"""What becomes of a page that refuses us: never a success, and never silent; what a router makes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from gossamer.core.hosts import HostSignal
from gossamer.core.requests import Request
from gossamer.core.results import Attempt, ExtractResult, FetchResult
from gossamer.core.routes import Advice, Block, BlockKind, Detour, Route, RouteReport
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.policy.blocks import BlockRules
from gossamer.testing.refusals import refusal
from kit.engine import URL, Answer, Kit, virtually

BLOCKED = URL + "item"


def refused(kit: Kit, name: str) -> FetchResult:
    answer = refusal(name)
    headers = {"content-type": answer.content_type, **dict(answer.headers)}
    return replace(kit.site.page(BLOCKED, answer.status, headers), body=answer.body)


def rows_after(prepare: Callable[[Kit], None], **parts: Any) -> tuple[Kit, list[Attempt]]:
    """The rows of one page's attempts."""

    async def main() -> tuple[Kit, list[Attempt]]:
        kit = Kit()
        kit.pages.yields[BLOCKED] = ExtractResult(items=({"page": "given to the spider"},))
        prepare(kit)
        worker = Worker(kit.with_parts(**parts), kit.shift)
        await Supervisor(kit.with_parts(**parts), worker).run(kit.seeds_of(BLOCKED))
        return kit, [attempt for result in kit.ledger.results for attempt in result.attempts]

    return virtually(main)


def test_a_challenge_with_a_good_status_is_not_given_to_the_spider() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = refused(kit, "imperva")

    kit, (row,) = rows_after(prepare)
    assert (row.verdict, row.reason, row.status) == ("dead", "blocked", 200)
    assert row.flags == ("block:imperva",)
    assert "incapsula" in row.detail
    assert kit.ledger.items == []


def test_a_challenge_is_not_a_request_for_time() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = refused(kit, "cloudflare_503")

    _, (row,) = rows_after(prepare)
    assert (row.verdict, row.reason) == ("dead", "blocked")


def test_a_status_without_a_mark_is_what_it_was() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = 403

    _, (row,) = rows_after(prepare)
    assert (row.verdict, row.reason, row.flags) == ("dead", "client", ())


def test_a_hint_is_in_the_ledger_and_decides_nothing() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = refused(kit, "words_200")

    kit, (row,) = rows_after(prepare)
    assert (row.verdict, row.flags) == ("success", ("block:words",))
    assert len(kit.ledger.items) == 1


def test_a_spider_that_wants_the_status_gets_the_page() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = refused(kit, "cloudflare")
        kit.pages.statuses = {403}

    kit, (row,) = rows_after(prepare)
    assert (row.verdict, row.flags) == ("success", ("block:cloudflare",))
    assert len(kit.ledger.items) == 1


def test_the_spiders_own_judgement_counts() -> None:
    def prepare(kit: Kit) -> None:
        kit.pages.blocks[BLOCKED] = Block(kind=BlockKind.SPIDER, detail="no prices")

    _, (row,) = rows_after(prepare)
    assert (row.reason, row.flags, row.detail) == ("blocked", ("block:spider",), "spider: no prices")


def test_nothing_is_looked_for_when_told_so() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = refused(kit, "imperva")

    _, (row,) = rows_after(prepare, blocks=BlockRules(is_detected=False))
    assert row.verdict == "success"


def test_a_redirect_to_a_test_of_visitors_is_a_refusal() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = (302, {"location": "/sorry/index?continue=x"})

    kit, (row,) = rows_after(prepare)
    assert (row.verdict, row.reason, row.flags) == ("dead", "blocked", ("block:challenge",))
    assert [url for _, url in kit.site.log] == [BLOCKED], "nobody goes there"


def test_a_redirect_to_a_log_in_is_followed_and_named() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = (302, {"location": "/login"})

    _, rows = rows_after(prepare)
    assert [(row.verdict, row.flags) for row in rows] == [("redirect", ("block:log_in",)), ("success", ())]


class Climber:
    """A router that knows one better route."""

    is_fixed = False

    def __init__(self) -> None:
        self.rung = "http"
        self.reports: list[RouteReport] = []
        self.detours: list[Detour] = []
        self.released: list[tuple[str, str]] = []

    async def choose_route(self, request: Request, host: str) -> Route | Detour:
        return self.detours.pop() if self.detours else Route(rung=self.rung)

    async def learn_from(self, report: RouteReport) -> Advice | None:
        self.reports.append(report)
        if report.block is None or self.rung == "browser":
            return None
        self.rung = "browser"
        return Advice(detail="climbs from http to browser")

    async def release_route(self, request: Request, route: Route, host: str) -> None:
        self.released.append((route.rung, host))

    def lane_for(self, request: Request, host: str) -> str:
        return request.lane

    async def close(self) -> None:
        """Nothing to save."""


def test_a_router_has_it_tried_again_at_no_charge() -> None:
    def prepare(kit: Kit) -> None:
        kit.site.replies[BLOCKED] = [refused(kit, "datadome"), 200]

    router = Climber()
    kit, rows = rows_after(prepare, router=router)
    assert [(row.verdict, row.attempt) for row in rows] == [("retry", 1), ("success", 2)]
    assert rows[0].detail.startswith("climbs from http to browser; datadome: ")
    (first, second) = (result.outcome for result in kit.ledger.results)
    assert (first.charged, first.is_excused, second.lease.failures) == (False, True, 0)
    assert [report.route.rung for report in router.reports] == ["http", "browser"]
    assert router.reports[1].block is None


def test_a_detour_costs_nothing_and_asks_nobody() -> None:
    router = Climber()
    router.detours = [Detour(wait_s=30.0, why="no proxy is left")]
    kit, rows = rows_after(lambda kit: None, router=router)
    assert [row.verdict for row in rows] == ["success"]
    assert rows[0].attempt == 1
    (asked_at,) = [at for at, _ in kit.site.log]
    assert asked_at - kit.site.log[0][0] == 0.0


def test_a_router_hears_that_robots_txt_took_the_turn_of_a_page() -> None:
    """Else a proxy that is on trial would wait for a page that was never asked for."""

    def prepare(kit: Kit) -> None:
        kit.gate.answers[BLOCKED] = [Answer(signal=HostSignal())]

    router = Climber()
    _, rows = rows_after(prepare, router=router)
    assert [row.verdict for row in rows] == ["success"]
    assert router.released == [("http", "site.test")]
    assert len(router.reports) == 1
