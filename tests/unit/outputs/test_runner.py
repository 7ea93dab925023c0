"""Outputs beside a crawl: whatever is killed or slow, each has every item once."""

import asyncio
import gzip
import json
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from gossamer.config.settings import Settings
from gossamer.core.changes import OutputPosition
from gossamer.core.errors import JobBusyError, StorageError
from gossamer.core.jobs import Job
from gossamer.drivers.sqlite.database import Database
from gossamer.outputs import runner as module
from gossamer.outputs.file import FileOutput
from gossamer.outputs.objects import ObjectOutput
from gossamer.outputs.runner import OutputDuty, OutputPlan, OutputRunner, write_next
from gossamer.store.sqlite.changes import SqliteChangeFeed
from gossamer.store.sqlite.store import SqliteStore
from gossamer.testing.contracts.store_harness import make_item, make_visit_result
from gossamer.wiring.blobs import open_blobs

JOB = Job(id="shop-1", name="shop", target="t", created_at=0.0)


@dataclass
class Place:
    feed: Any
    store: Any
    path: Any

    async def see(self, at, *numbers, kind="Product", value=0):
        data = b'{"n":%d}' % value
        items = [make_item(f"{number:03}", data, kind) for number in numbers]
        await self.store.write(JOB, [make_visit_result(*items, at=at)])

    def lines(self):
        text = self.path.read_text() if self.path.exists() else ""
        return [(line["key"], line["data"]["n"]) for line in map(json.loads, text.splitlines())]

    def plan(self, name="lines", **more):
        make = {"open": lambda: FileOutput(self.path), "lock": nullcontext, "batch": 4, **more}
        return OutputPlan(name=name, **make)


@pytest.fixture
def place(tmp_path):
    with closing(Database(tmp_path / "x.db")) as db:
        yield Place(SqliteChangeFeed(db), SqliteStore(db, follows_changes=True), tmp_path / "items.jsonl")


class KilledError(BaseException):
    """The process is gone."""


