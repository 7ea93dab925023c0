"""Supervisors over a fleet that is played through on virtual time: nothing is lost, everything ends."""

from __future__ import annotations

import asyncio
import logging

import pytest
from msgspec.structs import replace

from gossamer.core.errors import StorageError
from gossamer.core.hosts import HostCommand, HostOrder
from gossamer.core.jobs import FrontierStats
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.requests import Entry, Request
from gossamer.core.shifts import SEED_LANE, EndReason, ShiftState
from gossamer.fleet.parts import FleetOptions
from gossamer.policy.job_life import JobEnd
from gossamer.runtime.cancelling import end_tasks
from gossamer.testing.contracts.roster_harness import make_card, make_shift
from kit.virtual_fleet import EASY, Station, play

GONE = StorageError("Redis at somewhere is gone")


async def trouble(world, crawl):
    """What a person is told of a job."""
    samples = (await world.roster.read_roster(history=True)).samples.get(crawl.job.id, ())
    return samples[-1].trouble if samples else ""


# --------------------------------------------------------------------------- the ordinary day


@play
async def test_a_job_is_seeded_worked_on_and_finished(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(500)
    began = world.clock.now()
    (job,) = await world.until_over(crawl)
    assert (job.state, job.end_reason) == (JobState.FINISHED, "finished")
    assert (await crawl.frontier.read_stats()).state is JobState.FINISHED
    await world.assert_complete(crawl)
    assert await world.expired(crawl) == 0
    assert world.clock.now() - began < 3.0, "nobody waits for the next look"


@play
async def test_a_job_whose_creation_redis_has_lost_begins_anew(world, caplog):
    crawl = await world.submit(50)
    crawl.lose()
    world.supervisor()
    world.station()
    (job,) = await world.until_over(crawl, most_s=60.0)
    assert (job.state, job.end_reason) == (JobState.FINISHED, "finished")
    await world.assert_complete(crawl)
    said = [text for text in caplog.messages if "begins anew with its start URLs" in text]
    assert len(said) == 1


@pytest.mark.slow
@play
async def test_a_job_that_had_begun_and_is_lost_does_not_begin_anew(world):
    world.supervisor()
    world.station(shift_s=5.0)
    crawl = await world.submit(2_000, latency_s=1.0)
    await world.until(lambda: world.store.pages.get(crawl.job.id))
    crawl.lose()
    await asyncio.sleep(30.0)
    assert crawl.line.trouble is not None
    assert "the requests are gone" in await trouble(world, crawl)


@play
async def test_the_sinks_of_a_supervisor_are_told_of_progress_and_of_the_end(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(1000, latency_s=1.0)
    await world.until_over(crawl)
    *progress, ended = world.told.events
    assert (ended.job, ended.reason) == (crawl.job.id, "finished")
    assert {type(event).__name__ for event in progress} == {"ProgressEvent"}
    pages = [event.stats.pages for event in progress]
    assert pages == sorted(pages)
    assert pages[-1] > pages[0]


@pytest.mark.slow
@play
async def test_how_many_requests_wait_is_noted_over_time(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(1000, latency_s=10.0)
    began = int(world.clock.now() // 20) * 20
    await world.until_over(crawl)
    steps = await world.store.series.read_steps(crawl.job, began, began + 400, 20)
    noted = [step.values["now:pending"] for step in steps if "now:pending" in step.values]
    assert len(noted) >= 3
    assert noted[-1] < noted[1]
    assert [step.at for step in steps] == [began + 20 * number for number in range(len(steps))], "no gap"


@pytest.mark.long
@play
async def test_jobs_share_the_workers(world):
    world.supervisor()
    for _ in range(2):
        world.station(slots=2)
    huge = await world.submit(8000, latency_s=0.5)
    await world.until(lambda: len(huge.fetched) > 1000)
    began = world.clock.now()
    small = await world.submit(50)
    await world.until_over(small)
    assert world.clock.now() - began < 6.0, "a small job is not starved"
    lanes = [shift.lane for shift in world.published if shift.job == huge.job.id]
    assert len(lanes) < 30, "and the huge one is not moved about"
    await world.until_over(huge)
    for crawl in (huge, small):
        await world.assert_complete(crawl)


@pytest.mark.slow
@play
async def test_more_jobs_than_slots_all_come_to_their_end(world):
    world.supervisor()
    world.station(slots=2)
    crawls = [await world.submit(300, hosts=1, latency_s=1.0) for _ in range(7)]
    await asyncio.sleep(200)
    done = [(await crawl.frontier.read_stats()).pages for crawl in crawls]
    assert min(done) > 0
    await world.until_over(*crawls)
    for crawl in crawls:
        await world.assert_complete(crawl)


@pytest.mark.slow
@play
async def test_shifts_end_and_others_follow(world):
    world.supervisor()
    world.station(shift_s=5.0)
    crawl = await world.submit(2000, rules=replace(EASY, per_host=8), latency_s=0.5)
    await world.until_over(crawl)
    ends = (await world.roster.read_roster(history=True)).ends
    assert EndReason.TIME in {end.why for end in ends}
    assert EndReason.LOST not in {end.why for end in ends}
    await world.assert_complete(crawl)
    assert await world.expired(crawl) == 0


@play
async def test_a_worker_that_drains_loses_nothing(world):
    world.supervisor()
    leaving = world.station()
    crawl = await world.submit(2000)
    await world.until(lambda: len(crawl.fetched) > 200)
    world.station()
    await leaving.drain()
    await world.until_over(crawl)
    await world.assert_complete(crawl)
    assert await world.expired(crawl) == 0
    assert {page.worker for page in await world.store.latest_attempts(crawl.job, limit=10_000)} == {
        "w1",
        "w2",
    }


@play
async def test_what_is_due_much_later_costs_no_shift_until_then(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(0)
    await world.until(lambda: len(crawl.fetched) == 1)
    later = Entry(
        request=Request("http://later.test/"),
        fingerprint=5,
        host="later.test",
        due_at=world.clock.now() + 100,
    )
    await crawl.frontier.add([later])
    await asyncio.sleep(10)
    before = len(world.published)
    assert (await world.roster.read_roster()).shifts == ()
    await asyncio.sleep(80)
    assert len(world.published) == before
    await world.until_over(crawl)
    late = [at for at, url in crawl.site.log if url == "http://later.test/"]
    assert late[0] - later.due_at < 1.0


@play
async def test_an_idle_fleet_is_quiet(world):
    _, way = world.supervisor()
    world.station()
    await asyncio.sleep(2)
    lines = [fleet._parts.roster for fleet, _, _ in world.fleets]
    before = lines[0].calls.copy()
    await asyncio.sleep(60)
    calls = lines[0].calls - before
    assert way.trouble is None
    assert 55 <= calls["read_roster"] <= 70
    assert calls["lead"] <= 60
    assert calls["request_shifts"] == calls["add_sample"] == 0


# --------------------------------------------------------------------------- how a job ends


@play
async def test_a_job_does_not_end_before_it_is_seeded(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(10, seeding_s=40.0)
    await asyncio.sleep(30)
    assert len(crawl.fetched) == 11, "it is worked on meanwhile"
    assert (await crawl.now()).finished_at is None
    await world.until_over(crawl)
    assert (await crawl.frontier.read_stats()).seeded


@play
async def test_a_seeder_that_dies_is_followed_by_another(world):
    world.supervisor()
    first = world.station()
    crawl = await world.submit(10, seeding_s=20.0)
    await asyncio.sleep(5)
    first.kill()
    world.station()
    await world.until_over(crawl)
    await world.assert_complete(crawl)
    assert [shift.lane for shift in world.published].count(SEED_LANE) == 2


@pytest.mark.slow
@pytest.mark.parametrize("change", [JobCommand.PAUSE, JobCommand.CANCEL])
@play
async def test_a_job_that_is_told_to_stop_stops(world, change):
    world.supervisor()
    world.station()
    crawl = await world.submit(5000, latency_s=0.5)
    await world.until(lambda: len(crawl.fetched) > 300)
    await world.change(crawl, change)
    await asyncio.sleep(4)
    assert (await world.roster.read_roster()).shifts == ()
    assert (await crawl.frontier.read_stats()).leased == 0
    assert EndReason.STOPPED in {end.why for end in (await world.roster.read_roster(history=True)).ends}
    before = len(crawl.fetched)
    await asyncio.sleep(20)
    assert len(crawl.fetched) == before
    if change is JobCommand.PAUSE:
        await world.change(crawl, JobCommand.RESUME)
        await world.until_over(crawl)
        await world.assert_complete(crawl)


@play
async def test_the_frontier_says_that_a_job_is_paused_and_the_book_follows(world):
    """A command that crashed between the two."""
    world.supervisor()
    world.station()
    crawl = await world.submit(5000, latency_s=0.5)
    await world.until(lambda: len(crawl.fetched) > 300)
    await crawl.frontier.apply_change(JobCommand.PAUSE)
    await asyncio.sleep(3)
    job = await crawl.now()
    assert (job.state, job.end_reason, job.finished_at) == (JobState.PAUSED, "paused", None)


@pytest.mark.parametrize("when", ["before", "after"])
@play
async def test_a_job_that_is_resumed_while_its_pause_is_looked_at_goes_on(world, when):
    """The supervisor has seen the pause, and writes it down when it is over."""
    world.supervisor()
    world.station()
    crawl = await world.submit(2000, latency_s=0.5)
    await world.until(lambda: len(crawl.fetched) > 300)
    update, written = world.book.update, []

    async def late(job, *, expected=None):
        if expected is None or written:
            return await update(job, expected=expected)
        written.append(job)
        if when == "before":  # paused and resumed since
            await world.change(crawl, JobCommand.PAUSE)
            await world.change(crawl, JobCommand.RESUME)
        done = await update(job, expected=expected)
        if when == "after":
            await crawl.frontier.apply_change(JobCommand.RESUME)
        return done

    world.book.update = late
    await crawl.frontier.apply_change(JobCommand.PAUSE)
    (job,) = await world.until_over(crawl)
    assert [job.state for job in written] == [JobState.PAUSED]
    assert (job.state, job.end_reason) == (JobState.FINISHED, "finished")


@pytest.mark.parametrize("change", [JobCommand.PAUSE, JobCommand.CANCEL])
@play
async def test_who_steers_a_job_while_it_ends_has_the_last_word(world, change):
    world.supervisor()
    world.station()
    crawl = await world.submit(5)
    control = crawl.frontier.apply_change
    late = Entry(request=Request("http://late.test/"), fingerprint=5, host="late.test")

    async def steered(what, rules=None):
        done = await control(what, rules)
        if what is JobCommand.FINISH and len(crawl.fetched) == 6:
            await crawl.frontier.add([late])  # which would let it go on
            await world.change(crawl, change)
        return done

    crawl.frontier.apply_change = steered
    await world.until(lambda: len(crawl.fetched) == 6)
    await asyncio.sleep(5)
    state = (await crawl.now()).state
    assert (await crawl.frontier.read_stats()).state is state
    assert state in (JobState.PAUSED, JobState.CANCELLED)
    assert "http://late.test/" not in crawl.fetched


@play
async def test_a_budget_of_pages_ends_a_job(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(500, rules=replace(EASY, max_pages=100))
    (job,) = await world.until_over(crawl)
    assert (job.state, job.end_reason) == (JobState.RUNNING, "max_pages")
    assert (await crawl.frontier.read_stats()).pages == 100


@play
async def test_a_budget_of_time_ends_a_job_and_counts_anew_when_it_is_resumed(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(3000, hosts=1, latency_s=1.0, max_time_s=20.0)
    began = world.clock.now()
    (job,) = await world.until_over(crawl)
    assert job.end_reason == "max_time"
    assert 20.0 <= world.clock.now() - began < 23.0
    await asyncio.sleep(100)
    assert (await world.roster.read_roster()).shifts == ()
    await world.change(crawl, JobCommand.RESUME)
    began = world.clock.now()
    await world.until_over(crawl)
    assert 20.0 <= world.clock.now() - began < 23.0


@play
async def test_a_job_over_budget_ends_and_is_not_worked_on(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(3000, hosts=1, latency_s=1.0)
    began = world.clock.now()

    async def find_end(stats: FrontierStats) -> JobEnd | None:
        is_over = world.clock.now() - began >= 20.0
        return JobEnd(reason=FinishReason.BUDGET, detail="bytes") if is_over else None

    crawl.find_end = find_end
    (job,) = await world.until_over(crawl)
    assert (job.end_text, job.state) == ("budget: bytes", "running")
    assert 20.0 <= world.clock.now() - began < 23.0
    await asyncio.sleep(100)
    assert (await world.roster.read_roster()).shifts == ()


@pytest.mark.slow
@play
async def test_the_time_while_a_job_is_paused_is_not_spent(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(3000, hosts=1, latency_s=1.0, max_time_s=20.0)
    await asyncio.sleep(5)
    await world.change(crawl, JobCommand.PAUSE)
    await asyncio.sleep(100)
    await world.change(crawl, JobCommand.RESUME)
    began = world.clock.now()
    (job,) = await world.until_over(crawl)
    assert job.end_reason == "max_time"
    assert 4.0 < world.clock.now() - began < 17.0


@play
async def test_dead_letters_revived_at_the_last_moment_are_worked_on(world):
    """Between the look that found nothing waiting and the end."""
    world.supervisor()
    world.station()
    crawl = await world.submit(5)
    control = crawl.frontier.apply_change

    async def late(change, rules=None):
        if change is JobCommand.FINISH and len(crawl.fetched) == 6:
            url = "http://late.test/"
            await crawl.frontier.add([Entry(request=Request(url), fingerprint=5, host="late.test")])
        return await control(change, rules)

    crawl.frontier.apply_change = late
    await world.until_over(crawl)
    assert "http://late.test/" in crawl.fetched


@play
async def test_a_frontier_that_was_finished_too_early_goes_on(world):
    """By a supervisor that was killed before it saw that something waits."""
    world.supervisor()
    world.station()
    crawl = await world.submit(2000, latency_s=0.5)
    await world.until(lambda: len(crawl.fetched) > 300)
    await crawl.frontier.apply_change(JobCommand.FINISH)
    (job,) = await world.until_over(crawl)
    assert job.state is JobState.FINISHED
    await world.assert_complete(crawl)


@play
async def test_dead_letters_revived_while_the_end_is_written_are_worked_on(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(5)
    update, late = world.book.update, []

    async def revived(job, *, expected=None):
        done = await update(job, expected=expected)
        if job.state is JobState.FINISHED and not late:
            late.append(Entry(request=Request("http://late.test/"), fingerprint=5, host="late.test"))
            await crawl.frontier.add(late)
            await crawl.frontier.apply_change(JobCommand.REOPEN)  # as reviving does
        return done

    world.book.update = revived
    await world.until(lambda: "http://late.test/" in crawl.fetched)
    (job,) = await world.until_over(crawl)
    assert job.state is JobState.FINISHED


# --------------------------------------------------------------------------- who dies


@play
async def test_the_leases_of_a_dead_worker_are_taken_back(world):
    world.supervisor()
    victim = world.station()
    crawl = await world.submit(1000, latency_s=2.0, hosts=2, rules=replace(EASY, per_host=16))
    await world.until(lambda: len(crawl.fetched) > 100)
    world.station()
    held = (await crawl.frontier.read_stats()).leased
    assert held > 10
    victim.kill()
    killed_at = world.clock.now()
    await world.until(lambda: not any(owner_shift(world, "w1")))
    assert world.clock.now() - killed_at < 13.0, "long before the leases expire"
    await world.until_over(crawl)
    await world.assert_complete(crawl)
    assert 0 < await world.expired(crawl) <= held
    assert world.told.kinds.count("LeaseLost") == await world.expired(crawl), "its sinks are told"


def owner_shift(world, worker):
    return [shift for shift in world.roster._shifts.values() if shift.worker == worker]


@pytest.mark.slow
@play
async def test_workers_that_die_all_the_time(world):
    world.supervisor()
    crawl = await world.submit(3000, latency_s=0.5)
    stations: list[Station] = []

    async def die():
        while True:
            stations.append(world.station(slots=3))
            await asyncio.sleep(4)
            if len(stations) > 2:
                stations[-3].kill()

    dying = asyncio.create_task(die())
    await world.until_over(crawl, most_s=1200)
    dying.cancel()
    await world.assert_complete(crawl)


@play
async def test_a_worker_that_leaves_without_a_word_to_its_shifts(world):
    """``leave`` was heard and the ends were not: nobody waits for beats."""
    world.supervisor()
    victim = world.station()
    crawl = await world.submit(1000, latency_s=2.0)
    await world.until(lambda: len(crawl.fetched) > 100)
    victim.kill()
    await world.roster.remove_worker("w1")
    await asyncio.sleep(1.0)
    assert (await crawl.frontier.read_stats()).leased == 0
    world.station()
    await world.until_over(crawl)
    await world.assert_complete(crawl)


@play
async def test_a_worker_that_is_stopped_for_three_seconds_keeps_its_shifts(world):
    world.supervisor()
    station = world.station()
    crawl = await world.submit(2000)
    await world.until(lambda: len(crawl.fetched) > 100)
    station.way.freeze()
    await asyncio.sleep(3)
    station.way.thaw()
    await world.until_over(crawl)
    await world.assert_complete(crawl)
    assert await world.expired(crawl) == 0
    assert EndReason.LOST not in {end.why for end in (await world.roster.read_roster(history=True)).ends}


@play
async def test_a_worker_that_wakes_up_after_it_was_declared_dead(world):
    world.supervisor()
    sleeper = world.station()
    world.station()
    crawl = await world.submit(4000, latency_s=1.0, hosts=8)
    await world.until(lambda: len(crawl.fetched) > 300)
    await world.until(lambda: owner_shift(world, "w1"))
    asleep = {shift.id for shift in owner_shift(world, "w1")}
    sleeper.way.freeze()
    await asyncio.sleep(14)
    assert not owner_shift(world, "w1")
    sleeper.way.thaw()
    await asyncio.sleep(3)
    assert not asleep & {shift.id for shift in owner_shift(world, "w1")}, "it was told"
    await world.until_over(crawl)
    await world.assert_complete(crawl)


@pytest.mark.slow
@play
async def test_a_supervisor_that_dies_is_followed_within_seconds(world):
    _, way = world.supervisor()
    world.station(shift_s=3.0)
    crawl = await world.submit(3000, latency_s=1.0)
    await world.until(lambda: len(crawl.fetched) > 100)
    way.trouble = StorageError("this process is dead")
    world.supervisor()
    await asyncio.sleep(7)
    assert (await world.roster.read_roster()).leader == "s2"
    await world.until_over(crawl)
    await world.assert_complete(crawl)
    assert await world.expired(crawl) == 0


@play
async def test_a_supervisor_that_stops_is_followed_at_once(world):
    first, _ = world.supervisor()
    await asyncio.sleep(1)
    world.supervisor()
    await asyncio.sleep(1)
    assert (first.is_leading, world.fleets[1][0].is_leading) == (True, False)
    first.stop()
    await asyncio.sleep(2)
    assert (await world.roster.read_roster()).leader == "s2"


@play
async def test_only_the_leader_acts(world):
    for _ in range(3):
        world.supervisor()
    world.station()
    crawl = await world.submit(1000)
    await world.until_over(crawl)
    looked = [fleet._parts.roster.calls["read_roster"] > 0 for fleet, _, _ in world.fleets]
    assert looked == [True, False, False]


@play
async def test_a_deposed_supervisor_asks_for_nothing(world):
    """It was stopped in the middle of a look, past its time, and goes on."""
    first, way = world.supervisor()
    await asyncio.sleep(1)
    roster = first._parts.roster
    ask, asked = world.roster.request_shifts, []

    async def spying(shifts, recalls, token):
        answer = await ask(shifts, recalls, token)
        asked.append((token, answer, len(shifts)))
        return answer

    world.roster.request_shifts = spying
    crawl = await world.submit(1000, latency_s=1.0)
    while not roster.calls["read_roster"]:  # noqa: ASYNC110 - exactly then
        await asyncio.sleep(0)
    first_token = first._token
    way.freeze()
    world.supervisor()
    world.station()
    await asyncio.sleep(8)
    assert world.fleets[1][0].is_leading
    way.thaw()
    await world.until_over(crawl)
    assert all(token > first_token for token, answer, _ in asked if answer)
    await world.assert_complete(crawl)
    seedings = [shift for shift in world.published if shift.lane == SEED_LANE]
    assert len(seedings) == 1


@play
async def test_a_supervisor_that_is_ended_gives_back_the_lead_though_redis_is_slow(world):
    _, way = world.supervisor()
    await asyncio.sleep(1)
    task = world.fleets[0][1]
    way.freeze()
    asyncio.get_running_loop().call_later(4, way.thaw)
    await end_tasks(task)
    assert (await world.roster.read_roster()).leader == ""


@play
async def test_a_stale_token_is_refused_even_if_its_holder_does_not_know(world):
    first, _ = world.supervisor()
    await asyncio.sleep(1.3)  # it has just said that it leads
    await world.roster.claim_leadership("s1", 0)
    assert await world.roster.claim_leadership("another", 5.0) is not None
    world.station()
    await world.submit(10)
    await asyncio.sleep(0.5)
    assert first.is_leading, "as far as it knows"
    assert world.published == []
    await asyncio.sleep(1.5)
    assert not first.is_leading


# --------------------------------------------------------------------------- what gets lost


@play
async def test_lost_messages_cost_seconds(world):
    world.supervisor()
    world.station()
    world.loses_messages = True
    crawl = await world.submit(500)
    await asyncio.sleep(3)
    world.loses_messages = False
    began = world.clock.now()
    await world.until_over(crawl)
    assert world.clock.now() - began < 8.0
    await world.assert_complete(crawl)


@pytest.mark.slow
@play
async def test_the_roster_may_be_lost_at_any_time(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(3000, latency_s=0.5)
    await world.until(lambda: len(crawl.fetched) > 300)
    working = {shift.id for shift in owner_shift(world, "w1")}
    world.roster.__init__(world.clock)
    await asyncio.sleep(2.5)
    assert working <= {shift.id for shift in owner_shift(world, "w1")}, "they are seen again"
    await world.until_over(crawl)
    await world.assert_complete(crawl)
    assert await world.expired(crawl) == 0


@pytest.mark.slow
@play
async def test_the_mark_of_a_seeded_job_may_be_lost(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(3000, latency_s=0.5)
    await world.until(lambda: len(crawl.fetched) > 300)
    world.shared.__init__(world.clock)
    world.fleets[0][0].stop()
    world.supervisor()
    await world.until_over(crawl)
    await world.assert_complete(crawl)
    assert await world.expired(crawl) == 0


@pytest.mark.long
@pytest.mark.parametrize("server", ["redis", "postgres", "broker"])
@play
async def test_a_server_that_is_gone_for_a_while(world, server, caplog):
    caplog.set_level(logging.INFO, "gossamer.fleet")
    world.supervisor()
    world.station(shift_s=5.0)
    crawls = [await world.submit(1000, latency_s=0.5) for _ in range(4)]
    await world.until(lambda: len(crawls[0].fetched) > 100)
    caplog.clear()
    line = getattr(world, server)
    line.trouble = GONE
    await asyncio.sleep(40)
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1, warnings
    assert "gone" in warnings[0]
    line.trouble = None
    began = world.clock.now()
    await asyncio.sleep(16)
    before = len(world.published)
    await world.until_over(*crawls)
    assert len(world.published) > before or world.clock.now() - began < 20
    for crawl in crawls:  # what was fetched and could not be stored is fetched again
        await world.assert_complete(crawl, may_repeat=128 if server == "postgres" else 0)
    assert sum("it works again" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.slow
@play
async def test_nobody_is_declared_dead_because_redis_was_away(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(3000, latency_s=0.5, seeding_s=40.0)
    await world.until(lambda: len(crawl.fetched) > 300)
    beat = world.roster.record_heartbeat

    async def away(*args):
        raise GONE

    world.roster.record_heartbeat, world.roster.claim_leadership = away, away
    await asyncio.sleep(15)
    del world.roster.claim_leadership
    while not world.fleets[0][0].is_leading:  # noqa: ASYNC110 - and the workers are later
        await asyncio.sleep(0.1)
    await asyncio.sleep(5)
    world.roster.record_heartbeat = beat
    await world.until_over(crawl)
    assert EndReason.LOST not in {end.why for end in (await world.roster.read_roster(history=True)).ends}
    assert await world.expired(crawl) == 0


@play
async def test_a_server_that_hangs_is_given_up_and_tried_again(world, caplog):
    _, way = world.supervisor(FleetOptions(patience_s=4.0))
    world.station()
    way.freeze()
    crawl = await world.submit(100)
    await asyncio.sleep(30)
    assert any("no answer" in record.getMessage() for record in caplog.records)
    way.thaw()
    await world.until_over(crawl)


# --------------------------------------------------------------------------- trouble of one job


@play
async def test_a_frontier_that_is_gone_does_not_stop_the_others(world):
    world.supervisor()
    world.station()
    broken = await world.submit(10)
    broken.line.trouble = StorageError("the requests of job shop-1 are gone from Redis")
    fine = await world.submit(500)
    await world.until_over(fine)
    await world.assert_complete(fine)
    await asyncio.sleep(10)
    assert "are gone from Redis" in await trouble(world, broken)
    assert (await broken.now()).finished_at is None
    broken.line.trouble = None
    await world.until_over(broken)
    assert (await world.roster.read_roster(history=True)).samples[broken.job.id][-1].trouble == ""


@play
async def test_a_job_whose_frontier_is_about_to_be_made_is_not_complained_about(world, caplog):
    """It is in the book first."""
    world.supervisor()
    world.station()
    young = await world.submit(10)
    young.line.trouble = GONE
    await asyncio.sleep(0.5)
    young.line.trouble = None
    await world.roster.notify_supervisor()
    began = world.clock.now()
    await world.until_over(young)
    assert world.clock.now() - began < 2.0
    assert not [row for row in caplog.records if row.levelname != "INFO"]


@play
async def test_a_plan_that_cannot_be_read_is_said_and_stops_nobody(world):
    world.supervisor()
    world.station()
    broken = await world.submit(10, plan_trouble="shop-1: its plan was written by a newer version")
    fine = await world.submit(100)
    await world.until_over(fine)
    await asyncio.sleep(8)
    assert "newer version" in await trouble(world, broken)
    broken.plan_trouble = ""
    await world.until_over(broken)


@play
async def test_a_job_that_no_worker_can_do_says_so(world):
    world.supervisor()
    world.station()
    broken = await world.submit(10, refused_by={"w1"})
    fine = await world.submit(500)
    await world.until_over(fine)
    await asyncio.sleep(90)
    assert await trouble(world, broken) == "the only worker cannot do it: another version of the spider"
    assert len([shift for shift in world.published if shift.job == broken.job.id]) < 12, "ever more rarely"
    world.station()
    began = world.clock.now()
    await world.until_over(broken)
    assert world.clock.now() - began < 15.0, "a worker that can is found soon"


@play
async def test_a_job_that_some_workers_refuse_is_done_by_the_others(world):
    world.supervisor()
    for _ in range(4):
        world.station()
    crawl = await world.submit(2000, refused_by={"w1", "w2", "w3"}, latency_s=0.2)
    await world.until_over(crawl)
    await world.assert_complete(crawl)


@play
async def test_a_fleet_without_workers_says_so(world):
    world.supervisor()
    crawl = await world.submit(10)
    await asyncio.sleep(5)
    assert "no worker takes shifts" in await trouble(world, crawl)
    world.station()
    began = world.clock.now()
    await world.until_over(crawl)
    assert world.clock.now() - began < 2.0


@play
async def test_a_surprise_in_one_job_stops_nobody(world, caplog):
    world.supervisor()
    world.station()
    broken = await world.submit(10)

    async def surprise():
        raise ZeroDivisionError("what?")

    broken.frontier.read_stats, stats = surprise, broken.frontier.read_stats
    fine = await world.submit(100)
    await world.until_over(fine)
    assert "ZeroDivisionError" in caplog.text
    broken.frontier.read_stats = stats
    await world.until_over(broken)


@pytest.mark.slow
@play
async def test_taking_back_is_repeated_until_it_is_through(world):
    """The ledger is away just then: the shift is not buried, and nothing is lost."""
    world.supervisor()
    victim = world.station()
    crawl = await world.submit(1000, latency_s=2.0)
    await world.until(lambda: len(crawl.fetched) > 100)
    victim.kill()
    world.postgres.trouble = GONE
    await asyncio.sleep(20)
    assert len(owner_shift(world, "w1")) > 0
    world.postgres.trouble = None
    await asyncio.sleep(16)
    assert owner_shift(world, "w1") == []
    world.station()
    await world.until_over(crawl)
    await world.assert_complete(crawl)


@play
async def test_a_shift_is_not_buried_before_its_leases_are_taken_back(world):
    world.supervisor()
    victim = world.station()
    crawl = await world.submit(1000, latency_s=2.0)
    await world.until(lambda: len(crawl.fetched) > 100)
    victim.kill()
    crawl.line.trouble = GONE
    await asyncio.sleep(20)
    crawl.line.trouble = None
    await asyncio.sleep(16)
    assert (await crawl.frontier.read_stats()).leased == 0, "long before they expire"


@play
async def test_a_broker_that_is_back_is_asked_at_once(world):
    """What could not be published is withdrawn, and need not expire."""
    world.supervisor()
    world.station()
    await asyncio.sleep(1)
    world.broker.trouble = GONE
    crawl = await world.submit(10)
    began = world.clock.now()
    await asyncio.sleep(0.5)
    assert (await world.roster.read_roster()).shifts == ()
    world.broker.trouble = None
    await world.until_over(crawl)
    assert world.clock.now() - began < 4.0


@play
async def test_a_dead_shift_of_a_paused_job_is_taken_back_too(world):
    world.supervisor()
    victim = world.station()
    crawl = await world.submit(1000, latency_s=2.0)
    await world.until(lambda: len(crawl.fetched) > 100)
    victim.kill()
    await world.change(crawl, JobCommand.PAUSE)
    await asyncio.sleep(15)
    assert (await crawl.frontier.read_stats()).leased == 0
    assert (await world.roster.read_roster()).shifts == ()
    assert await world.expired(crawl) > 0


@play
async def test_a_shift_of_a_job_that_is_nowhere_is_buried(world):
    world.supervisor()
    await asyncio.sleep(1)
    await world.roster.record_heartbeat(
        make_card("w9"), [replace(make_shift(0, "x", job="unknown-1"), state=ShiftState.WORKING)]
    )
    await asyncio.sleep(12)
    assert (await world.roster.read_roster()).shifts == ()


@pytest.mark.slow
@play
async def test_a_job_whose_hosts_are_all_skipped_waits_for_them_and_ends_with_a_reason_of_its_own(world):
    world.supervisor()
    world.station()
    crawl = await world.submit(500, latency_s=5.0, hosts=1)
    await asyncio.sleep(8.0)
    (host,) = await crawl.frontier.busiest_hosts(2)
    await crawl.frontier.steer_host(host.host, HostOrder(command=HostCommand.SKIP))
    began = world.clock.now()
    (job,) = await world.until_over(crawl, most_s=700.0)
    assert (job.state, job.end_reason) == (JobState.RUNNING, FinishReason.SKIPPED)
    assert 600.0 <= world.clock.now() - began < 640.0
    assert (await crawl.frontier.read_stats()).waiting
