"""The first process and its members: what one that is gone had in hand is taken back by its name."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gossamer.config.layers import load_settings
from gossamer.config.settings import Settings
from gossamer.core.errors import StorageError
from gossamer.core.requests import Entry, Lease, Request
from gossamer.crawl.processes.messages import StartMessage
from gossamer.crawl.processes.pool import MAX_EARLY_DEATHS, ProcessPool
from gossamer.targets.discovery import find_target
from gossamer.testing.contracts.frontier_harness import fingerprints_of
from gossamer.testing.site import SiteResponse, serve
from gossamer.wiring.assemble import CrawlParts, wire_crawl
from kit.engine import Events
from kit.programs import rows

SPIDER = "from gossamer import Spider\n\nclass Slow(Spider):\n    name = 'slow'\n"


class NoWork:
    """A worker that takes nothing, so that everything is left to the members."""

    ended = 0

    def __init__(self) -> None:
        self.idle = asyncio.Event()
        self.expired: asyncio.Queue[tuple[str, list[int]]] = asyncio.Queue()
        self._stop = asyncio.Event()

    async def run(self) -> None:
        await self._stop.wait()

    def stop(self) -> None:
        self._stop.set()

    async def abandon(self) -> None:
        self.stop()

    def load_if_short(self) -> None:
        """It is not short of work."""

    async def record_expired(self, leases: Sequence[Lease], holder: str = "") -> None:
        self.expired.put_nowait((holder, fingerprints_of(leases)))


class Scene:
    """A crawl whose one page is never answered, and a member that has it in hand."""

    def __init__(self, settings: Settings, wired: CrawlParts, asked: asyncio.Event, spider: Path) -> None:
        self.wired, self._asked = wired, asked
        self.worker = NoWork()
        plan = StartMessage(wired.parts.job.id, str(spider), {}, settings.model_dump_json(), ["127.0.0.1"])
        frontier = wired.backends.open_frontier(wired.parts.job)
        self.crew = ProcessPool(self.worker, frontier, plan, 1, wired.parts.sink)  # type: ignore[arg-type]
        self.running = asyncio.ensure_future(self.crew.run())
        self._data = Path(settings.data)

    async def held_by(self) -> int:
        """The member that has the page in hand, as the frontier knows it."""
        async with asyncio.timeout(30):
            await self._asked.wait()
        ((owner,),) = rows(self._data, "select owner from lease")
        assert owner.startswith("w")
        return int(owner[1:])

    async def leased(self) -> int:
        return (await self.wired.parts.frontier.read_stats()).leased


@asynccontextmanager
async def a_member_at_work(folder: Path) -> AsyncIterator[Scene]:
    asked, spider = asyncio.Event(), folder / "slow.py"
    spider.write_text(SPIDER)

    def app(path: str, headers: Any) -> SiteResponse:
        asked.set()
        return SiteResponse(delay_s=600)

    async with serve(app) as site:
        settings = load_settings(
            overrides={"data": str(folder / "data"), "processes": 2, "robots": False}, env={}
        ).settings
        wired = await wire_crawl(settings, find_target(str(spider), {}, None), fresh=False, sinks=())
        try:
            url = f"{site.url}/1"
            await wired.parts.frontier.add([Entry(request=Request(url), fingerprint=1, host=site.host)])
            scene = Scene(settings, wired, asked, spider)
            try:
                yield scene
            finally:
                await scene.crew.abandon()
                async with asyncio.timeout(30):
                    await scene.running
        finally:
            await wired.close()


@pytest.mark.slow
async def test_what_a_killed_member_had_in_hand_is_taken_back_at_once(tmp_path: Path) -> None:
    async with a_member_at_work(tmp_path) as scene:
        pid = await scene.held_by()
        assert await scene.leased() == 1
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(30):
            assert await scene.worker.expired.get() == (f"w{pid}", [1])
        assert await scene.leased() == 0


@pytest.mark.slow
async def test_what_is_held_by_a_member_that_does_not_end_is_taken_back_with_the_end(tmp_path: Path) -> None:
    async with a_member_at_work(tmp_path) as scene:
        pid = await scene.held_by()
        os.kill(pid, signal.SIGSTOP)
        await scene.crew.abandon()
        async with asyncio.timeout(30):
            await scene.running
        assert scene.worker.expired.get_nowait() == (f"w{pid}", [1])
        assert await scene.leased() == 0


@pytest.mark.long
async def test_a_frontier_that_fails_to_take_back_is_told_and_ends_no_crawl(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names: list[str] = []

    class Away:
        async def recover_leases(self, owner: str) -> tuple[Lease, ...]:
            names.append(owner)
            if len(names) == MAX_EARLY_DEATHS:
                worker.stop()
            raise StorageError("the file is gone")

    worker = NoWork()
    plan = StartMessage("nothing-1", "nowhere.py", {}, "{}", [])  # ends every member at its start
    async with asyncio.timeout(60):
        await ProcessPool(worker, Away(), plan, 1, Events()).run()  # type: ignore[arg-type]
    assert len(names) == len(set(names)) == MAX_EARLY_DEATHS
    told = [record.getMessage() for record in caplog.records]
    pid = names[0].removeprefix("w")
    assert f"what process {pid} of the crawl had in hand waits for its deadline: the file is gone" in told
