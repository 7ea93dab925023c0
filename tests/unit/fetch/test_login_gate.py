"""The gate of log-ins: who logs in, who waits, what a failure costs, and what is never shown."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import msgspec
import pytest

from gossamer.core.errors import Fault, FetchError, LogInError, StorageError
from gossamer.core.hosts import FrontierRules, HostSignal, HostSignalKind
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.core.routes import DIRECT, Proxy, Route
from gossamer.fetch.robots_cache import RobotsCache
from gossamer.fetch.sessions.login import LoginOptions, SharedLoginGate
from gossamer.fetch.sessions.login_steps import StepParts
from gossamer.fetch.spaces import LOG_INS
from gossamer.policy.log_in import MAX_TIMES, LoginState
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import EPOCH, LoopClock
from kit.engine import virtually

LOGIN = "https://club.test/login"
SECRET = "hunter2"
DECODE = msgspec.msgpack.Decoder(LoginState).decode
PAGE = Request("https://club.test/page")
AS_HTTP = FrontierRules(delay_s=2.0)


class Site:
    """A fetcher whose answers take half a second: a status, a status with a Location, or a fault."""

    touches_network = True

    def __init__(self, clock):
        self.clock = clock
        self.asked = []  # when, what, by which route
        self.answers = {}

    async def fetch(self, request, route=DIRECT):
        self.asked.append((self.clock.now() - EPOCH, request.url, route))
        await self.clock.sleep(0.5)
        answer = self.answers.get(request.url, 404 if request.url.endswith("robots.txt") else 200)
        if isinstance(answer, Exception):
            raise answer
        status, headers, body = answer if isinstance(answer, tuple) else (answer, (), b"")
        return FetchResult(
            url=request.url,
            status=status,
            headers=tuple(headers),
            body=body,
            started_at=self.clock.now() - 0.5,
            latency_s=0.5,
            elapsed_s=0.5,
            rung="http",
        )

    @property
    def urls(self):
        return [url for _, url, _ in self.asked if not url.endswith("robots.txt")]


class Guide:
    """A spider's log-in: its steps, and how each try ends; an exception is raised."""

    def __init__(self, *ends):
        self.ends = list(ends)
        self.tries = 0
        self.steps = [Request(LOGIN), Request("https://club.test/session", method="POST", body=b"p=hunter2")]

    def login_url_for(self, request):
        return LOGIN

    async def log_in(self, request, ask):
        self.tries += 1
        end = self.ends.pop(0) if self.ends else ""
        for step in self.steps:
            await ask(step)
        if isinstance(end, BaseException):
            raise end
        return end


class World:
    """Shared state, a site, and the gates of any number of workers."""

    def __init__(self):
        self.clock = LoopClock(asyncio.get_running_loop(), EPOCH)
        self.shared = MemorySharedState(self.clock)
        self.site = Site(self.clock)
        self.saved = 0

    def gate(self, guide, *, is_alone=False, is_fleet=False, rules=AS_HTTP, obey=True, **options):
        robots = RobotsCache(self.site, self.shared, self.clock, user_agent="gossamer/1.0", obey=obey)
        steps = StepParts(fetcher=self.site, robots=robots, clock=self.clock, rules=rules, max_redirects=3)
        return SharedLoginGate(
            guide,
            steps,
            self.shared,
            "job",
            save_cookies=self.save,
            options=LoginOptions(**options),
            is_alone=is_alone,
            waits_at_first=is_fleet,
        )

    async def save(self):
        self.saved += 1
        stored = [value for (space, _), (value, _) in self.shared._values.items() if space == LOG_INS]
        is_in = [state for state in map(DECODE, stored) if state.logged_in_at]
        assert len(is_in) < self.saved, "who reads that has no cookies yet"

    async def until_in(self, gate, request=PAGE, route=DIRECT):
        """Ask as a crawl does, until the page may be asked for; the number of the log-in, and the waits."""
        waits = []
        while True:
            answer = await gate.prepare_session(request, route)
            if not isinstance(answer, HostSignal):
                return answer, waits
            waits.append(answer)
            await self.clock.sleep(answer.retry_after_s or 0.1)


def in_a_world(test):
    """A test on virtual time, with a world of its own."""

    def run():
        async def main():
            await test(World())

        virtually(main)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_a_world
