"""A worker's parts made of the memory frontier and small fakes, for tests of the engine on virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from gossamer.core.errors import FetchError
from gossamer.core.events import Event
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import Job
from gossamer.core.requests import Request
from gossamer.core.results import Attempt, ExtractResult, FetchResult, RobotsDecision, VisitResult
from gossamer.core.routes import Block
from gossamer.engine.admission import Admission
from gossamer.engine.parts import EngineParts, ShiftOptions
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.frontier.memory.frontier import MemoryFrontier
from gossamer.items.pipeline import DefaultPipeline
from gossamer.policy.scope import Scope
from gossamer.policy.urls import UrlOptions
from gossamer.testing.clock import EPOCH, LoopClock, VirtualLoop, run_virtual

T = TypeVar("T")
URL = "http://site.test/"
JOB = Job(id="t-1", name="t", target="t", created_at=0.0, key=b"k")
CALM = FrontierRules(delay_s=0.0, per_host=8, backoff_base_s=1.0)


class Answer(RobotsDecision, frozen=True, kw_only=True):
    """An answer of a robots gate."""

    allowed: bool = True


class Gate:
    """A robots gate that answers as told, by URL."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}

    async def check_request(self, request: Request, route: object = None) -> Answer:
        waiting = self.answers.get(request.url)
        return waiting.pop(0) if waiting else Answer()


Reply = FetchResult | FetchError | Callable[[Request], Any]


class Site:
    """A fetcher with the reply of each URL, or a list of replies in turn; counts the requests."""

    rung = "http"
    touches_network = True

    def __init__(self, clock: LoopClock, latency_s: float = 0.0) -> None:
        self.clock = clock
        self.latency_s = latency_s
        self.replies: dict[str, Any] = {}
        self.log: list[tuple[float, str]] = []

    def page(self, url: str, status: int = 200, headers: dict[str, str] | None = None) -> FetchResult:
        now = self.clock.now()
        return FetchResult(
            url=url,
            status=status,
            headers=tuple((headers or {"content-type": "text/html"}).items()),
            body=b"<title>x</title>",
            started_at=now,
            latency_s=self.latency_s,
            elapsed_s=self.latency_s,
            rung=self.rung,
        )

    async def fetch(self, request: Request, route=None) -> FetchResult:
        self.log.append((self.clock.now(), request.url))
        if self.latency_s:
            await self.clock.sleep(self.latency_s)
        reply = self.replies.get(request.url, 200)
        if isinstance(reply, list):
            reply = reply.pop(0) if len(reply) > 1 else reply[0]
        if isinstance(reply, FetchError):
            reply.rung = self.rung
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, int):
            return self.page(request.url, reply)
        if isinstance(reply, tuple):
            return self.page(request.url, reply[0], reply[1])
        return await reply(request) if callable(reply) else reply

    async def close(self) -> None:
        """Nothing to close."""


class Pages:
    """An extractor: what each URL yields."""

    def __init__(self) -> None:
        self.yields: dict[str, ExtractResult] = {}
        self.statuses: set[int] = set()
        self.blocks: dict[str, Block] = {}
        self.errbacks: list[tuple[str, str]] = []

    async def extract(self, request: Request, fetched: FetchResult) -> ExtractResult:
        found = self.yields.get(request.url, ExtractResult())
        if isinstance(found, BaseException):
            raise found
        return found

    async def give_up(
        self, request: Request, fault: str, detail: str, fetched: FetchResult | None = None
    ) -> ExtractResult | None:
        self.errbacks.append((request.url, fault))
        return self.yields.get("errback")

    async def find_block(self, request: Request, fetched: FetchResult) -> Block | None:
        return self.blocks.get(request.url)

    def wants_status(self, request: Request, status: int) -> bool:
        return status in self.statuses


class Ledger:
    """A store that keeps everything in lists."""

    def __init__(self) -> None:
        self.results: list[VisitResult] = []
        self.expired: list[Attempt] = []
        self.stale: list[Attempt] = []
        self.trouble: Exception | None = None

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        if self.trouble:
            raise self.trouble
        self.results += results

    async def record_attempts(self, job: Job, attempts: Sequence[Attempt]) -> None:
        self.expired += attempts

    async def mark_stale(self, job: Job, attempts: Sequence[Attempt]) -> None:
        self.stale += attempts

    @property
    def verdicts(self) -> list[tuple[str, str, str]]:
        """``(url, verdict, reason)`` of every attempt, in order."""
        return [(a.url, a.verdict.value, a.reason) for h in self.results for a in h.attempts]

    @property
    def items(self) -> list[bytes]:
        return [item.data for result in self.results for item in result.items]


class Events(list[Event]):
    """A sink that keeps everything."""

    def emit(self, event: Event) -> None:
        self.append(event)

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self if isinstance(event, kind)]


class Kit:
    """Everything a worker needs, each part at hand."""

    def __init__(self, rules: FrontierRules = CALM, *, latency_s: float = 0.0, **shift: Any) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.clock = LoopClock(loop, EPOCH)
        self.rules = rules
        self.frontier = MemoryFrontier(rules, self.clock, seed=1)
        self.site = Site(self.clock, latency_s)
        self.gate = Gate()
        self.pages = Pages()
        self.ledger = Ledger()
        self.events = Events()
        self.admission = Admission(Scope(["site.test", "other.test"]), UrlOptions(), JOB.key)
        self.parts = EngineParts(
            job=JOB,
            rules=rules,
            frontier=self.frontier,
            committer=SplitCommitter(self.frontier, self.ledger, JOB),  # type: ignore[arg-type]
            store=self.ledger,  # type: ignore[arg-type]
            fetcher=self.site,
            robots=self.gate,
            extractor=self.pages,
            pipeline=DefaultPipeline(),
            admission=self.admission,
            sink=self.events,
            clock=self.clock,
        )
        self.shift = ShiftOptions(random=lambda: 0.0, **shift)

    def with_parts(self, **changes: Any) -> EngineParts:
        """The parts with some of them replaced."""
        return replace(self.parts, **changes)

    async def seeds_of(self, *urls: str, **options: Any) -> Any:
        """Requests as a spider's start gives them."""
        for url in urls:
            yield Request(url, **options)


def virtually(main: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
    """Run a coroutine function on virtual time; a :class:`Kit` made in it finds the clock by itself."""
    return run_virtual(lambda _: main(*args))


def follow(*urls: str) -> ExtractResult:
    """A page that links to some URLs."""
    return ExtractResult(requests=tuple(Request(url) for url in urls))


def asking(request: Request, **changes: Any) -> Request:
    """A request with some fields changed."""
    return replace(request, **changes)
