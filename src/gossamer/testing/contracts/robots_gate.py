"""The contract of a robots gate, as named checks.

To check a gate of your own::

    @asynccontextmanager
    async def make(clock):
        site = RobotsSite(clock)  # the fetcher of the gates
        yield RobotsSubject(MyGate(site, shared, clock), MyGate(site, shared, clock), site, clock)

    await check_robots_gate(make)                    # all of them, or one by one from ROBOTS_GATE_CHECKS

The gates are those of two workers with shared state; their user agent is ``gossamer/1.0``.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hosts import HostSignalKind
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult, RobotsDecision
from gossamer.core.routes import DIRECT, Route
from gossamer.ports.clock import Clock
from gossamer.ports.robots_gate import RobotsGate
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["ROBOTS_GATE_CHECKS", "RobotsSite", "RobotsSubject", "check_robots_gate"]

SITE = "https://site.example"
RULES = b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\n"
HOUR_S, WEEK_S = 3600.0, 604_800.0


@dataclass
class RobotsSite:
    """A fetcher with prepared robots.txt files: a status and a body, or a fault."""

    clock: Clock
    files: dict[str, tuple[int, bytes] | Fault] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    is_open: asyncio.Event = field(default_factory=asyncio.Event)
    is_asked: asyncio.Event = field(default_factory=asyncio.Event)
    rung: str = "http"
    touches_network: bool = True

    def __post_init__(self) -> None:
        self.is_open.set()

    async def fetch(self, request: Request, route: Route = DIRECT) -> FetchResult:
        """See :class:`~gossamer.ports.fetcher.Fetcher`. Waits while the site is not open."""
        self.asked.append(request.url)
        self.is_asked.set()
        await self.is_open.wait()
        answer = self.files.get(request.url, (404, b""))
        if isinstance(answer, Fault):
            raise FetchError(answer, "as the check says")
        status, body = answer
        return FetchResult(
            url=request.url,
            status=status,
            headers=(("content-type", "text/plain"),),
            body=body,
            started_at=self.clock.now(),
            latency_s=0.25,
            elapsed_s=0.5,
            rung=self.rung,
        )

    async def close(self) -> None:
        """Nothing is open."""


@dataclass
class RobotsSubject:
    """The gates of two workers with shared state, and their site."""

    gate: RobotsGate
    other: RobotsGate
    site: RobotsSite
    clock: ManualClock

    def serve(self, answer: tuple[int, bytes] | Fault, origin: str = SITE) -> None:
        """Let an origin answer so for its robots.txt."""
        self.site.files[f"{origin}/robots.txt"] = answer

    async def check(self, path: str = "/x", gate: RobotsGate | None = None) -> RobotsDecision:
        """A gate's decision on a page of the site."""
        return await (gate or self.gate).check_request(Request(SITE + path))


ROBOTS_GATE_CHECKS: ContractSuite[RobotsSubject] = ContractSuite()
"""The checks by name."""


async def check_robots_gate(make: Make[RobotsSubject]) -> None:
    """Run every check on fresh gates each. Raises ``AssertionError`` for a broken promise."""
    await ROBOTS_GATE_CHECKS.run(make)


@ROBOTS_GATE_CHECKS.register
async def the_file_decides(s: RobotsSubject) -> None:
    """Each path for itself; a refusal has a reason."""
    s.serve((200, RULES))
    assert_holds((await s.check("/x")).allowed, "what no rule forbids is allowed")
    refused = await s.check("/private/x")
    assert_equal((refused.allowed, refused.reason), (False, "robots"), "a forbidden request is refused")
    assert_holds((await s.check("/y")).allowed, "and nothing else is")


@ROBOTS_GATE_CHECKS.register
async def no_file_allows_everything(s: RobotsSubject) -> None:
    """404 and an empty file alike (RFC 9309, 2.3.1.3)."""
    assert_holds((await s.check("/private")).allowed, "a site without robots.txt allows everything")
    s.serve((200, b""), "https://empty.example")
    decision = await s.gate.check_request(Request("https://empty.example/private"))
    assert_holds(decision.allowed, "and so does an empty file")


@ROBOTS_GATE_CHECKS.register
async def the_file_is_fetched_once(s: RobotsSubject) -> None:
    """However many requests ask at the same time; one of them says that a turn was used."""
    s.serve((200, RULES))
    decisions = await asyncio.gather(*(s.check(f"/{number}") for number in range(50)))
    assert_equal(s.site.asked, [f"{SITE}/robots.txt"], "one fetch")
    signals = [decision.signal for decision in decisions if decision.signal is not None]
    assert_equal(len(signals), 1, "one signal")
    assert_equal(
        (signals[0].kind, signals[0].crawl_delay_s, signals[0].robots_read),
        (HostSignalKind.OK, 3.0, True),
        "with the delay of the file",
    )
    assert_equal((await s.check("/later")).signal, None, "later requests cost no turn")


@ROBOTS_GATE_CHECKS.register
async def the_crawl_delay_is_told(s: RobotsSubject) -> None:
    """For an origin whose file was read; others have none."""
    s.serve((200, RULES))
    await s.check("/x")
    assert_equal(s.gate.crawl_delay_for(f"{SITE}/y"), 3.0, "the delay of the file")
    await s.gate.check_request(Request("https://free.example/"))
    assert_equal(s.gate.crawl_delay_for("https://free.example/"), None, "where it asks for none")