async def test_a_log_in_takes_a_turn_and_the_page_has_the_next(world):
    gate = world.gate(guide := Guide())
    number, waits = await world.until_in(gate)
    assert (number, guide.tries, world.saved) == (1, 1, 1)
    [signal] = waits
    assert (signal.kind, signal.latency_s, signal.retry_after_s) == (HostSignalKind.OK, 0.5, None)
    assert signal.started_at - EPOCH == world.site.asked[-1][0], "the next turn counts from its last step"
    assert await gate.prepare_session(PAGE, DIRECT) == 1
    assert await gate.prepare_session(Request("https://elsewhere.test/"), DIRECT) == 0
    assert await gate.prepare_session(Request(LOGIN), DIRECT) == 0, "the form itself is for visitors"
    assert guide.tries == 1


@in_a_world
async def test_requests_of_one_session_share_its_log_in_and_other_sessions_have_their_own(world):
    gate = world.gate(guide := Guide())
    route = Route(session="me#2", proxy=Proxy(scheme="http", host="p.test", port=1))
    mine = [gate.prepare_session(PAGE, DIRECT) for _ in range(20)]
    answers = await asyncio.gather(*mine, gate.prepare_session(PAGE, route))
    signals = [answer for answer in answers if isinstance(answer, HostSignal)]
    assert (guide.tries, len(signals)) == (2, 2)
    assert set(answers) - set(signals) == {1}, "whoever waited goes on at once"
    through = [taken for _, url, taken in world.site.asked if taken.proxy and not url.endswith("robots.txt")]
    assert through == [route, route], "the steps take the route of the page"


@in_a_world
async def test_one_of_all_workers_logs_in_and_the_others_come_back(world):
    guide = Guide()
    one, two = world.gate(guide), world.gate(guide)
    ended = await asyncio.gather(world.until_in(one), world.until_in(two))
    assert [number for number, _ in ended] == [1, 1]
    assert (guide.tries, world.saved) == (1, 1)
    kinds = [signal.kind for _, waits in ended for signal in waits]
    assert kinds.count(HostSignalKind.OK) == 1, "waiting costs no turn"
    assert HostSignalKind.UNUSED in kinds


@in_a_world
async def test_a_worker_that_is_killed_while_it_logs_in_holds_up_nobody_for_long(world):
    dead, guide = Guide(), Guide()
    dead.steps = [Request(LOGIN), Request(LOGIN)]
    gate = world.gate(dead, rules=FrontierRules(delay_s=60.0))
    killed = asyncio.create_task(gate.prepare_session(PAGE, DIRECT))
    await world.clock.sleep(50)
    answer = await world.gate(guide).prepare_session(PAGE, DIRECT)
    assert (answer.kind, guide.tries) == (HostSignalKind.UNUSED, 0), "it is still at it"

    async def nothing(*_):
        return False

    swap, world.shared.compare_and_swap = world.shared.compare_and_swap, nothing  # its process is gone
    killed.cancel()
    await asyncio.gather(killed, return_exceptions=True)
    world.shared.compare_and_swap = swap
    started_at = world.clock.now()
    assert (await world.until_in(world.gate(guide)))[0] == 1
    assert world.clock.now() - started_at < 20


@in_a_world
async def test_a_crawl_that_is_resumed_is_logged_in(world):
    await world.until_in(world.gate(Guide(), is_alone=True))
    gate = world.gate(guide := Guide(), is_alone=True)
    assert await gate.prepare_session(PAGE, DIRECT) == 1
    assert guide.tries == 0


@pytest.mark.parametrize(
    ("rules", "robots", "gap"),
    [
        (FrontierRules(delay_s=2.0), "", 2.0),
        (FrontierRules(delay_s=0.0), "", 0.5),  # no pause: each waits for the one before it
        (FrontierRules(min_delay_s=1.0), "", 1.0),
        (FrontierRules(delay_s=0.0), "User-agent: *\nCrawl-delay: 7", 7.0),
        (FrontierRules(delay_s=0.0, crawl_delay_cap_s=3.0), "User-agent: *\nCrawl-delay: 7", 3.0),
    ],
)
def test_steps_keep_the_delay_of_the_host(rules, robots, gap):
    @in_a_world
    async def test(world):
        text = (("content-type", "text/plain"),)
        world.site.answers["https://club.test/robots.txt"] = (200, text, robots.encode())
        world.site.answers[LOGIN] = (302, (("location", "/start"),), b"")
        await world.until_in(world.gate(Guide(), rules=rules))
        times = [at for at, url, _ in world.site.asked if not url.endswith("robots.txt")]
        assert [round(after - before, 3) for before, after in pairwise(times)] == [gap] * 2
        assert world.site.urls == [LOGIN, "https://club.test/start", "https://club.test/session"]

    test()


