"""What the machine and its users do to a crawl: disks, locks, a slow store, signals; and going on after each.

The numbers are those of the rows of hostile inputs; each test names the class that its row ends in.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.errors import StorageError
from gossamer.core.jobs import Job
from gossamer.core.lifecycle import FinishReason
from gossamer.core.results import VisitResult
from gossamer.drivers.sqlite.database import Database
from gossamer.engine.store_then_settle import SplitCommitter
from gossamer.engine.supervisor import Supervisor
from gossamer.engine.worker import Worker
from gossamer.testing.shop import Shop
from gossamer.testing.site import Site, serve_in_thread
from kit.choosing import some_of
from kit.engine import CALM, Kit, Ledger, virtually
from kit.environment import environment
from kit.programs import command, crawl, rows
from kit.shop_spider import SPIDER

PRODUCTS = 60
FAST = ("--delay", "0", "--per-host", "8", "-s", "retry_backoff=0.1")


@pytest.fixture(scope="module")
def shop() -> Iterator[Site]:
    """Slow enough to be interrupted."""
    with serve_in_thread(Shop(PRODUCTS, page_bytes=2000, delay_s=0.03)) as site:
        yield site


def written(folder: Path, site: Site) -> Path:
    file = folder / "shop.py"
    file.write_text(SPIDER.replace("{url}", site.url))
    return file


def started(spider: Path, data: Path, *more: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("crawl", spider, *FAST, "--data", data, "--json", *more),
        **{
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "env": environment(),
            **options,
        },
    )


def ended(process: subprocess.Popen[str], code: int) -> str:
    """What a process said, which had to end with ``code`` and without a traceback."""
    _, said = process.communicate(timeout=30)
    assert process.returncode == code, (process.returncode, said[-3000:])
    assert "Traceback" not in said
    assert "bug in Gossamer" not in said
    return said


def complaint(said: str) -> str:
    """The one line that says what is wrong."""
    (line,) = (line for line in said.splitlines() if line.startswith("gossamer: "))
    return line


def pages_of(data: Path) -> int:
    """Pages stored so far; the database may not be there yet."""
    if not (data / "gossamer.db").exists():
        return 0
    try:
        return int(rows(data, "select count(*) from page")[0][0])
    except sqlite3.Error:
        return 0


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def final(data: Path) -> dict[str, Any]:
    """What a crawl has in the end; equal for all crawls of the same site, whatever happened to them."""
    found = {
        "items": sorted(rows(data, "select key, data from item")),
        "pages": sorted(rows(data, "select distinct url, title, status from page")),
        "waiting": rows(data, "select pending, delayed, leased, dead from frontier"),
    }
    assert rows(data, "pragma integrity_check") == [("ok",)]
    assert rows(data, "select url from page group by job, url having count(*) > 1") == []
    return found


@pytest.fixture(scope="module")
def truth(shop: Site, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An undisturbed crawl."""
    folder = tmp_path_factory.mktemp("truth")
    crawl(written(folder, shop), *FAST, "--data", folder / "data")
    found = final(folder / "data")
    assert len(found["items"]) == PRODUCTS
    return found


def goes_on(spider: Path, data: Path, truth: dict[str, Any]) -> None:
    """The next run ends with what an undisturbed one has."""
    result = crawl(spider, *FAST, "--data", data)
    assert (result["finish_reason"], result["items"], result["dead"]) == ("finished", PRODUCTS, 0)
    assert final(data) == truth


# --------------------------------------------------------------------------- row 66: SQLite


def test_row_66_a_locked_file_is_waited_for_and_then_said(tmp_path: Path) -> None:
    """``StorageError``: exit code 4, nothing changed; when the lock is gone it works."""
    database = Database(tmp_path / "x.db", busy_timeout_s=0.05)
    database.run_sync(lambda conn: conn.execute("create table t (n)"))
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(StorageError, match="keeps the file locked") as caught:
        database.run_sync(lambda conn: conn.execute("insert into t values (1)"))
    assert caught.value.exit_code == 4
    other.execute("rollback")
    database.run_sync(lambda conn: conn.execute("insert into t values (2)"))
    assert other.execute("select n from t").fetchall() == [(2,)]
    other.close()
    database.close()


