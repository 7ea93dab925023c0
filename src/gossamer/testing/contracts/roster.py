"""The contract of a roster as workers, supervisors and commands use it, as named checks.

Use: ``await check_roster(make)``, or one by one from ``ROSTER_CHECKS``; ``make(clock)`` is an async context
manager that gives a :class:`RosterSubject` with nothing in it.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.shifts import EndReason, JobSample, RosterView, ShiftState, WorkerState
from gossamer.testing.contracts.roster_harness import (
    EXPIRES_S,
    ROSTER_CHECKS,
    TTL_S,
    FullRoster,
    Make,
    RosterHarness,
    RosterSubject,
    make_card,
    make_end,
    make_shift,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds

__all__ = ["ROSTER_CHECKS", "FullRoster", "Make", "RosterSubject", "check_roster"]


async def check_roster(make: Make) -> None:
    """Run every check against a fresh roster each. Raises ``AssertionError`` for a broken promise."""
    for check in ROSTER_CHECKS.values():
        await check(make)


# --------------------------------------------------------------------------- workers


@register_check
async def a_shift_is_begun_once(w: RosterHarness) -> None:
    """By the first message that names it, and by none that comes too late or out of nowhere."""
    await w.request_shifts("a", "b")
    begun = await w.roster.begin_shift("a", "w1")
    assert_holds(begun is not None, "what was asked for can be begun")
    now = w.clock.now()
    expected = replace(
        make_shift(now, "a"), state=ShiftState.WORKING, asked_at=now, worker="w1", began_at=now, beat_at=now
    )
    assert_equal(begun, expected, "it says what to work on")
    assert_equal((await w.read_shifts())["a"], expected, "and everybody sees who began it")
    assert_equal(await w.roster.begin_shift("a", "w2"), None, "another message begins nothing")
    assert_equal(await w.roster.begin_shift("unheard", "w1"), None, "what nobody asks for is not begun")
    w.clock.advance(EXPIRES_S)
    assert_equal(await w.roster.begin_shift("b", "w1"), None, "what has expired is not begun")


@register_check
async def one_of_many_begins(w: RosterHarness) -> None:
    """However many messages name the same shift at once."""
    await w.request_shifts("a")
    begun = await asyncio.gather(*(w.roster.begin_shift("a", f"w{n}") for n in range(8)))
    assert_equal(len([one for one in begun if one is not None]), 1, "exactly one begins")


@register_check
async def beats_are_seen(w: RosterHarness) -> None:
    """Worker and shifts as they were said, at the roster's time."""
    begun = await w.begin_shift()
    w.clock.advance(1)
    said = make_card(host="h", pid=7, version="1", started_at=3.5)
    orders = await w.roster.record_heartbeat(said, [replace(begun, pages=5, in_flight=3)])
    assert_equal(orders, {}, "nothing stops it")
    view = await w.roster.read_roster()
    assert_equal(view.at, w.clock.now(), "the time is the roster's")
    assert_equal(view.workers, (replace(said, beat_at=w.clock.now()),), "the worker is seen")
    found = view.shifts[0]
    assert_equal(
        (found.pages, found.in_flight, found.beat_at), (5, 3, w.clock.now()), "and what its shift did"
    )
    assert_equal(found.began_at, w.clock.now() - 1, "since when it works")


@register_check
async def a_recall_reaches_its_shift(w: RosterHarness) -> None:
    """With the next beat, and until it ends; what was not begun is void."""
    begun = await w.begin_shift("a")
    await w.request_shifts("b")
    token = await w.claim_leadership()
    assert_holds(
        await w.roster.request_shifts([], {"a": EndReason.YIELD, "b": EndReason.YIELD}, token),
        "the leader may recall",
    )
    assert_equal(await w.roster.begin_shift("b", "w1"), None, "what was recalled is not begun")
    for _ in range(2):
        assert_equal(
            await w.roster.record_heartbeat(make_card(), [begun]),
            {"a": EndReason.YIELD},
            "it is told to stop",
        )
    await w.roster.end_shifts([make_end(begun, EndReason.YIELD)])
    assert_equal(await w.read_shifts(), {}, "and is gone at its end")


