"""The contract of a job store, as named checks.

Use: ``await check_job_store(make)``, or one by one from ``JOB_STORE_CHECKS``; ``make(clock)`` is an async
context manager that gives a :class:`~gossamer.ports.job_store.JobStore` without jobs, which keeps time by
the clock.
"""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.steering import SettingChange
from gossamer.ports.job_store import JobStore
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["JOB_STORE_CHECKS", "check_job_store"]

JOB_STORE_CHECKS: ContractSuite[JobStore] = ContractSuite()
"""The checks by name."""


async def check_job_store(make: Make[JobStore]) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await JOB_STORE_CHECKS.run(make)


@JOB_STORE_CHECKS.register
async def jobs_have_ids_of_their_own(jobs: JobStore) -> None:
    """Safe as file names, found by id or by name."""
    first, second = await jobs.create("shop", "shop.py"), await jobs.create("shop", "shop.py")
    assert_equal((first.id, second.id), ("shop-1", "shop-2"), "named and numbered")
    assert_holds(first.key != second.key and len(first.key) >= 16, "keys are random")
    wild = await jobs.create("../../etc/pass wd\x00", "x")
    assert_holds(
        not set(wild.id) & set("/\\ \x00") and not wild.id.startswith("."), "an id is a safe file name"
    )
    assert_equal(await jobs.get("shop-1"), first, "by id")
    assert_equal(await jobs.get("shop"), second, "the latest of a name")
    assert_equal(await jobs.get("nothing"), None, "or none")
    assert_equal([job.id for job in await jobs.list_jobs()], [wild.id, "shop-2", "shop-1"], "newest first")
    await jobs.update(replace(second, state=JobState.FINISHED, finished_at=1.0))
    await jobs.update(replace(wild, state=JobState.PAUSED))
    unfinished = [job.id for job in await jobs.list_jobs(unfinished=True)]
    assert_equal(unfinished, [wild.id, "shop-1"], "those that run or are paused")


@JOB_STORE_CHECKS.register
async def a_store_has_a_name_of_its_own(jobs: JobStore) -> None:
    """Made up once, however many ask at once."""
    told = await asyncio.gather(*[jobs.read_identity() for _ in range(8)])
    assert_equal(len(set(told)), 1, "it is the same for all")
    assert_holds(len(told[0]) == 16 and not set(told[0]) - set("0123456789abcdef"), "16 hexadecimal digits")


@JOB_STORE_CHECKS.register
async def jobs_made_at_once_are_told_apart(jobs: JobStore) -> None:
    """However many, of one name."""
    made = await asyncio.gather(*[jobs.create("shop", "") for _ in range(10)])
    assert_equal({job.id for job in made}, {f"shop-{n}" for n in range(1, 11)}, "each has an id of its own")
    assert_equal(len({job.key for job in made}), 10, "and a key")


@JOB_STORE_CHECKS.register
async def a_job_is_made_once_with_a_key(jobs: JobStore) -> None:
    """For every caller, however often; the key finds it."""
    key = bytes(range(16))
    assert_equal(await jobs.find_by_key(key), None, "there is none at first")
    made = await asyncio.gather(*[jobs.create("shop", "x", plan=b"%d" % n, key=key) for n in range(6)])
    assert_equal(len({job.id for job in made}), 1, "all have the same job")
    assert_equal({job.plan for job in made}, {made[0].plan}, "with the plan that it was made with")
    assert_equal([job.id for job in await jobs.list_jobs()], [made[0].id], "and no other job exists")
    await jobs.update(replace(made[0], state=JobState.FINISHED, finished_at=5.0))
    again = await jobs.create("shop", "x", key=key)
    assert_equal((again.id, again.state), (made[0].id, JobState.FINISHED), "as it is then")
    assert_equal(await jobs.find_by_key(key), again, "it is found")
    assert_holds((await jobs.create("shop", "x")).id != again.id, "others are not it")