@pytest.mark.long
def test_row_66_a_lock_of_a_second_only_slows_the_crawl(tmp_path: Path, shop: Site, truth: Any) -> None:
    data = tmp_path / "data"
    process = started(written(tmp_path, shop), data)
    wait_for(lambda: pages_of(data) > 5)
    with sqlite3.connect(data / "gossamer.db", timeout=10, isolation_level=None) as other:
        other.execute("begin immediate")
        before = pages_of(data)
        time.sleep(1.0)
        assert pages_of(data) == before
        other.execute("rollback")
    other.close()
    ended(process, 0)
    assert final(data) == truth


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Nobody may write there, root neither: a mount, or the modes for everybody else."""
    if os.geteuid() == 0:
        for options in (["--bind", str(place), str(place)], ["-o", "remount,ro,bind", str(place)]):
            subprocess.run(["mount", *options], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", str(place)], check=True)
        return
    modes = {path: path.stat().st_mode for path in (place, *place.iterdir())}
    try:
        for path in modes:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


@pytest.mark.long
def test_row_66_a_data_directory_that_is_read_only(tmp_path: Path, shop: Site, truth: Any) -> None:
    """``StorageError``: exit code 4, what was stored is untouched; writable again, it goes on."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    crawl(spider, *FAST, "--data", data, "--max-pages", "10")
    before = (data / "gossamer.db").read_bytes()
    with read_only(data):
        assert str(data) in complaint(ended(started(spider, data), 4))
    assert (data / "gossamer.db").read_bytes() == before
    goes_on(spider, data, truth)


def killed(spider: Path, data: Path, pages: int = 20) -> None:
    """A crawl that was killed, so that its WAL is left."""
    process = started(spider, data)
    wait_for(lambda: pages_of(data) >= pages)
    process.kill()
    process.communicate(timeout=10)


@pytest.mark.parametrize("damage", some_of(("scribble", "cut", "gone"), "scribble", "cut"))
def test_row_66_a_damaged_wal(tmp_path: Path, shop: Site, truth: Any, damage: str) -> None:
    """No error: commits from the damage on are undone as a whole, and done again."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    killed(spider, data)
    wal = data / "gossamer.db-wal"
    body = bytearray(wal.read_bytes())
    assert len(body) > 50_000
    middle = len(body) * 2 // 3
    if damage == "scribble":
        body[middle : middle + 1000] = random.Random(1).randbytes(1000)
    wal.write_bytes(b"" if damage == "gone" else body[:middle] if damage == "cut" else body)
    (data / "gossamer.db-shm").unlink(missing_ok=True)
    goes_on(spider, data, truth)


def test_row_66_a_damaged_file_is_said_and_left_alone(tmp_path: Path, shop: Site, truth: Any) -> None:
    """``StorageError``: exit code 4, with the way to rescue what can be rescued."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    crawl(spider, *FAST, "--data", data, "--max-pages", "20")
    file = data / "gossamer.db"
    whole = file.read_bytes()
    file.write_bytes(whole[:4096] + random.Random(1).randbytes(len(whole) - 4096))
    said = complaint(ended(started(spider, data), 4))
    assert f"{file}: the file is damaged; keep a copy, then: sqlite3 FILE .recover" in said
    for rest in data.glob("gossamer.db-*"):
        rest.unlink()
    file.write_bytes(whole)
    goes_on(spider, data, truth)


# --------------------------------------------------------------------------- row 69: a slow store


class SlowStore(Ledger):
    """Takes one second for each result."""

    def __init__(self, kit: Kit) -> None:
        super().__init__()
        self.kit = kit
        self.most_waiting = 0

    async def write(self, job: Job, results: Sequence[VisitResult]) -> None:
        self.most_waiting = max(self.most_waiting, len(self.kit.site.log) - len(self.results))
        await self.kit.clock.sleep(1.0 * len(results))
        await super().write(job, results)


