"""Cookies in shared state: who sees them when, what a look costs, and what is never lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from math import inf
from typing import NamedTuple

import pytest

from gossamer.core.cookies import Cookie
from gossamer.core.errors import StorageError
from gossamer.fetch.sessions.shared_cookies import SharedCookieStore
from gossamer.fetch.spaces import COOKIES
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock

SHOP = "https://www.shop.co.uk/a/b"
OTHER = "https://other.example/"


class Held(NamedTuple):
    """An answer that waits."""

    is_waiting: asyncio.Event
    goes_on: asyncio.Event


class Shared(MemorySharedState):
    """Counts calls, answers after a turn of the loop, and can be away."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.calls: Counter[str] = Counter()
        self.is_away = False
        self.held: dict[str, Held] = {}  # the next answer to such a call waits
        self.is_breaking = False  # the next change is made, and its answer is that of the try after the break

    async def get(self, space: str, key: str) -> bytes | None:
        self._called("get")
        value = await super().get(space, key)
        await self._note_answer("get")
        return value

    async def compare_and_swap(
        self, space: str, key: str, expected: bytes | None, value: bytes, ttl_s: float
    ) -> bool:
        self._called("swap")
        await asyncio.sleep(0)
        present, expires_at = self._values.get((space, key), (None, 0.0))
        if (present if expires_at > self._clock.now() else None) != expected:
            return False
        self._values[space, key] = (value, self._clock.now() + ttl_s)
        is_lost, self.is_breaking = self.is_breaking, False
        await self._note_answer("swap")
        return not is_lost

    def hold(self, what: str) -> Held:
        self.held[what] = Held(asyncio.Event(), asyncio.Event())
        return self.held[what]

    async def _note_answer(self, what: str) -> None:
        held = self.held.pop(what, None)
        if held is None:
            await asyncio.sleep(0)
        else:
            held.is_waiting.set()
            await held.goes_on.wait()

    def _called(self, what: str) -> None:
        self.calls[what] += 1
        if self.is_away:
            raise StorageError("away")


