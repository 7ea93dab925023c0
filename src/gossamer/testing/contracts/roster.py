"""The contract of a roster as workers, supervisors and commands use it, as named checks.

Use: ``await check_roster(make)``, or one by one from ``ROSTER_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`RosterSubject` with nothing in it.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.shifts import RosterView, Sample, ShiftState, Why, WorkerState
from gossamer.testing.contracts.frontier_world import equal, holds
from gossamer.testing.contracts.roster_world import (
    EXPIRES_S,
    ROSTER_CHECKS,
    TTL_S,
    FullRoster,
    Make,
    RosterSubject,
    World,
    card,
    checked,
    end,
    shift,
)

__all__ = ["ROSTER_CHECKS", "FullRoster", "Make", "RosterSubject", "check_roster"]


async def check_roster(make: Make) -> None:
    """Run every check against a fresh roster each. Raises ``AssertionError`` for a broken promise."""
    for check in ROSTER_CHECKS.values():
        await check(make)


# --------------------------------------------------------------------------- workers


@checked
async def a_shift_is_begun_once(w: World) -> None:
    """By the first message that names it, and by none that comes too late or out of nowhere."""
    await w.asked("a", "b")
    begun = await w.roster.begin("a", "w1")
    holds(begun is not None, "what was asked for can be begun")
    now = w.clock.now()
    expected = replace(
        shift(now, "a"), state=ShiftState.WORKING, asked_at=now, worker="w1", began_at=now, beat_at=now
    )
    equal(begun, expected, "it says what to work on")
    equal((await w.shifts())["a"], expected, "and everybody sees who began it")
    equal(await w.roster.begin("a", "w2"), None, "another message begins nothing")
    equal(await w.roster.begin("unheard", "w1"), None, "what nobody asks for is not begun")
    w.clock.advance(EXPIRES_S)
    equal(await w.roster.begin("b", "w1"), None, "what has expired is not begun")


@checked
async def one_of_many_begins(w: World) -> None:
    """However many messages name the same shift at once."""
    await w.asked("a")
    begun = await asyncio.gather(*(w.roster.begin("a", f"w{n}") for n in range(8)))
    equal(len([one for one in begun if one is not None]), 1, "exactly one begins")


@checked
async def beats_are_seen(w: World) -> None:
    """Worker and shifts as they were said, at the roster's time."""
    begun = await w.begun()
    w.clock.advance(1)
    said = card(host="h", pid=7, version="1", started_at=3.5)
    orders = await w.roster.beat(said, [replace(begun, pages=5, in_flight=3)])
    equal(orders, {}, "nothing stops it")
    view = await w.roster.look()
    equal(view.at, w.clock.now(), "the time is the roster's")
    equal(view.workers, (replace(said, beat_at=w.clock.now()),), "the worker is seen")
    found = view.shifts[0]
    equal((found.pages, found.in_flight, found.beat_at), (5, 3, w.clock.now()), "and what its shift did")
    equal(found.began_at, w.clock.now() - 1, "since when it works")


@checked
async def a_recall_reaches_its_shift(w: World) -> None:
    """With the next beat, and until it ends; what was not begun is void."""
    begun = await w.begun("a")
    await w.asked("b")
    token = await w.leader()
    holds(await w.roster.ask([], {"a": Why.YIELD, "b": Why.YIELD}, token), "the leader may recall")
    equal(await w.roster.begin("b", "w1"), None, "what was recalled is not begun")
    for _ in range(2):
        equal(await w.roster.beat(card(), [begun]), {"a": Why.YIELD}, "it is told to stop")
    await w.roster.end([end(begun, Why.YIELD)])
    equal(await w.shifts(), {}, "and is gone at its end")


@checked
async def a_worker_that_drains_stops_its_shifts(w: World) -> None:
    """A paused one, too; when it works again, they may go on."""
    begun = await w.begun()
    for state in (WorkerState.DRAINING, WorkerState.PAUSED):
        equal(await w.roster.beat(card(state=state), [begun]), {"a": Why.DRAINED}, f"{state} stops it")
    equal((await w.roster.look()).workers[0].state, WorkerState.PAUSED, "the state is seen")
    equal(await w.roster.beat(card(), [begun]), {}, "nothing stops it any more")


