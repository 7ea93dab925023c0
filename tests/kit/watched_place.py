"""A place whose jobs are watched: everything in memory, on a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gossamer.core.alerts import AlertNotice
from gossamer.core.errors import StorageError
from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.jobs import Job
from gossamer.core.results import Attempt, Outcome, Verdict, VisitResult
from gossamer.core.shifts import RosterView, WorkerInfo
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alert_readings import BudgetUse
from gossamer.policy.alerts import AlertRules
from gossamer.policy.drift import DriftFinding
from gossamer.policy.job_memory import PlaceMemory
from gossamer.policy.troubles import Severity
from gossamer.ports.clock import Clock
from gossamer.shared.memory import MemorySharedState
from gossamer.store.memory.items import MemoryItemReader
from gossamer.store.memory.jobs import MemoryJobStore
from gossamer.store.memory.ledger import MemoryLedgerReader
from gossamer.store.memory.profiles import MemoryProfileStore
from gossamer.store.memory.store import MemoryStore
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.testing.contracts.store_harness import make_item
from gossamer.watch.item_quality import QualityParts, make_profile
from gossamer.watch.memories import save_place_memory
from gossamer.watch.parts import WatchedJob, WatchParts
from gossamer.watch.watch import AlertWatch

EVERY_S = 5.0
RULES = AlertRules(holds_s=20.0, clears_s=20.0, no_supervisor_s=20.0, away_s=20.0, no_items_pages=20)


@dataclass
class NoticedTarget:
    """A target that records its alerts."""

    name: str
    notices: list[AlertNotice] = field(default_factory=list)
    trouble: Exception | None = None
    tries: int = 0

    async def deliver(self, notice: AlertNotice) -> None:
        self.tries += 1
        if self.trouble is not None:
            raise self.trouble
        self.notices.append(notice)


class WatchedPlace:
    """One job, a target, and possible failures."""

    @classmethod
    async def open(cls, rules: FrontierRules | None = None, clock: Clock | None = None) -> WatchedPlace:
        """By default on a clock that is moved by hand."""
        w = cls()
        w.clock: Any = clock or ManualClock()
        w.shared, w.book, w.store = MemorySharedState(w.clock), MemoryJobStore(w.clock), MemoryStore()
        w.profiles = MemoryProfileStore()
        w.job = await w.book.create("shop", "shop.py:Shop")
        w.listed: list[Job] = [w.job]
        w.frontier = MemoryFrontier(rules or FrontierRules(delay_s=5.0), w.clock, seed=1)
        w.target = NoticedTarget("ops")
        w.roster_leader, w.trouble, w.count = "s1", "", 0
        w.look_s = 0.0  # a look at a job takes so long
        w.store_s = 0.0  # ... and an answer of the store
        w.concurrency: int | None = None
        w.parts = WatchParts(
            name="place",
            title="a place",
            shared=w.shared,
            store=w.store,
            series=w.store.series,
            find_findings=w._find_findings,
            clock=w.clock,
            list_jobs=w._list_jobs,
            list_all=w.book.list_jobs,
            refresh=lambda job: w.book.get(job.id),
            open_job=w._open_job,
            show=formatter_at,
            rules=RULES,
            requests_name="Redis",
            store_name="PostgreSQL",
        )
        w.add_target("ops", w.target)
        return w

    def add_target(
        self, name: str, target: NoticedTarget | None = None, severities: Iterable[Severity] = tuple(Severity)
    ) -> NoticedTarget:
        target = target or NoticedTarget(name)
        wanted = {**self.parts.wanted, name: frozenset(severities)}
        self.parts = replace(self.parts, targets=(*self.parts.targets, target), wanted=wanted)
        return target

    def make_watch(
        self,
        *,
        is_fleet: bool = False,
        is_leading: Callable[[], bool] = lambda: True,
        concurrency: int | None = None,
    ) -> AlertWatch:
        self.concurrency = concurrency
        parts = self.parts
        if is_fleet:
            parts = replace(parts, read_roster=self._read_roster, try_writing=self._try_writing)
        return AlertWatch(parts, is_leading=is_leading)

    async def let_pass(
        self, watch: AlertWatch, seconds: float, *others: AlertWatch, step_s: float = EVERY_S
    ) -> None:
        """Looks of all watches, one after the other."""
        for _ in range(round(seconds / step_s)):
            self.clock.advance(step_s)
            for one in (watch, *others):
                await one.look()
                await one._delivery.deliver()

    async def add_requests(self, number: int, hosts: int) -> None:
        await self.frontier.add([make_entry(n, host=f"h{n % hosts}.example") for n in range(number)])

    async def fetch(
        self,
        number: int,
        *,
        items: int = 1,
        keep: int = 0,
        verdict: Verdict = Verdict.SUCCESS,
        data: bytes = b'{"name":"x"}',
    ) -> None:
        """Begin this many requests; they end at once, except those that stay in progress."""
        for lease in (await self.frontier.lease("http", number, 600.0)).leases[keep:]:
            self.count += 1
            now, url = self.clock.now(), lease.entry.request.url
            signal = HostSignal(kind=HostSignalKind.OK, started_at=now, latency_s=0.1)
            outcome = Outcome(lease=lease, verdict=verdict, signal=signal, is_page=True)
            attempt = Attempt(
                at=now, url=url, fingerprint=self.count, verdict=verdict, status=200, elapsed_ms=100.0
            )
            found = tuple(make_item(f"{self.count}-{n}", data, url=url) for n in range(items))
            result = VisitResult(outcome=outcome, attempts=(attempt,), items=found)
            await self.store.write(self.job, [result])
            await self.frontier.settle([outcome])

    def cut_requests(self, error: str) -> None:
        """Cut the connection to the requests and to the shared state."""
        self.trouble = error
        self.shared.__class__ = _cut_state(error, ("get", "put", "update", "claim"))

    def seal_requests(self, error: str) -> None:
        """The place of requests answers, and takes no changes."""
        self.shared.__class__ = _cut_state(error, ("put", "update", "claim"))

    def mend_requests(self) -> None:
        self.trouble = ""
        self.shared.__class__ = MemorySharedState

    async def forget_since(self, memory: PlaceMemory) -> None:
        """Restore the place's earlier memory: later records are lost."""
        await save_place_memory(self.shared, self.parts.name, memory)

    async def _find_findings(self, job: Job) -> Sequence[DriftFinding]:
        quality = QualityParts(
            store=self.store, items=MemoryItemReader(self.store), ledger=MemoryLedgerReader(self.store),
            book=self.book, profiles=self.profiles, clock=self.clock, sample=500, baseline_jobs=5, drift=0.3,
            declare=lambda job, types: None,
        )  # fmt: skip
        return (await make_profile(quality, job)).losses

    async def _try_writing(self) -> None:
        await self.shared.put("tests", "written", b"", 60.0)

    async def _list_jobs(self) -> list[Job]:
        if self.store_s:
            self.clock.advance(self.store_s)
        return [found for job in self.listed if (found := await self.book.get(job.id))]

    def _open_job(self, job: Job) -> WatchedJob:
        if job.id != self.job.id:
            raise StorageError("its frontier is gone")
        slow = self._take_time if self.look_s else None
        return WatchedJob(job=job, frontier=self.frontier, concurrency=self.concurrency, read_budgets=slow)

    async def _take_time(self) -> Sequence[BudgetUse]:
        await self.clock.sleep(self.look_s)
        return ()

    async def _read_roster(self) -> RosterView:
        if self.trouble:
            raise StorageError(self.trouble)
        now = self.clock.now()
        worker = WorkerInfo(id="w1", slots=1, lanes=("http", "seed"), beat_at=now)
        return RosterView(at=now, leader=self.roster_leader, workers=(worker,))


def _cut_state(error: str, calls: Iterable[str]) -> type[MemorySharedState]:
    """Shared state that does not answer these calls."""

    async def refuse(*args: object, **kwargs: object) -> None:
        raise StorageError(error)

    return type("CutState", (MemorySharedState,), dict.fromkeys(calls, refuse))
