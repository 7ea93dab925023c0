"""Files that a crawl writes at its end, and signals that end it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.terminal import signals
from gossamer.cli.terminal.exports import check_at_start, check_output, files_from_options
from gossamer.cli.terminal.signals import StopHandler
from gossamer.config.settings import Settings
from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job, StoredItem
from gossamer.queries.export_files import check_continuation, write_export, write_output
from kit.environment import environment


class Items:
    """A store that has items only."""

    def __init__(self):
        self.found = []

    def add(self, count):
        for _ in range(count):
            number = len(self.found) + 1
            data = {"n": number}
            self.found.append(
                StoredItem(
                    type="item",
                    key=str(number),
                    data=data,
                    url="",
                    first_seen=0,
                    last_seen=0,
                    changed_at=0,
                    id=number,
                )
            )

    async def read_items(self, job=None, after_id=0, which=None):
        for item in self.found:
            if item.id > after_id:
                yield item


def job(name="shop-1"):
    return Job(id=name, name="shop", target="shop", created_at=0.0)


def numbers(path):
    return [json.loads(row)["n"] for row in path.read_text().splitlines()]


async def test_a_resumed_job_appends_only_what_the_file_lacks(tmp_path):
    store, data = Items(), tmp_path / "data"
    file = check_output(str(tmp_path / "out.jsonl"), append=True)
    store.add(2)
    assert await write_export(file, store, job(), data) == 2
    store.add(3)
    assert await write_export(file, store, job(), data) == 3
    assert await write_export(file, store, job(), data) == 0
    assert numbers(file.path) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
async def test_a_format_that_cannot_be_continued_is_written_anew_for_the_same_job_only(tmp_path, suffix):
    store, data = Items(), tmp_path / "data"
    file = check_output(str(tmp_path / f"out.{suffix}"), append=True)
    for count in (2, 3):
        store.add(count)
        check_at_start([file], str(data), None, fresh=False)
        check_continuation(file, job(), data)
        await write_export(file, store, job(), data)
    assert await write_export(file, store, job(), data) == 5
    before = file.path.read_bytes()
    for refused in (
        lambda: check_continuation(file, job("shop-2"), data),
        lambda: check_at_start([file], str(data), None, fresh=True),
        lambda: check_at_start([file], str(tmp_path / "other"), None, fresh=False),
    ):
        with pytest.raises(UsageError, match="cannot be continued: -O replaces it"):
            refused()
    with pytest.raises(UsageError, match="cannot be continued"):
        await write_export(file, store, job("shop-2"), data)
    assert file.path.read_bytes() == before


def test_the_settings_are_not_loaded_for_a_file_that_grows(tmp_path, monkeypatch):
    """The crawl loads them anyway, and each time takes as long as the rest of the checks."""
    monkeypatch.setattr("gossamer.cli.terminal.exports.settings_of", None)
    for append in (True, False):
        file = check_output(str(tmp_path / "out.jsonl"), append=append)
        assert check_at_start([file], None, None, fresh=False) == (file,)


def test_what_a_bucket_cannot_do_is_said_before_the_crawl():
    with pytest.raises(UsageError, match="-O writes all items of the job"):
        check_output("s3://bucket/x.csv", append=True)
    assert check_output("s3://bucket/x.csv.gz", append=False).compression == "gzip"
    with pytest.raises(UsageError, match="not to http:// places"):
        check_output("http://bucket/x.csv", append=False)
    with pytest.raises(UsageError, match="compressed as they are"):
        check_output("x.parquet.gz", append=False)


@pytest.mark.long
@given(st.sets(st.integers(1, 30)), st.sets(st.integers(1, 30)), st.sets(st.integers(1, 30)))
async def test_items_seen_later_may_have_lower_ids(first, second, third):
    """Another job stored them first; whatever the order, each is appended once."""
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        file = check_output(str(data / "out.jsonl"), append=True)
        everything, seen = Items(), set()
        everything.add(30)
        for more in (first, second, third):
            seen |= more
            store = Items()
            store.found = [item for item in everything.found if item.id in seen]
            await write_export(file, store, job(), data)
        assert sorted(numbers(file.path)) == sorted(seen)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from gossamer.cli.terminal.exports import check_output
from gossamer.core.jobs import Job, StoredItem
from gossamer.queries.export_files import write_export

folder, point, when, append, count = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] == "-o", 5
rename, renamed = Path.replace, 0


class Items:
    async def read_items(self, job, which):
        for n in range(1, count + 1):
            yield StoredItem(
                id=n, type="item", key=str(n), data={"n": n}, url="", first_seen=0, last_seen=0, changed_at=0
            )


def killed(self, target):
    global renamed
    renamed += 1
    if renamed == point and when == "before":
        os._exit(9)
    rename(self, target)
    if renamed == point:
        os._exit(9)


Path.replace = killed
job = Job(id="shop-1", name="shop", target="shop", created_at=0.0)
file = check_output(str(folder / "out.jsonl"), append=append)
asyncio.run(write_export(file, Items(), job, folder / "data"))
"""


