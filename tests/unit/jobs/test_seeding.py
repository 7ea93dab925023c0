"""Seeds for jobs of a fleet: new ones, those that run, and those that are over."""

from __future__ import annotations

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.errors import JobBusyError
from gossamer.core.lifecycle import FinishReason, JobCommand, JobState
from gossamer.fetch.trusted_hosts import TrustedHosts
from gossamer.jobs.seed_files import SeedRow
from gossamer.jobs.seeding import SHOWN, SeededTarget, open_writer
from gossamer.policy.job_life import end_run
from gossamer.targets.loading import load_target
from gossamer.wiring.backends import open_backends


@pytest.fixture
def target(redis_url, tmp_path):
    given = {"data": str(tmp_path), "frontier.url": redis_url}
    return SeededTarget(load_target("generic", {}, given, env={}), "generic", {}, given)


@pytest.fixture
async def backends(target):
    settings = load_settings(env={}, overrides=target.options).settings
    opened = await open_backends(settings, create=True)
    yield opened
    await opened.close()


async def chunks_of(*lists):
    for chunk in lists:
        yield [SeedRow(number, {"url": url}) for number, url in enumerate(chunk, 1)]


def pages(first, last):
    return [f"https://shop.example/{n}" for n in range(first, last)]


async def add(backends, job, *lists):
    return await (await open_writer(backends, job)).add_chunks(chunks_of(*lists), lambda _: None)


async def test_a_job_of_a_fleet_is_submitted_once_and_takes_all_lists(backends, target):
    job = await target.choose_job(backends, fresh=False)
    assert job.is_fleet
    assert (await add(backends, job, pages(0, 30), pages(20, 40))).added == 40
    assert (await target.choose_job(backends, fresh=False)).id == job.id
    assert (await add(backends, job, pages(0, 41))).added == 1
    assert (await backends.open_frontier(job).read_stats()).pending == 41
    with pytest.raises(JobBusyError):
        await target.choose_job(backends, fresh=True)


async def test_a_job_that_has_ended_meanwhile_goes_on(backends, target):
    job = await target.choose_job(backends, fresh=False)
    await backends.open_frontier(job).apply_change(JobCommand.FINISH)
    await backends.book.update(end_run(job, FinishReason.FINISHED, JobState.FINISHED, 1.0))
    await add(backends, job, pages(0, 3))
    found = await backends.book.get(job.id)
    assert (found.state, found.finished_at) == (JobState.RUNNING, None)


async def test_whoever_cancels_the_job_ends_the_list(backends, target):
    job = await target.choose_job(backends, fresh=False)
    writer = await open_writer(backends, job)
    await backends.book.update(end_run(job, FinishReason.CANCELLED, JobState.CANCELLED, 1.0))
    with pytest.raises(JobBusyError, match="was cancelled"):
        await writer.add_chunks(chunks_of(pages(0, 3)), lambda _: None)


async def test_traps_are_for_links_and_only_the_first_refusals_are_kept(backends, target):
    job = await target.choose_job(backends, fresh=False)
    deep = ["https://shop.example/" + "a/" * 50, "https://shop.example/x/x/x/x"]
    report = await add(backends, job, deep, ["ftp://x.example/"] * (SHOWN + 5))
    assert (report.added, report.total_left_out, len(report.refusals)) == (2, SHOWN + 5, SHOWN)


async def test_private_hosts_are_trusted_and_others_are_not_remembered(backends, target):
    job = await target.choose_job(backends, fresh=False)
    await add(backends, job, ["http://127.0.0.1:81/", "https://shop.example/"])
    trust = TrustedHosts(backends.requests.shared, job)
    assert [await trust.is_named(host) for host in ("127.0.0.1:81", "shop.example")] == [True, False]
