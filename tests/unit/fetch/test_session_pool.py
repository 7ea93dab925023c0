"""The identities of a job in shared state: who knows what when, and what a look costs."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Fault, StorageError
from gossamer.core.requests import Entry, Request
from gossamer.core.results import FetchResult, Outcome, Verdict, VisitResult
from gossamer.core.routes import Block, BlockKind, Route, RouteReport
from gossamer.fetch.sessions import pool as pool_module
from gossamer.fetch.sessions.pool import SessionPool
from gossamer.policy.sessions import SessionRules
from gossamer.shared.memory import MemorySharedState
from gossamer.testing.clock import ManualClock

HOST = "www.site.test"
URL = f"http://{HOST}/"


class Shared(MemorySharedState):
    """Counts calls, and can be away."""

    def __init__(self, clock):
        super().__init__(clock)
        self.calls = Counter()
        self.is_away = False

    async def get(self, space, key):
        self._count("get")
        return await super().get(space, key)

    async def update(self, space, key, change, ttl_s):
        self._count("update")
        await asyncio.sleep(0)
        value = change(await super().get(space, key))
        await super().put(space, key, value, ttl_s)
        return value

    def _count(self, call):
        self.calls[call] += 1
        if self.is_away:
            raise StorageError("away")


class World:
    """One shared state, and any number of workers."""

    def __init__(self):
        self.clock = ManualClock()
        self.shared = Shared(self.clock)

    def pool(self, *, is_alone=False, job="j", **rules):
        return SessionPool(self.shared, self.clock, job, SessionRules(**rules), is_alone=is_alone)


@pytest.fixture
def world():
    return World()


async def open_one(pool, *, session="", host=HOST, rung="http"):
    return await pool.open_session(Request(URL, session=session), host, rung)


def page(*, block=None):
    """What came of a page: it was had, or refused."""
    verdict = Verdict.SUCCESS if block is None else Verdict.DEAD
    outcome = Outcome(lease=None, verdict=verdict, reason="" if block is None else Fault.BLOCKED.value)
    fetched = FetchResult(
        url=URL, status=200, headers=(), body=b"", started_at=0, latency_s=0, elapsed_s=0, rung="http"
    )
    result = VisitResult(outcome=outcome)
    return RouteReport(
        request=Request(URL), host=HOST, route=Route(), result=result, fetched=fetched, block=block
    )


REFUSED = page(block=Block(kind=BlockKind.CLOUDFLARE))
DOUBTFUL = page(block=Block(kind=BlockKind.STATUS, is_certain=False))


async def test_what_one_worker_retires_or_binds_every_other_knows_at_its_next_choice(world):
    one, two = world.pool(), world.pool()
    identity = await one.bind_proxy(await open_one(one), "http://p:1")
    assert await open_one(two) == identity
    assert not await two.record_report(identity, REFUSED), "it may be the page: nobody was welcome before"
    assert await two.record_report(identity, REFUSED)  # late: of the generation that is retired already
    third = await open_one(one)
    assert (third.session, third.proxy, third.generation) == ("#2", "", 2)
    assert await open_one(two) == third
    await two.bind_proxy(third, "http://p:2")
    assert (await one.bind_proxy(third, "http://p:3")).proxy == "http://p:2", "the first choice counts"


@pytest.mark.parametrize("way", ["refused", "doubtful", "used up"])
async def test_whatever_ends_an_identity_ends_it_for_workers_that_know_it_from_memory(world, way):
    one, two = world.pool(max_uses=20, max_errors=1.0), world.pool(max_uses=20, max_errors=1.0)
    for _ in range(3):  # both know it, and have seen every change there was
        identity = await open_one(two)
        assert await open_one(one) == identity
    for _ in range(20 if way == "used up" else 0):
        await two.record_report(identity, page())
    if way != "used up":
        await two.record_report(identity, REFUSED if way == "refused" else DOUBTFUL)
    if way != "refused":
        assert (await open_one(two)).generation == 2
    assert (await open_one(one)).generation == 2


async def test_a_crawl_that_is_resumed_is_who_it_was(world):
    before = world.pool(is_alone=True, max_uses=500)
    await before.retire_session(await open_one(before))
    identity = await before.bind_proxy(await open_one(before), "http://p:1")
    for _ in range(7):
        await before.record_report(identity, page())
    await before.close()
    await before.close()
    after = world.pool(is_alone=True, max_uses=7)
    assert identity.session == "#2"
    assert (await open_one(world.pool(is_alone=True, max_uses=500))) == identity
    assert (await open_one(after)).session == "#3", "its uses were saved"
    assert (await open_one(world.pool(is_alone=True, job="other"))).session == ""


@pytest.mark.parametrize(("is_alone", "looks"), [(True, 0), (False, 1)])
async def test_while_nothing_changes_shared_state_is_hardly_asked(world, is_alone, looks):
    pool = world.pool(is_alone=is_alone)
    identities = await asyncio.gather(*(open_one(pool) for _ in range(50)))
    assert len(set(map(repr, identities))) == 1
    assert world.shared.calls == {"get": 1 + looks}
    world.shared.calls.clear()
    await asyncio.gather(*(open_one(pool) for _ in range(50)))
    for _ in range(99):
        await pool.record_report(identities[0], page())
    assert world.shared.calls == ({"get": 1} if looks else {}), "one look for all that ask together"
    await pool.record_report(identities[0], page())
    assert world.shared.calls["update"] == 1, "uses are saved in lots"


async def test_the_bound_on_uses_is_kept_to_the_page_by_a_worker_that_is_alone(world):
    pool = world.pool(is_alone=True, max_uses=25)
    seen = Counter()
    for _ in range(100):
        identity = await open_one(pool)
        seen[identity.session] += 1
        await pool.record_report(identity, page())
    assert seen == {"": 25, "#2": 25, "#3": 25, "#4": 25}


async def test_who_was_welcome_before_and_is_refused_is_used_up(world):
    pool = world.pool(max_uses=100)
    identity = await open_one(pool)
    assert not await pool.record_report(identity, page())
    assert not await pool.record_report(identity, DOUBTFUL)
    assert await pool.record_report(identity, REFUSED)
    fresh = await open_one(pool)
    assert not await pool.record_report(fresh, REFUSED)


async def test_an_identity_ends_with_its_age(world):
    pool = world.pool(max_age_s=60.0)
    assert (await open_one(pool)).session == ""
    world.clock.advance(61)
    assert (await open_one(pool)).session == "#2"


async def test_doubts_add_up_and_pages_make_up_for_them(world):
    pool = world.pool()
    identity = await open_one(pool)
    for _ in range(5):
        await pool.record_report(identity, DOUBTFUL)
        await pool.record_report(identity, page())
        await pool.record_report(identity, page())
    assert (await open_one(pool)) == identity
    for _ in range(3):
        await pool.record_report(identity, DOUBTFUL)
    assert (await open_one(pool)).generation == 2


async def test_several_identities_share_a_site_but_a_session_of_its_own_stays(world):
    pool = world.pool(per_host=3)
    assert [(await open_one(pool)).session for _ in range(6)] == ["", "~2", "~3"] * 2
    assert {(await open_one(pool, session="me")).session for _ in range(4)} == {"me"}


async def test_who_was_redirected_follows_the_redirect(world):
    """The cookies that a redirect set were another visitor's, and its target refused the page."""
    pool = world.pool(per_host=3)
    first = await pool.open_session(Request(f"{URL}go"), HOST, "http")
    target = Request(f"{URL}there", redirects=(f"{URL}go",))
    entries = (Entry(request=target, host=HOST, fingerprint=1),)
    outcome = Outcome(lease=None, verdict=Verdict.REDIRECT, outlinks=entries)
    await pool.record_report(first, replace(page(), result=VisitResult(outcome=outcome)))
    assert (await open_one(pool)).session == "~2", "others take turns"
    assert await pool.open_session(target, HOST, "http") == first


