"""The contract of a schedule store, as named checks.

Use: ``await check_schedule_store(make)``, or one by one from ``SCHEDULE_STORE_CHECKS``; ``make(clock)`` is an
async context manager that gives a ``ScheduleStore`` with nothing in it.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.schedules import CatchUpRule, OverlapRule, RunOutcome, Schedule, ScheduledRun
from gossamer.ports.schedule_store import ScheduleStore
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["SCHEDULE_STORE_CHECKS", "check_schedule_store"]

SCHEDULE_STORE_CHECKS: ContractSuite[ScheduleStore] = ContractSuite()
"""The checks by name."""
SHOP = Schedule(
    name="shop",
    cron="0 6 * * *",
    zone="Europe/Berlin",
    target="shop.py:Shop",
    arguments={"category": "böoks \N{SNOWMAN}"},
    options=(("max_pages", "100"), ("delay", "0.5")),
    folder="/srv/crawls",
    place="fleet night",
    job_name="shop",
    job_target="shop.py:Shop",
    overlap=OverlapRule.QUEUE,
    catch_up=CatchUpRule.NONE,
    jitter_s=90.0,
    created_at=1000.25,
    since=1000.25,
)
KEPT = 200


async def check_schedule_store(make: Make[ScheduleStore]) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await SCHEDULE_STORE_CHECKS.run(make)


def _run(due_at: float, number: int = 0, name: str = "shop", *, manual: bool = False) -> ScheduledRun:
    return ScheduledRun(
        schedule=name, due_at=due_at, key=f"{number:032x}", claimed_at=due_at, is_manual=manual
    )


@SCHEDULE_STORE_CHECKS.register
async def a_schedule_is_kept_as_it_is(s: ScheduleStore) -> None:
    """With everything in it; all are listed by name."""
    other = replace(SHOP, name="News", jitter_s=0.0)
    assert_holds(await s.add_schedule(SHOP), "a schedule is added")
    assert_holds(await s.add_schedule(other), "and another one")
    assert_equal(await s.list_schedules(), [other, SHOP], "they are listed by name, as they were")


@SCHEDULE_STORE_CHECKS.register
async def a_name_is_there_once(s: ScheduleStore) -> None:
    """If many add it at the same time, one succeeds; the others change nothing."""
    made = [replace(SHOP, created_at=1000.0 + number) for number in range(4)]
    added = await asyncio.gather(*map(s.add_schedule, made))
    assert_equal(sum(added), 1, "one of them is added")
    assert_equal(await s.list_schedules(), [made[added.index(True)]], "the caller that succeeded")


@SCHEDULE_STORE_CHECKS.register
async def a_due_time_is_claimed_once(s: ScheduleStore) -> None:
    """By one of many, and never again; earlier ones are settled with it."""
    await s.add_schedule(SHOP)
    claimed = await asyncio.gather(*(s.claim_run(SHOP, _run(2000.0, number)) for number in range(5)))
    assert_equal(sum(claimed), 1, "one of them claims it")
    assert_equal(await s.open_runs(), [_run(2000.0, claimed.index(True))], "the caller that succeeded")
    assert_holds(not await s.claim_run(SHOP, _run(2000.0, 9)), "it is not claimed again")
    assert_holds(not await s.claim_run(SHOP, _run(1500.0, 9)), "nor is an earlier one")
    assert_equal((await s.list_schedules())[0].since, 2000.0, "due times up to it are settled")
    assert_holds(await s.claim_run(SHOP, _run(3000.0, 9)), "a later one is")


@SCHEDULE_STORE_CHECKS.register
async def what_was_read_before_a_change_claims_nothing(s: ScheduleStore) -> None:
    """A schedule that was turned off, removed or made anew since."""
    assert_holds(not await s.claim_run(SHOP, _run(2000.0)), "one that was never there")
    await s.add_schedule(SHOP)
    await s.switch_schedule("shop", is_on=False, now=1500.0)
    assert_holds(not await s.claim_run(SHOP, _run(2000.0)), "one that is off")
    await s.remove_schedule("shop")
    await s.add_schedule(replace(SHOP, created_at=1700.0, since=1700.0))
    assert_holds(not await s.claim_run(SHOP, _run(2000.0)), "one that was made anew")
    assert_equal(await s.open_runs(), [], "no run is entered")


@SCHEDULE_STORE_CHECKS.register
async def a_person_may_run_one_at_any_time(s: ScheduleStore) -> None:
    """Also while it is off; its due times stay as they are."""
    await s.add_schedule(SHOP)
    await s.switch_schedule("shop", is_on=False, now=1500.0)
    assert_holds(await s.claim_run(SHOP, _run(5000.0, 1, manual=True)), "it is entered")
    assert_holds(not await s.claim_run(SHOP, _run(5000.0, 2, manual=True)), "once for one moment")
    found = await s.list_schedules()
    assert_equal((found[0].since, found[0].is_on), (1000.25, False), "nothing is settled by it")
    assert_equal(await s.open_runs(), [_run(5000.0, 1, manual=True)], "it is open")


@SCHEDULE_STORE_CHECKS.register
async def what_passed_while_it_was_off_is_settled(s: ScheduleStore) -> None:
    """When it is turned on; turning it on twice changes nothing."""
    await s.add_schedule(SHOP)
    assert_holds(await s.switch_schedule("shop", is_on=True, now=4000.0), "it is there")
    assert_equal((await s.list_schedules())[0].since, 1000.25, "it was on already")
    await s.switch_schedule("shop", is_on=False, now=4000.0)
    assert_equal((await s.list_schedules())[0].since, 1000.25, "turning it off settles nothing")
    await s.switch_schedule("shop", is_on=True, now=5000.0)
    found = (await s.list_schedules())[0]
    assert_equal((found.since, found.is_on), (5000.0, True), "what passed is settled")
    assert_holds(not await s.switch_schedule("news", is_on=True, now=1.0), "another name is not there")


@SCHEDULE_STORE_CHECKS.register
async def a_run_keeps_its_outcome(s: ScheduleStore) -> None:
    """It can be saved while it is open; its outcome stays."""
    await s.add_schedule(SHOP)
    run = _run(2000.0)
    await s.claim_run(SHOP, run)
    begun = replace(run, started_at=2001.5, starts=1, job="shop-1")
    assert_holds(await s.save_run(begun), "an open run is saved")
    assert_equal(await s.open_runs(), [begun], "as it is")
    over = replace(begun, outcome=RunOutcome.FAILED, detail="böse", ended_at=2100.0)
    assert_holds(await s.save_run(over), "its outcome is saved")
    assert_equal(await s.open_runs(), [], "then it is not open")
    assert_holds(not await s.save_run(begun), "it cannot be opened again")
    other = replace(over, outcome=RunOutcome.FINISHED)
    assert_holds(not await s.save_run(other), "nor have another outcome")
    assert_equal(await s.list_runs(5), [over], "it stays as it ended")
    assert_holds(not await s.save_run(_run(7.0)), "one that is not there is not saved")


@SCHEDULE_STORE_CHECKS.register
async def of_many_who_end_a_run_one_does(s: ScheduleStore) -> None:
    """The first outcome stays."""
    await s.add_schedule(SHOP)
    await s.claim_run(SHOP, _run(2000.0))
    ends = [replace(_run(2000.0), outcome=outcome, ended_at=1.0) for outcome in RunOutcome]
    saved = await asyncio.gather(*map(s.save_run, ends))
    assert_equal(sum(saved), 1, "one of them is saved")
    assert_equal(await s.list_runs(1), [ends[saved.index(True)]], "the caller that succeeded")


@SCHEDULE_STORE_CHECKS.register
async def a_run_that_is_left_out_is_never_open(s: ScheduleStore) -> None:
    """It has its outcome from the beginning."""
    await s.add_schedule(SHOP)
    skipped = replace(_run(2000.0), outcome=RunOutcome.SKIPPED, detail="shop-1 was not over", passed=3)
    assert_holds(await s.claim_run(SHOP, skipped), "it is entered")
    assert_equal(await s.open_runs(), [], "it is not open")
    assert_equal(await s.list_runs(5, "shop"), [skipped], "it is listed")


@SCHEDULE_STORE_CHECKS.register
async def runs_are_listed_newest_first_for_each_schedule(s: ScheduleStore) -> None:
    """Up to the limit for each; open runs of all schedules come in the order of their due times."""
    news = replace(SHOP, name="news")
    await s.add_schedule(SHOP)
    await s.add_schedule(news)
    for number in range(4):
        await s.claim_run(SHOP, _run(2000.0 + number, number))
        await s.claim_run(news, _run(2000.5 + number, number, "news"))
    found = [(run.schedule, run.due_at) for run in await s.list_runs(2)]
    assert_equal(
        found, [("news", 2003.5), ("news", 2002.5), ("shop", 2003.0), ("shop", 2002.0)], "two of each"
    )
    assert_equal([run.due_at for run in await s.list_runs(3, "shop")], [2003.0, 2002.0, 2001.0], "of one")
    ordered = [run.due_at for run in await s.open_runs()]
    assert_equal(ordered, sorted(ordered), "open ones by their due times")
    assert_equal(len(ordered), 8, "of all schedules")


@SCHEDULE_STORE_CHECKS.register
async def what_is_removed_is_gone(s: ScheduleStore) -> None:
    """With its runs; the name is free again, and has no past."""
    await s.add_schedule(SHOP)
    await s.claim_run(SHOP, _run(2000.0))
    assert_holds(await s.remove_schedule("shop"), "it was there")
    assert_holds(not await s.remove_schedule("shop"), "and is not there twice")
    assert_equal((await s.list_schedules(), await s.open_runs()), ([], []), "nothing is left")
    again = replace(SHOP, created_at=3000.0, since=3000.0)
    assert_holds(await s.add_schedule(again), "the name is free again")
    assert_equal(await s.list_runs(5, "shop"), [], "without the runs of the former one")


@SCHEDULE_STORE_CHECKS.register
async def old_runs_are_forgotten_but_not_open_ones(s: ScheduleStore) -> None:
    """The latest runs of each schedule stay."""
    await s.add_schedule(SHOP)
    await s.claim_run(SHOP, _run(2000.0))
    for number in range(1, KEPT + 4):
        over = replace(_run(2000.0 + number, number), outcome=RunOutcome.MISSED, ended_at=1.0)
        await s.claim_run(SHOP, over)
    found = [run.due_at for run in await s.list_runs(1000)]
    assert_equal(
        found, [2000.0 + n for n in range(KEPT + 3, 3, -1)] + [2000.0], "the latest, and the open one"
    )
