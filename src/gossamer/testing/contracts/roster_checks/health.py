"""How the lanes of a job are doing, by the ends of their shifts."""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.shifts import EndReason
from gossamer.testing.contracts.roster_harness import (
    RosterHarness,
    make_card,
    make_end,
    make_shift,
    register_check,
)
from gossamer.testing.contracts.suite import assert_equal, assert_holds


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
    """While the shift runs."""
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
        await w.roster.record_heartbeat(make_card(worker), ())
        begun = await w.begin_shift(f"r{number}", worker)
        await w.roster.end_shifts([make_end(begun, EndReason.REFUSED, detail="another version")])
    standing = await w.read_health()
    assert_equal((standing.failures, standing.refused_by), (3, ("w1", "w2")), "who refused")
    begun = await w.begin_shift("d", "w2")
    await w.roster.end_shifts([make_end(begun, EndReason.TIME, pages=1)])
    assert_equal((await w.read_health()).refused_by, ("w1",), "one can, after all")


@register_check
async def refusals_are_those_of_workers_that_are_there(w: RosterHarness) -> None:
    """However many they are; one that leaves is struck off, and the last one ends the trouble."""
    names = [f"w{number}" for number in range(70)]
    for name in names:
        await w.roster.record_heartbeat(make_card(name), ())
        begun = await w.begin_shift(f"of {name}", name)
        await w.roster.end_shifts([make_end(begun, EndReason.REFUSED, detail="another version")])
    assert_equal(set((await w.read_health()).refused_by), set(names), "all of them refuse")
    for name in names[1:]:
        await w.roster.remove_worker(name)
    standing = await w.read_health()
    assert_equal((standing.refused_by, standing.detail), (("w0",), "another version"), "one is there")
    await w.roster.remove_worker("w0")
    standing = await w.read_health()
    assert_equal((standing.refused_by, standing.failures, standing.detail), ((), 0, ""), "none is")


@register_check
async def what_a_person_has_changed_begins_well(w: RosterHarness) -> None:
    """On all lanes, at once, and no other job does."""
    for name, job in (("a", "j-1"), ("b", "j-12")):
        await w.roster.request_shifts(
            [make_shift(w.clock.now(), name, job=job)], {}, await w.claim_leadership()
        )
        begun = await w.roster.begin_shift(name, "w1")
        assert begun is not None
        await w.roster.end_shifts([make_end(begun, EndReason.REFUSED, detail="another version")])
    await w.roster.wait_for_notification(0)
    await w.roster.forget_health("j-1")
    left = (await w.roster.read_roster()).standings
    assert_equal([health.job for health in left], ["j-12"], "only the job's own are forgotten")
    assert_equal(await w.roster.wait_for_notification(0), True, "and it rings")


@register_check
async def empty_shifts_are_counted(w: RosterHarness) -> None:
    """Consecutive ones; they are not failures."""
    await w.end_shift("a", EndReason.IDLE)
    await w.end_shift("b", EndReason.IDLE)
    assert_equal(
        ((await w.read_health()).empties, (await w.read_health()).failures), (2, 0), "two found nothing"
    )
    await w.end_shift("c", EndReason.IDLE, pages=1)
    assert_equal((await w.read_health()).empties, 0, "one found something")
    await w.end_shift("d", EndReason.IDLE)
    await w.end_shift("e", EndReason.IDLE, visits=2)
    assert_equal((await w.read_health()).empties, 0, "and one something that failed")


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