async def test_who_comes_by_another_kind_of_proxy_is_somebody_else(world):
    pool = world.pool()
    rungs = ("http", "browser", "http+mobile", "browser+mobile")
    assert [(await open_one(pool, rung=rung)).session for rung in rungs] == ["", "", "+mobile", "+mobile"]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("www.site.test", "shop.site.test", True),
        ("www.site.test:8080", "site.test", True),
        ("site.test", "site2.test", False),
        ("127.0.0.1:8001", "127.0.0.1:8002", False),
        ("[::1]:8001", "[::1]:8002", False),
    ],
)
async def test_an_identity_is_one_for_all_hosts_of_a_site_like_its_cookies(world, one, other, is_same):
    pool = world.pool()
    await pool.retire_session(await open_one(pool, host=one))
    assert ((await open_one(pool, host=other)).generation == 2) is is_same


async def test_uses_that_could_not_be_saved_are_saved_later(world):
    pool = world.pool(is_alone=True, max_uses=3)
    identity = await open_one(pool)
    world.shared.is_away = True
    for _ in range(3):
        with pytest.raises(StorageError):
            await pool.record_report(identity, page())
    world.shared.is_away = False
    assert (await open_one(pool)).generation == 2


@pytest.mark.parametrize("rules", [{}, {"max_uses": 50}, {"per_host": 2}])
async def test_a_site_that_is_new_costs_no_write_and_no_memory_for_ever(world, rules, monkeypatch):
    monkeypatch.setattr(pool_module, "MAX_KNOWN", 10)
    pool = world.pool(is_alone=True, **rules)
    for nth in range(50):
        await pool.record_report(await open_one(pool, host=f"site{nth}.test"), page())
    kept = [len(part) for part in vars(pool).values() if isinstance(part, dict)]
    assert max(kept) <= 10
    assert world.shared.calls["update"] == (40 if "max_uses" in rules else 0)
    await pool.close()
    assert world.shared.calls["update"] == (50 if "max_uses" in rules else 0)
    again = world.pool(is_alone=True, max_uses=1)
    generation = (await open_one(again, host="site3.test")).generation
    assert generation == (2 if "max_uses" in rules else 1), "uses that count are saved"


