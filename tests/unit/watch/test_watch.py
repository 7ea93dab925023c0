"""The watch on a clock that is moved by hand: what it remembers, whom it tells, what it does when alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace as replace_part
from unittest.mock import AsyncMock

import pytest
from msgspec.structs import replace

from gossamer.core.alerts import AlertChange
from gossamer.core.errors import MissingServiceError, StorageError
from gossamer.core.hosts import FrontierRules, HostCommand, HostOrder
from gossamer.core.jobs import HostReport
from gossamer.core.lifecycle import FinishReason, JobState
from gossamer.core.results import Verdict
from gossamer.observe.sentences import formatter_at
from gossamer.policy.alert_readings import FailingHost
from gossamer.policy.alerts_on import alerts_of_job, alerts_of_place
from gossamer.policy.host_sums import HostSums
from gossamer.policy.pace_limit import PaceLimit
from gossamer.policy.sentences.job_facts import ObservedJobFacts
from gossamer.policy.sentences.jobs import describe_job
from gossamer.policy.troubles import TroubleKind
from gossamer.ports.clock import Clock
from gossamer.runtime.cancelling import end_tasks
from gossamer.testing.clock import run_virtual
from gossamer.watch.job_look import find_troubled
from gossamer.watch.memories import load_job_memory, load_notices, load_place_memory
from gossamer.watch.parts import WatchedJob
from kit.watched_place import EVERY_S, WatchedPlace

FAST = FrontierRules(delay_s=0.0, per_host=100)


async def told(place: WatchedPlace) -> list[tuple[str, str]]:
    return [(notice.change.value, notice.alert) for notice in place.target.notices]


async def test_a_look_remembers_counts_hosts_and_what_decides_the_pace() -> None:
    w = await WatchedPlace.open()
    await w.add_requests(40, hosts=2)
    watch = w.make_watch()
    for _ in range(8):
        await w.fetch(2)
        await w.let_pass(watch, EVERY_S)
    memory = await load_job_memory(w.shared, w.job)
    assert [sample.attempts for sample in memory.samples] == [2, 4, 6, 8, 10, 12, 14, 16]
    assert memory.samples[-1].waiting == 24
    assert memory.hosts.hosts == memory.hosts.looked_at == 2
    assert memory.hosts.allowed_per_s == pytest.approx(2 / 5.0)
    assert memory.pace.limit is PaceLimit.POLITENESS
    assert memory.is_fresh(w.clock.now())
    now = int(w.clock.now() // 20) * 20
    steps = await w.store.series.read_steps(w.job, now - 60, now + 20, 20)
    noted = [(step.values["now:due"] >= 0, step.values.get("now:allowed_m")) for step in steps[1:]]
    assert noted == [(True, 400)] * len(noted), "kept over time, once in each bucket"
    assert len(noted) >= 1


@pytest.mark.parametrize(("limit_s", "looked_up"), [(0.0, []), (900.0, ["h0.example"])])
async def test_hosts_are_looked_up_only_for_an_alert_that_is_wanted(
    limit_s: float, looked_up: list[str]
) -> None:
    w = await WatchedPlace.open()
    parts = replace_part(w.parts, rules=replace(w.parts.rules, no_success_s=limit_s))
    frontier, found = w.frontier, []

    class Noted:
        async def find_host(self, host: str) -> HostReport | None:
            found.append(host)
            return await frontier.find_host(host)

    watched, failing = (
        WatchedJob(job=w.job, frontier=Noted()),
        [FailingHost(host="h0.example", attempts=9, failed=9)],
    )
    await find_troubled(parts, watched, HostSums(), rules=FAST, failing=failing)
    assert found == looked_up


async def test_the_skip_of_the_only_host_is_shown_by_the_next_look() -> None:
    """A bug it would catch: for half a minute the job is said to go as fast as its hosts allow."""
    w = await WatchedPlace.open()
    await w.add_requests(40, hosts=1)
    watch = w.make_watch()
    for _ in range(8):
        await w.fetch(1)
        await w.let_pass(watch, EVERY_S)
    assert (await load_job_memory(w.shared, w.job)).pace.limit is PaceLimit.POLITENESS
    (host,) = await w.frontier.busiest_hosts(5)
    await w.frontier.steer_host(host.host, HostOrder(command=HostCommand.SKIP))
    await w.let_pass(watch, EVERY_S)
    memory = await load_job_memory(w.shared, w.job)
    assert memory.pace.limit is PaceLimit.HELD
    facts = ObservedJobFacts(
        id=w.job.id,
        state=JobState.RUNNING,
        now=w.clock.now(),
        created_at=0.0,
        limit=memory.pace.limit,
        waiting=32,
        held=memory.hosts.held,
    )
    said = describe_job(facts, formatter_at(facts.now))
    assert said.answer == f"{w.job.id} waits: its host is skipped."
    assert f"`gossamer host {w.job.id} HOST --take` takes a host back" in said.reason


@pytest.mark.parametrize(
    ("rules", "limit"),
    [
        (FrontierRules(delay_s=5.0, max_pages=4), PaceLimit.BUDGET),
        (FrontierRules(delay_s=1.0, per_host=100), PaceLimit.WORKERS),
    ],
)
async def test_other_things_decide_the_pace(rules: FrontierRules, limit: PaceLimit) -> None:
    w = await WatchedPlace.open(rules)
    await w.add_requests(60, hosts=1)
    watch = w.make_watch(concurrency=1)
    for number in range(20):
        await w.fetch(1, keep=number % 2 if limit is PaceLimit.WORKERS else 0)
        await w.let_pass(watch, EVERY_S)
    assert (await load_job_memory(w.shared, w.job)).pace.limit is limit


async def test_an_alert_is_told_when_it_begins_and_when_it_ends_and_each_once() -> None:
    w = await WatchedPlace.open(FAST)
    await w.add_requests(2000, hosts=1)
    watch = w.make_watch()
    await w.let_pass(watch, 30)
    for _ in range(10):
        await w.fetch(4, items=0, verdict=Verdict.SUCCESS)
        await w.let_pass(watch, EVERY_S)
    assert await told(w) == [("begun", "no_items")]
    notice = w.target.notices[0]
    assert (notice.place, notice.job, notice.severity) == ("a place", w.job.id, "needs_you")
    assert notice.ways == (
        f"gossamer report quality {w.job.id}",
        f"gossamer pause {w.job.id}",
    )
    for _ in range(30):
        await w.fetch(1, items=1)
        await w.let_pass(watch, EVERY_S)
    assert await told(w) == [("begun", "no_items"), ("ended", "no_items")]
    assert w.target.notices[1].headline.startswith("Over: ")


async def test_a_field_that_becomes_empty_is_told_by_the_rule_of_the_report() -> None:
    """It stays an alert when the field is filled again: the items without it are in the job."""
    w = await WatchedPlace.open(FAST)
    await w.add_requests(2000, hosts=1)
    watch = w.make_watch()
    for data in (b'{"name":"x"}', b'{"name":""}', b'{"name":"y"}'):
        for _ in range(24):
            await w.fetch(10, data=data)
            await w.let_pass(watch, EVERY_S)
    assert await told(w) == [("begun", "drift")]
    text = w.target.notices[0].text
    assert "100% of the last " in text
    assert "items of shop-1 have no Product.name; before, 100% had it. It began at " in text


async def test_a_restart_repeats_nothing_and_goes_on_with_what_was_not_taken() -> None:
    w = await WatchedPlace.open()
    w.roster_leader = ""
    first = w.make_watch(is_fleet=True)
    w.target.trouble = MissingServiceError("it is away")
    await w.let_pass(first, 60)
    assert w.target.tries >= 2
    assert await told(w) == []
    w.target.trouble = None
    second = w.make_watch(is_fleet=True)
    await w.let_pass(second, 60)
    assert await told(w) == [("begun", "no_supervisor")]
    third = w.make_watch(is_fleet=True)
    await w.let_pass(third, 60)
    w.roster_leader = "s1"
    await w.let_pass(third, 60)
    assert await told(w) == [("begun", "no_supervisor"), ("ended", "no_supervisor")]
    assert (await load_notices(w.shared, w.parts.name)).waiting == ()


async def test_a_crash_between_the_news_and_the_memory_tells_nothing_twice() -> None:
    w = await WatchedPlace.open()
    w.roster_leader = ""
    watch = w.make_watch(is_fleet=True)
    await w.let_pass(watch, 15)
    before = await load_place_memory(w.shared, w.parts.name)
    await w.let_pass(watch, 30)
    assert await told(w) == [("begun", "no_supervisor")]
    await w.forget_since(before)
    await w.let_pass(w.make_watch(is_fleet=True), 60)
    assert await told(w) == [("begun", "no_supervisor")]


@pytest.mark.parametrize("then", ["first", "second"])
async def test_the_last_leader_tells_that_the_server_is_away_and_nobody_else_does(then: str) -> None:
    w = await WatchedPlace.open()
    leads = {"first": True, "second": False}
    first = w.make_watch(is_fleet=True, is_leading=lambda: leads["first"])
    second = w.make_watch(is_fleet=True, is_leading=lambda: leads["second"])
    await w.let_pass(first, 20, second)
    w.cut_requests("Redis at queue:6379 refuses connections")
    leads["first"] = False
    await w.let_pass(first, 60, second)
    assert await told(w) == [("begun", "away")]
    assert "Redis at queue:6379 refuses connections" in w.target.notices[0].text
    w.mend_requests()
    await w.let_pass(second, 5, first)
    leads[then] = True
    await w.let_pass(first, 60, second)
    assert await told(w) == [("begun", "away"), ("ended", "away")]


async def test_a_server_that_takes_no_changes_is_told_by_the_last_leader() -> None:
    """Nobody can lead then, and nothing that is found can be remembered."""
    w = await WatchedPlace.open()
    leads = True
    watch = w.make_watch(is_fleet=True, is_leading=lambda: leads)
    await w.let_pass(watch, 20)
    w.seal_requests("Redis at queue:6379 is a replica, which takes no changes")
    leads = False
    await w.let_pass(watch, 60)
    assert await told(w) == [("begun", "away")]
    assert w.target.notices[0].text.startswith("Redis takes no changes: Redis at queue:6379 is a replica")
    w.mend_requests()
    leads = True
    await w.let_pass(watch, 60)
    assert await told(w) == [("begun", "away"), ("ended", "away")]


async def test_a_store_that_answers_and_stores_nothing_is_told() -> None:
    w = await WatchedPlace.open()
    watch = w.make_watch()
    await w.let_pass(watch, 20)
    set_gauges = w.store.series.set_gauges
    w.store.series.set_gauges = fails = AsyncMock(side_effect=StorageError("the server's disk is full"))
    await w.let_pass(watch, 60)
    assert fails.await_count > 0
    assert await told(w) == [("begun", "away")]
    assert w.target.notices[0].text == "PostgreSQL takes no changes: the server's disk is full."
    w.store.series.set_gauges = set_gauges
    await w.let_pass(watch, 60)
    assert await told(w) == [("begun", "away"), ("ended", "away")]


async def test_one_that_was_deposed_while_the_server_was_there_leaves_it_to_the_other() -> None:
    w = await WatchedPlace.open()
    leads = {"first": True, "second": False}
    first = w.make_watch(is_fleet=True, is_leading=lambda: leads["first"])
    second = w.make_watch(is_fleet=True, is_leading=lambda: leads["second"])
    await w.let_pass(first, 20, second)
    leads |= {"first": False, "second": True}
    await w.let_pass(first, 20, second)
    w.cut_requests("it is gone")
    leads["second"] = False
    await w.let_pass(first, 60, second)
    assert await told(w) == [("begun", "away")]


async def test_what_is_wrong_with_a_job_is_over_with_it_but_for_its_error() -> None:
    w = await WatchedPlace.open(FAST)
    await w.add_requests(500, hosts=1)
    watch = w.make_watch()
    for _ in range(10):
        await w.fetch(4, items=0)
        await w.let_pass(watch, EVERY_S)
    ended = replace(
        w.job,
        state=JobState.RUNNING,
        end_reason=FinishReason.ERROR,
        end_error="boom",
        finished_at=w.clock.now(),
    )
    await w.book.update(ended)
    w.listed = []
    await w.let_pass(watch, EVERY_S)
    assert await told(w) == [("begun", "no_items"), ("begun", "failed"), ("ended", "no_items")]
    assert "boom" in w.target.notices[1].text


async def end_job(w: WatchedPlace, reason: FinishReason, state: JobState = JobState.FINISHED) -> None:
    ended = replace(w.job, state=state, end_reason=reason, finished_at=w.clock.now(), end_error="boom")
    await w.book.update(ended)
    w.listed = []


async def test_alerts_of_a_job_that_ends_while_nobody_watches_are_ended_by_the_next_watch() -> None:
    """Bug it would catch: after a restart of the supervisor the end of an alert is never reported."""
    w = await WatchedPlace.open(FAST)
    await w.add_requests(500, hosts=1)
    first = w.make_watch(is_fleet=True)
    for _ in range(10):
        await w.fetch(4, items=0)
        await w.let_pass(first, EVERY_S)
    before = await told(w)
    assert ("begun", "no_items") in before
    await end_job(w, FinishReason.FINISHED)
    w.clock.advance(7200)
    second = w.make_watch(is_fleet=True)
    await w.let_pass(second, 200)
    assert (await told(w)).count(("ended", "no_items")) == 1
    begun = {alert for change, alert in await told(w) if change == "begun"}
    assert begun == {alert for change, alert in await told(w) if change == "ended"}


async def test_a_job_that_begins_and_fails_between_two_looks_is_told_until_it_is_cancelled() -> None:
    w = await WatchedPlace.open(FAST)
    w.listed = []
    watch = w.make_watch(is_fleet=True)
    await w.let_pass(watch, 20)
    w.job = await w.book.create("bad", "bad.py")
    await end_job(w, FinishReason.ERROR, JobState.RUNNING)
    await w.let_pass(watch, 200)
    assert await told(w) == [("begun", "failed")]
    assert w.target.notices[0].text == "bad-1 ended with an error: boom."
    await end_job(w, FinishReason.CANCELLED, JobState.CANCELLED)
    await w.let_pass(w.make_watch(is_fleet=True), 200)
    assert await told(w) == [("begun", "failed"), ("ended", "failed")]


async def test_jobs_that_ended_before_anybody_watched_are_left_alone() -> None:
    w = await WatchedPlace.open(FAST)
    await end_job(w, FinishReason.ERROR, JobState.RUNNING)
    w.clock.advance(600)
    await w.let_pass(w.make_watch(is_fleet=True), 300)
    assert await told(w) == []


async def test_the_end_of_a_crawl_of_one_machine_ends_its_alerts() -> None:
    """Its process is the only one that watches: what it does not report, nobody does."""
    w = await WatchedPlace.open(FAST)
    w.parts = replace_part(w.parts, list_all=None)
    await w.add_requests(500, hosts=1)
    watch = w.make_watch()
    w.store_s = 7.0
    for _ in range(10):
        await w.fetch(4, items=0)
        await w.let_pass(watch, EVERY_S)
    assert await told(w) == [("begun", "store_lag"), ("begun", "no_items")]
    await end_job(w, FinishReason.FINISHED)
    w.listed = [w.job]
    await watch.end(1.0)
    assert sorted((await told(w))[2:]) == [("ended", "no_items"), ("ended", "store_lag")]


async def test_a_job_that_cannot_be_read_is_told_and_the_others_are_watched() -> None:
    w = await WatchedPlace.open()
    await w.add_requests(5, hosts=1)
    other = await w.book.create("other", "other")
    w.listed = [other, w.job]
    watch = w.make_watch()
    await w.let_pass(watch, 60)
    assert await told(w) == [("begun", "unreadable")]
    assert w.target.notices[0].job == other.id
    assert (await load_job_memory(w.shared, w.job)).is_fresh(w.clock.now())


async def test_targets_are_told_what_they_want_and_one_that_raises_anything_holds_up_no_other() -> None:
    w = await WatchedPlace.open()
    w.roster_leader = ""
    w.target.trouble = RuntimeError("a bug")
    other = w.add_target("other")
    quiet = w.add_target("quiet", severities=())
    watch = w.make_watch(is_fleet=True)
    await w.let_pass(watch, 40)
    assert [notice.change for notice in other.notices] == [AlertChange.BEGUN]
    assert quiet.notices == []
    assert w.target.tries > 1


async def test_a_short_crawl_without_targets_is_not_looked_at_at_its_end() -> None:
    w = await WatchedPlace.open()
    watch = w.make_watch()
    w.parts = replace_part(w.parts, targets=())
    quiet = w.make_watch()
    await quiet.end(1.0)
    assert (await load_job_memory(w.shared, w.job)).at == 0.0
    await watch.end(1.0)
    assert (await load_job_memory(w.shared, w.job)).at > 0.0


async def test_the_pauses_between_tries_grow_and_old_news_are_given_up() -> None:
    w = await WatchedPlace.open()
    w.roster_leader = ""
    w.target.trouble = MissingServiceError("it is away")
    watch = w.make_watch(is_fleet=True)
    tries: list[int] = []
    for _ in range(3):
        await w.let_pass(watch, 600, step_s=20)
        tries.append(w.target.tries)
    assert tries[0] >= 5
    assert tries[2] - tries[1] <= 2
    w.clock.advance(300_000)
    w.target.trouble = None
    w.roster_leader = "s1"
    await w.let_pass(watch, 60)
    assert await told(w) == [("ended", "no_supervisor")]


@pytest.mark.parametrize("look_s", [0.0, 2.25, 8.0])
def test_an_alert_that_lasts_is_on_at_every_moment_however_long_a_look_takes(look_s: float) -> None:
    """Bug it would catch: the list goes empty between two looks once a look takes 2.25 s."""

    async def main(clock: Clock) -> None:
        w = await WatchedPlace.open(clock=clock)
        w.look_s, w.roster_leader, show = look_s, "", formatter_at(0.0)
        await w.add_requests(9, hosts=1)
        other = await w.book.create("other", "other")
        w.listed = [other, w.job]
        watching = asyncio.create_task(w.make_watch(is_fleet=True).run())
        await asyncio.sleep(120)
        for _ in range(300):
            await asyncio.sleep(1)
            now = clock.now()
            place = alerts_of_place([await load_place_memory(w.shared, w.parts.name)], now)
            job = alerts_of_job(other, await load_job_memory(w.shared, other), now, show)
            kinds = [one.kind for one in (*place.troubles, *job.troubles)]
            assert (kinds, place.is_known, job.is_known) == (
                [TroubleKind.NO_SUPERVISOR, TroubleKind.UNREADABLE], True, True,
            )  # fmt: skip
        await end_tasks(watching)
        await asyncio.sleep(100)
        assert not alerts_of_job(other, await load_job_memory(w.shared, other), clock.now(), show).is_known

    run_virtual(main)


def test_what_all_jobs_need_is_looked_at_though_a_look_at_the_jobs_takes_long() -> None:
    """An incident shorter than the rest after a long look at the jobs is told."""

    async def main(clock: Clock) -> None:
        w = await WatchedPlace.open(clock=clock)
        w.look_s = 4.0
        await w.add_requests(9, hosts=1)
        watching = asyncio.create_task(w.make_watch(is_fleet=True).run())
        await asyncio.sleep(200)
        w.roster_leader = ""
        await asyncio.sleep(45)
        w.roster_leader = "s1"
        await asyncio.sleep(90)
        await end_tasks(watching)
        changes = [change for change, alert in await told(w) if alert == "no_supervisor"]
        assert changes == ["begun", "ended"]

    run_virtual(main)


def test_only_the_leader_sends_notifications_that_wait() -> None:
    """Bug it would catch: a supervisor that stands by sends the leader's news as well."""

    async def stand_by(clock: Clock) -> tuple[int, int]:
        w, leads = await WatchedPlace.open(clock=clock), False
        w.target.trouble = MissingServiceError("it is away")
        leader = w.make_watch(is_fleet=True)
        w.roster_leader = ""
        for _ in range(6):
            await leader.look()
            await clock.sleep(EVERY_S)
        assert (await load_notices(w.shared, "place")).waiting, "nobody has tried to send it yet"
        w.target.trouble = None
        standing_by = w.make_watch(is_fleet=True, is_leading=lambda: leads)
        watching = asyncio.create_task(standing_by.run())
        await clock.sleep(60)
        before = w.target.tries
        leads = True
        await clock.sleep(60)
        await end_tasks(watching)
        return before, w.target.tries

    assert run_virtual(stand_by) == (0, 1)
