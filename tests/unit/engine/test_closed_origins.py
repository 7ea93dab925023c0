"""Hosts whose robots.txt gives errors, on virtual time: no page is lost, no job held for hours."""

from __future__ import annotations

from typing import Any

import pytest

from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.shared.memory import MemorySharedState
from kit.engine import URL, Kit, follow, virtually

ROBOTS = f"{URL}robots.txt"


HOUR = {"cache-control": "max-age=3600"}


def crawl(
    status: int,
    lasts_s: float,
    headers: dict[str, str] | None = None,
    *,
    begins_s: float = 0.0,
    delay_s: float | None = None,
    seeds: int = 1,
    links: int = 10,
) -> tuple[Kit, RunSummary]:
    """A crawl of eleven pages or more whose robots.txt gives an error for some time."""

    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(FrontierRules(delay_s=delay_s), latency_s=0.05)
        begins_at = kit.clock.now() + begins_s
        ends_at = begins_at + lasts_s

        async def answer(request: Request) -> Any:
            is_out = begins_at <= kit.clock.now() < ends_at
            return kit.site.page(request.url, status if is_out else 404, headers if is_out else HOUR)

        kit.site.replies = {ROBOTS: answer}
        kit.pages.yields = {URL: follow(*(f"{URL}{number}" for number in range(links)))}
        robots = RobotsCache(kit.site, MemorySharedState(kit.clock), kit.clock, user_agent="test")
        parts = kit.with_parts(robots=robots)
        urls = [URL, *(f"{URL}seed{number}" for number in range(1, seeds))]
        return kit, await Supervisor(parts, Worker(parts, kit.shift)).run(kit.seeds_of(*urls))

    return virtually(main)


STATUSES = pytest.mark.parametrize("status", [429, 500, 502, 503])


@STATUSES
@pytest.mark.parametrize("lasts_s", [0.2, 30.0, 500.0])
def test_an_error_of_robots_txt_closes_its_host_for_little_longer_than_it_lasts(
    status: int, lasts_s: float
) -> None:
    kit, ran = crawl(status, lasts_s)
    assert (ran.stats.done, ran.stats.dead) == (11, 0), "no page is lost, the only seed neither"
    first = next(at for at, url in kit.site.log if url != ROBOTS)
    assert first - ran.started_at >= lasts_s, "nothing else is requested meanwhile"
    assert ran.ended_at - ran.started_at < lasts_s + min(lasts_s, 70.0) + 8.0


@STATUSES
@pytest.mark.parametrize("wait_s", [3.0, 90.0])
def test_a_retry_after_is_honoured_whether_shorter_or_longer(status: int, wait_s: float) -> None:
    kit, ran = crawl(status, 0.2, {"retry-after": f"{wait_s:.0f}"})
    first = next(at for at, url in kit.site.log if url != ROBOTS)
    assert wait_s <= first - ran.started_at < wait_s + 2.0
    assert (ran.stats.done, ran.stats.dead) == (11, 0)


@pytest.mark.long
@pytest.mark.parametrize(("status", "lasts_s"), [(500, 900.0), (503, 3600.0)])
def test_an_outage_of_a_robots_txt_that_was_read_before_costs_no_page(status: int, lasts_s: float) -> None:
    kit, ran = crawl(status, 3600.0 + lasts_s, begins_s=5.0, delay_s=60.0, links=80)
    tries = sum(url == ROBOTS for _, url in kit.site.log)
    assert tries > lasts_s / 120.0, "it was read an hour before, and is now requested in vain"
    assert (ran.stats.done, ran.stats.dead) == (81, 0)


@STATUSES
@pytest.mark.parametrize("headers", [None, {"retry-after": "1"}], ids=["", "retry-after"])
def test_a_robots_txt_that_gives_only_errors_holds_no_job_for_longer_than_ten_minutes(
    status: int, headers: dict[str, str] | None
) -> None:
    """Bug it would catch: the job waits for six hours for a host that never gave a page."""
    seeds = 200
    kit, ran = crawl(status, 1e9, headers, seeds=seeds)
    dead = [why for _, verdict, why in kit.ledger.verdicts if verdict == "dead"]
    assert dead == ["robots_unreachable"] * seeds
    assert {url for _, url in kit.site.log} == {ROBOTS}
    assert len(kit.site.log) < 30
    assert 600.0 <= ran.ended_at - ran.started_at < 700.0