@pytest.mark.parametrize("concurrency", [1, 8, 32])
def test_row_69_a_slow_store_slows_the_fetching_down(concurrency: int) -> None:
    """``finished``: what is fetched and not yet stored is bounded by the concurrency, whatever waits."""

    async def main() -> tuple[Kit, SlowStore, Any]:
        kit = Kit(CALM, latency_s=0.01, concurrency=concurrency)
        store = SlowStore(kit)
        committer = SplitCommitter(kit.frontier, store, kit.parts.job)
        parts = kit.with_parts(store=store, committer=committer)
        supervisor = Supervisor(parts, Worker(parts, kit.shift))
        return kit, store, await supervisor.run(kit.seeds_of(*(f"http://site.test/{n}" for n in range(200))))

    kit, store, ran = virtually(main)
    assert ran.reason is FinishReason.FINISHED
    assert len(store.results) == len(kit.site.log) == 200
    assert store.most_waiting <= 2 * concurrency
    spread = kit.site.log[-1][0] - kit.site.log[0][0]
    assert spread > 200 - 3 * concurrency  # at the store's pace, not in one burst


# --------------------------------------------------------------------------- rows 71, 72: signals, going on


@pytest.mark.long
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, pytest.param(signal.SIGHUP, marks=pytest.mark.thorough)]
)
def test_row_71_the_first_signal_drains(tmp_path: Path, shop: Site, truth: Any, number: int) -> None:
    """Exit code 3, ``finish_reason`` ``signal``, nothing leased."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    process = started(spider, data)
    wait_for(lambda: pages_of(data) > 10)
    process.send_signal(number)
    out, said = process.communicate(timeout=20)
    assert process.returncode == 3, said
    assert json.loads(out)["finish_reason"] == "signal"
    assert rows(data, "select leased, dead from frontier") == [(0, 0)]
    assert 0 < pages_of(data) < PRODUCTS
    goes_on(spider, data, truth)


@pytest.mark.parametrize("second", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.thorough)])
def test_row_71_the_second_signal_ends_at_once(tmp_path: Path, truth: Any, second: int, shop: Site) -> None:
    """Exit code 3 within a second or so, what was in hand given back."""
    data = tmp_path / "data"
    fast, shop.app = shop.app, Shop(PRODUCTS, page_bytes=2000, delay_s=25.0)
    try:
        spider = written(tmp_path, shop)
        process = started(spider, data, "--no-robots")
        before = len(shop.hits)
        wait_for(lambda: len(shop.hits) > before)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("finishing" in line for line in process.stderr)
        begin = time.monotonic()
        process.send_signal(second)
        ended(process, 3)
        assert time.monotonic() - begin < 6, "nobody waits for the page, which takes 25 s"
    finally:
        shop.app = fast
    assert rows(data, "select leased from frontier") == [(0,)]
    goes_on(spider, data, truth)


def test_row_71_nobody_reads_the_output(tmp_path: Path, shop: Site, truth: Any) -> None:
    """SIGPIPE: exit code 141 when the result has no reader, no traceback; the crawl itself is complete."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    process = started(spider, data)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    ended(process, 141)
    assert final(data) == truth


