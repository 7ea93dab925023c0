"""A fleet within one loop, on virtual time: real workers and supervisors over memory, simulated processes.

A :class:`Station` stands for a worker process: it can be killed (it returns no lease and reports nothing),
frozen and thawed (SIGSTOP, SIGCONT). Messages can be lost. Frontiers, roster, book and store stand for the
servers: each can be taken away for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

from msgspec.structs import replace

from gossamer.core.errors import LostRequestsError, StorageError, UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import JobCommand, JobState
from gossamer.core.requests import Request
from gossamer.core.results import Verdict
from gossamer.core.shifts import PAGE_LANE, SEED_LANE, EndReason, Shift, ShiftResult, WorkerInfo, WorkerState
from gossamer.core.steering import SettingChange
from gossamer.engine.admission import Admission
from gossamer.engine.parts import EngineParts, ShiftOptions
from gossamer.engine.seeding import Seeder
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.engine.worker import Worker
from gossamer.fleet.parts import FleetOptions, FleetParts, MonitoredJob
from gossamer.fleet.supervisor import FleetSupervisor
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.items.pipeline import DefaultPipeline
from gossamer.policy.job_life import EndFinder
from gossamer.policy.scope import Scope
from gossamer.policy.urls import UrlOptions
from gossamer.ports.duty import Duty
from gossamer.roster.memory import MemoryRoster
from gossamer.shared.memory import MemorySharedState
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.store import MemoryStore
from gossamer.testing.clock import EPOCH, LoopClock, run_virtual
from kit.engine import CALM, Gate, Pages, Site, follow
from kit.recording_sink import RecordingSink

EASY = replace(CALM, per_host=64)


class Line:
    """The way from one process to one server: can be cut, can be held up."""

    def __init__(self, target: Any, *holds: Line) -> None:
        self._target = target
        self._up = asyncio.Event()
        self._up.set()
        self._holds = holds
        self.trouble: Exception | None = None
        self.calls: Counter[str] = Counter()

    def freeze(self) -> None:
        self._up.clear()

    def thaw(self) -> None:
        self._up.set()

    async def passed(self) -> None:
        for line in (self, *self._holds):
            await line._up.wait()
            if line.trouble is not None:
                raise line.trouble

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._target, name)

        async def through(*args: Any, **kwargs: Any) -> Any:
            await self.passed()
            self.calls[name] += 1
            answer = await call(*args, **kwargs)
            await self.passed()
            return answer

        return through


class OwnedFrontier:
    """The memory frontier as one owner sees it; it knows who holds which lease, like the one in Redis."""

    def __init__(self, frontier: MemoryFrontier, owners: dict[int, str], owner: str = "") -> None:
        self._frontier, self._owners, self._owner = frontier, owners, owner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frontier, name)

    async def lease(self, lane: str, limit: int, ttl_s: float) -> Any:
        grant = await self._frontier.lease(lane, limit, ttl_s)
        self._owners.update(dict.fromkeys((lease.token for lease in grant.leases), self._owner))
        return grant

    async def recover_leases(self, owner: str) -> Any:
        held = [item for token, item in self._frontier._leased.items() if self._owners.get(token) == owner]
        now = self._frontier._clock.now()
        return tuple(self._frontier._expire_lease(item, now) for item in held)


class Crawl:
    """A job and its site."""

    def __init__(
        self, world: World, job: Job, rules: FrontierRules, pages: int, hosts: int, latency_s: float
    ) -> None:
        self.world, self.job, self.rules = world, job, rules
        self.frontier = MemoryFrontier(rules, world.clock, seed=1)
        self.owners: dict[int, str] = {}
        self.line = Line(self.frontier)
        self.site = Site(world.clock, latency_s)
        self.site_pages = Pages()
        self.names = [f"http://{job.id}-h{n % hosts}.test/{n}" for n in range(pages)]
        self.root = f"http://{job.id}-h0.test/root"
        self.site_pages.yields[self.root] = follow(*self.names)
        self.max_time_s: float | None = None
        self.find_end: EndFinder | None = None
        self.refused_by: set[str] = set()  # stations that have another version of the spider
        self.seeding_s = 0.0
        self.plan_trouble: str = ""

    def lose(self) -> None:
        """Redis has lost its requests."""
        self.line.trouble = LostRequestsError("the requests are gone")

    async def make_frontier(self) -> None:
        """As the back end does; only of one that was lost while nothing was in it."""
        assert not (await self.frontier.read_stats()).waiting
        self.line.trouble = None

    def view(self, owner: str, *through: Line) -> Any:
        return Line(OwnedFrontier(self.frontier, self.owners, owner), self.line, *through)

    async def seeds(self) -> AsyncIterator[Request]:
        yield Request(self.root)

    @property
    def fetched(self) -> Counter[str]:
        return Counter(url for _, url in self.site.log)

    async def now(self) -> Job:
        job = await self.world.book.get(self.job.id)
        assert job is not None
        return job


class Station:
    """A worker process: beats, and begins the shifts that messages name."""

    def __init__(
        self, world: World, name: str, slots: int, *, lanes: tuple[str, ...], shift_s: float
    ) -> None:
        self.world, self.name, self.slots, self.shift_s = world, name, slots, shift_s
        self.card = WorkerInfo(id=name, slots=slots, lanes=lanes, started_at=world.clock.now())
        self.way = Line(None)
        self.roster = Line(world.roster, world.redis, self.way)
        self.shifts: dict[str, tuple[Shift, Worker | None]] = {}
        self.told: dict[str, EndReason] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.messages: asyncio.Queue[str] = asyncio.Queue()
        self.beating = asyncio.create_task(self._keep_beating())
        self.takers = [asyncio.create_task(self._take()) for _ in range(slots)]
        self.is_dead = False

    def kill(self) -> None:
        """SIGKILL."""
        self.is_dead = True
        self.way.trouble = StorageError("this process is dead")
        for task in (self.beating, *self.takers):
            task.cancel()
        for _ in range(self.messages.qsize()):  # its unacknowledged messages go to others
            self.world.messages.append(self.messages.get_nowait())

    async def drain(self) -> None:
        """SIGTERM."""
        self.card = replace(self.card, state=WorkerState.DRAINING)
        while self.shifts:  # noqa: ASYNC110 - any of many ends
            await asyncio.sleep(0.1)
        await self.roster.remove_worker(self.name)
        self.kill()

    async def _keep_beating(self) -> None:
        while True:
            with contextlib.suppress(StorageError):
                said = [
                    replace(
                        shift,
                        pages=self.world.recorded[shift.id],
                        in_flight=worker.in_flight if worker else 0,
                    )
                    for shift, worker in self.shifts.values()
                ]
                self.told |= await self.roster.record_heartbeat(self.card, said)
            await asyncio.sleep(1.0)

    async def _take(self) -> None:
        while True:
            shift_id = await self.messages.get()
            with contextlib.suppress(StorageError):
                shift = await self.roster.begin_shift(shift_id, self.name)
                if shift is not None:
                    await self._work(shift)

    async def _work(self, shift: Shift) -> None:
        crawl = self.world.crawls[shift.job]
        why, detail, clean = EndReason.IDLE, "", True
        try:
            if self.name in crawl.refused_by:
                why, detail = EndReason.REFUSED, "another version of the spider"
            elif shift.lane == SEED_LANE:
                why = await self._seed_job(crawl, shift)
            else:
                why = await self._pages(crawl, shift)
        except StorageError as error:
            why, detail, clean = EndReason.FAILED, str(error), False
        finally:
            self.shifts.pop(shift.id, None)
        await self.roster.end_shifts(
            [
                ShiftResult(
                    id=shift.id,
                    job=shift.job,
                    lane=shift.lane,
                    why=why,
                    detail=detail,
                    clean=clean,
                    pages=self.world.recorded[shift.id],
                    worker=self.name,
                )
            ]
        )

    async def _seed_job(self, crawl: Crawl, shift: Shift) -> EndReason:
        self.shifts[shift.id] = (shift, None)
        frontier = crawl.view(shift.id, self.world.redis, self.way)
        await Seeder(self.world.admission(crawl.job), frontier, lambda: None).add_seeds(crawl.seeds())
        await self.roster.notify_supervisor()
        await asyncio.sleep(crawl.seeding_s)
        await frontier.finish_seeding()
        return EndReason.SEEDED

    async def _pages(self, crawl: Crawl, shift: Shift) -> EndReason:
        worker = Worker(
            self.world.parts(crawl, shift, self.way), ShiftOptions(worker=self.name, random=lambda: 0.0)
        )
        self.shifts[shift.id] = (shift, worker)
        running = asyncio.create_task(worker.run())
        ends_at = self.world.clock.now() + self.shift_s
        why, idle_since = EndReason.TIME, None
        try:
            while not running.done() and self.world.clock.now() < ends_at:
                if shift.id in self.told:
                    why = self.told.pop(shift.id)
                    break
                now = self.world.clock.now()
                idle_since = None if worker.in_flight else (idle_since or now)
                if idle_since is not None and idle_since + 2.0 <= now:
                    why = EndReason.IDLE
                    break
                await asyncio.wait({running}, timeout=0.1)
            worker.stop()
            await running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return why


class World:
    """The servers, and the stations that use them."""

    def __init__(self) -> None:
        self.clock = LoopClock(asyncio.get_running_loop(), EPOCH)
        self.book = MemoryJobStore(self.clock)
        self.store = MemoryStore()
        self.roster = MemoryRoster(self.clock)
        self.shared = MemorySharedState(self.clock)
        self.redis, self.postgres, self.broker = Line(None), Line(None), Line(None)
        self.crawls: dict[str, Crawl] = {}
        self.stations: list[Station] = []
        self.told = RecordingSink()  # by the supervisors
        self.fleets: list[tuple[FleetSupervisor, asyncio.Task[None], Line]] = []
        self.messages: list[str] = []  # shifts that were published and not yet received
        self.published: list[Shift] = []
        self.recorded: Counter[str] = Counter()
        self.random = random.Random(7)
        self.loses_messages = False

    # ----------------------------------------------------------------- who is there

    def line(self, target: Any, *through: Line) -> Any:
        return Line(target, self.redis, *through)

    def station(
        self, slots: int = 2, shift_s: float = 60.0, lanes: tuple[str, ...] = (SEED_LANE, PAGE_LANE)
    ) -> Station:
        station = Station(self, f"w{len(self.stations) + 1}", slots, lanes=lanes, shift_s=shift_s)
        self.stations.append(station)
        return station

    def supervisor(
        self, options: FleetOptions | None = None, duties: Sequence[Duty] = ()
    ) -> tuple[FleetSupervisor, Line]:
        way = Line(None)
        parts = FleetParts(
            book=Line(self.book, self.postgres, way),  # type: ignore[arg-type]
            store=Line(self.store, self.postgres, way),  # type: ignore[arg-type]
            series=Line(self.store.series, self.postgres, way),  # type: ignore[arg-type]
            roster=self.line(self.roster, way),
            shared=self.line(self.shared, way),
            clock=self.clock,
            watched=lambda job, changes: self._watched(job, changes, way),
            publish=lambda shifts: self._publish_shift(shifts, way),
            sink=self.told,
        )
        fleet = FleetSupervisor(
            parts, options, me=f"s{len(self.fleets) + 1}", duties=duties, random=lambda: 1.0
        )
        self.fleets.append((fleet, asyncio.create_task(fleet.run()), way))
        return fleet, way

    def _watched(self, job: Job, changes: Sequence[SettingChange], way: Line) -> MonitoredJob:
        crawl = self.crawls[job.id]
        changed = {change.key: change.value for change in changes}
        if crawl.plan_trouble:
            raise UsageError(crawl.plan_trouble)
        frontier = crawl.view("", self.redis, way)
        return MonitoredJob(
            frontier=frontier,
            per_host=changed.get("per_host", crawl.rules.per_host),
            max_time_s=changed.get("max_time", crawl.max_time_s),
            find_end=crawl.find_end,
            make_frontier=crawl.make_frontier,
        )

    async def submit(
        self,
        pages: int = 100,
        *,
        hosts: int = 4,
        latency_s: float = 0.1,
        rules: FrontierRules = EASY,
        **fields: Any,
    ) -> Crawl:
        job = await self.book.create("shop", "shop.py")
        crawl = self.crawls[job.id] = Crawl(self, job, rules, pages, hosts, latency_s)
        for name, value in fields.items():
            setattr(crawl, name, value)
        await self.roster.notify_supervisor()
        return crawl

    async def change(self, crawl: Crawl, change: JobCommand) -> None:
        """Change a job as the commands do."""
        state = {
            JobCommand.PAUSE: JobState.PAUSED,
            JobCommand.RESUME: JobState.RUNNING,
            JobCommand.CANCEL: JobState.CANCELLED,
        }[change]
        await crawl.frontier.apply_change(change)
        await self.book.update(replace(await crawl.now(), state=state, finished_at=None, end_reason=None))
        await self.roster.notify_supervisor()

    # ----------------------------------------------------------------- the broker

    async def _publish_shift(self, shifts: Sequence[Shift], way: Line) -> None:
        await Line(None, self.broker, way).passed()
        self.published += shifts
        self.messages += [] if self.loses_messages else [shift.id for shift in shifts]
        lanes = {shift.id: shift.lane for shift in shifts}
        for shift_id in list(self.messages):
            lane = lanes.get(shift_id, PAGE_LANE)
            takers = [s for s in self.stations if not s.is_dead and lane in s.card.lanes]
            if takers:
                self.messages.remove(shift_id)
                fewest = min(s.messages.qsize() + len(s.shifts) - s.slots for s in takers)
                free = [s for s in takers if s.messages.qsize() + len(s.shifts) - s.slots == fewest]
                self.random.choice(free).messages.put_nowait(shift_id)

    # ----------------------------------------------------------------- what workers need

    def admission(self, job: Job) -> Admission:
        return Admission(Scope(["test"]), UrlOptions(), job.key)

    def parts(self, crawl: Crawl, shift: Shift, way: Line) -> EngineParts:
        frontier = crawl.view(shift.id, self.redis, way)
        store = Line(self.store, self.postgres, way)
        committer = SplitCommitter(frontier, store, crawl.job)  # type: ignore[arg-type]

        class Counting:
            async def commit(_, results: Any) -> list[bool]:
                kept = await committer.commit(results)
                self.recorded[shift.id] += sum(kept)
                return kept

        class Silent:
            def emit(_, event: Any) -> None:
                pass

        return EngineParts(
            job=crawl.job,
            rules=crawl.rules,
            frontier=frontier,
            committer=Counting(),
            store=store,  # type: ignore[arg-type]
            fetcher=crawl.site,
            robots=Gate(),  # type: ignore[arg-type]
            extractor=crawl.site_pages,
            pipeline=DefaultPipeline(),
            admission=self.admission(crawl.job),
            sink=Silent(),
            clock=self.clock,
        )

    # ----------------------------------------------------------------- how it ends

    async def until_over(self, *crawls: Crawl, most_s: float = 600.0) -> list[Job]:
        """Wait until jobs have ended; they are as the book has them."""
        ends_at = self.clock.now() + most_s
        while True:
            jobs = [await crawl.now() for crawl in crawls]
            if all(job.finished_at is not None for job in jobs):
                return jobs
            view = await self.roster.read_roster(history=True)
            stats = [await crawl.frontier.read_stats() for crawl in crawls]
            assert self.clock.now() < ends_at, f"not over: {stats} {view}"
            await asyncio.sleep(0.05)

    async def until(self, holds: Any, most_s: float = 120.0) -> None:
        ends_at = self.clock.now() + most_s
        while not holds():
            assert self.clock.now() < ends_at, "it never comes"
            await asyncio.sleep(0.05)

    async def expired(self, crawl: Crawl) -> int:
        """Return rows of the ledger for leases that expired."""
        rows = await self.store.latest_attempts(crawl.job, limit=10_000_000)
        return sum(row.verdict is Verdict.EXPIRED for row in rows)

    async def assert_complete(self, crawl: Crawl, *, may_repeat: int = 0) -> None:
        """Assert that every page is in the store; pages fetched again were lost with a lease."""
        assert {page.url for page in self.store.pages[crawl.job.id].values()} == {crawl.root, *crawl.names}
        again = sum(crawl.fetched.values()) - len(crawl.fetched)
        assert again <= await self.expired(crawl) + may_repeat, (again, await self.expired(crawl))

    async def close(self) -> None:
        for station in self.stations:
            station.kill()
        tasks = [task for s in self.stations for task in (s.beating, *s.takers)]
        for fleet, task, _ in self.fleets:
            fleet.stop()
            tasks.append(task)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def play(body: Any) -> Any:
    """A test as a coroutine over a world, on virtual time."""

    @functools.wraps(body)
    def test(*args: Any, **kwargs: Any) -> None:
        async def main(_: Any) -> None:
            world = World()
            try:
                await body(world, *args, **kwargs)
            finally:
                await world.close()

        run_virtual(main)

    signature = inspect.signature(body)
    test.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    return test