@register_check
async def a_worker_that_drains_stops_its_shifts(w: RosterHarness) -> None:
    """A paused one, too; when it works again, they may go on."""
    begun = await w.begin_shift()
    for state in (WorkerState.DRAINING, WorkerState.PAUSED):
        assert_equal(
            await w.roster.record_heartbeat(make_card(state=state), [begun]),
            {"a": EndReason.DRAINED},
            f"{state} stops it",
        )
    assert_equal((await w.roster.read_roster()).workers[0].state, WorkerState.PAUSED, "the state is seen")
    assert_equal(await w.roster.record_heartbeat(make_card(), [begun]), {}, "nothing stops it any more")


@register_check
async def the_buried_stay_buried(w: RosterHarness) -> None:
    """One that was declared dead and wakes up is told to stop, however often it asks."""
    begun = await w.begin_shift()
    await w.roster.reap_shifts(["a"])
    assert_equal(await w.read_shifts(), {}, "it is off the roster")
    for _ in range(2):
        w.clock.advance(1)
        assert_equal(
            await w.roster.record_heartbeat(make_card(), [begun]), {"a": EndReason.LOST}, "it is told so"
        )
    await w.roster.end_shifts([make_end(begun, EndReason.LOST)])
    assert_equal(await w.read_shifts(), {}, "a clean end changes nothing more")
    assert_equal((await w.read_health()).failures, 1, "and is counted once")
    await w.roster.reap_shifts(["a", "unheard"])
    assert_equal((await w.read_health()).failures, 1, "burying it again changes nothing")


@register_check
async def an_unclean_end_leaves_leases_to_take_back(w: RosterHarness) -> None:
    """The shift stands as lost until it is buried; also when it had been declared dead."""
    begun = await w.begin_shift()
    for _ in range(2):
        await w.roster.end_shifts([make_end(begun, EndReason.FAILED, detail="no disk", clean=False, pages=2)])
        found = (await w.read_shifts())["a"]
        assert_equal(
            (found.state, found.job, found.worker), (ShiftState.LOST, "j-1", "w1"), "it stands as lost"
        )
        assert_equal(
            await w.roster.record_heartbeat(make_card(), [begun]),
            {"a": EndReason.LOST},
            "and does not come back",
        )
    assert_equal((await w.read_health()).failures, 1, "it failed once")
    await w.roster.reap_shifts(["a"])
    assert_equal(await w.read_shifts(), {}, "until it is buried")
    assert_equal((await w.read_health()).failures, 1, "which is no other failure")
    await w.roster.end_shifts([make_end(begun, EndReason.FAILED, clean=False)])
    assert_equal(
        (await w.read_shifts())["a"].state, ShiftState.LOST, "one that was thought dead may hold leases, too"
    )


@register_check
async def an_end_counts_once(w: RosterHarness) -> None:
    """A beat that was under way does not bring a shift back."""
    begun = await w.begin_shift()
    for _ in range(2):
        await w.roster.end_shifts([make_end(begun, EndReason.FAILED, detail="x")])
    assert_equal(await w.roster.record_heartbeat(make_card(), [begun]), {"a": EndReason.LOST}, "it has ended")
    view = await w.roster.read_roster(history=True)
    assert_equal(view.shifts, (), "it is gone")
    assert_equal(
        [(e.id, e.why, e.at) for e in view.ends], [("a", EndReason.FAILED, w.clock.now())], "one end"
    )


@register_check
async def leaving_gives_its_shifts_up(w: RosterHarness) -> None:
    """Only those of that worker; their leases are taken back at once."""
    await w.begin_shift("a", "w1")
    await w.begin_shift("b", "w2")
    await w.roster.record_heartbeat(make_card("w1"), [])
    await w.roster.remove_worker("w1")
    await w.roster.remove_worker("w1")
    found = await w.read_shifts()
    assert_equal(
        (found["a"].state, found["b"].state), (ShiftState.LOST, ShiftState.WORKING), "its own are lost"
    )
    assert_equal((await w.roster.read_roster()).workers, (), "the worker is gone")
    assert_equal((await w.read_health()).failures, 1, "a shift lost before its first page is a failure, once")


@register_check
async def losing_everything_costs_nothing(w: RosterHarness) -> None:
    """The next beats register worker and shifts again."""
    begun = await w.begin_shift()
    token = await w.claim_leadership()
    await w.subject.lose_everything()
    assert_equal(
        await w.roster.request_shifts([make_shift(w.clock.now(), "b")], {}, token),
        False,
        "nobody leads any more",
    )
    assert_equal(
        await w.roster.record_heartbeat(make_card(), [replace(begun, pages=4)]), {}, "the shift goes on"
    )
    found = (await w.read_shifts())["a"]
    assert_equal((found.state, found.worker, found.pages), (ShiftState.WORKING, "w1", 4), "and is seen again")
    w.clock.advance(0.5)
    assert_holds(await w.claim_leadership() > token, "a new token is larger all the same")


