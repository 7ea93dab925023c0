"""Browsers that end, are ended or get old: no page is charged, and nothing is left over."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.core.errors import Fault, FetchError, MissingServiceError
from gossamer.core.requests import Request
from gossamer.fetch.browser.fetcher import BrowserFetcher
from gossamer.fetch.browser.processes import BrowserFolder, BrowserProcess, find_processes, remove_leftovers
from kit.browser_pages import FULL, answer, open_fetcher
from kit.raw_server import Raw

pytestmark = pytest.mark.server

SLOW = "<p>slow</p><script src=/never></script>"
HUNGRY = "<script>const all = []; setInterval(() => all.push(new Array(4e6).fill(Math.random())), 1)</script>"
CHILD = """
import asyncio, os, sys
from gossamer.core.requests import Request
from kit.browser_pages import open_fetcher

async def main(url):
    async with open_fetcher() as fetcher:
        await fetcher.fetch(Request(url))
        print(fetcher._pool._driver._folder.path, flush=True)
        await asyncio.sleep(60)

asyncio.run(main(sys.argv[1]))
"""


async def stall(writer: asyncio.StreamWriter) -> None:
    """Say nothing until the browser goes away."""
    await asyncio.Event().wait()


ANSWERS = {
    "/": answer("<p>page</p>"),
    "/slow": answer(SLOW),
    "/never": stall,
    "/hungry": answer(f"<p>hungry</p>{HUNGRY}<script src=/never></script>"),
}


def folder_of(fetcher: BrowserFetcher) -> str:
    folder = fetcher._pool._driver._folder
    assert folder is not None
    return folder.path


def processes_of(fetcher: BrowserFetcher) -> list[BrowserProcess]:
    return find_processes(folder_of(fetcher))


def browser_pid(fetcher: BrowserFetcher) -> int:
    (one,) = [
        one.pid
        for one in processes_of(fetcher)
        if b"--remote-debugging-pipe" in one.command and b"--type=" not in one.command
    ]
    return one


def own_memory_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def is_there(path: str) -> bool:
    return Path(path).exists()


async def wait_until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110 - what other processes do
            await asyncio.sleep(0.02)


async def fault_of(work: asyncio.Future[object]) -> Fault:
    with pytest.raises(FetchError) as caught:
        await work
    return caught.value.fault


@pytest.mark.long
@pytest.mark.parametrize("victim", ["browser", pytest.param("driver", marks=pytest.mark.thorough)])
async def test_a_page_whose_browser_is_killed_is_charged_to_nobody(victim: str) -> None:
    async with Raw(dict(ANSWERS)) as site, open_fetcher(timeout_s=20) as fetcher:
        assert (await fetcher.fetch(Request(f"{site.url}/"))).status == 200
        pid = browser_pid(fetcher)
        if victim == "driver":
            (pid,) = [one.pid for one in processes_of(fetcher) if one.parent == os.getpid()]
        slow = [asyncio.ensure_future(fetcher.fetch(Request(f"{site.url}/slow"))) for _ in range(2)]
        await wait_until(lambda: sum(b"/never" in head for head in site.heads) == 2)
        os.kill(pid, signal.SIGKILL)
        assert [await fault_of(page) for page in slow] == [Fault.BROWSER, Fault.BROWSER]
        again = await fetcher.fetch(Request(f"{site.url}/"))
        assert again.status == 200, "the next page gets a browser of its own"
        assert browser_pid(fetcher) != pid


@pytest.mark.long
async def test_a_browser_that_is_stuck_is_killed() -> None:
    async with Raw(dict(ANSWERS)) as site, open_fetcher(timeout_s=4) as fetcher:
        await fetcher.fetch(Request(f"{site.url}/"))
        pid = browser_pid(fetcher)
        os.kill(pid, signal.SIGSTOP)
        stuck = asyncio.ensure_future(fetcher.fetch(Request(f"{site.url}/")))
        assert await fault_of(stuck) in (Fault.TIMEOUT_HEADERS, Fault.BROWSER)
        await wait_until(lambda: pid not in [one.pid for one in processes_of(fetcher)])


@pytest.mark.thorough
async def test_a_page_that_eats_memory_is_ended_and_the_browser_stays() -> None:
    async with Raw(dict(ANSWERS)) as site, open_fetcher(timeout_s=60, max_memory_bytes=400 << 20) as fetcher:
        await fetcher.fetch(Request(f"{site.url}/"))
        pid = browser_pid(fetcher)
        hungry = asyncio.ensure_future(fetcher.fetch(Request(f"{site.url}/hungry")))
        assert await fault_of(hungry) is Fault.PAGE_CRASH
        assert (await fetcher.fetch(Request(f"{site.url}/"))).status == 200
        assert browser_pid(fetcher) == pid


PAGES, MAX_PAGES = (1000, 100) if FULL else (25, 5)


@pytest.mark.timeout(1800)
@pytest.mark.thorough
async def test_old_browsers_make_room_for_new_ones_and_nothing_is_left() -> None:
    """By number of processes and by memory, the last round is like the first."""
    pids: set[int] = set()
    counts: list[int] = []
    sizes: list[int] = []
    async with Raw(dict(ANSWERS)) as site:
        async with open_fetcher(timeout_s=60, max_pages=MAX_PAGES, tabs=3) as fetcher:
            for _ in range(5):
                pages = [fetcher.fetch(Request(f"{site.url}/")) for _ in range(PAGES // 5)]
                assert {page.status for page in await asyncio.gather(*pages)} == {200}
                await wait_until(lambda: len(fetcher._pool._all) == 1 and not fetcher._pool._tasks)
                folder, processes = folder_of(fetcher), processes_of(fetcher)
                pids.add(browser_pid(fetcher))
                counts.append(len(processes))
                sizes.append(sum(one.memory_bytes for one in processes) + own_memory_bytes())
                assert sum("profile-" in name for name in os.listdir(folder)) == 1
        print(f"{PAGES} pages, {len(pids)} browsers seen; processes {counts}; MB {[s >> 20 for s in sizes]}")
        assert len(pids) >= 3
        assert max(counts) <= counts[0] + 6, counts
        assert max(sizes) <= 1.5 * sizes[0], sizes
        assert not is_there(folder)
        assert not find_processes(folder)


@pytest.mark.long
@pytest.mark.parametrize("is_driver_killed", [False, pytest.param(True, marks=pytest.mark.thorough)])
async def test_nothing_outlives_a_process_that_is_killed(is_driver_killed: bool) -> None:
    async with Raw(dict(ANSWERS)) as site:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            CHILD,
            site.url,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert child.stdout is not None
        folder = (await child.stdout.readline()).decode().strip()
        assert len(find_processes(folder)) > 3
        drivers = [one.pid for one in find_processes(folder) if one.parent == child.pid]
        for pid in drivers if is_driver_killed else []:
            os.kill(pid, signal.SIGKILL)
        child.kill()
        await child.wait()
        await wait_until(lambda: not find_processes(folder))
    remove_leftovers()
    assert not is_there(folder), "whoever comes next cleans up"


async def test_a_folder_that_somebody_holds_is_no_leftover() -> None:
    mine = BrowserFolder()
    try:
        remove_leftovers()
        assert is_there(mine.path)
    finally:
        mine.remove()
    assert not is_there(mine.path)


@pytest.mark.thorough
async def test_only_the_time_in_a_tab_counts() -> None:
    async with Raw(dict(ANSWERS)) as site, open_fetcher(tabs=1, timeout_s=60) as fetcher:
        await fetcher.fetch(Request(f"{site.url}/"))
        start = asyncio.get_running_loop().time()
        pages = await asyncio.gather(*(fetcher.fetch(Request(f"{site.url}/")) for _ in range(4)))
        lasted_s = asyncio.get_running_loop().time() - start
    assert all(page.browser_s >= page.elapsed_s > 0 for page in pages)
    assert sum(page.browser_s for page in pages) <= lasted_s, "waiting for a tab is not fetching"


async def test_a_program_that_is_no_browser(tmp_path: Path) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho 'libnss3.so: error while loading shared libraries' >&2\nexit 127\n")
    broken.chmod(0o755)
    async with open_fetcher(executable=str(broken)) as fetcher:
        with pytest.raises(MissingServiceError, match=r"chromium could not be used as a browser \(libnss3"):
            await fetcher.fetch(Request("http://127.0.0.1:9999/"))


async def test_a_browser_that_was_retired_ends_with_the_visit_that_was_waiting_for_a_tab(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waiting = asyncio.Event()

    async def wait(*_: object, **__: object) -> None:
        waiting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("gossamer.fetch.browser.pool.open_tab", wait)
    async with open_fetcher() as fetcher:
        visit = asyncio.create_task(fetcher.fetch(Request("http://127.0.0.1:1/")))
        await waiting.wait()
        pool = fetcher._pool
        (browser,) = pool._all
        pool._current = None
        pool._retire(browser)
        assert pool._all == {browser}, "it is needed"
        visit.cancel()
        await asyncio.gather(visit, return_exceptions=True)
        await asyncio.gather(*pool._tasks)
        assert pool._all == set()
