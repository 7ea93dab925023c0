"""Two sites at five requests a second each, with 429s thrown in, judged by the sites' own logs."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer import crawl
from gossamer.callbacks.extractor import SpiderExtractor
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.engine.supervisor import RunSummary, Supervisor
from gossamer.engine.worker import Worker
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.shared.memory import MemorySharedState
from gossamer.spiders.generic import GenericSpider
from gossamer.testing.shop import Shop
from gossamer.testing.site import Hit, RateLimit, SiteFetcher, serve
from kit.engine import Kit, virtually

DELAY_S = 0.2
RETRY_AFTER_S = 3
ALICE, BOB = "http://site.test/", "http://other.test/"


def judge(hits: list[Hit], refused: list[tuple[float, bool]], *, slack: float) -> None:
    """No start sooner than the delay after the one before, and none while the host asked for time."""
    times = [hit.at for hit in hits]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    close = [gap for gap in gaps if gap < DELAY_S * slack]
    assert len(close) <= len(gaps) * 0.01, sorted(gaps)[:5]
    for at in [at for at, was_refused in refused if was_refused]:
        later = [time for time in times if time > at + 0.05]
        assert not later or later[0] - at >= RETRY_AFTER_S * slack, (
            "asked again before Retry-After had passed"
        )


def test_on_virtual_time() -> None:
    async def main() -> tuple[RunSummary, SiteFetcher, dict[str, RateLimit]]:
        kit = Kit(FrontierRules(delay_s=DELAY_S, per_host=1))
        sites = {
            "site.test": RateLimit(Shop(60), 5, every=25, retry_after_s=RETRY_AFTER_S, clock=kit.clock),
            "other.test": RateLimit(
                Shop(90, seed=1), 5, every=40, retry_after_s=RETRY_AFTER_S, clock=kit.clock
            ),
        }
        fetcher = SiteFetcher(sites, kit.clock, latency_s=0.05)
        kit.parts = kit.with_parts(
            fetcher=fetcher,
            robots=RobotsCache(fetcher, MemorySharedState(kit.clock), kit.clock, user_agent="gossamer"),
            extractor=SpiderExtractor(lambda _: GenericSpider(start_urls=[ALICE, BOB])),
        )
        ran = await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(kit.seeds_of(ALICE, BOB))
        return ran, fetcher, sites

    ran, fetcher, sites = virtually(main)
    assert ran.stats.dead == 0
    for host, limit in sites.items():
        hits = [hit for hit in fetcher.hits if hit.host == host]
        assert len(hits) > 60
        assert limit.refused_count == len(hits) // (25 if host == "site.test" else 40), (
            "only the thrown-in 429s"
        )
        judge(hits, limit.seen, slack=0.999)
    # Both at once, each as fast as it may: the longer one sets the time.
    longest = max(len([hit for hit in fetcher.hits if hit.host == host]) for host in sites)
    holds = max(limit.refused_count for limit in sites.values()) * RETRY_AFTER_S
    assert ran.ended_at - ran.started_at <= (longest * DELAY_S + holds) * 1.1 + 1


@pytest.mark.long
async def test_once_for_real(tmp_path: Path) -> None:
    limits = [
        RateLimit(Shop(4, per_page=4, related=0), 5, every=13, retry_after_s=RETRY_AFTER_S),
        RateLimit(Shop(6, per_page=6, related=0, seed=1), 5, every=14, retry_after_s=RETRY_AFTER_S),
    ]
    async with serve(limits[0]) as one, serve(limits[1]) as two:
        results = await asyncio.gather(
            *(crawl(site.url, data=str(tmp_path / site.host), delay=DELAY_S) for site in (one, two))
        )
        for site, limit in zip((one, two), limits, strict=True):
            assert limit.refused_count >= 1
            judge(site.hits, limit.seen, slack=0.9)
    assert [result.dead for result in results] == [0, 0]


def test_delay_follows_the_host_within_bounds() -> None:
    async def gaps(latency_s: float) -> list[float]:
        kit = Kit(FrontierRules(), latency_s=latency_s)
        seeds = kit.seeds_of(*(f"{ALICE}{n}" for n in range(30)))
        await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(seeds)
        times = [at for at, _ in kit.site.log]
        return [after - before for before, after in itertools.pairwise(times)]

    quick, slow = virtually(gaps, 0.001), virtually(gaps, 2.0)
    assert all(gap >= 0.1 - 1e-6 for gap in quick)
    assert quick[-1] == pytest.approx(0.1)
    assert slow[-1] == pytest.approx(2.0, rel=0.1)


def test_requests_of_a_spider_keep_their_priority_across_hosts() -> None:
    async def order() -> list[str]:
        kit = Kit(replace(FrontierRules(delay_s=1.0), per_host=1), concurrency=1, latency_s=0.5)

        async def seeds() -> object:
            for n in range(3):
                yield Request(f"{ALICE}low{n}", priority=-1)
            for n in range(3):
                yield Request(f"{BOB}high{n}", priority=1)

        await Supervisor(kit.parts, Worker(kit.parts, kit.shift)).run(seeds())  # type: ignore[arg-type]
        return [url for _, url in kit.site.log]

    assert virtually(order)[0].endswith("high0")


@pytest.mark.slow
@pytest.mark.timeout(60)
async def test_a_delay_that_is_shorter_than_a_start_takes(tmp_path: Path) -> None:
    """Bug it would catch: a lease that is a tenth of a millisecond late is given back, and so is each one."""
    async with serve(Shop(8, per_page=4, related=0)) as site:
        result = await crawl(site.url, data=str(tmp_path), delay=0.001, per_host=8)
    assert (result.finish_reason, result.dead) == ("finished", 0)
    assert result.pages == 19, "home, list and product pages: all of them"
