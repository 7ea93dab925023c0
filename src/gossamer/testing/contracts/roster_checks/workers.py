"""The contract for workers and their shifts."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.shifts import EndReason, ShiftState, WorkerState
from gossamer.testing.contracts.roster_harness import (
    EXPIRES_S,
    RosterHarness,
    make_card,
    make_end,
    make_shift,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds


@register_check
async def a_shift_is_begun_once(w: RosterHarness) -> None:
    """By the first message that names it, and by none that comes too late or out of nowhere."""
    await w.request_shifts("a", "b")
    begun = await w.roster.begin_shift("a", "w1")
    assert_holds(begun is not None, "a requested shift can be begun")
    now = w.clock.now()
    expected = replace(
        make_shift(now, "a"), state=ShiftState.WORKING, asked_at=now, worker="w1", began_at=now, beat_at=now
    )
    assert_equal(begun, expected, "it says what to work on")
    assert_equal((await w.read_shifts())["a"], expected, "and everybody sees who began it")
    assert_equal(await w.roster.begin_shift("a", "w2"), None, "another message begins nothing")
    assert_equal(
        await w.roster.begin_shift("unheard", "w1"), None, "a shift that was not requested is not begun"
    )
    w.clock.advance(EXPIRES_S)
    assert_equal(await w.roster.begin_shift("b", "w1"), None, "an expired shift is not begun")


@register_check
async def one_of_many_begins(w: RosterHarness) -> None:
    """However many messages name the same shift at once."""
    await w.request_shifts("a")
    begun = await asyncio.gather(*(w.roster.begin_shift("a", f"w{n}") for n in range(8)))
    assert_equal(len([one for one in begun if one is not None]), 1, "exactly one begins")


@register_check
async def beats_are_seen(w: RosterHarness) -> None:
    """Worker and shifts as reported, at the roster's time."""
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
    """With each heartbeat until it ends; a shift that has not begun is void."""
    begun = await w.begin_shift("a")
    await w.request_shifts("b")
    token = await w.claim_leadership()
    assert_holds(
        await w.roster.request_shifts([], {"a": EndReason.YIELD, "b": EndReason.YIELD}, token),
        "the leader may recall",
    )
    assert_equal(await w.roster.begin_shift("b", "w1"), None, "a recalled shift is not begun")
    for _ in range(2):
        assert_equal(
            await w.roster.record_heartbeat(make_card(), [begun]),
            {"a": EndReason.YIELD},
            "it is stopped",
        )
    await w.roster.end_shifts([make_end(begun, EndReason.YIELD)])
    assert_equal(await w.read_shifts(), {}, "and is gone at its end")


@register_check
async def a_worker_that_drains_stops_its_shifts(w: RosterHarness) -> None:
    """Also a paused one; when the worker works again, they may continue."""
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
    """A worker that was declared dead and returns must stop, however often it reports."""
    begun = await w.begin_shift()
    await w.roster.reap_shifts(["a"])
    assert_equal(await w.read_shifts(), {}, "it is off the roster")
    for _ in range(2):
        w.clock.advance(1)
        assert_equal(
            await w.roster.record_heartbeat(make_card(), [begun]),
            {"a": EndReason.LOST},
            "the worker learns it",
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
    assert_equal((await w.read_health()).failures, 1, "which is not another failure")
    await w.roster.end_shifts([make_end(begun, EndReason.FAILED, clean=False)])
    assert_equal(
        (await w.read_shifts())["a"].state, ShiftState.LOST, "a shift believed dead may hold leases as well"
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
        "the fleet has no leader",
    )
    assert_equal(
        await w.roster.record_heartbeat(make_card(), [replace(begun, pages=4)]), {}, "the shift continues"
    )
    found = (await w.read_shifts())["a"]
    assert_equal((found.state, found.worker, found.pages), (ShiftState.WORKING, "w1", 4), "and is seen again")
    w.clock.advance(0.5)
    assert_holds(await w.claim_leadership() > token, "a new token is larger all the same")
