"""From an event to its alert, on virtual time: the real engine, or a real fleet, beside the real watch."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from gossamer.core.alerts import AlertNotice
from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import FrontierRules
from gossamer.core.requests import Request
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alerts import AlertRules
from gossamer.policy.troubles import Severity
from gossamer.runtime.cancelling import end_tasks
from gossamer.watch.parts import WatchedJob, WatchParts
from gossamer.watch.watch import EVERY_S, AlertWatch
from kit.engine import URL, Kit, virtually
from kit.virtual_fleet import World, play
from kit.watched_place import WatchedPlace

pytestmark = pytest.mark.slow

RULES = AlertRules()
PAGES = 1_000
PROBE_S = 66.0
"""So long at most is a host in trouble left alone before it is asked again."""
RETRY_S = 300.0
"""So long at most a request waits for its next try, where nothing else asks the host."""
SOON_S = 2 * EVERY_S
"""A look may just have been, and the next one comes after its own rest."""


class TimedTarget:
    """Keeps when it was told of each kind of alert for the first time."""

    name = "ops"

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self.begun: dict[str, float] = {}
        self.told: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
        self.texts: dict[str, str] = {}

    async def deliver(self, notice: AlertNotice) -> None:
        if notice.change == "begun":
            self.begun.setdefault(notice.alert, self._clock.now())
            self.texts.setdefault(notice.alert, notice.text)
            self.told[notice.alert].set()


def beside(parts: WatchParts, target: TimedTarget) -> AlertWatch:
    """A watch with the rules that are the default."""
    wanted = {target.name: frozenset(Severity)}
    return AlertWatch(replace(parts, rules=RULES, targets=(target,), wanted=wanted))


# --------------------------------------------------------------------------- one process


class Troubled:
    """A crawl whose site answers each page as told from some time on, and a watch over it."""

    @classmethod
    async def begin(cls, trouble: int | Fault, well_s: float, pages: int = PAGES) -> Troubled:
        t = cls()
        t.kit = kit = Kit(FrontierRules(), latency_s=0.05)
        place = await WatchedPlace.open(FrontierRules(), kit.clock)
        parts = kit.with_parts(
            job=place.job,
            frontier=place.frontier,
            store=place.store,
            committer=SplitCommitter(place.frontier, place.store, place.job),
        )
        t.failed_at = 0.0
        urls = [f"{URL}{number}" for number in range(pages)]
        began = kit.clock.now()

        async def reply(request: Request) -> Any:
            if kit.clock.now() < began + well_s:
                return kit.site.page(request.url)
            t.failed_at = t.failed_at or kit.clock.now()
            if isinstance(trouble, int):
                return kit.site.page(request.url, trouble)
            raise FetchError(trouble, "nothing")

        asked_too = f"{URL}robots.txt"  # by which a host in trouble is probed
        kit.site.replies = dict.fromkeys([*urls, asked_too], reply)
        t.target = TimedTarget(kit.clock)
        t.working = asyncio.create_task(Supervisor(parts, Worker(parts, kit.shift)).run(kit.seeds_of(*urls)))
        t.watching = asyncio.create_task(beside(place.parts, t.target).run())
        return t

    async def told_after(self, alert: str, since: Callable[[], float], most_s: float) -> float:
        """The seconds from an event to the alert."""
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await self.target.told[alert].wait()
        await end_tasks(self.working, self.watching)
        assert alert in self.target.begun, f"not told within {most_s:g} s: {self.target.begun}"
        return self.target.begun[alert] - since()


REFUSALS, SILENCE = (503, 429, 502, 504), (Fault.CONNECT, Fault.TIMEOUT_HEADERS)


@pytest.mark.parametrize(
    ("fault", "well_s"),
    [*((fault, 0.0) for fault in REFUSALS), *((fault, 20.0) for fault in (*REFUSALS, *SILENCE))],
)
def test_a_host_that_answers_nothing_well_is_told_after_a_quarter_of_an_hour(
    fault: int | Fault, well_s: float
) -> None:
    async def main() -> None:
        t = await Troubled.begin(fault, well_s)
        after_s = await t.told_after("no_success", lambda: t.failed_at, 3000.0)
        assert RULES.no_success_s <= after_s <= RULES.no_success_s + PROBE_S + SOON_S
        assert t.target.texts["no_success"].startswith("site.test ")

    virtually(main)


@pytest.mark.parametrize("pages", [2, 3, 5])
@pytest.mark.parametrize("fault", REFUSALS)
def test_a_host_whose_few_pages_wait_for_their_next_tries_is_told_as_soon(fault: int, pages: int) -> None:
    """Bug it would catch: a site refuses its start URL for hours, and nothing is told of it."""

    async def main() -> None:
        t = await Troubled.begin(fault, 0.0, pages)
        after_s = await t.told_after("no_success", lambda: t.failed_at, 3000.0)
        assert RULES.no_success_s <= after_s <= RULES.no_success_s + RETRY_S + SOON_S
        assert "since" in t.target.texts["no_success"]

    virtually(main)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [500, Fault.TIMEOUT_BODY])
def test_a_host_all_of_whose_pages_fail_is_told_while_they_are_given_up(fault: int | Fault) -> None:
    """Such an answer is the page's own, and the host is asked at its pace: other alerts tell it, sooner."""

    async def main() -> None:
        t = await Troubled.begin(fault, 60.0)
        after_s = await t.told_after("host_fails", lambda: t.failed_at, 3000.0)
        assert RULES.holds_s <= after_s <= RULES.holds_s + 60.0
        assert RULES.holds_s <= t.target.begun["dead_letters"] - t.failed_at <= RULES.holds_s + 60.0

    virtually(main)