@checked
async def the_buried_stay_buried(w: World) -> None:
    """One that was declared dead and wakes up is told to stop, however often it asks."""
    begun = await w.begun()
    await w.roster.bury(["a"])
    equal(await w.shifts(), {}, "it is off the roster")
    for _ in range(2):
        w.clock.advance(1)
        equal(await w.roster.beat(card(), [begun]), {"a": Why.LOST}, "it is told so")
    await w.roster.end([end(begun, Why.LOST)])
    equal(await w.shifts(), {}, "a clean end changes nothing more")
    equal((await w.standing()).failures, 1, "and is counted once")
    await w.roster.bury(["a", "unheard"])
    equal((await w.standing()).failures, 1, "burying it again changes nothing")


@checked
async def an_unclean_end_leaves_leases_to_take_back(w: World) -> None:
    """The shift stands as lost until it is buried; also when it had been declared dead."""
    begun = await w.begun()
    for _ in range(2):
        await w.roster.end([end(begun, Why.FAILED, detail="no disk", clean=False, pages=2)])
        found = (await w.shifts())["a"]
        equal((found.state, found.job, found.worker), (ShiftState.LOST, "j-1", "w1"), "it stands as lost")
        equal(await w.roster.beat(card(), [begun]), {"a": Why.LOST}, "and does not come back")
    equal((await w.standing()).failures, 1, "it failed once")
    await w.roster.bury(["a"])
    equal(await w.shifts(), {}, "until it is buried")
    equal((await w.standing()).failures, 1, "which is no other failure")
    await w.roster.end([end(begun, Why.FAILED, clean=False)])
    equal((await w.shifts())["a"].state, ShiftState.LOST, "one that was thought dead may hold leases, too")


@checked
async def an_end_counts_once(w: World) -> None:
    """A beat that was under way does not bring a shift back."""
    begun = await w.begun()
    for _ in range(2):
        await w.roster.end([end(begun, Why.FAILED, detail="x")])
    equal(await w.roster.beat(card(), [begun]), {"a": Why.LOST}, "it has ended")
    view = await w.roster.look(history=True)
    equal(view.shifts, (), "it is gone")
    equal([(e.id, e.why, e.at) for e in view.ends], [("a", Why.FAILED, w.clock.now())], "one end")


@checked
async def leaving_gives_its_shifts_up(w: World) -> None:
    """Only those of that worker; their leases are taken back at once."""
    await w.begun("a", "w1")
    await w.begun("b", "w2")
    await w.roster.beat(card("w1"), [])
    await w.roster.leave("w1")
    await w.roster.leave("w1")
    found = await w.shifts()
    equal((found["a"].state, found["b"].state), (ShiftState.LOST, ShiftState.WORKING), "its own are lost")
    equal((await w.roster.look()).workers, (), "the worker is gone")
    equal((await w.standing()).failures, 1, "a shift lost before its first page is a failure, once")


@checked
async def losing_everything_costs_nothing(w: World) -> None:
    """The next beats register worker and shifts again."""
    begun = await w.begun()
    token = await w.leader()
    await w.subject.lose_everything()
    equal(await w.roster.ask([shift(w.clock.now(), "b")], {}, token), False, "nobody leads any more")
    equal(await w.roster.beat(card(), [replace(begun, pages=4)]), {}, "the shift goes on")
    found = (await w.shifts())["a"]
    equal((found.state, found.worker, found.pages), (ShiftState.WORKING, "w1", 4), "and is seen again")
    w.clock.advance(0.5)
    holds(await w.leader() > token, "a new token is larger all the same")


# --------------------------------------------------------------------------- standings


@checked
async def failures_add_up_until_one_does_well(w: World) -> None:
    """By job and lane; what went wrong stays to be read."""
    await w.ended("a", Why.FAILED, detail="no route to the store")
    await w.ended("b", Why.FAILED, detail="no space", pages=3)
    standing = await w.standing()
    equal((standing.job, standing.lane), ("j-1", "http"), "of that job and lane")
    equal((standing.failures, standing.detail), (2, "no space"), "two failures")
    equal((standing.at, standing.why), (w.clock.now(), Why.FAILED), "the last one")
    await w.ended("c", Why.DRAINED)
    equal((await w.standing()).failures, 2, "an end that shows nothing changes nothing")
    await w.ended("d", Why.DRAINED, pages=1)
    equal(((await w.standing()).failures, (await w.standing()).detail), (0, ""), "a page was done")


