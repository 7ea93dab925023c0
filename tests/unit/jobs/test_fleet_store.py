"""Two stores on one Redis and one fleet name: whoever has the other store refuses, and says what to do."""

from __future__ import annotations

import asyncio

import pytest
from typer.testing import CliRunner

from gossamer.cli.app import build_app
from gossamer.cluster import running
from gossamer.cluster.shift_task import ShiftTask
from gossamer.cluster.worker_process import WorkerProcess
from gossamer.config.layers import load_settings
from gossamer.core.actions import ActionOrder
from gossamer.core.errors import JobBusyError, SettingError
from gossamer.core.jobs import DeadLetterFilter, tag_of
from gossamer.core.lifecycle import JobCommand
from gossamer.core.shifts import EndReason, Shift
from gossamer.jobs.acting import perform_action
from gossamer.jobs.action_kind import ActionParts
from gossamer.jobs.control import change_job, prepare_submission, revive_letters, submit_job
from gossamer.web import serving
from gossamer.wiring.backends import open_backends

TARGET = "https://shop.example/"


class Side:
    """A data directory with a store of its own, on the Redis that all share."""

    def __init__(self, folder, redis_url):
        self.given = {"data": str(folder), "frontier.url": redis_url, "dashboard.port": 0}
        self.loaded = load_settings(env={}, overrides=self.given)
        self.settings = self.loaded.settings
        self.file = str(folder / "gossamer.db")
        self.backends = None

    async def submit(self, **more):
        return await submit_job(self.backends, *prepare_submission(TARGET, {}, self.given | more))


@pytest.fixture
async def sides(tmp_path, redis_url):
    """Side A, which is there first, and side B."""
    both = [Side(tmp_path / name, redis_url) for name in ("a", "b")]
    for side in both:
        side.backends = await open_backends(side.settings, create=True)
    yield both
    for side in both:
        await side.backends.close()


async def test_whoever_comes_with_another_store_refuses_to_start(sides):
    a, b = sides
    await a.submit()
    worker = WorkerProcess(b.settings, slots=1, lanes=("http",))
    await asyncio.to_thread(worker.begin)

    async def supervise():
        await running._desk_in_time(b.settings)

    refusals = []
    for start in (
        b.submit,
        supervise,
        lambda: asyncio.to_thread(worker.start),
    ):
        with pytest.raises(SettingError) as caught:
            await start()
        refusals.append(str(caught.value))
    await asyncio.to_thread(worker.close)
    (said,) = set(refusals)
    assert said.count(a.file) == said.count(b.file) == 1
    assert said.startswith("the fleet 'default' in redis://")
    assert "cluster.fleet=NAME" in said
    assert "`gossamer fleet --adopt-store`" in said
    assert await b.backends.book.list_jobs() == []


async def test_a_dashboard_with_another_store_starts_and_warns(sides, monkeypatch, caplog):
    """Its crawls may be no fleet's: the Redis remembers a fleet that was there once."""
    a, b = sides
    await a.submit()
    served = []

    async def serve(parts, settings, listening):
        served.append(settings)

    monkeypatch.setattr(serving, "_serve_parts", serve)
    await asyncio.to_thread(serving.run_dashboard, b.loaded)
    assert len(served) == 1
    (said,) = (record.getMessage() for record in caplog.records if record.levelname == "WARNING")
    assert said.startswith("the dashboard cannot steer this fleet: the fleet 'default' in redis://")


async def test_no_job_of_another_store_is_steered(sides):
    a, b = sides
    job = await b.submit()
    await a.backends.require_fleet().roster.adopt_store(await a.backends.read_store())
    parts = ActionParts(b.backends, b.loaded, lambda work: None)
    for steer in (
        change_job(b.backends, job, JobCommand.PAUSE),
        revive_letters(b.backends, job, DeadLetterFilter()),
        perform_action(parts, ActionOrder(kind="pause", by="me", job=job.id)),
        perform_action(parts, ActionOrder(kind="drain", by="me", who="w")),
    ):
        with pytest.raises(SettingError, match="works with the store"):
            await steer
    embedded = await b.backends.book.create("own", TARGET)
    await b.backends.requests.create_frontier(embedded, b.backends.open_frontier(embedded)._rules)
    assert (await change_job(b.backends, embedded, JobCommand.PAUSE)).state == "paused", "it is no fleet's"


async def test_a_fleet_of_another_name_is_another_one(sides):
    a, b = sides
    await a.submit()
    other = b.settings.model_copy(update={"cluster": b.settings.cluster.model_copy(update={"fleet": "mine"})})
    backends = await open_backends(other)
    await backends.join_fleet()
    await backends.close()


async def test_a_fleet_adopts_a_store_when_the_other_one_is_gone(sides):
    a, b = sides
    await a.submit()
    options = [word for key, value in b.given.items() for word in ("-s", f"{key}={value}")]

    def adopt():
        return CliRunner().invoke(build_app(), ["fleet", "--adopt-store", *options])

    roster = a.backends.require_fleet().roster
    await roster.claim_leadership("s1", 30.0)
    refused = await asyncio.to_thread(adopt)
    assert refused.exit_code == JobBusyError.exit_code
    assert f"{a.file} on " in refused.output
    assert "a supervisor of it is there; end them first" in refused.output
    await roster.claim_leadership("s1", 0)
    done = await asyncio.to_thread(adopt)
    assert (done.exit_code, b.file in done.stdout) == (0, True), done.output
    assert (await b.submit()).state == "running"
    with pytest.raises(SettingError, match="works with the store"):
        await a.submit()


async def test_a_leading_supervisor_enters_its_store_again_when_redis_has_lost_it(sides):
    a, b = sides
    await b.backends.require_fleet().roster.adopt_store(await b.backends.read_store())
    supervisor = running.make_supervisor(a.settings, a.backends, None, "me")
    with pytest.raises(SettingError, match="works with the store"):
        await a.backends.join_fleet()
    await b.backends.requests.server.client.flushdb()
    await supervisor.check_jobs()
    with pytest.raises(SettingError, match="works with the store"):
        await b.backends.join_fleet()


async def test_a_shift_for_a_job_of_another_store_is_refused(sides):
    a = sides[0]
    ours, theirs = [await side.backends.book.create("shop", TARGET, plan=b"plan") for side in sides]
    assert ours.id == theirs.id
    shift = Shift(id="s", job=ours.id, tag=tag_of(theirs), lane="http", worker="w", expires_at=0.0)

    async def quiet():
        pass

    end = await ShiftTask(shift, a.settings, a.backends, quiet).run()
    assert (end.why, "of another store" in end.detail) == (EndReason.REFUSED, True)