@in_a_world
async def test_robots_txt_is_obeyed_and_says_so(world):
    text = (("content-type", "text/plain"),)
    world.site.answers["https://club.test/robots.txt"] = (200, text, b"User-agent: *\nDisallow: /login")
    with pytest.raises(LogInError, match=r"robots\.txt does not allow https://club\.test/login"):
        await world.gate(Guide()).prepare_session(PAGE, DIRECT)
    assert world.site.urls == []
    assert (await world.until_in(world.gate(Guide(), obey=False)))[0] == 1


@in_a_world
async def test_a_log_in_that_fails_is_tried_again_with_pauses_and_then_stops_the_crawl(world):
    gate = world.gate(guide := Guide("no", "no", "wrong password"), max_failures=3)
    with pytest.raises(
        LogInError, match=r"cannot log in at https://club.test/login \(3 times in a row\): wrong"
    ):
        await world.until_in(gate)
    times = [at for at, url, _ in world.site.asked if url == LOGIN]
    assert [after - before >= pause for before, after, pause in zip(times, times[1:], (5, 10), strict=False)]
    assert guide.tries == 3
    with pytest.raises(LogInError):
        await gate.prepare_session(PAGE, DIRECT)
    assert guide.tries == 3, "nobody hammers"


@in_a_world
async def test_other_workers_count_the_same_failures(world):
    guide = Guide("no", "no", "no", "no")
    gates = [world.gate(guide), world.gate(guide)]
    ended = await asyncio.gather(*map(world.until_in, gates), return_exceptions=True)
    assert [type(end) for end in ended] == [LogInError, LogInError]
    assert guide.tries == 3


@pytest.mark.parametrize(
    ("who", "waits"), [({"is_alone": True}, False), ({}, False), ({"is_fleet": True}, True)]
)
def test_who_starts_the_crawl_again_has_mended_it_and_need_not_wait(who, waits):
    """On a fleet, a new gate is only a new shift."""

    @in_a_world
    async def test(world):
        with pytest.raises(LogInError):
            await world.until_in(world.gate(Guide("no", "no", "no"), **who))
        started_at = world.clock.now()
        number, _ = await world.until_in(world.gate(Guide(), **who))
        assert (number, world.clock.now() - started_at > 15) == (1, waits)

    test()


@pytest.mark.parametrize(("who", "is_short"), [({}, True), ({"is_fleet": True}, False)])
def test_the_pause_of_a_log_in_does_not_hold_a_crawl_that_is_started_again(who, is_short):
    """A host stays held when a crawl is stopped; on a fleet, the next worker keeps the pause anyway."""

    @in_a_world
    async def test(world):
        gate = world.gate(Guide("no", "no", "no", "no"), max_failures=9, **who)
        _, waits = await world.until_in(gate)
        holds = [signal.retry_after_s for signal in waits if signal.retry_after_s]
        assert (max(holds) <= 5.0) is is_short
        assert sum(holds) > 60, "the pauses are as long as ever"

    test()


@in_a_world
async def test_a_log_in_that_takes_too_long_has_failed(world):
    guide = Guide()
    guide.steps = [Request(LOGIN)] * 50
    gate = world.gate(guide, timeout_s=10.0, max_failures=1)
    with pytest.raises(LogInError, match=r"log_in\(\) took longer than 10 s"):
        await gate.prepare_session(PAGE, DIRECT)


@pytest.mark.parametrize("fault", [Fault.CONNECT, Fault.PROXY, Fault.TLS])
def test_what_the_host_or_the_proxy_does_is_no_failed_log_in(fault):
    @in_a_world
    async def test(world):
        secret = f"{LOGIN}?password={SECRET}"
        error = FetchError(fault, f"no answer from {secret}")
        error.rung = "http"
        world.site.answers[secret] = error
        guide = Guide()
        guide.steps = [Request(secret)]
        gate = world.gate(guide, max_failures=1)
        for _ in range(3):
            with pytest.raises(FetchError) as raised:
                await gate.prepare_session(PAGE, DIRECT)
            assert (raised.value.fault, raised.value.rung) == (fault, "http")
            assert SECRET not in str(raised.value)
            assert SECRET not in raised.value.detail
        world.site.answers.clear()
        assert (await world.until_in(gate))[0] == 1

    test()