@checked
async def a_page_is_enough_to_do_well(w: World) -> None:
    """While the shift goes on."""
    await w.ended("a", Why.FAILED, detail="x")
    begun = await w.begun("b")
    await w.roster.beat(card(), [begun])
    equal((await w.standing()).failures, 1, "no page yet")
    await w.roster.beat(card(), [replace(begun, pages=1)])
    equal((await w.standing()).failures, 0, "a page was done")


@checked
async def refusals_name_their_workers(w: World) -> None:
    """Each once; one that has done it after all is struck off."""
    for number, worker in enumerate(("w1", "w2", "w2")):
        begun = await w.begun(f"r{number}", worker)
        await w.roster.end([end(begun, Why.REFUSED, detail="another version")])
    standing = await w.standing()
    equal((standing.failures, standing.refused_by), (3, ("w1", "w2")), "who refused")
    begun = await w.begun("d", "w2")
    await w.roster.end([end(begun, Why.TIME, pages=1)])
    equal((await w.standing()).refused_by, ("w1",), "one can, after all")


@checked
async def empty_shifts_are_counted(w: World) -> None:
    """In a row; they are no failures."""
    await w.ended("a", Why.IDLE)
    await w.ended("b", Why.IDLE)
    equal(((await w.standing()).empties, (await w.standing()).failures), (2, 0), "two found nothing")
    await w.ended("c", Why.IDLE, pages=1)
    equal((await w.standing()).empties, 0, "one found something")


@checked
async def lanes_stand_apart(w: World) -> None:
    """Seeding that fails does not slow the pages down."""
    await w.asked("a", lane="seed")
    begun = await w.roster.begin("a", "w1")
    holds(begun is not None, "it is begun")
    await w.ended("b", Why.TIME, pages=1)
    if begun is not None:
        await w.roster.end([end(begun, Why.FAILED, detail="x")])
    found = {standing.lane: standing.failures for standing in (await w.roster.look()).standings}
    equal(found, {"seed": 1, "http": 0}, "each lane has its own")


# --------------------------------------------------------------------------- supervisors


@checked
async def one_leads(w: World) -> None:
    """Until it resigns, or is not heard of; tokens only grow."""
    first = await w.leader("s1")
    equal(await w.roster.lead("s2", TTL_S), None, "one leads")
    w.clock.advance(TTL_S - 1)
    equal(await w.roster.lead("s1", TTL_S), first, "it stays the leader, with its token")
    equal((await w.roster.look()).leader, "s1", "everybody sees who")
    w.clock.advance(TTL_S)
    equal((await w.roster.look()).leader, "", "one that is not heard of leads no more")
    second = await w.leader("s2")
    holds(second > first, "the next token is larger")
    equal(await w.roster.lead("s1", 0), None, "another cannot resign for it")
    equal(await w.roster.lead("s1", TTL_S), None, "nor lead")
    equal(await w.roster.lead("s2", 0), None, "it resigns")
    holds(await w.leader("s1") > second, "and is followed at once")


@checked
async def a_deposed_leader_asks_for_nothing(w: World) -> None:
    """Neither when another leads, nor when nobody does."""
    old = await w.leader("s1")
    begun = await w.begun()
    w.clock.advance(TTL_S)
    asked = [shift(w.clock.now(), "b")]
    holds(not await w.roster.ask(asked, {"a": Why.YIELD}, old), "nobody leads")
    new = await w.leader("s2")
    holds(not await w.roster.ask(asked, {"a": Why.YIELD}, old), "another leads")
    holds(not await w.roster.ask(asked, {}, new + 1), "a token that was never given is none")
    equal(await w.shifts(), {"a": begun}, "and nothing was changed")
    holds(await w.roster.ask(asked, {}, new), "the leader may ask")
    equal(set(await w.shifts()), {"a", "b"}, "what it asks for is entered")


