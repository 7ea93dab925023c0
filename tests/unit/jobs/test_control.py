"""Submitting jobs and steering them: one of a name at a time, and what failed stands in nobody's way."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from msgspec.structs import asdict, replace

from gossamer.callbacks.pipelines import SpiderPipeline
from gossamer.cli.app import build_app
from gossamer.cli.commands.crawl import crawl_target
from gossamer.cli.commands.dead import _fetched_by
from gossamer.cli.commands.jobs import _pace_facts
from gossamer.cli.commands.submit import _until_over, submit_crawl
from gossamer.config.layers import load_settings
from gossamer.core.errors import JobBusyError, LostRequestsError, SettingError, StorageError, UsageError
from gossamer.core.hosts import FrontierRules
from gossamer.core.jobs import DeadLetterFilter, Job, JobTotals
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.core.requests import Entry, Request
from gossamer.core.results import Attempt, Outcome, Verdict
from gossamer.core.shifts import Shift
from gossamer.jobs.control import (
    change_job,
    prepare_submission,
    revive_letters,
    submit_job,
    wait_for_rest,
)
from gossamer.policy.job_profile import JobProfile, encode_profile
from gossamer.queries.documents import to_document
from gossamer.queries.jobs import summarise_job
from gossamer.queries.status import JobStatus
from gossamer.targets.discovery import find_target
from gossamer.targets.plan import JobPlan, pack_plan, plan_from
from gossamer.testing.contracts.frontier_harness import make_entry, make_outcome
from gossamer.wiring import assemble as wiring
from gossamer.wiring import routing
from gossamer.wiring.backends import open_backends
from gossamer.wiring.job_choice import choose_job
from gossamer.wiring.redis import RedisFrontierBackend

TARGET = "https://shop.example/"
ATTEMPT = Attempt(at=1.0, url=TARGET, fingerprint=1, verdict=Verdict.SUCCESS)


@pytest.fixture
def settings(redis_url, tmp_path):
    said = {"data": str(tmp_path), "frontier": {"url": redis_url}}
    return load_settings(env={}, spider=said).settings


@pytest.fixture
async def backends(settings):
    opened = await open_backends(settings, create=True)
    yield opened
    await opened.close()


@pytest.fixture
def wanted(settings):
    said = {"data": settings.data, "frontier.url": settings.frontier.url}
    return prepare_submission(TARGET, {}, said)


async def test_a_job_is_in_the_book_and_its_requests_are_there(backends, wanted):
    job = await submit_job(backends, *wanted)
    assert (job.name, job.target, job.state) == ("shop.example", TARGET, JobState.RUNNING)
    assert (await backends.book.get(job.id)).plan == wanted[1]
    assert (await backends.open_frontier(job).read_stats()).waiting == 0
    assert await backends.require_fleet().roster.wait_for_notification(0.1), "the supervisor is told"


async def test_one_of_a_name_at_a_time(backends, wanted):
    first = await submit_job(backends, *wanted)
    with pytest.raises(JobBusyError, match=f"{first.id} .* is running already: `gossamer wait {first.id}`"):
        await submit_job(backends, *wanted)
    await change_job(backends, first, JobCommand.PAUSE)
    with pytest.raises(JobBusyError, match=f"is paused already: `gossamer resume {first.id}` continues it"):
        await submit_job(backends, *wanted)
    await change_job(backends, first, JobCommand.CANCEL)
    assert (await submit_job(backends, *wanted)).id != first.id


async def test_of_many_who_submit_one_name_at_once_one_wins(backends, wanted):
    tries = (submit_job(backends, *wanted) for _ in range(6))
    ends = await asyncio.gather(*tries, return_exceptions=True)
    (won,) = [end for end in ends if not isinstance(end, Exception)]
    refusals = {str(end) for end in ends if isinstance(end, JobBusyError)}
    assert [said.partition(" already:")[0] for said in refusals] == [f"{won.id} ({won.target}) is running"]
    assert [job.id for job in await backends.book.list_jobs()] == [won.id]


async def test_an_interrupted_crawl_of_one_process_is_in_nobodys_way(backends, wanted):
    await backends.book.create("shop.example", TARGET)
    assert (await submit_job(backends, *wanted)).state is JobState.RUNNING


async def test_a_job_that_could_not_begin_is_over(backends, wanted, monkeypatch):
    async def full(job, rules):
        raise StorageError("Redis is full")

    monkeypatch.setattr(backends.requests, "create_frontier", full)
    with pytest.raises(StorageError, match="Redis is full"):
        await submit_job(backends, *wanted)
    (job,) = await backends.book.list_jobs()
    assert (job.state, job.end_reason) == (JobState.CANCELLED, "not begun")
    assert job.finished_at is not None
    monkeypatch.undo()
    assert (await submit_job(backends, *wanted)).state is JobState.RUNNING


async def test_what_may_be_done_to_a_job(backends, wanted):
    job = await submit_job(backends, *wanted)
    for what, state, reason in (
        (JobCommand.PAUSE, JobState.PAUSED, "paused"),
        (JobCommand.RESUME, JobState.RUNNING, None),
        (JobCommand.CANCEL, JobState.CANCELLED, "cancelled"),
    ):
        job = await change_job(backends, job, what)
        assert (job.state, job.end_reason) == (state, reason)
        assert replace(await backends.book.get(job.id), finished_at=None) == replace(job, finished_at=None)
        assert (await backends.open_frontier(job).read_stats()).state is state
    with pytest.raises(UsageError, match=f"{job.id} is cancelled; there is nothing to pause"):
        await change_job(backends, job, JobCommand.PAUSE)


async def test_a_job_whose_cancelling_was_cut_off_can_only_be_cancelled(backends, wanted):
    job = await submit_job(backends, *wanted)
    await backends.open_frontier(job).apply_change(JobCommand.CANCEL)
    for what in (JobCommand.PAUSE, JobCommand.RESUME):
        refusal = f"{job.id}: a job that is cancelled cannot take the command {what}"
        with pytest.raises(UsageError, match=refusal):
            await change_job(backends, job, what)
    assert (await change_job(backends, job, JobCommand.CANCEL)).state is JobState.CANCELLED


async def test_a_job_whose_requests_are_gone_can_be_cancelled_and_no_more(backends, wanted):
    job = await submit_job(backends, *wanted)
    await backends.requests.server.client.flushdb()
    resumed = await change_job(backends, job, JobCommand.RESUME)
    assert resumed.state is JobState.RUNNING, "the supervisor makes its requests anew: it had not begun"
    await backends.store.record_attempts(job, [ATTEMPT])
    for what in (JobCommand.PAUSE, JobCommand.RESUME):
        with pytest.raises(LostRequestsError, match=f"gossamer cancel {job.id}"):
            await change_job(backends, job, what)
    assert (await change_job(backends, job, JobCommand.CANCEL)).state is JobState.CANCELLED
    assert (await submit_job(backends, *wanted)).state is JobState.RUNNING


async def test_requests_in_a_file_are_none_of_a_fleets(tmp_path):
    settled, plan, name, text = prepare_submission(TARGET, {}, {"data": str(tmp_path)})
    backends = await open_backends(settled, create=True)
    try:
        with pytest.raises(
            SettingError, match=r"redis://HOST/0, or crawl on this machine with `gossamer crawl`"
        ):
            await submit_job(backends, settled, plan, name, text)
        assert await backends.book.list_jobs() == []
    finally:
        await backends.close()


def test_crawl_takes_what_submit_takes():
    """As it is said to whoever submits without a fleet."""
    submitted, crawled = (set(inspect.signature(each).parameters) for each in (submit_crawl, crawl_target))
    assert submitted <= crawled


# --------------------------------------------------------------------------- dead letters


async def with_dead_letter(backends, job):
    """One request of the job, given up."""
    frontier = backends.requests.open_frontier(job, FrontierRules(delay_s=0.0))
    await frontier.add([Entry(request=Request(TARGET), fingerprint=1, host="shop.example")])
    (lease,) = (await frontier.lease("http", 1, 60.0)).leases
    await frontier.settle([Outcome(lease=lease, verdict=Verdict.DEAD, reason="server")])


@pytest.mark.parametrize(
    ("state", "ended", "runs", "hint"),
    [
        (JobState.FINISHED, True, True, "`gossamer wait"),
        (JobState.RUNNING, True, True, "`gossamer wait"),
        (JobState.PAUSED, False, False, "`gossamer resume"),
        (JobState.CANCELLED, True, False, "`gossamer submit`"),
    ],
)
async def test_dead_letters_of_a_fleets_job_are_tried_again_by_the_fleet(
    backends, wanted, state, ended, runs, hint
):
    job = await submit_job(backends, *wanted)
    await with_dead_letter(backends, job)
    await backends.open_frontier(job).apply_change(JobCommand.FINISH)
    over = replace(job, state=state, finished_at=9.0 if ended else None, end_reason=FinishReason.MAX_TIME)
    await backends.book.update(over)
    while await backends.require_fleet().roster.wait_for_notification(0):
        pass
    found, count = await revive_letters(backends, over, DeadLetterFilter())
    assert count == 1
    assert found == await backends.book.get(job.id) == (job if runs else over)
    assert await backends.require_fleet().roster.wait_for_notification(0), "the supervisor is told"
    assert hint in _fetched_by(found)


@pytest.mark.parametrize(("finds", "looks"), [(2, 2), (99, 50)])
async def test_waiting_for_a_crawl_of_one_machine_includes_the_look_at_its_items(
    tmp_path, monkeypatch, finds, looks
):
    """Bug it would catch: `gossamer wait --json` of a crawl that ended a moment ago lacked the findings."""
    own = await open_backends(load_settings(env={}, overrides={"data": str(tmp_path)}).settings, create=True)
    clock, now, slept = own.clock, own.clock.now(), []
    job = await own.book.create("shop", TARGET)
    over = replace(job, state=JobState.FINISHED, finished_at=now)
    await own.profiles.save_profile(job, now - 9, encode_profile(profile_at(job, now - 9)))

    async def sleep(seconds):
        slept.append(seconds)
        if len(slept) == finds:
            await own.profiles.save_profile(job, now + 1, encode_profile(profile_at(job, now + 1)))

    monkeypatch.setattr(type(clock), "now", lambda _: now + sum(slept))
    monkeypatch.setattr(type(clock), "sleep", lambda _, seconds: sleep(seconds))
    try:
        await wait_for_rest(own, over)
        assert slept == [], "no process has it"
        async with own.requests.lock_target(TARGET):
            await wait_for_rest(own, over)
    finally:
        await own.close()
    assert len(slept) == pytest.approx(looks, abs=1)


def profile_at(job, at):
    return JobProfile(job=job.id, at=at, pages=1, items=1, sampled=1)


# --------------------------------------------------------------------------- other fleets, other crawls


async def test_the_supervisor_of_the_jobs_own_fleet_is_told(backends, settings):
    said = {"data": settings.data, "frontier.url": settings.frontier.url, "cluster.fleet": "theirs"}
    theirs = settings.model_copy(update={"cluster": settings.cluster.model_copy(update={"fleet": "theirs"})})
    there = RedisFrontierBackend(theirs, backends.requests.server, backends.requests.clock).roster
    other = await open_backends(theirs)
    try:
        job = await submit_job(other, *prepare_submission(TARGET, {}, said))
    finally:
        await other.close()
    while await there.wait_for_notification(0):
        pass
    await change_job(backends, job, JobCommand.PAUSE)
    assert await there.wait_for_notification(0)
    assert not await backends.require_fleet().roster.wait_for_notification(0)


async def test_a_crawl_of_one_process_takes_up_no_job_of_the_fleet(backends, wanted):
    target = find_target(TARGET, {}, None)
    own = await backends.book.create(target.name, target.text)
    job = await submit_job(backends, *wanted)
    with pytest.raises(JobBusyError, match=f"{job.id} is a job of the fleet"):
        await choose_job(backends, target, fresh=False, key=b"")
    # Its pages were enough: it is over, though its state says that more could be done.
    await backends.book.update(replace(job, finished_at=9.0, end_reason=FinishReason.MAX_PAGES))
    assert await choose_job(backends, target, fresh=False, key=b"") == (own, True)
    await backends.book.update(replace(own, state=JobState.CANCELLED))
    made, resumed = await choose_job(backends, target, fresh=False, key=b"")
    assert (made.plan, resumed) == (b"", False)


async def test_a_crawl_with_a_key_is_one_job(backends):
    target, key = find_target(TARGET, {}, None), bytes(range(16))
    await backends.book.create(target.name, target.text)
    made, is_old = await choose_job(backends, target, fresh=False, key=key)
    assert (made.key, is_old) == (key, False), "not the latest of its target"
    await backends.book.create(target.name, target.text)
    assert await choose_job(backends, target, fresh=False, key=key) == (made, True)
    assert await choose_job(backends, target, fresh=True, key=key) == (made, True)
    await backends.book.update(replace(made, state=JobState.CANCELLED))
    with pytest.raises(UsageError, match=f"{made.id} is cancelled: a key starts only one job"):
        await choose_job(backends, target, fresh=False, key=key)


async def test_nobody_is_waited_for_who_was_killed(backends, capsys):
    job = await backends.book.create("shop.example", TARGET)
    found = await _until_over(backends, job, 30.0, quiet=True)
    assert (found.state, found.end_reason) == (JobState.RUNNING, "interrupted")
    assert f"nothing is working on {job.id}; the same `gossamer crawl`" in capsys.readouterr().err


@pytest.mark.parametrize("fails", ["extractor_of", "pipeline"])
async def test_what_was_opened_for_a_crawl_that_cannot_begin_is_closed(
    backends, settings, monkeypatch, fails
):
    target, closed = find_target(TARGET, {}, None), []
    fetcher_of, pipelines = routing.fetcher_of, SpiderPipeline

    def fetcher(*args, **named):
        made = fetcher_of(*args, **named)
        monkeypatch.setattr(type(made), "close", noted("fetcher", type(made).close))
        return made

    def noted(what, close):
        async def closing(self):
            closed.append(what)
            await close(self)

        return closing

    def broken(*_):
        raise UsageError("it does not open")

    monkeypatch.setattr(routing, "fetcher_of", fetcher)
    monkeypatch.setattr(pipelines, "close", noted("pipeline", pipelines.close))
    if fails == "pipeline":
        monkeypatch.setattr(pipelines, "open_pipeline", broken)
    else:
        monkeypatch.setattr(wiring, "extractor_of", broken)
    job = await backends.book.create(target.name, target.text)
    with pytest.raises(UsageError, match="it does not open"):
        await wiring.assemble_worker(settings, target, backends, job, sinks=(), resumed=False)
    assert closed == ["pipeline", "fetcher"]


async def test_the_fleet_is_shown_with_all_fields(backends):
    shown = to_document(
        replace(
            await backends.require_fleet().roster.read_roster(), shifts=(Shift(id="a", job="b", lane="c"),)
        )
    )
    assert {"leader", "workers", "shifts", "standings", "ends", "samples"} <= set(shown)
    assert (shown["leader"], shown["workers"], shown["samples"]) == ("", [], {})
    (shift,) = shown["shifts"]
    assert (shift["state"], shift["pages"], shift["recalled"]) == ("asked", 0, None)


async def submit_url(backends, url):
    said = {"data": backends.settings.data, "frontier.url": backends.settings.frontier.url}
    submission = prepare_submission(url, {}, said)
    return await submit_job(backends, *submission), plan_from(submission[1]).hosts


async def test_who_submits_learns_of_other_jobs_that_ask_the_same_host(backends):
    first, _ = await submit_url(backends, TARGET)
    news, hosts = await submit_url(backends, "https://news.shop.example/sale")
    assert await backends.warn_of_shared_hosts(news, hosts) == [], "it may ask this host, and has not"
    frontier = backends.open_frontier(first)
    await frontier.add([make_entry(1, "news.shop.example")])
    (said,) = await backends.warn_of_shared_hosts(news, hosts)
    assert f"{news.id} and {first.id} ({TARGET}) both crawl news.shop.example: they share its pace" in said
    (lease,) = (await frontier.lease("http", 1, 60.0)).leases
    assert len(await backends.warn_of_shared_hosts(news, hosts)) == 1, "it asks the host now"
    await frontier.settle([make_outcome(lease, Verdict.SUCCESS, backends.clock.now())])
    assert await backends.warn_of_shared_hosts(news, hosts) == [], "it has asked the host, and is done there"
    await frontier.add([make_entry(2, "news.shop.example")])
    await change_job(backends, first, JobCommand.PAUSE)
    assert await backends.warn_of_shared_hosts(news, hosts) == []


async def test_many_jobs_are_one_warning_for_each_host_that_they_share(backends, monkeypatch):
    """Jobs at other ports of this machine name its domain, and ask other hosts."""
    for port in range(8000, 8020):
        await submit_url(backends, f"http://127.0.0.1:{port}/")
    job, hosts = await submit_url(backends, "http://127.0.0.1:9000/")
    reads = []
    opened = backends.open_frontier
    monkeypatch.setattr(backends, "open_frontier", lambda job: reads.append(job.id) or opened(job))
    assert await backends.warn_of_shared_hosts(job, hosts) == []
    assert len(reads) <= 20, "each job is looked at once"
    monkeypatch.undo()
    plan = pack_plan(JobPlan(target="", hosts=hosts))
    for name in ("a", "b", "c", "d"):
        same = await backends.book.create(name, "http://127.0.0.1:9000/", plan=plan)
        await backends.requests.create_frontier(same, FrontierRules())
    (said,) = await backends.warn_of_shared_hosts(job, hosts)
    assert f"{job.id} and 4 other jobs (d-1, c-1, b-1 and 1 more) crawl 127.0.0.1:9000" in said


def test_submit_says_it(settings, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("GOSSAMER_FRONTIER__URL", settings.frontier.url)
    spider = tmp_path / "again.py"
    attributes = f'name = "again"; start_urls = [{TARGET!r}]'
    spider.write_text(f"from gossamer import Spider\n\nclass Again(Spider):\n    {attributes}\n")
    for target in (TARGET, str(spider)):
        with pytest.raises(SystemExit) as end:
            build_app("submit")(["submit", target, "--data", settings.data, "--json"], prog_name="gossamer")
        assert not end.value.code
    said = capsys.readouterr().err
    assert "again-1 and shop.example-1 (https://shop.example/) both crawl shop.example" in said


def test_wait_says_that_its_time_is_over(settings, monkeypatch, capsys):
    monkeypatch.setenv("GOSSAMER_FRONTIER__URL", settings.frontier.url)
    codes = []
    for line in (["submit", TARGET], ["wait", "shop.example", "--timeout", "0.1s", "-q"]):
        with pytest.raises(SystemExit) as end:
            build_app(line[0])([*line, "--data", settings.data], prog_name="gossamer")
        codes.append(end.value.code or 0)
    assert codes == [0, 3]
    said = capsys.readouterr().err
    assert (
        "shop.example-1 has not ended after 0.1 s, and continues; `gossamer wait shop.example-1` waits"
        in said
    )


def test_what_keeps_a_job_waiting_is_said_instead_of_that_it_is_too_early():
    trouble = "secret arguments are not kept with a job: set SPIDER_ARG_TOKEN for this worker"
    summary = summarise_job(Job(id="shop-1", name="shop", target=TARGET, created_at=0.0), JobTotals(), None)
    counts = {"attempts": 0, "retries": 0, "duplicates": 0, "bytes": 0}
    status = JobStatus(
        **asdict(summary),
        **counts,
        by_status={},
        by_reason={},
        dropped={},
        is_fleet=True,
        left="too early to say when it is done",
    )
    assert ("left", "too early to say when it is done") in _pace_facts(status)
    facts = _pace_facts(replace(status, trouble=trouble))
    assert facts == [("workers", "0 shifts at work"), ("trouble", trouble)]