@JOB_STORE_CHECKS.register
async def of_jobs_that_must_be_alone_one_is_made(jobs: JobStore) -> None:
    """However many ask at once, while one of a fleet with the name runs or is paused."""
    for number in range(1, 4):
        many = [jobs.create("shop", "x", plan=b"%d" % n, alone=True) for n in range(8)]
        made = await asyncio.gather(*many)
        assert_equal(len({job.id for job in made}), 1, "all are given the same job")
        assert_equal(len(await jobs.list_jobs()), number, "and no other job exists")
        await jobs.update(replace(made[0], state=JobState.PAUSED))
        assert_equal(
            (await jobs.create("shop", "x", plan=b"p", alone=True)).id, made[0].id, "a paused one counts"
        )
        await jobs.update(replace(made[0], state=JobState.FINISHED, finished_at=5.0))
    keyed = [jobs.create("shop", "x", plan=b"p", key=bytes([n // 4] * 16), alone=True) for n in range(8)]
    assert_equal(len({job.id for job in await asyncio.gather(*keyed)}), 1, "also with keys of their own")


@JOB_STORE_CHECKS.register
async def a_job_that_must_be_alone_is_kept_out_by_its_name_only(jobs: JobStore) -> None:
    """Crawls of one machine do not count, nor other names; and those that need not be alone are made."""
    embedded = await jobs.create("shop", "x")
    first = await jobs.create("shop", "x", plan=b"p", alone=True)
    other = await jobs.create("shop 2", "x", plan=b"p", alone=True)
    second = await jobs.create("shop", "x", plan=b"p")
    assert_equal(len({embedded.id, first.id, other.id, second.id}), 4, "four jobs")
    again = await jobs.create("shop", "x", plan=b"p", key=first.key, alone=True)
    assert_equal(again.id, first.id, "who comes with the key of one gets that one")
    for job in (first, second):
        await jobs.update(replace(job, state=JobState.FINISHED, finished_at=5.0))
    assert_holds(
        (await jobs.create("shop", "x", plan=b"p", alone=True)).id != second.id, "the next one is made"
    )


@JOB_STORE_CHECKS.register
async def plans_are_kept(jobs: JobStore) -> None:
    """Byte for byte, whatever is updated."""
    plan = bytes(range(256))
    job = await jobs.create("shop", "shop.py", plan)
    assert_equal(job.plan, plan, "a job is made with its plan")
    await jobs.update(replace(job, state=JobState.PAUSED, plan=b"other"))
    assert_equal(await jobs.get(job.id), replace(job, state=JobState.PAUSED), "and keeps it")
    assert_equal([found.plan for found in await jobs.list_jobs()], [plan], "also in a listing")
    assert_equal((await jobs.create("shop", "shop.py")).plan, b"", "it may have none")


@JOB_STORE_CHECKS.register
async def jobs_can_be_updated(jobs: JobStore) -> None:
    """State, end and reason; nothing else."""
    job = await jobs.create("shop", "shop.py")
    done = replace(job, state=JobState.FINISHED, finished_at=9.0, end_reason=FinishReason.FINISHED)
    await jobs.update(replace(done, target="other"))
    assert_equal(await jobs.get(job.id), done, "state, end and reason are stored")


@JOB_STORE_CHECKS.register
async def every_end_is_kept(jobs: JobStore) -> None:
    """Every state, reason and error; the list of unfinished jobs agrees with their states."""
    job = await jobs.create("shop", "shop.py")
    for state in JobState:
        for at in (None, 9.0):
            ended = replace(job, state=state, finished_at=at)
            await jobs.update(ended)
            unfinished = await jobs.list_jobs(unfinished=True)
            assert_equal(unfinished, [ended] if ended.is_unfinished else [], f"{state}, ended at {at}")
    for reason in (*FinishReason, None):
        ended = replace(job, end_reason=reason, end_error="" if reason is None else f"error: {reason}")
        await jobs.update(ended)
        assert_equal(await jobs.get(job.id), ended, "reason and error")


@JOB_STORE_CHECKS.register
async def stale_updates_are_refused(jobs: JobStore) -> None:
    """An update of an outdated state changes nothing, and returns ``False``."""
    job = await jobs.create("shop", "shop.py")
    done = replace(job, state=JobState.FINISHED, finished_at=9.25, end_reason=FinishReason.FINISHED)
    paused = replace(job, state=JobState.PAUSED, end_reason=FinishReason.PAUSED)
    assert_equal(await jobs.update(paused, expected=job), True, "as expected")
    assert_equal(await jobs.update(done, expected=job), False, "another state")
    assert_equal(await jobs.get(job.id), paused, "nothing was stored")
    assert_equal(await jobs.update(done, expected=paused), True, "its present state")
    assert_equal(
        await jobs.update(job, expected=replace(done, finished_at=None)), False, "it has ended since"
    )
    assert_equal(await jobs.update(job, expected=replace(done, finished_at=8.0)), False, "or at another time")
    assert_equal(await jobs.update(job, expected=done), True, "to the digit")
    assert_equal(await jobs.update(paused), True, "whatever it is")
    assert_equal(await jobs.update(replace(job, id="shop-9")), False, "no such job")


@JOB_STORE_CHECKS.register
async def changed_settings_are_kept(jobs: JobStore) -> None:
    """With author, time and former value; the latest change of a setting counts."""
    job, other = await jobs.create("shop", "shop.py"), await jobs.create("shop", "shop.py")
    assert_equal(await jobs.read_changes(job), (), "no setting was changed")
    delay = SettingChange(key="delay", value=2.5, before=None, at=7.25, by="anna")
    pages = SettingChange(key="max_pages", value=None, before=100, at=8.0, by="bo\u00df")
    cost = SettingChange(key="budgets.cost", value=0.1, before=3, at=8.0, by="anna")
    await jobs.save_changes(job, [pages, delay])
    await jobs.save_changes(job, [cost])
    assert_equal(await jobs.read_changes(job), (cost, delay, pages), "by their names")
    assert_equal(await jobs.read_changes(other), (), "of one job alone")
    again = replace(delay, value=1, at=9.0, by="bo")
    await jobs.save_changes(job, [again], ["max_pages", "no_such_one"])
    assert_equal(await jobs.read_changes(job), (cost, again), "one is another one, one was put back")


@JOB_STORE_CHECKS.register
async def launches_are_kept(jobs: JobStore) -> None:
    """Byte for byte; the latest counts."""
    job, other = await jobs.create("shop", "shop.py"), await jobs.create("shop", "shop.py")
    assert_equal(await jobs.read_launch(job), b"", "not yet recorded")
    await jobs.save_launch(job, b"former")
    await jobs.save_launch(job, bytes(range(256)))
    assert_equal(await jobs.read_launch(job), bytes(range(256)), "how it was begun the last time")
    assert_equal(await jobs.read_launch(other), b"", "of one job alone")


@JOB_STORE_CHECKS.register
async def a_plan_may_become_another_one(jobs: JobStore) -> None:
    """The rest of the job stays, whatever it was when the caller read it."""
    read = await jobs.create("shop", "shop.py", b"plan")
    await jobs.update(replace(read, state=JobState.PAUSED))
    await jobs.update_plan(replace(read, plan=b"other"))
    found = await jobs.get(read.id)
    assert_equal(found and (found.plan, found.state), (b"other", JobState.PAUSED), "the plan alone")
    await jobs.update_plan(replace(read, id="nothing-1"))
    assert_equal([job.id for job in await jobs.list_jobs()], [read.id], "an unknown job is not made")