class Mortal:
    """Passes on every call, and dies before or in the middle of the n-th."""

    def __init__(self, inner, life):
        self.inner, self.life = inner, life

    def __getattr__(self, name):
        call = getattr(self.inner, name)

        async def mortal(*arguments):
            self.life[0] -= 1
            if self.life[0] == 0:
                raise KilledError
            if name == "write_batch" and self.life[0] == 1:  # dies while the bytes go out
                before = self.inner._path.read_bytes() if self.inner._path.exists() else b""
                await call(*arguments)
                written = self.inner._path.read_bytes()
                self.inner._path.write_bytes(written[: (len(before) + len(written)) // 2])
                raise KilledError
            return await call(*arguments)

        return mortal


async def until(is_so):
    """Let the tasks run until it is so."""
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110 - what others write to a file tells nobody
            await asyncio.sleep(0)


async def write_rest(feed, plan, output):
    while await write_next(feed, plan, output):
        pass


async def test_a_kill_at_any_point_leaves_every_item_there_once(place):
    await place.see(1.0, *range(11))
    before = [(f"{number:03}", 0) for number in range(11)]
    await place.feed.save_position("later", OutputPosition(), None)  # keeps the changes for the next round
    for death in range(1, 40):
        life = [death]
        plan = place.plan(f"output-{death}", batch=3)
        place.path.unlink(missing_ok=True)
        with suppress(KilledError):
            await write_rest(Mortal(place.feed, life), plan, Mortal(FileOutput(place.path), life))
        await write_rest(place.feed, plan, FileOutput(place.path))
        assert place.lines() == before, death


async def test_a_kill_between_an_upload_and_its_note_leaves_each_change_in_one_object(place, s3_url):
    """A bug it would catch: a batch that is uploaded again gets another name, or another end."""
    await place.see(1.0, *range(11))
    url = f"{s3_url}/items/"
    plan = place.plan(open=lambda: ObjectOutput(open_blobs(url, Settings()), "lines"), batch=4)
    for number in range(2):
        # Positions are read, then changes; the first one notes the plan; what was uploaded is never noted.
        with pytest.raises(KilledError):
            await write_rest(Mortal(place.feed, [4 - number]), plan, plan.open())
        await place.see(2.0 + number, 20 + number)
    await write_rest(place.feed, plan, plan.open())
    blobs = open_blobs(url, Settings())
    objects = [
        [json.loads(line)["key"] for line in gzip.decompress(await blobs.read_range(blob.name)).splitlines()]
        async for blob in blobs.list_blobs("")
    ]
    await blobs.close()
    assert [len(keys) for keys in objects] == [4, 4, 4, 1]
    assert [key for keys in objects for key in keys] == [f"{number:03}" for number in (*range(11), 20, 21)]


async def test_what_changes_between_a_kill_and_the_repeat_is_there_with_its_last_value(place):
    await place.see(1.0, 1, 2, 3)
    plan = place.plan()
    with pytest.raises(KilledError):
        await write_next(Mortal(place.feed, [4]), plan, FileOutput(place.path))  # written, and not noted
    assert len(place.lines()) == 3
    await place.see(2.0, 2, value=7)
    await write_rest(place.feed, plan, FileOutput(place.path))
    assert place.lines() == [("001", 0), ("003", 0), ("002", 7)]


async def test_an_output_has_the_types_that_it_is_for_and_the_feed_ends_when_all_have_it(place):
    await place.see(1.0, 1, 2)
    await place.see(1.0, 3, kind="Review")
    runner = OutputRunner(place.feed, [place.plan(types=frozenset({"Review"}))])
    await runner.start()
    assert await runner.end() == []
    assert place.lines() == [("003", 0)]
    assert await place.feed.count_changes("", 9) == 0


async def test_a_slow_output_holds_up_neither_the_crawl_nor_another_one_and_loses_nothing(place, monkeypatch):
    monkeypatch.setattr(module, "POLL_S", 0.001)
    turn = asyncio.Event()

    class Slow(FileOutput):
        async def write_batch(self, name, items, state):
            await turn.wait()
            return await super().write_batch(name, items, state)

    slow_path = place.path.with_name("slow.jsonl")
    plans = [place.plan(), place.plan("slow", open=lambda: Slow(slow_path), drain_s=0.0)]
    runner = OutputRunner(place.feed, plans)
    await runner.start()
    for at in range(10):
        await place.see(float(at), *range(at * 3, at * 3 + 3))
    await until(lambda: len(place.lines()) == 30)  # the other one gets everything meanwhile
    assert not slow_path.exists()
    assert await runner.end() == ["slow"]
    assert await place.feed.count_changes("", 99) == 30  # kept for it
    turn.set()
    again = OutputRunner(place.feed, [place.plan("slow", open=lambda: Slow(slow_path))])
    await again.start()
    assert await again.end() == []
    assert len(slow_path.read_text().splitlines()) == 30
    assert await place.feed.count_changes("", 99) == 0


async def test_an_output_that_is_away_is_tried_again_and_said(place, monkeypatch, caplog):
    monkeypatch.setattr(module, "RESTS_S", (0.001, 0.001))
    tries = []

    class Away(FileOutput):
        async def write_batch(self, name, items, state):
            tries.append(name)
            if len(tries) < 3:
                raise StorageError("the warehouse is closed")
            return await super().write_batch(name, items, state)

    await place.see(1.0, 1)
    runner = OutputRunner(place.feed, [place.plan(open=lambda: Away(place.path))])
    await runner.start()
    await until(place.lines)
    assert await runner.end() == []
    assert place.lines() == [("001", 0)]
    assert len(set(tries)) == 1
    assert "the output lines: the warehouse is closed" in caplog.text


async def test_an_output_that_another_process_writes_is_left_to_it_until_it_ends(place, monkeypatch):
    monkeypatch.setattr(module, "POLL_S", 0.001)
    holders = ["another"]

    def lock():
        if holders:
            raise JobBusyError("busy")
        return nullcontext()

    await place.see(1.0, 1)
    runner = OutputRunner(place.feed, [place.plan(lock=lock)])
    await runner.start()
    await asyncio.sleep(0)
    assert place.lines() == []
    holders.clear()
    assert await runner.end() == []
    assert place.lines() == [("001", 0)]


async def test_two_that_write_one_output_at_once_are_told(place):
    await place.see(1.0, 1)
    plan = place.plan()

    class Overtaken(FileOutput):
        async def write_batch(self, name, items, state):
            await write_next(place.feed, plan, FileOutput(self._path))
            return await super().write_batch(name, items, state)

    with pytest.raises(StorageError, match="another process writes the output lines"):
        await write_next(place.feed, plan, Overtaken(place.path))
    assert place.lines() == [("001", 0)]


async def test_a_fleet_writes_its_outputs_as_duties(place):
    await place.see(1.0, *range(9))
    duty = OutputDuty(place.feed, place.plan())
    for _ in range(2):
        await duty.run(5.0)
    assert len(place.lines()) == 9
    assert duty.name == "output lines"
