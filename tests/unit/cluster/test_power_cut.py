"""A Redis that loses power while a job is seeded: the job does not end before its seeds were fetched."""

from __future__ import annotations

import asyncio

import pytest

from gossamer.cluster import shift_task
from gossamer.cluster.running import make_supervisor
from gossamer.config.layers import load_settings
from gossamer.core.errors import LostRequestsError
from gossamer.core.lifecycle import JobState
from gossamer.core.shifts import SEED_LANE, EndReason, Shift
from gossamer.engine.seeding import Seeder
from gossamer.jobs.control import prepare_submission, submit_job
from gossamer.wiring.backends import open_backends
from kit.servers import SYNCED, RedisProcess

TARGET = "https://shop.example/"


class Messages:
    """Port of the broker: what was asked for."""

    def __init__(self):
        self.shifts = []

    def publish(self, shifts):
        self.shifts += shifts


async def quiet():
    pass


def shift_of(job, number):
    return Shift(id=f"{job.id}:seed:{number}", job=job.id, lane=SEED_LANE, worker="w", expires_at=0.0)


async def test_a_job_whose_creation_was_lost_is_made_and_seeded_anew(tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.fleet.job_monitor.YOUNG_S", 0.0)
    with RedisProcess(options=SYNCED) as process:
        given = {"data": str(tmp_path), "frontier.url": process.url, "robots": False}
        settings = load_settings(env={}, overrides=given).settings
        backends = await open_backends(settings, create=True)
        before = process.written()
        job = await submit_job(backends, *prepare_submission(TARGET, {}, given))
        await asyncio.to_thread(process.cut_power, before)
        with pytest.raises(LostRequestsError):
            await backends.open_frontier(job).read_stats()
        fleet = make_supervisor(settings, backends, Messages(), "me")
        leading = asyncio.create_task(fleet._renew_leadership())
        try:
            await fleet._leading.wait()
            await fleet.check_jobs()
            end = await shift_task.ShiftTask(shift_of(job, 1), settings, backends, quiet).run()
            assert end.why is EndReason.SEEDED
            stats = await backends.open_frontier(job).read_stats()
            assert (stats.seeded, stats.pending) == (True, 1)
        finally:
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)
            await backends.close()


async def test_seeds_lost_between_the_last_answer_and_the_mark_are_added_again(tmp_path, monkeypatch):
    with RedisProcess(options=SYNCED) as process:
        given = {"data": str(tmp_path), "frontier.url": process.url, "robots": False}
        settings = load_settings(env={}, overrides=given).settings
        backends = await open_backends(settings, create=True)
        settled, plan, name, text = prepare_submission(TARGET, {}, given)
        job = await submit_job(backends, settled, plan, name, text)
        before = process.written()
        seed = Seeder.add_seeds

        async def cut_off(self, requests):
            await seed(self, requests)
            await asyncio.to_thread(process.cut_power, before)

        monkeypatch.setattr(Seeder, "add_seeds", cut_off)
        end = await shift_task.ShiftTask(shift_of(job, 1), settings, backends, quiet).run()
        monkeypatch.undo()
        messages = Messages()
        fleet = make_supervisor(settings, backends, messages, "me")
        leading = asyncio.create_task(fleet._renew_leadership())
        try:
            await fleet._leading.wait()
            await fleet.check_jobs()
            after = await backends.book.get(job.id)
            assert (after.state, after.finished_at) == (JobState.RUNNING, None), "nothing was fetched"
            assert (end.why, "was restarted" in end.detail) == (EndReason.FAILED, True)
            end = await shift_task.ShiftTask(shift_of(job, 2), settings, backends, quiet).run()
            assert end.why is EndReason.SEEDED
            stats = await backends.open_frontier(job).read_stats()
            assert (stats.seeded, stats.pending) == (True, 1)
        finally:
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)
            await backends.close()
