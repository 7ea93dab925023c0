"""Hosts whose robots.txt gives errors, on virtual time: closed for a short time, without losing a page."""

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


def crawl(status: int, lasts_s: float, headers: dict[str, str] | None = None) -> tuple[Kit, RunSummary]:
    """A crawl of eleven pages whose robots.txt gives an error for some time."""

    async def main() -> tuple[Kit, RunSummary]:
        kit = Kit(FrontierRules(), latency_s=0.05)
        ends_at = kit.clock.now() + lasts_s

        async def answer(request: Request) -> Any:
            is_out = kit.clock.now() < ends_at
            return kit.site.page(request.url, status if is_out else 404, headers if is_out else None)

        kit.site.replies = {ROBOTS: answer}
        kit.pages.yields = {URL: follow(*(f"{URL}{number}" for number in range(10)))}
        robots = RobotsCache(kit.site, MemorySharedState(kit.clock), kit.clock, user_agent="test")
        parts = kit.with_parts(robots=robots)
        return kit, await Supervisor(parts, Worker(parts, kit.shift)).run(kit.seeds_of(URL))

    return virtually(main)


STATUSES = pytest.mark.parametrize("status", [429, 500, 502, 503])


@STATUSES
@pytest.mark.parametrize("lasts_s", [0.2, 30.0, 600.0, 3600.0])
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
