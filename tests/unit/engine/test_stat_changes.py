"""What users' code counts in a visit is in its result and in no other; the rest goes along, once."""

from __future__ import annotations

from typing import Any

from gossamer.core.results import ExtractResult
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.spiders.stats import SpiderStats, changes_of
from kit.engine import Kit, follow, virtually

URLS = [f"http://site.test/{number}" for number in range(12)]


class Counting:
    """A spider's code, as an extractor: each page counts itself."""

    def __init__(self, pages: Any) -> None:
        self.stats = SpiderStats()
        self.pages = pages

    async def extract(self, request: Any, fetched: Any) -> ExtractResult:
        self.stats.inc(request.url)
        self.stats.inc("pages")
        return await self.pages.extract(request, fetched)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pages, name)


def test_each_result_has_what_its_own_page_has_counted() -> None:
    async def main() -> None:
        kit = Kit(latency_s=0.1)
        kit.pages.yields[URLS[0]] = follow(*URLS[1:])
        spider = Counting(kit.pages)
        spider.stats.inc("before")
        written: list[dict[str, int]] = []

        async def record_attempts(job: Any, attempts: Any, stats: dict[str, int]) -> None:
            written.append(stats)

        kit.ledger.record_attempts = record_attempts  # type: ignore[method-assign, assignment]
        parts = kit.with_parts(extractor=spider, changes=changes_of(spider))
        worker = Worker(parts, kit.shift)
        run = Supervisor(parts, worker)
        await run.run(kit.seeds_of(URLS[0]))
        counted = {result.attempts[0].url: result.stats for result in kit.ledger.results}
        assert counted.pop(URLS[0]) == {
            "stat:inc:before": 1000,
            f"stat:inc:{URLS[0]}": 1000,
            "stat:inc:pages": 1000,
        }, "what was counted before goes with the first results"
        assert counted == {url: {f"stat:inc:{url}": 1000, "stat:inc:pages": 1000} for url in URLS[1:]}
        assert written == [], "nothing was left at the end"
        assert spider.stats.get("pages") == len(URLS)

    virtually(main)
