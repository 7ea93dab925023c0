"""The contract for supervisors and commands."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.shifts import EndReason, FleetStore, JobSample, RosterView, WorkerState
from gossamer.testing.contracts.roster_harness import (
    EXPIRES_S,
    TTL_S,
    RosterHarness,
    make_card,
    make_end,
    make_shift,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds


@register_check
async def a_fleet_has_one_store(w: RosterHarness) -> None:
    """The first store named by any process; after an adoption, the adopted one."""
    first, other = FleetStore(id="a" * 16, place="db/1"), FleetStore(id="b" * 16, place="db/2")
    assert_equal((await w.roster.read_roster()).store, None, "none at first")
    assert_equal(await w.roster.join_store(first), first, "the first one is the fleet's")
    assert_equal(await w.roster.join_store(other), first, "and another process gets the first one")
    moved = replace(first, place="db/3")
    assert_equal(await w.roster.join_store(moved), moved, "the same one may be at another place")
    assert_equal((await w.roster.read_roster()).store, moved, "everybody sees it")
    await w.end_shift("a", EndReason.FAILED, detail="no disk")
    await w.begin_shift("b")
    await w.roster.adopt_store(other)
    view = await w.roster.read_roster(history=True)
    assert_equal((view.store, view.shifts, view.standings, view.ends), (other, (), (), ()), "it begins anew")
    assert_equal(await w.roster.join_store(first), other, "the former one is another one now")


@register_check
async def one_leads(w: RosterHarness) -> None:
    """Until it resigns, or is not heard of; tokens only grow."""
    first = await w.claim_leadership("s1")
    assert_equal(await w.roster.claim_leadership("s2", TTL_S), None, "one leads")
    w.clock.advance(TTL_S - 1)
    assert_equal(await w.roster.claim_leadership("s1", TTL_S), first, "it stays the leader, with its token")
    assert_equal((await w.roster.read_roster()).leader, "s1", "everybody sees who")
    w.clock.advance(TTL_S)
    assert_equal((await w.roster.read_roster()).leader, "", "one that is not heard of leads no more")
    second = await w.claim_leadership("s2")
    assert_holds(second > first, "the next token is larger")
    assert_equal(await w.roster.claim_leadership("s1", 0), None, "another cannot resign for it")
    assert_equal(await w.roster.claim_leadership("s1", TTL_S), None, "nor lead")
    assert_equal(await w.roster.claim_leadership("s2", 0), None, "it resigns")
    assert_holds(await w.claim_leadership("s1") > second, "and is followed at once")


@register_check
async def a_deposed_leader_asks_for_nothing(w: RosterHarness) -> None:
    """Neither under another leader nor without one."""
    old = await w.claim_leadership("s1")
    begun = await w.begin_shift()
    w.clock.advance(TTL_S)
    asked = [make_shift(w.clock.now(), "b")]
    assert_holds(not await w.roster.request_shifts(asked, {"a": EndReason.YIELD}, old), "nobody leads")
    new = await w.claim_leadership("s2")
    assert_holds(not await w.roster.request_shifts(asked, {"a": EndReason.YIELD}, old), "another leads")
    assert_holds(
        not await w.roster.request_shifts(asked, {}, new + 1), "a token that was never given is none"
    )
    assert_equal(await w.read_shifts(), {"a": begun}, "and nothing was changed")
    assert_holds(await w.roster.request_shifts(asked, {}, new), "the leader may ask")
    assert_equal(set(await w.read_shifts()), {"a", "b"}, "the leader's requests are entered")


@register_check
async def what_expired_is_struck_off(w: RosterHarness) -> None:
    """When the leader asks for more."""
    await w.request_shifts("a")
    w.clock.advance(EXPIRES_S)
    await w.request_shifts("b")
    assert_equal(set(await w.read_shifts()), {"b"}, "it will never begin")


@register_check
async def what_is_gone_is_forgotten(w: RosterHarness) -> None:
    """In the end, so that nothing grows for ever."""
    await w.roster.record_heartbeat(make_card("w1"), [])
    await w.end_shift("a", EndReason.FAILED, detail="x")
    await w.roster.add_sample("j-1", JobSample(at=w.clock.now(), pages=1))
    w.clock.advance(60)
    await w.claim_leadership()
    assert_equal(
        [worker.id for worker in (await w.roster.read_roster()).workers], ["w1"], "a minute ago is seen"
    )
    w.clock.advance(86_400)
    await w.claim_leadership()
    view = await w.roster.read_roster(history=True)
    assert_equal((view.workers, view.standings, view.samples), ((), (), {}), "a day ago is not")


@register_check
async def history_is_kept_in_bounds(w: RosterHarness) -> None:
    """The latest samples and ends, for those who ask."""
    now = w.clock.now()
    for number in range(70):
        await w.roster.add_sample("j-1", JobSample(at=now, pages=number, waiting=1, trouble="t"))
    begun = []
    for number in range(120):
        name = f"s{number}"
        await w.roster.request_shifts([make_shift(now, name)], {}, await w.claim_leadership())
        begun.append(await w.roster.begin_shift(name, "w1"))
    await w.roster.end_shifts([make_end(one, EndReason.TIME, pages=1) for one in begun if one is not None])
    view = await w.roster.read_roster(history=True)
    assert_equal(
        [one.pages for one in view.samples["j-1"]], list(range(10, 70)), "sixty samples, oldest first"
    )
    assert_equal(view.samples["j-1"][-1], JobSample(at=now, pages=69, waiting=1, trouble="t"), "whole")
    assert_equal(
        [one.id for one in view.ends], [f"s{n}" for n in range(119, 19, -1)], "a hundred ends, newest first"
    )
    plain: RosterView = await w.roster.read_roster()
    assert_equal((plain.samples, plain.ends), ({}, ()), "and only for those who ask")


@register_check
async def records_come_back_whole(w: RosterHarness) -> None:
    """Also strange names, fractions of seconds and empty values."""
    strange = make_card("h\u00f6st:1:\U0001f577", lanes=(), slots=0, started_at=1.000001)
    await w.roster.record_heartbeat(strange, [])
    (found,) = (await w.roster.read_roster()).workers
    assert_equal(found, replace(strange, beat_at=w.clock.now()), "a worker")
    w.clock.advance(0.123456)
    asked = replace(make_shift(w.clock.now(), "a", "a lane\n\u00e9", job="j.x_y-1"))
    assert_holds(await w.roster.request_shifts([asked], {}, await w.claim_leadership()), "asked for")
    assert_equal((await w.read_shifts())["a"], replace(asked, asked_at=w.clock.now()), "a shift")


@register_check
async def the_bell_is_heard(w: RosterHarness) -> None:
    """By one who waits and by one who comes later, once however often it rang."""
    assert_equal(await w.roster.wait_for_notification(0), False, "it is silent")
    for _ in range(3):
        await w.roster.notify_supervisor()
    assert_equal(await w.roster.wait_for_notification(5), True, "it rang before")
    assert_equal(await w.roster.wait_for_notification(0), False, "once")
    waiting = asyncio.create_task(w.roster.wait_for_notification(5))
    for _ in range(3):
        await asyncio.sleep(0)
    await w.roster.notify_supervisor()
    assert_equal(await waiting, True, "who waits hears it")


@register_check
async def ends_and_new_workers_ring(w: RosterHarness) -> None:
    """So that the supervisor looks at once."""
    begun = await w.begin_shift()
    await w.roster.record_heartbeat(make_card(), [begun])
    assert_equal(await w.roster.wait_for_notification(0), True, "a new worker rings")
    await w.roster.record_heartbeat(make_card(), [begun])
    assert_equal(await w.roster.wait_for_notification(0), False, "one that is known does not")
    await w.roster.record_heartbeat(make_card(state=WorkerState.DRAINING), [begun])
    assert_equal(await w.roster.wait_for_notification(0), True, "one that changes does")
    await w.roster.end_shifts([make_end(begun, EndReason.DRAINED)])
    assert_equal(await w.roster.wait_for_notification(0), True, "an end rings")
    await w.roster.remove_worker("w1")
    assert_equal(await w.roster.wait_for_notification(0), True, "one that leaves rings")