@pytest.mark.slow
@pytest.mark.parametrize("option", ["-o", "-O"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", [1, 2, 3])
async def test_a_kill_at_any_point_leaves_each_item_once(tmp_path, point, when, option):
    """Before or after each of the renames of an export: announced, the file itself, noted as done."""
    store, data = Items(), tmp_path / "data"
    file = check_output(str(tmp_path / "out.jsonl"), append=True)
    store.add(3)
    await write_export(file, store, job(), data)
    command = [sys.executable, "-c", KILLED, tmp_path, str(point), when, option]
    ended = await asyncio.to_thread(
        subprocess.run, command, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 9, ended.stderr
    store.add(4)
    for _ in range(2):
        await write_export(file, store, job(), data)
    assert sorted(numbers(file.path)) == [1, 2, 3, 4, 5, 6, 7]


async def test_another_job_another_file_or_a_lost_file_gets_everything(tmp_path):
    store, data = Items(), tmp_path / "data"
    store.add(2)
    file = check_output(str(tmp_path / "out.jsonl"), append=True)
    await write_export(file, store, job(), data)
    await write_export(file, store, job("shop-2"), data)
    assert numbers(file.path) == [1, 2, 1, 2]
    other = check_output(str(tmp_path / "other.jsonl"), append=True)
    await write_export(other, store, job("shop-2"), data)
    assert numbers(other.path) == [1, 2]
    other.path.unlink()
    await write_export(other, store, job("shop-2"), data)
    assert numbers(other.path) == [1, 2]


async def test_overwriting_has_the_whole_job_each_time(tmp_path):
    store, data = Items(), tmp_path / "data"
    store.add(2)
    file = check_output(str(tmp_path / "out.jsonl"), append=False)
    for _ in range(2):
        await write_export(file, store, job(), data)
    assert numbers(file.path) == [1, 2]


@pytest.mark.parametrize("mark", ["", "[]", '{"job": "shop-1"}', "null"])
async def test_a_spoilt_mark_means_everything(tmp_path, mark):
    store, data = Items(), tmp_path / "data"
    store.add(2)
    file = check_output(str(tmp_path / "out.jsonl"), append=True)
    await write_export(file, store, job(), data)
    (found,) = (data / "exports").iterdir()
    found.write_text(mark)
    assert await write_export(file, store, job(), data) == 2


def test_files_are_checked_before_the_crawl(tmp_path):
    found = files_from_options(append=[str(tmp_path / "new" / "a.csv")], overwrite=[str(tmp_path / "b.XML")])
    assert [(output.format, output.append) for output in found] == [("csv", True), ("xml", False)]
    assert (tmp_path / "new").is_dir()
    (tmp_path / "file").write_text("")
    (tmp_path / "dir.csv").mkdir()
    for name, message in (
        ("x", "no suffix"),
        ("dir.csv", "is a folder"),
        ("file/x.csv", "cannot be created"),
    ):
        with pytest.raises(UsageError, match=message):
            check_output(str(tmp_path / name), append=True)


@pytest.mark.parametrize("name", ["gs://b/x", "file:///tmp/x.csv", "HTTP://h/x.json"])
def test_other_places_than_files_are_refused_and_nothing_is_made(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for options in ({"append": [name], "overwrite": None}, {"append": None, "overwrite": [name]}):
        with pytest.raises(UsageError, match=r"files of this machine and to s3://BUCKET/NAME, not to \w+://"):
            files_from_options(**options)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_continued_is_found_before_the_crawl(tmp_path):
    for name, old in (("a.csv", "a;b\n"), ("a.json", "{}"), ("a.xml", "<a/>")):
        path = tmp_path / name
        path.write_text(old)
        with pytest.raises(UsageError, match="choose another file"):
            check_output(str(path), append=True)
        check_output(str(path), append=False)


def test_a_file_is_named_once(tmp_path):
    name = str(tmp_path / "a.csv")
    with pytest.raises(UsageError, match=r"a\.csv is named twice"):
        files_from_options(append=[name], overwrite=[name])
    with pytest.raises(UsageError, match="stdout is named twice"):
        files_from_options(append=["-", "-"], overwrite=None)


# --------------------------------------------------------------------------- signals


class Crawl:
    def __init__(self):
        self.told = []

    def stop(self):
        self.told.append("stop")

    def abort(self):
        self.told.append("abort")


@pytest.fixture
def left(monkeypatch):
    """Instead of ending this process."""
    calls = []
    monkeypatch.setattr(signals, "end_process", lambda: calls.append("left"))
    return calls


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_the_first_drains_the_second_aborts_the_third_leaves(first, left, capsys):
    crawl = Crawl()
    before = signal.getsignal(first)
    with StopHandler(crawl) as stopper:
        os.kill(os.getpid(), first)
        await asyncio.sleep(0)
        assert (crawl.told, stopper.is_aborted) == (["stop"], False)
        assert stopper.status == "finishing the requests in flight; press Ctrl-C again to stop at once"
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
        assert (crawl.told, stopper.is_aborted) == (["stop", "abort"], True)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(0)
        assert left == ["left"]
    assert signal.getsignal(first) is before
    assert "finishing the requests in flight" in capsys.readouterr().err


async def test_a_crawl_that_does_not_end_is_ended(left, monkeypatch):
    monkeypatch.setattr(signals, "PATIENCE_S", 0.0)
    with StopHandler(Crawl()) as stopper:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)
        stopper._watchdog.join(5)
        assert left == ["left"]


async def test_two_types_are_two_files_or_none(tmp_path):
    """Names of other scripts and signs were all one: of two types in one file the last one stayed."""

    class Backends:
        settings = Settings(data=str(tmp_path / "data"))
        types = ("Товар", "Цена")

        def __init__(self):
            self.store = self.items = self

        async def list_types(self, job):
            return list(self.types)

        async def read_items(self, job=None, after_id=0, which=None):
            place = self.types.index(which.type) + 1
            if place > after_id:
                more = {"url": "", "first_seen": 0, "last_seen": 0, "changed_at": 0}
                yield StoredItem(id=place, type=which.type, key="1", data={"type": which.type}, **more)

    backends = Backends()
    file = check_output(str(tmp_path / "{type}.jsonl"), append=False)
    await write_output(file, backends, job(), sys.stdout)
    for name in backends.types:
        assert json.loads((tmp_path / f"{name}.jsonl").read_text()) == {"type": name}
    backends.types = ("Product@source", "Product_source")
    with pytest.raises(UsageError, match="two types of items would be one file"):
        await write_output(file, backends, job(), sys.stdout)