@pytest.mark.parametrize("well_s", [20.0, 40.0])
def test_a_crawl_that_stands_still_is_told_after_two_minutes(well_s: float) -> None:
    async def main() -> None:
        t = await Troubled.begin(503, 1e9)
        await asyncio.sleep(well_s)
        stopped_at = t.kit.site.log[-1][0]
        await end_tasks(t.working)
        after_s = await t.told_after("stalled", lambda: stopped_at, 1000.0)
        assert RULES.stalled_s <= after_s <= RULES.stalled_s + SOON_S

    virtually(main)


# --------------------------------------------------------------------------- a fleet


def watch_world(world: World, target: TimedTarget, *crawls: Any) -> AlertWatch:
    """A watch over a fleet within one loop."""
    known = {crawl.job.id: crawl for crawl in crawls}

    async def list_jobs() -> list[Any]:
        return [await crawl.now() for crawl in crawls]

    parts = WatchParts(
        name="fleet",
        title="a fleet",
        shared=world.shared,
        store=world.store,
        series=world.store.series,
        clock=world.clock,
        list_jobs=list_jobs,
        list_all=None,
        refresh=lambda job: world.book.get(job.id),
        open_job=lambda job: WatchedJob(job=job, frontier=known[job.id].frontier),
        show=formatter_at,
        read_roster=lambda: world.roster.read_roster(history=True),
    )
    return beside(parts, target)


@play
async def test_a_worker_that_takes_no_shift_is_told_after_two_minutes(world: World) -> None:
    """It beats, and its messages do not reach it; meanwhile each shift is asked for again and again."""
    world.supervisor()
    world.station()
    crawl = await world.submit(PAGES, hosts=1, rules=FrontierRules(delay_s=1.0))
    target = TimedTarget(world.clock)
    watching = asyncio.create_task(watch_world(world, target, crawl).run())
    await asyncio.sleep(100.0)
    assert not target.begun
    world.loses_messages = True
    world.stations[0].shift_s = 0.0
    await world.until(lambda: not world.stations[0].shifts)
    idle_at = world.clock.now()
    await world.until(lambda: len(target.begun) == 2, most_s=600.0)
    await end_tasks(watching)
    assert RULES.no_worker_s <= target.begun["idle_worker"] - idle_at <= RULES.no_worker_s + 2 * SOON_S
    assert RULES.stalled_s <= target.begun["stalled"] - crawl.site.log[-1][0] <= RULES.stalled_s + SOON_S