async def test_what_changes_elsewhere_costs_a_read_and_no_write(world):
    pool, other = world.pool(max_uses=50), world.pool(max_uses=50)
    identity = await open_one(pool)
    await pool.record_report(identity, page())
    await other.retire_session(await open_one(other, host="elsewhere.test"))
    world.shared.calls.clear()
    assert await open_one(pool) == identity
    assert world.shared.calls == {"get": 1}, "the stamp, which has a mark of its own for each few sites"
    await other.retire_session(await open_one(other, session="me"))
    world.shared.calls.clear()
    assert await open_one(pool) == identity
    assert world.shared.calls == {"get": 2}, "the stamp, and the identity"


async def test_what_is_left_at_the_end_is_saved_together(world):
    pool = world.pool(is_alone=True, max_uses=500)
    for nth in range(10):
        await pool.record_report(await open_one(pool, host=f"site{nth}.test"), page())
    at_once, most = 0, 0
    update = world.shared.update

    async def slow(*args):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        try:
            return await update(*args)
        finally:
            at_once -= 1

    world.shared.update = slow
    await pool.close()
    assert most == 10


async def test_an_identity_that_ends_with_its_age_is_as_old_for_everybody(world):
    assert (await open_one(world.pool(max_age_s=60.0))).session == ""
    world.clock.advance(61)
    assert (await open_one(world.pool(max_age_s=60.0))).session == "#2"


async def test_a_record_that_cannot_be_read_is_a_new_identity(world):
    pool = world.pool()
    await pool.retire_session(await open_one(pool))
    assert (await open_one(world.pool())).generation == 2
    for key in world.shared._values:
        world.shared._values[key] = (b"\xff junk", world.clock.now() + 100)
    assert (await open_one(world.pool())).generation == 1