@in_a_world
async def test_a_log_in_without_any_answer_does_not_say_that_its_host_is_well(world):
    class Hopeless(Guide):
        async def log_in(self, request, ask):
            try:
                return await super().log_in(request, ask)
            except FetchError as error:
                return str(error)

    world.site.answers[LOGIN] = FetchError(Fault.TLS, "expired")
    signal = await world.gate(Hopeless()).prepare_session(PAGE, DIRECT)
    assert (signal.kind, signal.latency_s) == (HostSignalKind.FAULT, None)


@in_a_world
async def test_a_host_that_asks_for_time_is_given_it(world):
    world.site.answers[LOGIN] = (429, (("retry-after", "30"),), b"")
    gate = world.gate(guide := Guide(), max_failures=1)
    with pytest.raises(FetchError) as raised:
        await gate.prepare_session(PAGE, DIRECT)
    assert (raised.value.fault, raised.value.retry_after_s) == (Fault.THROTTLED, 30.0)
    world.site.answers.clear()
    assert (await world.until_in(gate))[0] == 1
    assert guide.tries == 2


@in_a_world
async def test_a_redirect_that_leads_nowhere_shows_no_secret(world):
    world.site.answers["https://club.test/session"] = (302, (("location", f"ftp://x/?{SECRET}"),), b"")
    with pytest.raises(FetchError) as raised:
        await world.gate(Guide()).prepare_session(PAGE, DIRECT)
    assert raised.value.fault is Fault.BAD_REDIRECT
    assert SECRET not in str(raised.value)


# --------------------------------------------------------------------------- logged out


@in_a_world
async def test_pages_that_come_for_visitors_bring_about_one_new_log_in(world):
    gate = world.gate(guide := Guide())
    number, _ = await world.until_in(gate)
    for page in range(8):  # all that were under way
        assert await gate.handle_log_out(PAGE, DIRECT, number, page)
    ended = await asyncio.gather(*(world.until_in(gate) for _ in range(8)))
    assert {number for number, _ in ended} == {2}
    assert await gate.handle_log_out(PAGE, DIRECT, 1, 0), "late news of the former log-in"
    assert await gate.prepare_session(PAGE, DIRECT) == 2
    assert guide.tries == 2


@in_a_world
async def test_a_worker_that_does_not_know_of_a_new_log_in_does_not_end_it(world):
    one, two = world.gate(Guide()), world.gate(Guide())
    await world.until_in(one)
    await world.until_in(two)
    await one.handle_log_out(PAGE, DIRECT, 1, 0)
    assert (await world.until_in(one))[0] == 2
    assert await two.handle_log_out(PAGE, DIRECT, 1, 0)
    assert await two.prepare_session(PAGE, DIRECT) == 2
    assert await one.prepare_session(PAGE, DIRECT) == 2


@in_a_world
async def test_a_page_that_is_never_for_us_is_given_up_and_costs_few_log_ins(world):
    gate = world.gate(guide := Guide())

    async def tries_of_page(page):
        """Of a page that is closed to this user, with pages for members before each try."""
        for times in range(100):
            number, _ = await world.until_in(gate)
            gate.confirm_log_in(PAGE, DIRECT)
            if not await gate.handle_log_out(PAGE, DIRECT, number, page):
                return times + 1
        return 0

    assert await tries_of_page(-1) == MAX_TIMES + 1
    first = guide.tries
    for page in range(20):
        assert await tries_of_page(page) == MAX_TIMES + 1
    assert (first, guide.tries) == (MAX_TIMES + 1, first + 1), "with others fine in between, it is the page"


@in_a_world
async def test_all_workers_together_count_how_often_a_page_came_for_visitors(world):
    gates = [world.gate(Guide()), world.gate(Guide())]
    answers = []
    for times in range(MAX_TIMES + 1):
        gate = gates[times % 2]
        number, _ = await world.until_in(gate)
        answers.append(await gate.handle_log_out(PAGE, DIRECT, number, 7))
        assert await gate.handle_log_out(PAGE, DIRECT, number, 100 + times), "each page for itself"
    assert answers == [True] * MAX_TIMES + [False]


@in_a_world
async def test_the_shared_state_may_be_away(world):
    gate = world.gate(Guide())

    async def away(*_):
        raise StorageError("away")

    world.shared.update, update = away, world.shared.update
    with pytest.raises(StorageError):
        await gate.prepare_session(PAGE, DIRECT)
    world.shared.update = update
    assert (await world.until_in(gate))[0] == 1
