"""Submitting jobs and steering them: one of a name at a time, and what failed stands in nobody's way."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gossamer.cluster.jobs import change, submission, submit
from gossamer.config import load_settings
from gossamer.wiring.desk import open_desk
from gossamer.wiring.in_redis import roster_of
from gossamer.words.errors import JobBusy, RequestsGone, SettingError, StorageError, UsageError
from gossamer.words.lifecycle import JobState
from gossamer.words.model import Change

TARGET = "https://shop.example/"


@pytest.fixture
def settings(redis_url, tmp_path):
    said = {"data": str(tmp_path), "frontier": {"url": redis_url}}
    return load_settings(env={}, spider=said).settings


@pytest.fixture
async def desk(settings):
    opened = await open_desk(settings, create=True)
    yield opened
    await opened.close()


@pytest.fixture
def wanted(settings):
    said = {"data": settings.data, "frontier.url": settings.frontier.url}
    return submission(TARGET, {}, said)


async def test_a_job_is_in_the_book_and_its_requests_are_there(desk, wanted):
    job = await submit(desk, *wanted)
    assert (job.name, job.target, job.state) == ("shop.example", TARGET, JobState.RUNNING)
    assert (await desk.book.get(job.id)).plan == wanted[1]
    assert (await desk.frontier(job).stats()).waiting == 0
    assert await roster_of(desk).roster.wait_bell(0.1), "the supervisor is told"


async def test_one_of_a_name_at_a_time(desk, wanted):
    first = await submit(desk, *wanted)
    with pytest.raises(JobBusy, match=f"{first.id} .* is running already: `gossamer wait {first.id}`"):
        await submit(desk, *wanted)
    await change(desk, first, Change.PAUSE)
    with pytest.raises(JobBusy, match=f"is paused already: `gossamer resume {first.id}` goes on with it"):
        await submit(desk, *wanted)
    await change(desk, first, Change.CANCEL)
    assert (await submit(desk, *wanted)).id != first.id


async def test_an_interrupted_crawl_of_one_process_is_in_nobodys_way(desk, wanted):
    await desk.book.create("shop.example", TARGET)
    assert (await submit(desk, *wanted)).state is JobState.RUNNING


async def test_a_job_that_could_not_begin_is_over(desk, wanted, monkeypatch):
    async def full(job, rules):
        raise StorageError("Redis is full")

    monkeypatch.setattr(desk.requests, "make", full)
    with pytest.raises(StorageError, match="Redis is full"):
        await submit(desk, *wanted)
    (job,) = await desk.book.list()
    assert (job.state, job.finish_reason) == (JobState.CANCELLED, "not begun")
    assert job.finished_at is not None
    monkeypatch.undo()
    assert (await submit(desk, *wanted)).state is JobState.RUNNING


async def test_what_may_be_done_to_a_job(desk, wanted):
    job = await submit(desk, *wanted)
    for what, state, reason in (
        (Change.PAUSE, JobState.PAUSED, "paused"),
        (Change.RESUME, JobState.RUNNING, ""),
        (Change.CANCEL, JobState.CANCELLED, "cancelled"),
    ):
        job = await change(desk, job, what)
        assert (job.state, job.finish_reason) == (state, reason)
        assert replace(await desk.book.get(job.id), finished_at=None) == replace(job, finished_at=None)
        assert (await desk.frontier(job).stats()).state is state
    with pytest.raises(UsageError, match=f"{job.id} is cancelled; there is nothing to pause"):
        await change(desk, job, Change.PAUSE)


async def test_a_job_whose_requests_are_gone_can_be_cancelled_and_no_more(desk, wanted):
    job = await submit(desk, *wanted)
    await desk.requests.server.client.flushdb()
    for what in (Change.PAUSE, Change.RESUME):
        with pytest.raises(RequestsGone, match=f"gossamer cancel {job.id}"):
            await change(desk, job, what)
    assert (await change(desk, job, Change.CANCEL)).state is JobState.CANCELLED
    assert (await submit(desk, *wanted)).state is JobState.RUNNING


async def test_requests_in_a_file_are_none_of_a_fleets(tmp_path):
    settled, plan, name, text = submission(TARGET, {}, {"data": str(tmp_path)})
    desk = await open_desk(settled, create=True)
    try:
        with pytest.raises(SettingError, match=r"set frontier.url to redis://HOST/0"):
            await submit(desk, settled, plan, name, text)
        assert await desk.book.list() == []
    finally:
        await desk.close()
