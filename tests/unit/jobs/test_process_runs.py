"""Crawls of schedules as processes of one machine."""

from __future__ import annotations

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.errors import UsageError
from gossamer.core.schedules import Schedule, ScheduledRun
from gossamer.jobs.process_runs import ProcessStarter
from gossamer.wiring.backends import open_backends

RUN = ScheduledRun(schedule="shop", due_at=1.0, key="ab" * 16, started_at=1.0, starts=1)


@pytest.fixture
async def backends(tmp_path):
    opened = await open_backends(load_settings(env={}, spider={"data": str(tmp_path)}).settings, create=True)
    yield opened
    await opened.close()


def plan(folder, target="gone.py"):
    return Schedule(
        name="shop", cron="0 0 * * *", target=target, folder=str(folder), job_name="shop", job_target=target
    )


async def test_a_crawl_whose_folder_is_gone_cannot_be_started(backends, tmp_path):
    starter = ProcessStarter(backends.settings, backends.requests)
    with pytest.raises(UsageError, match=r"its process cannot be started in .*/nowhere"):
        await starter.start_run(plan(tmp_path / "nowhere"), RUN)


@pytest.mark.slow
async def test_a_crawl_that_does_not_begin_says_why(backends, tmp_path):
    starter, schedule = ProcessStarter(backends.settings, backends.requests), plan(tmp_path)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "schedule-shop.log").write_text("gossamer: what an earlier run said\n")
    assert await starter.read_failure(RUN) == "", "it was not started from here"
    await starter.start_run(schedule, RUN)
    assert await starter.is_at_work(schedule, RUN, None)
    assert await starter.read_failure(RUN) == "", "it is under way"
    while await starter.is_at_work(schedule, RUN, None):
        await backends.clock.sleep(0.05)
    assert await starter.read_failure(RUN) == "there is no file gone.py"
    assert await starter.stop_runs(0.0) == []
