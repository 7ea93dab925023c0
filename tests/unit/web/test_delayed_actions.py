"""Actions whose process ends before they do: another process of the place carries them out, once."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, nullcontext
from secrets import token_hex
from types import SimpleNamespace

import pytest

from gossamer.cli.terminal.running import CrawlCommand, run_crawl
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import StorageError, UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter
from gossamer.core.lifecycle import JobState
from gossamer.crawl.run import crawl
from gossamer.crawl.running_crawl import start_crawl
from gossamer.jobs.acting import ACTIONS
from gossamer.jobs.delayed_actions import CLAIM_S, LOOK_S, finish_due, keep_finishing, open_timer
from gossamer.jobs.duties import duties_of
from gossamer.policy.undo import CANCEL_S
from gossamer.spiders.spider import Spider
from gossamer.testing.clock import ManualClock
from gossamer.testing.contracts.frontier_harness import make_entry
from gossamer.wiring.backends import open_backends
from kit.servers import on_servers
from kit.web import bury, do, make_job, open_web


@pytest.fixture(params=["sqlite", *on_servers("redis and postgres")])
def place(request, tmp_path):
    """What the settings of every process of the place say."""
    if request.param == "sqlite":
        return {}
    urls = {name: request.getfixturevalue(f"{name}_url") for name in ("redis", "postgres")}
    return {
        "frontier": {"url": urls["redis"]},
        "store": {"url": urls["postgres"]},
        "redis": {"prefix": f"delayed-{token_hex(4)}"},
    }


@pytest.fixture
def clock():
    return ManualClock(time.time() + 60.0)  # frontiers have their own, of which letters have their times


@asynccontextmanager
async def dashboard(folder, clock, **place):
    async with open_web(folder, **place) as web:
        web.backends.requests.clock = clock
        yield web


async def end_at_once(web):
    """As a process ends that is killed: nothing that was to be done later is done."""
    tasks = list(web.app.state.parts.tasks)
    assert tasks, "something was to be done"
    await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def another_process(web, clock):
    backends = await open_backends(web.backends.settings)
    backends.requests.clock = clock
    try:
        yield backends
    finally:
        await backends.close()


async def test_a_cancel_survives_its_dashboard(place, tmp_path, clock):
    """A bug it would catch: the job stays paused for ever."""
    async with dashboard(tmp_path, clock, **place) as web, another_process(web, clock) as other:
        job, _ = await make_job(web)
        done = await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        clock.advance(CANCEL_S - 1)
        await finish_due(other)
        assert (await other.book.get(job.id)).state is JobState.PAUSED, "it may be undone yet"
        clock.advance(1)
        await finish_due(other)
        assert (await other.book.get(job.id)).state is JobState.CANCELLED
        assert (await web.get(f"/actions/{done['action']}"))["after"] == {"state": "cancelled"}
        clock.advance(10 * CLAIM_S)
        assert await (await open_timer(other)).claim_due(clock.now()) == [], "it is at its end"


async def test_a_cancel_is_not_given_up_while_its_pause_is_slow(place, tmp_path, clock, monkeypatch):
    """A bug it would catch: another process finds the job still running, and it stays paused for ever."""
    kind = ACTIONS["cancel"]
    async with dashboard(tmp_path, clock, **place) as web, another_process(web, clock) as other:

        async def pause(parts, order):
            clock.advance(CANCEL_S + 1)
            await finish_due(other)
            return await kind.act(parts, order)

        monkeypatch.setitem(ACTIONS, "cancel", kind._replace(act=pause))
        job, _ = await make_job(web)
        done = await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        await finish_due(other)
        assert (await other.book.get(job.id)).state is JobState.CANCELLED
        assert (await web.get(f"/actions/{done['action']}"))["after"] == {"state": "cancelled"}


async def test_of_two_processes_that_find_an_action_one_carries_it_out(place, tmp_path, clock, monkeypatch):
    carried_out = []

    async def cancel(backends, order, done):
        carried_out.append(backends)

    monkeypatch.setitem(ACTIONS, "cancel", ACTIONS["cancel"]._replace(finish=cancel))
    async with dashboard(tmp_path, clock, **place) as web, another_process(web, clock) as other:
        job, _ = await make_job(web)
        await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        clock.advance(CANCEL_S)
        await asyncio.gather(*(finish_due(one) for one in (web.backends, other) for _ in range(3)))
    assert len(carried_out) == 1


async def test_what_was_undone_is_not_carried_out(place, tmp_path, clock, monkeypatch):
    async def start(parts, job):
        pass

    monkeypatch.setattr("gossamer.jobs.job_actions.check_startable", start)
    monkeypatch.setattr("gossamer.jobs.job_actions.start_again", start)
    async with dashboard(tmp_path, clock, **place) as web, another_process(web, clock) as other:
        job, frontier = await make_job(web)
        done = await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        await web.client.request("DELETE", f"/api/v1/actions/{done['action']}")
        clock.advance(CANCEL_S)
        await finish_due(other)
        assert (await frontier.read_stats()).state is JobState.RUNNING


async def test_whoever_takes_it_over_may_be_killed_too(tmp_path, clock, monkeypatch):
    async def fail(backends, order, done):
        raise StorageError("the store is away")

    kind = ACTIONS["cancel"]
    async with dashboard(tmp_path, clock) as web, another_process(web, clock) as other:
        job, _ = await make_job(web)
        await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        clock.advance(CANCEL_S)
        monkeypatch.setitem(ACTIONS, "cancel", kind._replace(finish=fail))
        with pytest.raises(StorageError):
            await finish_due(other)
        monkeypatch.setitem(ACTIONS, "cancel", kind)
        await finish_due(other)
        assert (await other.book.get(job.id)).state is JobState.PAUSED, "somebody may be at it"
        clock.advance(CLAIM_S)
        await finish_due(other)
        assert (await other.book.get(job.id)).state is JobState.CANCELLED


async def test_letters_of_which_a_dashboard_retried_a_part_are_all_retried(
    place, tmp_path, clock, monkeypatch
):
    """A bug it would catch: the others stay dead, and the action says that it is done."""
    monkeypatch.setattr("gossamer.jobs.letter_actions.SLICE", 2)
    async with dashboard(tmp_path, clock, **place) as web, another_process(web, clock) as other:
        job, frontier = await make_job(web)
        await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
        await frontier.add([make_entry(number) for number in range(3, 7)])
        await bury(frontier, web.backends.clock)
        done = await do(web, f"/jobs/{job.id}/dead/retry", expect={"count": 7})
        await end_at_once(web)
        assert done["after"] == {"done": 2}, "the first slice"
        await finish_due(other)
        assert (await frontier.read_stats()).pending == 2, "the dashboard may be at it"
        clock.advance(CLAIM_S)
        await finish_due(other)
        assert (await frontier.read_stats()).pending == 7
        assert (await web.get(f"/actions/{done['action']}"))["after"] == {"done": 7}


@pytest.mark.parametrize("error", [UsageError("no"), KeyError("no"), StorageError("the store is away")])
async def test_an_action_that_fails_holds_up_no_other(tmp_path, clock, monkeypatch, error):
    """A bug it would catch: no crawl of this place begins any more, and the job stays paused for ever."""

    async def fail(backends, order, done):
        raise error

    monkeypatch.setitem(ACTIONS, "retry", ACTIONS["retry"]._replace(finish=fail))
    async with dashboard(tmp_path, clock) as web, another_process(web, clock) as other:
        job, frontier = await make_job(web)
        await bury(frontier, web.backends.clock)
        retry = await do(web, f"/jobs/{job.id}/dead/retry")
        await end_at_once(web)
        await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        clock.advance(CLAIM_S)
        is_tried_again = isinstance(error, StorageError)
        with pytest.raises(StorageError) if is_tried_again else nullcontext():
            await finish_due(other)
        assert (await other.book.get(job.id)).state is JobState.CANCELLED
        noted = (await web.get(f"/actions/{retry['action']}"))["after"]
        assert ("failed" in noted, noted["done"]) == (not is_tried_again, 1)
        clock.advance(CLAIM_S)
        left = await (await open_timer(other)).claim_due(clock.now())
        assert [order.kind for order in left] == ["retry"] * is_tried_again


async def test_an_order_that_cannot_be_read_holds_up_no_other(tmp_path, clock):
    """As one of another version; whoever can read it finds it later."""
    async with dashboard(tmp_path, clock) as web:
        job, _ = await make_job(web)
        await do(web, f"/jobs/{job.id}/actions", do="pause")
        timer = await open_timer(web.backends)
        for number, kind in ((1, 7), (2, "pause")):
            await timer.enter_action(ActionOrder(kind=kind, by="me", number=number), clock.now())
        assert [order.number for order in await timer.claim_due(clock.now())] == [2]
        clock.advance(CLAIM_S)
        assert [order.number for order in await timer.claim_due(clock.now())] == [2]


async def test_a_look_that_fails_is_followed_by_the_next(clock, monkeypatch, caplog):
    looks = []

    async def fail(backends):
        looks.append(backends)
        raise asyncio.CancelledError if len(looks) > 1 else KeyError("no")

    monkeypatch.setattr("gossamer.jobs.delayed_actions.finish_due", fail)
    keeping = asyncio.create_task(keep_finishing(SimpleNamespace(clock=clock)))
    while not keeping.done():
        await asyncio.sleep(0)
        clock.advance(LOOK_S)
    assert keeping.cancelled()
    assert "actions that are due wait" in caplog.text


class Idle(Spider):
    name = "idle"

    async def start(self):
        return
        yield


async def begin_crawl(data):
    await crawl(Idle, data=data)


async def begin_crawl_beside(data):
    async with start_crawl(Idle, data=data) as crawling:
        await crawling.wait()


@pytest.mark.parametrize("begin", [begin_crawl, begin_crawl_beside])
async def test_a_crawl_that_a_program_begins_sees_to_it(tmp_path, begin):
    async with dashboard(tmp_path, ManualClock(time.time() - 2 * CANCEL_S)) as web:
        job, _ = await make_job(web)
        await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        await begin(web.backends.settings.data)
        assert (await web.backends.book.get(job.id)).state is JobState.CANCELLED


async def test_a_crawl_begins_though_what_is_due_cannot_be_done(tmp_path, monkeypatch, caplog):
    async def fail(backends):
        raise StorageError("it is away")

    monkeypatch.setattr("gossamer.jobs.delayed_actions.finish_due", fail)
    result = await run_crawl(CrawlCommand(Idle, overrides={"data": str(tmp_path)}, quiet=True))
    assert result.job == "idle-1"
    assert "actions that are due wait: it is away" in caplog.text


@pytest.mark.parametrize("place", on_servers("redis and postgres"), indirect=True)
async def test_a_fleet_sees_to_it(place, tmp_path, clock):
    async with dashboard(tmp_path, clock, **place) as web, another_process(web, clock) as other:
        job, _ = await make_job(web)
        await do(web, f"/jobs/{job.id}/actions", do="cancel")
        await end_at_once(web)
        clock.advance(CANCEL_S)
        (duty,) = (duty for duty in duties_of(other.settings, other) if duty.name == "actions")
        await duty.run(clock.now())
        assert (await other.book.get(job.id)).state is JobState.CANCELLED


@pytest.fixture
async def neighbours(tmp_path, clock, redis_url):
    """Two dashboards over stores of their own, which share a Redis; each has a job of the same id."""
    given = {"frontier": {"url": redis_url}, "redis": {"prefix": f"delayed-{token_hex(4)}"}}
    async with (
        dashboard(tmp_path / "a", clock, **given) as first,
        dashboard(tmp_path / "b", clock, **given) as second,
    ):
        jobs = [await make_job(web) for web in (first, second)]
        assert jobs[0][0].id == jobs[1][0].id
        yield (first, *jobs[0]), (second, *jobs[1])


async def test_a_cancel_is_carried_out_in_its_own_store_alone(neighbours, clock):
    """A bug it would catch: the other store's action of that number is taken for it."""
    (here, job, _), (there, _, frontier) = neighbours
    await do(there, f"/jobs/{job.id}/actions", do="pause")
    await do(here, f"/jobs/{job.id}/actions", do="cancel")
    await end_at_once(here)
    clock.advance(CANCEL_S)
    await finish_due(there.backends)
    assert (await frontier.read_stats()).state is JobState.PAUSED
    await finish_due(here.backends)
    assert (await here.backends.book.get(job.id)).state is JobState.CANCELLED
    assert (await frontier.read_stats()).state is JobState.PAUSED


async def test_an_undo_takes_back_letters_of_its_own_store_alone(neighbours):
    """A bug it would catch: the letters of the other store's action of that number are buried."""
    numbers = []
    for (web, job, frontier), host in zip(neighbours, ("one.example", "two.example"), strict=True):
        await frontier.change_rules(FrontierRules(delay_s=0.0, per_host=9), expected=FrontierRules())
        await frontier.add([make_entry(10, host)])
        await bury(frontier, web.backends.clock)
        path = f"/jobs/{job.id}/dead/retry"
        done = await do(web, path, filter={"host": host}, expect={"count": 1})
        numbers.append(done["action"])
    assert numbers[0] == numbers[1]
    (web, _, frontier), _ = neighbours
    answer = await web.client.request("DELETE", f"/api/v1/actions/{numbers[0]}")
    assert answer.status_code == 200, answer.text
    assert len(await frontier.dead_letters(DeadLetterFilter(host="one.example"), 9)) == 1
