"""Hosts that limit the rate of requests, on virtual time: no page is lost, and the allowed rate is used."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from kit.engine import CALM, URL, Kit, follow, virtually

FAST = replace(CALM, per_host=16)
POLITE = FrontierRules()


class Limiter:
    """A token bucket before a site, as nginx's ``limit_req`` with ``nodelay``."""

    def __init__(self, kit: Kit, rate: float, burst: int, answer: Any) -> None:
        self.kit, self.rate, self.burst, self.answer = kit, rate, burst, answer
        self.tokens, self.at = float(burst), kit.clock.now()
        self.served: list[float] = []
        self.refused: list[float] = []

    async def __call__(self, request: Request) -> Any:
        now = self.kit.clock.now()
        self.tokens = min(self.tokens + (now - self.at) * self.rate, float(self.burst))
        self.at = now
        if self.tokens < 1.0:
            self.refused.append(now)
            status, headers = self.answer if isinstance(self.answer, tuple) else (self.answer, None)
            return self.kit.site.page(request.url, status, headers)
        self.tokens -= 1.0
        self.served.append(now)
        return self.kit.site.page(request.url)


def crawl(rules: FrontierRules, limiter: Any, pages: int) -> tuple[Kit, Any, RunSummary]:
    async def main() -> tuple[Kit, Any, RunSummary]:
        kit = Kit(rules, latency_s=0.02)
        limit = limiter(kit)
        urls = [f"{URL}{number}" for number in range(pages)]
        kit.site.replies = dict.fromkeys(urls, limit)
        kit.pages.yields = {URL: follow(*urls)}
        return kit, limit, await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))

    return virtually(main)


@pytest.mark.parametrize(
    "answer",
    [
        503,
        (503, {"retry-after": "1"}),
        *(pytest.param(status, marks=pytest.mark.thorough) for status in (429, 502)),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("rate", "burst"),
    [(2.0, 1), (5.0, 20), (150.0, 20)]
    + [pytest.param(*limit, marks=pytest.mark.thorough) for limit in ((5.0, 1), (40.0, 1), (40.0, 20))],
)
@pytest.mark.parametrize("rules", [FAST, POLITE], ids=["fast", "polite"])
def test_no_page_is_lost_and_the_allowed_rate_is_used(
    rules: FrontierRules, rate: float, burst: int, answer: Any
) -> None:
    pages = 600
    _, limit, ran = crawl(rules, lambda kit: Limiter(kit, rate, burst, answer), pages)
    allowed = rate if rules is FAST else min(rate, 1 / rules.min_delay_s)
    used = pages / allowed / (limit.served[-1] - limit.served[0])
    assert ran.stats.dead == 0
    assert pages <= len(limit.served) <= 1.02 * pages, "a few are asked for again, to probe the host"
    if not isinstance(answer, tuple):  # a Retry-After of one second is one second
        assert len(limit.refused) < 0.16 * pages
        assert used > 0.62


@pytest.mark.long
@pytest.mark.parametrize("answer", [503, 429])
def test_a_strict_limit_is_not_asked_in_vain_for_pages_that_it_refused_often(answer: int) -> None:
    """Bug it would catch: each refusal of a page that was refused three times makes the crawl faster."""
    pages = 300
    _, limit, ran = crawl(FAST, lambda kit: Limiter(kit, 0.05, 1, answer), pages)
    assert (ran.stats.done, ran.stats.dead) == (pages + 1, 0)
    assert len(limit.refused) < 0.6 * pages


def rates(times: list[float], every_s: float) -> list[float]:
    """Requests a second in each stretch of time."""
    count = int((times[-1] - times[0]) / every_s)
    bins = [0] * count
    for at in times:
        nth = int((at - times[0]) / every_s)
        if nth < count:
            bins[nth] += 1
    return [number / every_s for number in bins]


@pytest.mark.slow
def test_the_curve_is_that_of_additive_increase_and_multiplicative_decrease() -> None:
    """Half as fast per incident, steadily faster with successes: a saw below what is allowed."""
    _, limit, _ = crawl(FAST, lambda kit: Limiter(kit, 40.0, 1, 503), 2000)
    curve = rates(limit.served, 0.5)[4:]  # after two seconds it has found the limit
    assert min(curve) >= 0.9 * 20
    assert max(curve) <= 40 + 2
    assert sum(curve) / len(curve) > 0.65 * 40
    later = [at for at in limit.refused if at > limit.served[0] + 2]
    assert len(later) < 0.06 * 2000, "a refusal in some thirty requests"
    assert all(b - a > 0.2 for a, b in itertools.pairwise(later)), "one refusal is one incident"


@pytest.mark.long
def test_the_pace_returns_to_the_operators_figure() -> None:
    async def main() -> Limiter:
        kit = Kit(FAST, latency_s=0.02)
        limit = Limiter(kit, 10.0, 1, 503)
        urls = [f"{URL}{number}" for number in range(3000)]

        async def answer(request: Request) -> Any:
            if kit.clock.now() > begun_at + 20.0:
                limit.rate, limit.burst = 1e9, 100
            return await limit(request)

        begun_at = kit.clock.now()
        kit.site.replies = dict.fromkeys(urls, answer)
        kit.pages.yields = {URL: follow(*urls)}
        await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))
        return limit

    limit = virtually(main)
    curve = rates(limit.served, 1.0)
    assert max(curve[:19]) <= 11
    assert max(curve[20:]) > 400, "16 side by side, each taking 20 ms, as without the limit"