@ROBOTS_GATE_CHECKS.register
async def workers_share_what_they_know(s: RobotsSubject) -> None:
    """A file that one worker has fetched is not fetched by another."""
    s.serve((200, RULES))
    await s.check()
    assert_holds(not (await s.check("/private", gate=s.other)).allowed, "the other worker knows the rules")
    assert_equal(len(s.site.asked), 1, "without another fetch")


@ROBOTS_GATE_CHECKS.register
async def other_workers_come_back_later(s: RobotsSubject) -> None:
    """While one worker fetches the file, the lease of another is given back at no cost."""
    s.serve((200, RULES))
    s.site.is_open.clear()
    fetching = asyncio.create_task(s.check())
    await s.site.is_asked.wait()
    waiting = await s.check(gate=s.other)
    assert_holds(not waiting.allowed and waiting.signal is not None, "the lease is to be given back")
    assert waiting.signal is not None
    assert_equal(waiting.signal.kind, HostSignalKind.UNUSED, "its turn was not used")
    s.site.is_open.set()
    assert_holds((await fetching).allowed, "the worker that fetches gets its answer")
    assert_holds((await s.check(gate=s.other)).allowed, "and the other one when it comes back")
    assert_equal(len(s.site.asked), 1, "with one fetch")


@ROBOTS_GATE_CHECKS.register
async def origins_are_apart(s: RobotsSubject) -> None:
    """By scheme, host and port."""
    s.serve((200, b"User-agent: *\nDisallow: /"))
    assert_holds(not (await s.check()).allowed, "one origin forbids everything")
    for url in ("http://site.example/x", f"{SITE}:8443/x", "https://www.site.example/x"):
        assert_holds((await s.gate.check_request(Request(url))).allowed, f"{url} is another origin")


@ROBOTS_GATE_CHECKS.register
async def an_unreachable_file_closes_its_origin(s: RobotsSubject) -> None:
    """For a time that the decision names; then it is asked for again (RFC 9309, 2.3.1.4)."""
    for answer in ((503, b""), Fault.CONNECT, Fault.TIMEOUT_HEADERS):
        s.serve(answer)
        closed = await s.check()
        assert_holds(not closed.allowed, f"{answer}: nothing may be fetched")
        assert closed.retry_at is not None, f"{answer}: the decision says when to ask again"
        assert_holds(closed.retry_at > s.clock.now(), f"{answer}: later than now")
        asked = len(s.site.asked)
        again = await s.check("/y")
        assert_equal((again.allowed, again.retry_at), (False, closed.retry_at), f"{answer}: all wait")
        assert_equal(len(s.site.asked), asked, f"{answer}: no fetch before")
        s.clock.advance(closed.retry_at - s.clock.now())
    s.serve((200, RULES))
    assert_holds((await s.check()).allowed, "an answer opens the origin")


@ROBOTS_GATE_CHECKS.register
async def this_machines_trouble_closes_nothing(s: RobotsSubject) -> None:
    """Neither for this worker nor for others."""
    s.serve(Fault.LOCAL)
    assert_equal((await s.check()).reason, Fault.LOCAL.value, "the reason is this machine's")
    s.serve((200, RULES))
    assert_holds((await s.check()).allowed, "the next request asks again")
    assert_holds((await s.check(gate=s.other)).allowed, "and so may another worker")


@ROBOTS_GATE_CHECKS.register
async def no_site_makes_it_raise(s: RobotsSubject) -> None:
    """Whatever fails, and whatever the file holds, is a decision."""
    bodies = (bytes(range(256)) * 100, b"\xff\xfe" * 99, b"<html>")
    answers = (*Fault, *((200, body) for body in bodies), (299, b""))
    for number, answer in enumerate(answers):
        origin = f"https://h{number}.example"
        s.serve(answer, origin)
        decision = await s.gate.check_request(Request(f"{origin}/x"))
        assert_holds(isinstance(decision, RobotsDecision), f"{answer!r} gives a decision")


@ROBOTS_GATE_CHECKS.register
async def the_file_is_read_again_in_time(s: RobotsSubject) -> None:
    """Not for an hour at least, and after a week at the latest; its new rules hold."""
    s.serve((200, RULES))
    await s.check()
    s.clock.advance(HOUR_S - 1)
    await s.check()
    assert_equal(len(s.site.asked), 1, "a file is not asked for all the time")
    s.serve((200, b"User-agent: *\nDisallow: /x"))
    s.clock.advance(WEEK_S)
    assert_holds(not (await s.check()).allowed, "new rules are found in the end")


@ROBOTS_GATE_CHECKS.register
async def a_cancelled_fetch_leaves_no_origin_behind(s: RobotsSubject) -> None:
    """The next request fetches the file."""
    s.serve((200, RULES))
    s.site.is_open.clear()
    fetching = asyncio.create_task(s.check())
    await s.site.is_asked.wait()
    fetching.cancel()
    await asyncio.gather(fetching, return_exceptions=True)
    s.site.is_open.set()
    assert_holds((await s.check()).allowed, "the next request of this worker gets an answer")
    assert_holds((await s.check(gate=s.other)).allowed, "and so does another worker's")