# --------------------------------------------------------------------------- standings


@register_check
async def failures_add_up_until_one_does_well(w: RosterHarness) -> None:
    """By job and lane; what went wrong stays to be read."""
    await w.end_shift("a", EndReason.FAILED, detail="no route to the store")
    await w.end_shift("b", EndReason.FAILED, detail="no space", pages=3)
    standing = await w.read_health()
    assert_equal((standing.job, standing.lane), ("j-1", "http"), "of that job and lane")
    assert_equal((standing.failures, standing.detail), (2, "no space"), "two failures")
    assert_equal((standing.at, standing.why), (w.clock.now(), EndReason.FAILED), "the last one")
    await w.end_shift("c", EndReason.DRAINED)
    assert_equal((await w.read_health()).failures, 2, "an end that shows nothing changes nothing")
    await w.end_shift("d", EndReason.DRAINED, pages=1)
    assert_equal(
        ((await w.read_health()).failures, (await w.read_health()).detail), (0, ""), "a page was done"
    )


@register_check
async def a_page_is_enough_to_do_well(w: RosterHarness) -> None:
    """While the shift goes on."""
    await w.end_shift("a", EndReason.FAILED, detail="x")
    begun = await w.begin_shift("b")
    await w.roster.record_heartbeat(make_card(), [begun])
    assert_equal((await w.read_health()).failures, 1, "no page yet")
    await w.roster.record_heartbeat(make_card(), [replace(begun, pages=1)])
    assert_equal((await w.read_health()).failures, 0, "a page was done")


@register_check
async def refusals_name_their_workers(w: RosterHarness) -> None:
    """Each once; one that has done it after all is struck off."""
    for number, worker in enumerate(("w1", "w2", "w2")):
        begun = await w.begin_shift(f"r{number}", worker)
        await w.roster.end_shifts([make_end(begun, EndReason.REFUSED, detail="another version")])
    standing = await w.read_health()
    assert_equal((standing.failures, standing.refused_by), (3, ("w1", "w2")), "who refused")
    begun = await w.begin_shift("d", "w2")
    await w.roster.end_shifts([make_end(begun, EndReason.TIME, pages=1)])
    assert_equal((await w.read_health()).refused_by, ("w1",), "one can, after all")


@register_check
async def empty_shifts_are_counted(w: RosterHarness) -> None:
    """In a row; they are no failures."""
    await w.end_shift("a", EndReason.IDLE)
    await w.end_shift("b", EndReason.IDLE)
    assert_equal(
        ((await w.read_health()).empties, (await w.read_health()).failures), (2, 0), "two found nothing"
    )
    await w.end_shift("c", EndReason.IDLE, pages=1)
    assert_equal((await w.read_health()).empties, 0, "one found something")


@register_check
async def lanes_stand_apart(w: RosterHarness) -> None:
    """Seeding that fails does not slow the pages down."""
    await w.request_shifts("a", lane="seed")
    begun = await w.roster.begin_shift("a", "w1")
    assert_holds(begun is not None, "it is begun")
    await w.end_shift("b", EndReason.TIME, pages=1)
    if begun is not None:
        await w.roster.end_shifts([make_end(begun, EndReason.FAILED, detail="x")])
    found = {standing.lane: standing.failures for standing in (await w.roster.read_roster()).standings}
    assert_equal(found, {"seed": 1, "http": 0}, "each lane has its own")


# --------------------------------------------------------------------------- supervisors


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
    """Neither when another leads, nor when nobody does."""
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
    assert_equal(set(await w.read_shifts()), {"a", "b"}, "what it asks for is entered")


@register_check
async def what_expired_is_struck_off(w: RosterHarness) -> None:
    """When the leader asks for more."""
    await w.request_shifts("a")
    w.clock.advance(EXPIRES_S)
    await w.request_shifts("b")
    assert_equal(set(await w.read_shifts()), {"b"}, "nobody will begin it")


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
    """Strange names, parts of seconds, and what is empty."""
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