@pytest.mark.slow
@pytest.mark.parametrize("window_s", [10.0, 60.0])
def test_a_quota_per_window_costs_the_rest_of_the_window_and_little_more(window_s: float) -> None:
    """So many requests in each minute, then 429 without a word until the next begins."""

    async def main() -> tuple[RunSummary, float, int]:
        kit = Kit(FAST, latency_s=0.02)
        served: list[float] = []
        refused: list[float] = []
        urls = [f"{URL}{number}" for number in range(1000)]

        async def answer(request: Request) -> Any:
            now = kit.clock.now()
            if sum(at >= now // window_s * window_s for at in served) >= 100:
                refused.append(now)
                return kit.site.page(request.url, 429)
            served.append(now)
            return kit.site.page(request.url)

        kit.site.replies = dict.fromkeys(urls, answer)
        kit.pages.yields = {URL: follow(*urls)}
        ran = await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))
        return ran, ran.ended_at - ran.started_at, len(refused)

    ran, took_s, refused = virtually(main)
    assert ran.stats.dead == 0
    assert took_s < 1.9 * 10 * window_s
    assert refused < 400


@pytest.mark.parametrize("per_host", [8, 16, 64])
@pytest.mark.parametrize(("most", "window_s"), [(20, 1.0), (5, 1.0), (20, 5.0)])
def test_so_many_answers_in_any_stretch_of_time(per_host: int, most: int, window_s: float) -> None:
    """A sliding window: what it refuses does not count. No page waits long for having been refused."""
    pages = 15 * most

    class Window(Limiter):
        async def __call__(self, request: Request) -> Any:
            now = self.kit.clock.now()
            self.tokens = most - sum(at > now - window_s for at in self.served[-most:])
            self.at = now
            return await super().__call__(request)

    rules = replace(CALM, per_host=per_host)
    _, limit, ran = crawl(rules, lambda kit: Window(kit, 0.0, most, 503), pages)
    assert ran.stats.dead == 0
    assert pages <= len(limit.served) <= 1.02 * pages
    assert limit.served[-1] - limit.served[0] < 3 * 15 * window_s
    assert len(limit.refused) < pages + 2 * per_host


@pytest.mark.long
def test_a_maintenance_page_of_an_hour_costs_no_page() -> None:
    async def main() -> tuple[RunSummary, int]:
        kit = Kit(FAST, latency_s=0.02)
        urls = [f"{URL}{number}" for number in range(500)]
        begins_at = kit.clock.now() + 0.2
        refused: list[float] = []

        async def answer(request: Request) -> Any:
            if begins_at <= kit.clock.now() < begins_at + 3600:
                refused.append(kit.clock.now())
                return kit.site.page(request.url, 503)
            return kit.site.page(request.url)

        kit.site.replies = dict.fromkeys(urls, answer)
        kit.pages.yields = {URL: follow(*urls)}
        ran = await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(URL))
        return ran, len(refused)

    ran, refused = virtually(main)
    assert (ran.stats.dead, ran.stats.done) == (0, 501)
    assert refused < 200, "about one request a minute"


@pytest.mark.parametrize("jitter", [0.0, 0.9999])
def test_a_lone_page_that_is_always_refused_is_given_up_after_a_quarter_of_an_hour(jitter: float) -> None:
    async def main() -> tuple[list[float], int]:
        kit = Kit(POLITE, latency_s=0.02)
        refused: list[float] = []

        async def refuse(request: Request) -> Any:
            refused.append(kit.clock.now())
            return kit.site.page(request.url, 503)

        kit.site.replies = {URL: refuse}
        shift = replace(kit.shift, random=lambda: jitter)
        ran = await Supervisor(kit.parts, Worker(kit.parts, shift)).run(kit.seeds_of(URL))
        return refused, ran.stats.dead

    refused, dead = virtually(main)
    assert (len(refused), dead) == (POLITE.max_throttled + 1, 1)
    assert 13.5 * 60 < refused[-1] - refused[0] < 15.5 * 60
    assert max(after - before for before, after in itertools.pairwise(refused)) < 60.1