def test_row_71_nobody_reads_the_log(tmp_path: Path, shop: Site, truth: Any) -> None:
    """Exit code 0: a terminal that was closed takes nothing from the crawl."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    process = started(spider, data, "-s", "log.level=debug")
    assert process.stderr is not None
    process.stderr.close()
    process.stderr = None
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(out)["items"] == PRODUCTS
    assert final(data) == truth


@pytest.mark.long
def test_row_72_whatever_happens_on_the_way_the_end_is_the_same(
    tmp_path: Path, shop: Site, truth: Any
) -> None:
    """Killed, told to stop, in a hurry, hung up, with a damaged WAL, over its budget: one crawl after all."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    for n, disturb in enumerate(("kill", "term", "twice", "hup", "kill", "wal")):
        process, target = started(spider, data, "--per-host", "1"), 6 * (n + 1)
        wait_for(
            lambda process=process, target=target: pages_of(data) >= target or process.poll() is not None
        )
        if disturb in ("kill", "wal"):
            process.kill()
        else:
            process.send_signal(signal.SIGHUP if disturb == "hup" else signal.SIGTERM)
            if disturb == "twice":
                time.sleep(0.05)
                process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        if disturb == "wal":
            wal = data / "gossamer.db-wal"
            wal.write_bytes(wal.read_bytes()[:-2000])
    crawl(spider, *FAST, "--data", data, "--max-pages", "50")
    goes_on(spider, data, truth)


@pytest.mark.long
def test_row_72_a_changed_spider_goes_on_with_its_own_rules(tmp_path: Path, shop: Site, truth: Any) -> None:
    """A narrower scope takes no new links; what was accepted before is done. The callback is today's."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    crawl(spider, *FAST, "--data", data, "--max-pages", "10")
    stored = len(rows(data, "select 1 from item"))
    good = spider.read_text()
    changed = good.replace('response.css("h1::text").get()', '"changed"')
    spider.write_text(changed.replace('"shop"', '"shop"\n    settings = {"exclude": ["/catalog"]}'))
    result = crawl(spider, *FAST, "--data", data)
    assert result["finish_reason"] == "finished"
    names = [json.loads(item)["name"] for (item,) in rows(data, "select data from item")]
    assert stored <= len(names) <= PRODUCTS
    spider.write_text(good)
    result = crawl(spider, *FAST, "--data", data, "--fresh")
    assert result["items"] == PRODUCTS
    assert sorted(rows(data, "select key, data from item")) == truth["items"]


# --------------------------------------------------------------------------- row 73: full disks


@contextmanager
def small_disk(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A place with room for little: a file system in memory or, where mounting is not allowed, a limit."""
    place = folder / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            yield place, {}
        finally:
            subprocess.run(["umount", str(place)], check=True)
    else:
        limit = 200_000
        yield place, {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))}


@pytest.mark.long
def test_row_73_a_full_disk_under_the_database(tmp_path: Path, shop: Site, truth: Any) -> None:
    """``StorageError``: exit code 4 and one line; moved to where there is room, it goes on."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    with small_disk(tmp_path) as (place, options):
        for _ in range(2):
            said = complaint(ended(started(spider, place / "data", **options), 4))
            assert "the disk is full; free some space" in said or "the disk failed to read or write" in said
        shutil.copytree(place / "data", data)
    goes_on(spider, data, truth)


def test_row_73_a_full_disk_under_the_log(tmp_path: Path, shop: Site, truth: Any) -> None:
    """Exit code 0: said once, and the crawl continues without its log."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    said = ended(started(spider, data, "-s", "log.file=/dev/full", "-s", "log.level=debug"), 0)
    told = [line for line in said.splitlines() if "cannot be written" in line]
    assert len(told) == 1
    assert "the log /dev/full cannot be written (No space left on device); continuing without it" in told[0]
    assert final(data) == truth


def test_row_73_a_full_disk_under_the_output(tmp_path: Path, shop: Site, truth: Any) -> None:
    """Exit code 4: the file is as it was, the crawl is complete, the message says how to write it again."""
    spider, data = written(tmp_path, shop), tmp_path / "data"
    with small_disk(tmp_path) as (place, options):
        (place / "fill").write_bytes(bytes(396 * 1024))
        old = place / "out.jsonl"
        old.write_text("{}\n")
        said = ended(started(spider, data, "-O", str(old), **options), 4)
        assert "gossamer export shop-1" in complaint(said)
        assert old.read_text() == "{}\n"
        assert [path.name for path in sorted(place.iterdir())] == ["fill", "out.jsonl"]
    assert final(data) == truth
