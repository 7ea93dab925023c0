"""The robots gate: one fetch per origin whatever happens, and the right signal with each answer."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from gossamer.core.errors import Fault, FetchError
from gossamer.core.hooks import HookError
from gossamer.core.hosts import HostSignal, HostSignalKind
from gossamer.core.requests import Request
from gossamer.core.results import TRUNCATED, FetchResult, RobotsDecision
from gossamer.fetch.robots_cache import (
    COME_BACK_S,
    DAY_S,
    FIRST_WAIT_S,
    GIVEN_UP_S,
    LONGEST_WAIT_S,
    MOST_BYTES,
    SHORTEST_TTL_S,
    RobotsCache,
)
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock

SITE = "https://site.example"
DENY = b"User-agent: *\nDisallow: /private\nCrawl-delay: 3\nSitemap: /map.xml\n"


class Web:
    """A fetcher that answers from a table of URLs: ``(status, headers, body)`` or a fault."""

    touches_network = True

    def __init__(self, clock: ManualClock, pages: dict) -> None:
        self.clock = clock
        self.pages = pages
        self.asked: list[str] = []
        self.max_sizes: list[int | None] = []
        self.gate: asyncio.Event | None = None
        self.flags: tuple[str, ...] = ()

    async def fetch(self, request: Request, route=None) -> FetchResult:
        self.asked.append(request.url)
        self.max_sizes.append(request.max_size)
        if self.gate is not None:
            await self.gate.wait()
        page = self.pages.get(request.url, (404, {}, b""))
        if isinstance(page, Fault):
            raise FetchError(page, "as told")
        status, headers, body = page
        return FetchResult(
            url=request.url, status=status, headers=tuple(headers.items()), body=body,
            started_at=self.clock.now(), latency_s=0.25, elapsed_s=0.5, rung="fake", flags=self.flags,
        )  # fmt: skip

    async def close(self) -> None:
        pass


class World:
    def __init__(self, pages: dict) -> None:
        self.clock = ManualClock()
        self.web = Web(self.clock, pages)
        self.shared = MemorySharedState(self.clock)
        self.gate = self.worker()

    def worker(self, **options) -> RobotsCache:
        return RobotsCache(self.web, self.shared, self.clock, user_agent="gossamer/1.0 (+x)", **options)

    async def check(self, path: str = "/x", gate: RobotsCache | None = None) -> RobotsDecision:
        return await (gate or self.gate).check_request(Request(SITE + path))


def robots(status: int = 200, body: bytes = DENY, **headers: str) -> dict:
    return {f"{SITE}/robots.txt": (status, {k.replace("_", "-"): v for k, v in headers.items()}, body)}


async def test_the_first_answer_carries_the_signal_and_the_next_ones_do_not() -> None:
    world = World(robots())
    start = world.clock.now()
    first = await world.check()
    assert first.allowed
    assert first.signal == HostSignal(
        kind=HostSignalKind.OK, started_at=start, latency_s=0.25, crawl_delay_s=3.0, robots_read=True
    )
    again = await world.check("/private/x")
    assert (again.allowed, again.reason, again.signal, again.retry_at) == (False, "robots", None, None)
    assert (await world.check()).signal is None
    assert world.web.asked == [f"{SITE}/robots.txt"]


async def test_origins_are_apart() -> None:
    world = World(robots())
    for url in (SITE, "http://site.example", f"{SITE}:8443", "https://user:pw@site.example"):
        await world.gate.check_request(Request(f"{url}/x"))
    assert world.web.asked == [
        f"{SITE}/robots.txt",
        "http://site.example/robots.txt",
        f"{SITE}:8443/robots.txt",
    ]


async def test_a_hundred_requests_make_one_fetch_and_one_signal() -> None:
    world = World(robots())
    world.web.gate = asyncio.Event()
    tasks = [asyncio.create_task(world.check()) for _ in range(100)]
    await asyncio.sleep(0)
    world.web.gate.set()
    answers = await asyncio.gather(*tasks)
    assert len(world.web.asked) == 1
    assert all(answer.allowed for answer in answers)
    assert sum(answer.signal is not None for answer in answers) == 1


async def test_when_the_one_that_fetches_is_cancelled_another_one_fetches() -> None:
    world = World(robots())
    world.web.gate = asyncio.Event()
    tasks = [asyncio.create_task(world.check()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    world.web.gate.set()
    answers = await asyncio.gather(*tasks[1:])
    assert [answer.allowed for answer in answers] == [True, True]
    assert sum(answer.signal is not None for answer in answers) == 1
    assert len(world.web.asked) == 2


async def test_other_workers_wait_outside_and_then_read_what_was_found() -> None:
    world = World(robots())
    world.web.gate = asyncio.Event()
    fetching = asyncio.create_task(world.check())
    await asyncio.sleep(0)
    other = world.worker()
    answer = await world.check(gate=other)
    assert not answer.allowed
    assert answer.signal == HostSignal(kind=HostSignalKind.UNUSED, retry_after_s=COME_BACK_S), (
        "the lease is given back, the turn is not used"
    )
    world.web.gate.set()
    await fetching
    news = await world.check(gate=other)
    assert news.signal == HostSignal(crawl_delay_s=3.0, robots_read=True), "its frontier must hear of it"
    assert (await world.check(gate=other)).signal is None
    assert not (await world.check("/private", gate=other)).allowed
    assert len(world.web.asked) == 1


async def test_a_record_survives_a_restart_without_a_fetch() -> None:
    world = World(robots(body=b"User-agent: *\nDisallow: /private"))
    await world.check()
    later = world.worker()
    assert await world.check(gate=later) == RobotsDecision(allowed=True)
    assert not (await world.check("/private", gate=later)).allowed
    assert len(world.web.asked) == 1


async def test_damaged_records_are_fetched_anew() -> None:
    world = World(robots())
    for junk in (b"", b"junk", b"\xc1", b"\x81\xa6access\xa3odd"):
        await world.shared.put("robots", SITE, junk, 1000)
        assert (await world.check(gate=world.worker())).signal is not None
    assert len(world.web.asked) == 4


@pytest.mark.parametrize(
    ("cache_control", "ttl_s"),
    [
        ("", DAY_S),
        ("max-age=7200", 7200),
        ("public, max-age=0", SHORTEST_TTL_S),
        ("no-cache", DAY_S),
        ("max-age=999999999", DAY_S),
        ("x-max-age=7200", DAY_S),
    ],
)
async def test_time_to_live(cache_control: str, ttl_s: float) -> None:
    world = World(robots(cache_control=cache_control))
    await world.check()
    world.clock.advance(ttl_s - 1)
    assert (await world.check()).signal is None
    world.clock.advance(2)
    assert (await world.check()).signal is not None


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((500, {}, b""), HostSignalKind.THROTTLED),
        ((503, {"retry-after": "0"}, b""), HostSignalKind.THROTTLED),
        ((429, {}, b""), HostSignalKind.THROTTLED),
        (Fault.CONNECT, HostSignalKind.UNREACHABLE),
        (Fault.TIMEOUT_HEADERS, HostSignalKind.UNREACHABLE),
        (Fault.DNS_TEMPORARY, HostSignalKind.UNREACHABLE),
        (Fault.TOO_LARGE, HostSignalKind.FAULT),
    ],
)
async def test_unreachable_closes_the_origin_for_longer_and_longer(
    answer: object, kind: HostSignalKind
) -> None:
    world = World({f"{SITE}/robots.txt": answer})
    waits = []
    for _ in range(14):
        first = await world.check()
        assert (first.allowed, first.reason) == (False, "robots_unreachable")
        assert first.signal is not None
        assert (first.signal.kind, first.signal.robots_read) == (kind, False)
        second = await world.check("/y")
        assert (second.signal, second.retry_at) == (None, first.retry_at)
        waits.append(first.retry_at - world.clock.now())
        world.clock.advance(waits[-1])
    assert waits[:7] == [min(FIRST_WAIT_S * 2**n, LONGEST_WAIT_S) for n in range(7)]
    assert waits[-1] == LONGEST_WAIT_S
    world.web.pages.update(robots())
    assert (await world.check()).allowed
    assert len(world.web.asked) == 15
    world.clock.advance(DAY_S - 1)
    world.web.pages.update({f"{SITE}/robots.txt": answer})
    world.clock.advance(2)
    assert (await world.check()).retry_at == world.clock.now() + FIRST_WAIT_S, (
        "a success ends the row of tries"
    )


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_retry_after_is_followed_up_to_the_cap(status: int) -> None:
    for seconds, wait in (
        ("600", 600.0),
        ("1000000", 3600.0),
        ("-5", FIRST_WAIT_S),
        ("1", 1.0),
        ("7", 7.0),
    ):
        world = World(robots(status, retry_after=seconds))
        await world.shared.put("robots-read", SITE, b"x", DAY_S)
        for _ in range(8):
            answer = await world.check()
            if wait >= FIRST_WAIT_S and seconds != "-5":
                assert answer.retry_at == world.clock.now() + wait, "shorter and longer than ours would be"
            assert answer.is_answered
            assert f"requested again after {answer.retry_at - world.clock.now():.0f} s" in answer.detail
            world.clock.advance(answer.retry_at - world.clock.now())


async def test_an_origin_whose_robots_txt_always_ends_early_is_given_up_after_ten_minutes() -> None:
    """A bug it would catch: the crawl waits for ever."""
    world = World({f"{SITE}/robots.txt": Fault.INCOMPLETE})
    while not (answer := await world.check()).is_final:
        assert answer.is_answered
        world.clock.advance(answer.retry_at - world.clock.now())
        assert len(world.web.asked) < 30
    assert answer.detail == "robots.txt: incomplete: as told; it was not readable for at least 10 minutes"


@pytest.mark.parametrize("was_read", [False, True])
async def test_an_origin_that_was_never_read_is_given_up_for_an_hour_and_one_that_was_is_not(
    was_read: bool,
) -> None:
    world = World(robots(404))
    if was_read:
        await world.check()
        world.clock.advance(2 * DAY_S)
    world.web.pages = robots(503, retry_after="400")
    for _ in range(2):
        assert not (await world.check(gate=world.worker())).is_final
        world.clock.advance(400.0)
    last = await world.check(gate=world.worker())
    assert (last.reason, last.is_final) == ("robots_unreachable", not was_read)
    if was_read:
        return
    assert last.signal.kind is HostSignalKind.FAULT, "no hold: what waits is given up at the host's pace"
    assert last.detail == "robots.txt: server: status 503; it was not readable for at least 10 minutes"
    world.clock.advance(GIVEN_UP_S - 1)
    again = await world.check(gate=world.worker())
    assert (again.is_final, again.signal, len(world.web.asked)) == (True, None, 3)
    world.clock.advance(2)
    world.web.pages = robots()
    assert (await world.check(gate=world.worker())).allowed


async def test_half_a_file_is_none() -> None:
    """A bug it would catch: the rules behind the cut are broken, since they were not there."""
    world = World(robots(body=DENY[:14]))
    world.web.flags = (TRUNCATED,)
    cut = await world.check("/private")
    assert (cut.allowed, cut.reason, cut.is_answered) == (False, "robots_unreachable", True)
    assert cut.signal == HostSignal(kind=HostSignalKind.FAULT, started_at=world.clock.now())
    assert "incomplete: its compressed body ends before its compression does" in cut.detail
    world.clock.advance(FIRST_WAIT_S)
    world.web.flags, world.web.pages = (), robots()
    assert (await world.check("/private")).reason == "robots"
    assert (await world.check("/x")).allowed
    gone = World(robots(404))
    gone.web.flags = (TRUNCATED,)
    assert (await gone.check()).allowed, "what its page says does not matter"


@pytest.mark.parametrize("fault", [Fault.DNS, Fault.GUARD, Fault.BAD_URL, Fault.TLS])
async def test_what_stops_every_page_of_the_origin_is_said_as_it_is(fault: Fault) -> None:
    world = World({f"{SITE}/robots.txt": fault})
    answer = await world.check()
    assert (answer.allowed, answer.reason) == (False, fault.value)
    assert (answer.retry_at is None) == (fault is not Fault.DNS), "a host that had a name may get it back"
    assert "as told" in answer.detail


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_none_means_all_is_allowed(status: int) -> None:
    world = World(robots(status))
    answer = await world.check("/private")
    assert answer.allowed
    assert answer.signal.robots_read
    assert answer.signal.kind is (HostSignalKind.OK if status in (404, 410) else HostSignalKind.FAULT)


def chain(hops: int, end: tuple) -> dict:
    urls = [f"{SITE}/robots.txt", *(f"https://other.example/{n}" for n in range(1, hops + 1))]
    pages: dict = {url: (301, {"location": after}, b"") for url, after in pairwise(urls)}
    return pages | {urls[-1]: end}


async def test_five_redirects_are_followed_and_no_more() -> None:
    world = World(chain(5, (200, {}, DENY)))
    assert not (await world.check("/private")).allowed
    assert len(world.web.asked) == 6
    world = World(chain(6, (200, {}, DENY)))
    assert (await world.check("/private")).allowed
    assert len(world.web.asked) == 6


@pytest.mark.parametrize("location", ["file:///etc/passwd", "", "http://", "//"])
async def test_redirects_to_nowhere_mean_none(location: str) -> None:
    world = World(robots(302, location=location))
    assert (await world.check("/private")).allowed
    assert len(world.web.asked) == 1


async def test_a_redirect_into_a_private_network_closes_the_origin() -> None:
    pages = robots(302, location="http://169.254.169.254/") | {"http://169.254.169.254/": Fault.GUARD}
    answer = await World(pages).check()
    assert (answer.allowed, answer.reason) == (False, "robots_unreachable")


async def test_not_obeyed_means_not_fetched() -> None:
    world = World(robots())
    assert (await world.check("/private", gate=world.worker(obey=False))).allowed
    assert world.web.asked == []


async def test_without_a_network_there_is_no_turn_to_give_back() -> None:
    world = World(robots())
    world.web.touches_network = False
    answer = await world.check("/private")
    assert (answer.allowed, answer.signal) == (False, None)
    world = World({f"{SITE}/robots.txt": Fault.NOT_ARCHIVED})
    world.web.touches_network = False
    assert await world.check() == RobotsDecision(allowed=True)


async def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.fetch.robots_cache.MAX_ORIGINS", 3)
    world = World({})
    for number in range(5):
        await world.gate.check_request(Request(f"https://h{number}.example/"))
    assert "3 origins, 0 being fetched" in repr(world.gate)
    monkeypatch.setattr("gossamer.fetch.robots_cache.MAX_CACHED_CHARACTERS", 10)
    world = World(robots() | {"https://b.example/robots.txt": (200, {}, DENY)})
    await world.check()
    await world.gate.check_request(Request("https://b.example/"))
    assert "1 origins" in repr(world.gate)


@pytest.mark.parametrize(
    "fault", [Fault.LOCAL, Fault.PROXY, Fault.BROWSER, Fault.SERVICE, Fault.SERVICE_FAILED]
)
async def test_trouble_on_the_way_closes_no_origin(fault: Fault) -> None:
    world = World({f"{SITE}/robots.txt": fault})
    answer = await world.check()
    assert (answer.allowed, answer.reason, answer.signal) == (False, fault.value, None)
    world.web.pages = robots()
    assert (await world.check()).allowed  # nothing is remembered, and the claim is given back
    assert (await world.check(gate=world.worker())).allowed


@pytest.mark.parametrize(
    ("fault", "reason", "detail"),
    [
        (Fault.TLS, "tls", "as told"),
        (Fault.CONNECT, "robots_unreachable", "robots.txt: connect: as told; requested again after 1 s"),
    ],
)
async def test_a_reason_is_said_once(fault: Fault, reason: str, detail: str) -> None:
    world = World({f"{SITE}/robots.txt": fault})
    answer = await world.check()
    assert (answer.reason, answer.detail) == (reason, detail)


async def test_a_hook_that_wants_another_request_is_told_that_there_is_none_for_robots_txt() -> None:
    world = World(robots())

    async def replace(request: Request, route: object = None) -> FetchResult:
        raise HookError(Fault.HOOK, "Token.on_response() wants another request", request=request)

    world.web.fetch = replace
    decision = await world.check()
    assert decision.detail.startswith(
        "Token.on_response() wants another request. Requests for robots.txt cannot be replaced"
    )


@pytest.mark.parametrize("fault", [Fault.HOOK, Fault.IGNORED])
async def test_a_hook_that_fails_says_nothing_of_the_origin(fault: Fault) -> None:
    """It is the spider's own trouble: the file is fetched again for the next page, at the next turn."""
    world = World(robots())
    asked: list[FetchResult] = []

    async def fail(request: Request, route: object = None) -> FetchResult:
        asked.append(await Web.fetch(world.web, request))
        raise HookError(fault, "no token", fetched=asked[-1] if len(asked) > 1 else None)

    world.web.fetch = fail
    decision = await world.check()
    assert (decision.allowed, decision.reason, decision.signal) == (False, fault, None)
    decision = await world.check()
    assert decision.signal is not None
    assert decision.signal.kind is HostSignalKind.OK, "an answer had come, so the turn is used up"
    del world.web.fetch
    assert (await world.check()).allowed


async def test_a_small_bound_for_pages_is_none_for_robots_txt() -> None:
    """Bug it would catch: with ``http.max_size_bytes = 1000`` a host with a long robots.txt is lost."""
    world = World(robots())
    await world.check()
    assert world.web.asked == [f"{SITE}/robots.txt"]
    assert world.web.max_sizes == [MOST_BYTES]
    assert MOST_BYTES > 500 * 1024, "RFC 9309, 2.5"