@checked
async def what_expired_is_struck_off(w: World) -> None:
    """When the leader asks for more."""
    await w.asked("a")
    w.clock.advance(EXPIRES_S)
    await w.asked("b")
    equal(set(await w.shifts()), {"b"}, "nobody will begin it")


@checked
async def what_is_gone_is_forgotten(w: World) -> None:
    """In the end, so that nothing grows for ever."""
    await w.roster.beat(card("w1"), [])
    await w.ended("a", Why.FAILED, detail="x")
    await w.roster.note("j-1", Sample(at=w.clock.now(), pages=1))
    w.clock.advance(60)
    await w.leader()
    equal([worker.id for worker in (await w.roster.look()).workers], ["w1"], "a minute ago is seen")
    w.clock.advance(86_400)
    await w.leader()
    view = await w.roster.look(history=True)
    equal((view.workers, view.standings, view.samples), ((), (), {}), "a day ago is not")


@checked
async def history_is_kept_in_bounds(w: World) -> None:
    """The latest samples and ends, for those who ask."""
    now = w.clock.now()
    for number in range(70):
        await w.roster.note("j-1", Sample(at=now, pages=number, waiting=1, trouble="t"))
    begun = []
    for number in range(120):
        name = f"s{number}"
        await w.roster.ask([shift(now, name)], {}, await w.leader())
        begun.append(await w.roster.begin(name, "w1"))
    await w.roster.end([end(one, Why.TIME, pages=1) for one in begun if one is not None])
    view = await w.roster.look(history=True)
    equal([one.pages for one in view.samples["j-1"]], list(range(10, 70)), "sixty samples, oldest first")
    equal(view.samples["j-1"][-1], Sample(at=now, pages=69, waiting=1, trouble="t"), "whole")
    equal(
        [one.id for one in view.ends], [f"s{n}" for n in range(119, 19, -1)], "a hundred ends, newest first"
    )
    plain: RosterView = await w.roster.look()
    equal((plain.samples, plain.ends), ({}, ()), "and only for those who ask")


@checked
async def records_come_back_whole(w: World) -> None:
    """Strange names, parts of seconds, and what is empty."""
    strange = card("h\u00f6st:1:\U0001f577", lanes=(), slots=0, started_at=1.000001)
    await w.roster.beat(strange, [])
    (found,) = (await w.roster.look()).workers
    equal(found, replace(strange, beat_at=w.clock.now()), "a worker")
    w.clock.advance(0.123456)
    asked = replace(shift(w.clock.now(), "a", "a lane\n\u00e9", job="j.x_y-1"))
    holds(await w.roster.ask([asked], {}, await w.leader()), "asked for")
    equal((await w.shifts())["a"], replace(asked, asked_at=w.clock.now()), "a shift")


@checked
async def the_bell_is_heard(w: World) -> None:
    """By one who waits and by one who comes later, once however often it rang."""
    equal(await w.roster.wait_bell(0), False, "it is silent")
    for _ in range(3):
        await w.roster.ring()
    equal(await w.roster.wait_bell(5), True, "it rang before")
    equal(await w.roster.wait_bell(0), False, "once")
    waiting = asyncio.create_task(w.roster.wait_bell(5))
    for _ in range(3):
        await asyncio.sleep(0)
    await w.roster.ring()
    equal(await waiting, True, "who waits hears it")


@checked
async def ends_and_new_workers_ring(w: World) -> None:
    """So that the supervisor looks at once."""
    begun = await w.begun()
    await w.roster.beat(card(), [begun])
    equal(await w.roster.wait_bell(0), True, "a new worker rings")
    await w.roster.beat(card(), [begun])
    equal(await w.roster.wait_bell(0), False, "one that is known does not")
    await w.roster.beat(card(state=WorkerState.DRAINING), [begun])
    equal(await w.roster.wait_bell(0), True, "one that changes does")
    await w.roster.end([end(begun, Why.DRAINED)])
    equal(await w.roster.wait_bell(0), True, "an end rings")
    await w.roster.leave("w1")
    equal(await w.roster.wait_bell(0), True, "one that leaves rings")
