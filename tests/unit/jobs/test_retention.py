"""Jobs that are history: Redis forgets them, and whoever looks at them is told so."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest
from msgspec.structs import replace

from gossamer.cli.app import build_app
from gossamer.config.layers import load_settings
from gossamer.core.errors import JobBusyError, LostRequestsError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import tag_of
from gossamer.core.lifecycle import JobCommand, JobState
from gossamer.core.requests import Request
from gossamer.drivers.redis.server import RedisServer
from gossamer.fetch.spaces import LOG_INS
from gossamer.fetch.trusted_hosts import TrustedHosts
from gossamer.jobs.control import change_job, prepare_submission, submit_job
from gossamer.jobs.retention import FleetJobStore, RetentionDuty
from gossamer.wiring import redis
from gossamer.wiring.backends import open_backends
from gossamer.wiring.ladder import session_pool_of

TARGET = "https://shop.example/"
DAY_S = 86_400.0


@pytest.fixture
def said(redis_url, tmp_path):
    return {"data": str(tmp_path), "frontier": {"url": redis_url, "dedup": "bloom"}}


@pytest.fixture
def settings(said):
    return load_settings(env={}, spider=said).settings


@pytest.fixture
async def backends(settings):
    opened = await open_backends(settings, create=True)
    yield opened
    await opened.close()


async def submitted(backends, settings, name="shop.example", **more):
    given = {"data": settings.data, "frontier.url": settings.frontier.url, "frontier.dedup": "bloom", **more}
    settled, plan, _, text = prepare_submission(TARGET, {}, given)
    return await submit_job(backends, settled, plan, name, text)


async def ended(backends, job, days):
    job = replace(job, state=JobState.FINISHED, finished_at=backends.clock.now() - days * DAY_S)
    await backends.book.update(job)
    return job


async def keys(backends, name):
    return [
        key for key in await backends.require_fleet().server.run_command("KEYS", "*") if name.encode() in key
    ]


async def keep_sessions(settings, backends, job):
    """Have an identity and a log-in of the job in shared state."""
    shared, clock = backends.requests.shared, backends.clock
    pool = session_pool_of(settings, shared, clock, job)
    await pool.retire_session(await pool.open_session(Request(TARGET), "shop.example", "http"))
    await shared.put(LOG_INS, f"{tag_of(job)} shop.example 00", b"x", DAY_S)


async def test_what_ended_long_ago_is_deleted_and_nothing_else(backends, settings):
    old = await submitted(backends, settings, "old")
    young = await submitted(backends, settings, "young")
    paused = await submitted(backends, settings, "paused")
    for job in (old, young, paused):
        await backends.open_frontier(job).finish_seeding()
        await TrustedHosts(backends.requests.shared, job).trust_place("10.0.0.1:80")
        await keep_sessions(settings, backends, job)
    await ended(backends, young, 29)
    paused = replace(paused, state=JobState.PAUSED, finished_at=backends.clock.now() - 99 * DAY_S)
    await backends.book.update(paused)
    await RetentionDuty(settings, backends).run(backends.clock.now())
    assert await keys(backends, "old-1"), "it has not ended"
    old = await ended(backends, old, 31)
    for_ever = settings.model_copy(update={"frontier": settings.frontier.model_copy(update={"keep": None})})
    await RetentionDuty(for_ever, backends).run(backends.clock.now())
    assert (await backends.open_frontier(old).read_stats()).seeded
    await RetentionDuty(settings, backends).run(backends.clock.now())
    await asyncio.sleep(0.01)  # marks expire within a millisecond
    assert await keys(backends, "old-1") == []
    for job in (young, paused):
        stats = await backends.open_frontier(job).read_stats()
        assert (stats.seeded, stats.waiting) == (True, 0)
    await RetentionDuty(settings, backends).run(backends.clock.now())


async def test_marks_and_requests_of_another_store_count_for_nothing(backends, settings):
    job = await submitted(backends, settings)
    await backends.open_frontier(job).finish_seeding()
    namesake = replace(job, key=b"of another store")
    with pytest.raises(LostRequestsError):
        await backends.open_frontier(namesake).read_stats()


async def test_a_fleet_looks_at_its_own_jobs_only(backends, settings):
    job = await submitted(backends, settings, **{"cluster.fleet": "other"})
    await change_job(backends, job, JobCommand.PAUSE)
    assert await FleetJobStore(backends.book, "default").list_jobs() == []
    assert [found.id for found in await FleetJobStore(backends.book, "other").list_jobs()] == [job.id]


def test_status_wait_jobs_and_explain_of_a_job_that_is_forgotten(settings, said, capsys, monkeypatch):
    async def prepare():
        backends = await open_backends(settings, create=True)
        job = await submitted(backends, settings)
        await ended(backends, job, 31)
        await RetentionDuty(settings, backends).run(backends.clock.now())
        broken = await backends.book.create("broken", TARGET, plan=b"no plan")
        await backends.close()
        return job.id, broken.id

    job, broken = asyncio.run(prepare())
    monkeypatch.setenv("GOSSAMER_FRONTIER__URL", settings.frontier.url)

    def run(*words):
        code = exit_code(*words, "--data", settings.data)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    code, out, _ = run("status", job)
    assert (code, "frontier.keep" in out) == (0, True)
    code, out, _ = run("status", job, "--json")
    assert (code, json.loads(out)["forgotten"], json.loads(out)["queue"]) == (0, True, None)
    code, _, err = run("wait", job)
    assert (code, "frontier.keep" in err) == (0, True)
    code, out, _ = run("explain", TARGET, "--job", job)
    assert (code, "frontier.keep" in out) == (0, True)
    code, out, err = run("jobs", "--json")
    waiting = {row["job"]: row["waiting"] for row in json.loads(out)}
    assert (code, waiting, broken in err) == (0, {job: 0, broken: None}, True)


def test_status_tells_how_sure_a_filter_is(settings, capsys, monkeypatch):
    async def prepare():
        backends = await open_backends(settings, create=True)
        job = await submitted(backends, settings)
        await backends.close()
        return job.id

    job = asyncio.run(prepare())
    monkeypatch.setenv("GOSSAMER_FRONTIER__URL", settings.frontier.url)
    assert exit_code("status", job, "--data", settings.data, "--json") == 0
    assert json.loads(capsys.readouterr().out)["dedup"] == {"kind": "bloom", "known": 0, "error_rate": 0.0}
    assert exit_code("status", job, "--data", settings.data) == 0
    assert "bloom; 0.0000% of new URLs" in capsys.readouterr().out


def exit_code(*words):
    try:
        return build_app(words[0])(list(words), prog_name="gossamer") or 0
    except SystemExit as end:
        return end.code or 0


async def test_a_crawl_that_lost_its_lock_leases_nothing_more(backends, monkeypatch):
    monkeypatch.setattr(redis, "LOCK_S", 0.3)
    requests = backends.require_fleet()
    job = await backends.book.create("shop.example", TARGET)
    await requests.create_frontier(job, FrontierRules())
    frontier = requests.open_frontier(job, FrontierRules())
    async with requests.lock_target(TARGET):
        assert (await frontier.lease("http", 1, 60)).leases == ()
        lock = redis.RedisRoster(requests.server, f"crawl:{TARGET}", requests.clock)
        (leader,) = [(await lock.read_roster()).leader]
        await lock.claim_leadership(leader, 0.0)  # as if it had not been heard of
        assert await lock.claim_leadership("another", 60.0) is not None
        with pytest.raises(JobBusyError, match=r"is being crawled by another process now \(another\)"):
            await lease_until_refused(frontier)


async def lease_until_refused(frontier):
    async with asyncio.timeout(10):
        while True:
            await frontier.lease("http", 1, 60)


async def test_what_could_not_be_checked_is_said_once(settings, caplog, monkeypatch):
    async def check(self, **_options):
        return "Redis at h does not report its version"

    monkeypatch.setattr(RedisServer, "check_server", check)
    redis._warn_once.cache_clear()
    with caplog.at_level(logging.WARNING, logger="gossamer.redis"):
        for _ in range(2):
            await (await open_backends(settings, create=True)).close()
    assert [record.getMessage()[:38] for record in caplog.records] == [
        "Redis at h does not report its version"
    ]
