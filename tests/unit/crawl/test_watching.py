"""The watch of a crawl is there when it is due, and from the beginning where somebody is to be told."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from gossamer.config.layers import load_settings
from gossamer.core.errors import SettingError
from gossamer.core.hosts import FrontierRules
from gossamer.crawl.watching import FIRST_REST_S, CrawlWatch
from gossamer.testing.clock import ManualClock
from gossamer.watch.memories import load_job_memory
from gossamer.wiring.backends import open_backends
from kit.recording_sink import RecordingSink


async def test_a_crawl_is_looked_at_after_its_first_rest_and_not_before(tmp_path: Path) -> None:
    settings = load_settings(env={}, spider={"data": str(tmp_path)}).settings
    backends = await open_backends(settings, create=True)
    backends.requests.clock = clock = ManualClock()
    try:
        job = await backends.book.create("shop", "shop.py")
        await backends.requests.create_frontier(job, FrontierRules(delay_s=0.0, per_host=9))
        told = RecordingSink()
        watch = CrawlWatch(settings, backends, job, told, lambda _: True)
        running = asyncio.create_task(watch.run())
        await asyncio.sleep(0)
        clock.advance(FIRST_REST_S - 1)
        await watch.end(1.0)
        assert (await load_job_memory(backends.requests.shared, job)).at == 0.0
        clock.advance(2)
        for _ in range(10_000):
            await asyncio.sleep(0)
            if (await load_job_memory(backends.requests.shared, job)).at > 0.0:
                break
        else:
            pytest.fail("nothing was looked at")
        assert told.kinds == ["TimeLeft"], "each look gives its estimate"
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
    finally:
        await backends.close()


async def test_a_target_that_is_not_fit_is_told_before_the_crawl_begins(tmp_path: Path) -> None:
    said = {"data": str(tmp_path), "alerts": {"targets": {"ops": {"url_env": "NOT_THERE"}}}}
    settings = load_settings(env={}, spider=said).settings
    backends = await open_backends(settings, create=True)
    try:
        job = await backends.book.create("shop", "shop.py")
        with pytest.raises(SettingError, match="NOT_THERE holds no URL"):
            CrawlWatch(settings, backends, job, RecordingSink(), lambda _: True)
    finally:
        await backends.close()