class World:
    """One shared state, and any number of workers of a job."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.shared = Shared(self.clock)

    def worker(
        self, *, is_alone: bool = False, job: str = "shop-1", max_jars: int = 100
    ) -> SharedCookieStore:
        return SharedCookieStore(self.shared, self.clock, job, max_jars=max_jars, is_alone=is_alone)

    def answered(self, worker: SharedCookieStore, *lines: str, url: str = SHOP, session: str = "") -> None:
        worker.store_cookies(session, url, lines, self.clock.now())

    async def sent(self, worker: SharedCookieStore, url: str = SHOP, session: str = "") -> str:
        await worker.prepare_cookies(session, url)
        return worker.cookie_header(session, url, self.clock.now())


@pytest.fixture
def world() -> World:
    return World()


async def test_a_crawl_that_is_resumed_has_its_cookies(world: World) -> None:
    before = world.worker(is_alone=True)
    world.answered(before, "sid=1; Path=/", "lang=en; Path=/; Max-Age=100")
    world.answered(before, "sid=2; Path=/", session="bob")
    await before.save_cookies()
    resumed = world.worker(is_alone=True)
    first = await asyncio.gather(*(world.sent(resumed) for _ in range(4)))
    assert first == ["sid=1; lang=en"] * 4, "one without an end is kept, too"
    assert await world.sent(resumed, session="bob") == "sid=2"
    assert await world.sent(resumed, OTHER) == ""
    assert await world.sent(world.worker(job="shop-2")) == "", "cookies are a job's"
    world.clock.advance(100)
    assert await world.sent(world.worker()) == "sid=1"


async def test_what_was_saved_before_a_lease_is_sent_with_its_request(world: World) -> None:
    one, two = world.worker(), world.worker()
    assert await world.sent(two) == ""
    world.answered(one, "sid=1; Path=/")
    assert await world.sent(two) == "", "not saved yet"
    await one.save_cookies()
    assert await world.sent(two) == "sid=1"
    world.answered(two, "sid=; Max-Age=0; Path=/", "seen=1; Path=/")
    await two.save_cookies()
    assert await world.sent(one) == "seen=1", "a deletion is a change like any other"


async def test_who_changes_a_jar_at_the_same_time_loses_nothing_of_the_other(world: World) -> None:
    one, two = world.worker(), world.worker()
    world.answered(one, "base=0; Path=/")
    await one.save_cookies()
    assert await world.sent(two) == "base=0"
    world.answered(one, "a=1; Path=/")
    world.answered(two, "b=2; Path=/")
    await asyncio.gather(one.save_cookies(), two.save_cookies())
    for worker in (one, two, world.worker()):
        assert set((await world.sent(worker)).split("; ")) == {"base=0", "a=1", "b=2"}


async def test_the_newer_of_two_namesakes_counts_whoever_saves_last(world: World) -> None:
    one, two = world.worker(), world.worker()
    world.answered(one, "sid=old; Path=/")
    world.clock.advance(1)
    world.answered(two, "sid=new; Path=/")
    await two.save_cookies()
    await one.save_cookies()
    assert await world.sent(one) == await world.sent(two) == "sid=new"


async def test_what_is_set_while_a_jar_is_saved_or_read_stays(world: World) -> None:
    one, two = world.worker(), world.worker()
    world.answered(one, "a=1; Path=/")
    saving = asyncio.create_task(one.save_cookies())
    await asyncio.sleep(0)
    world.answered(one, "b=2; Path=/")
    await saving
    assert await world.sent(one) == "a=1; b=2"
    world.answered(two, "c=3; Path=/")
    assert await world.sent(two) == "a=1; c=3", "b is not saved yet"
    await one.save_cookies()
    await two.save_cookies()
    assert set((await world.sent(one)).split("; ")) == {"a=1", "b=2", "c=3"}


async def test_sites_without_cookies_cost_one_look_for_all_that_is_leased_together(world: World) -> None:
    alone = world.worker(is_alone=True)
    for _ in range(10):
        assert await world.sent(alone) == ""
        await alone.save_cookies()
    assert world.shared.calls == {"get": 1}, "once in all"
    one = world.worker()
    world.shared.calls.clear()
    await asyncio.gather(*(world.sent(one, f"https://h{number}.example/") for number in range(16)))
    assert world.shared.calls == {"get": 1}, "nobody has saved any: no jar is looked for"


async def test_a_jar_is_read_once_and_again_when_somebody_has_saved(world: World) -> None:
    one, two = world.worker(), world.worker()
    world.answered(one, "a=1; Path=/")
    await one.save_cookies()
    world.shared.calls.clear()
    assert await asyncio.gather(*(world.sent(two) for _ in range(16))) == ["a=1"] * 16
    assert world.shared.calls == {"get": 2}, "one look, one jar"
    assert await world.sent(two) == "a=1"
    assert world.shared.calls == {"get": 3}, "the jar is in memory"
    world.answered(one, "b=2; Path=/")
    await one.save_cookies()
    assert await asyncio.gather(*(world.sent(two) for _ in range(4))) == ["a=1; b=2"] * 4


async def test_a_cookie_that_comes_again_with_every_page_is_not_saved_again(world: World) -> None:
    one = world.worker()
    world.answered(one, "sid=1; Path=/", "life=1; Path=/; Max-Age=1000")
    await one.save_cookies()
    world.shared.calls.clear()
    for _ in range(90):
        world.clock.advance(1)
        world.answered(one, "sid=1; Path=/", "life=1; Path=/; Max-Age=1000")
        await one.save_cookies()
    assert world.shared.calls == {}
    world.clock.advance(20)
    world.answered(one, "life=1; Path=/; Max-Age=1000")
    await one.save_cookies()
    assert world.shared.calls["swap"] == 2, "the jar, and the stamp: a tenth of its life is over"
    world.clock.advance(950)
    assert await world.sent(world.worker()) == "sid=1; life=1"


async def test_what_could_not_be_saved_is_saved_the_next_time(world: World) -> None:
    one = world.worker()
    world.answered(one, "a=1; Path=/")
    world.answered(one, "a=1; Path=/", url=OTHER)
    world.shared.is_away = True
    with pytest.raises(StorageError):
        await one.save_cookies()
    world.answered(one, "b=2; Path=/")
    world.shared.is_away = False
    await one.save_cookies()
    assert await world.sent(world.worker()) == "a=1; b=2"
    assert await world.sent(world.worker(), OTHER) == "a=1"


async def test_what_is_saved_over_a_break_of_the_server_is_known_to_the_others(world: World) -> None:
    one, two = world.worker(), world.worker()
    world.answered(one, "sid=1; Path=/")
    await one.save_cookies()
    assert await world.sent(two) == "sid=1"
    world.answered(one, "sid=2; Path=/")
    world.shared.is_breaking = True
    await one.save_cookies()
    assert await world.sent(two) == "sid=2"


@pytest.mark.parametrize("was_told", [False, True])
async def test_what_somebody_saved_and_told_nobody_is_told_by_who_saves_the_same(
    world: World, was_told: bool
) -> None:
    """A worker that is killed between the two: its page is done again, and sets the same cookies."""
    killed, again, other = world.worker(), world.worker(), world.worker()
    if was_told:
        world.answered(other, "lang=en; Path=/")
        await other.save_cookies()
        assert await world.sent(killed) == "lang=en"
    world.answered(killed, "sid=1; Path=/")
    held = world.shared.hold("swap")
    saving = asyncio.create_task(killed.save_cookies())
    await held.is_waiting.wait()
    saving.cancel()
    held.goes_on.set()
    await asyncio.gather(saving, return_exceptions=True)
    world.answered(again, "sid=1; Path=/")
    await again.save_cookies()
    assert "sid=1" in await world.sent(other)
    assert "sid=1" in await world.sent(world.worker(is_alone=True))


async def test_an_answer_that_comes_late_takes_nothing_back_that_was_saved_meanwhile(world: World) -> None:
    one, two = world.worker(), world.worker()
    world.answered(two, "base=0; Path=/")
    await two.save_cookies()
    assert await world.sent(one, OTHER) == ""
    held = world.shared.hold("get")
    held.goes_on.set()  # that of the look
    world.answered(one, "a=1; Path=/")
    ready = asyncio.create_task(one.prepare_cookies("", SHOP))
    await held.is_waiting.wait()
    held = world.shared.hold("get")  # that of the jar
    await held.is_waiting.wait()
    await one.save_cookies()
    held.goes_on.set()
    await ready
    assert one.cookie_header("", SHOP, world.clock.now()) == "base=0; a=1"


async def test_what_others_save_before_the_answer_to_a_save_is_read_again(world: World) -> None:
    one, two = world.worker(), world.worker()
    world.answered(one, "a=1; Path=/")
    held = world.shared.hold("swap")
    saving = asyncio.create_task(one.save_cookies())
    await held.is_waiting.wait()
    world.answered(two, "b=2; Path=/")
    await two.save_cookies()
    await one.prepare_cookies("", OTHER)
    held.goes_on.set()
    await saving
    assert await world.sent(one) == "a=1; b=2"


async def test_jars_are_let_go_of_and_read_again(world: World) -> None:
    one = world.worker(is_alone=True, max_jars=3)
    urls = [f"https://h{number}.example/" for number in range(10)]
    for number, url in enumerate(urls):
        await one.prepare_cookies("", url)
        world.answered(one, f"n={number}; Path=/", url=url)
        await one.save_cookies()
    assert [await world.sent(one, url) for url in urls] == [f"n={number}" for number in range(10)]
    assert len(one) == 3


async def test_names_of_sessions_are_not_shown_in_places(world: World) -> None:
    one = world.worker()
    world.answered(one, "a=1; Path=/", session="bob@example.com \ud800")
    await one.save_cookies()
    places = [key for space, key in world.shared._values if space == COOKIES]
    assert len(places) == 2
    assert not any("bob" in place for place in places)
    assert await world.sent(world.worker(), session="bob@example.com \ud800") == "a=1"


async def test_another_worker_has_what_pages_have_stored() -> None:
    clock = ManualClock()
    shared = Shared(clock)
    here, there = (SharedCookieStore(shared, clock, "j", max_jars=10) for _ in range(2))
    entry = Cookie("token", "5", "www.shop.co.uk", "localStorage https://www.shop.co.uk", True, False, inf)
    here.keep_cookies("s", SHOP, [entry], clock.now())
    await here.save_cookies()
    await there.prepare_cookies("s", SHOP.replace("www", "blog"))
    assert there.list_entries("s", SHOP, clock.now()) == [entry]
    assert there.cookie_header("s", SHOP, clock.now()) == ""
