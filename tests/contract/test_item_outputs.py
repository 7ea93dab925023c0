"""Every output of items keeps every promise of its contract."""

import fcntl
import gzip
import json
import sqlite3
from contextlib import asynccontextmanager, closing

import pytest

from gossamer.blobs.folder import FolderBlobStore
from gossamer.core.errors import StorageError
from gossamer.outputs.file import FileOutput
from gossamer.outputs.objects import ObjectOutput
from gossamer.store.postgres.output import PostgresOutput
from gossamer.store.sqlite.output import SqliteOutput
from gossamer.testing.contracts.item_output import (
    FOUR,
    ITEM_OUTPUT_CHECKS,
    NAMES,
    ONE,
    TWO,
    OutputSubject,
    check_item_output,
)
from kit.servers import on_servers


def lines_of(data):
    return [(line["key"], line["data"]) for line in map(json.loads, data.splitlines())]


def file_in(folder, kind=FileOutput):
    @asynccontextmanager
    async def make(_clock):
        path = folder / "items.jsonl"
        path.unlink(missing_ok=True)

        async def read():
            return lines_of(path.read_bytes())

        yield OutputSubject(lambda: kind(path), read)

    return make


def objects_in(folder):
    @asynccontextmanager
    async def make(_clock):
        async def read():
            files = sorted(folder.glob("*.jsonl.gz"))
            return [pair for file in files for pair in lines_of(gzip.decompress(file.read_bytes()))]

        yield OutputSubject(lambda: ObjectOutput(FolderBlobStore(folder), "warehouse"), read)

    return make


def sqlite_in(folder):
    @asynccontextmanager
    async def make(_clock):
        async def read():
            with closing(sqlite3.connect(folder / "items.db")) as conn:
                rows = conn.execute("SELECT key, data FROM item ORDER BY key").fetchall()
            return [(key, json.loads(data)) for key, data in rows]

        yield OutputSubject(lambda: SqliteOutput(folder / "items.db"), read)

    return make


def postgres_at(url):
    @asynccontextmanager
    async def make(_clock):
        async def read():
            output = PostgresOutput(url)
            rows = await output._server.run(
                lambda conn: conn.fetch("SELECT key, data FROM item ORDER BY key")
            )
            await output.close()
            return [(key, json.loads(data)) for key, data in rows]

        yield OutputSubject(lambda: PostgresOutput(url), read)

    return make


@pytest.fixture(params=["file", "objects", "sqlite", *on_servers("postgres")])
def make(request, tmp_path):
    if request.param == "postgres":
        return postgres_at(request.getfixturevalue("postgres_url"))
    return {"file": file_in, "objects": objects_in, "sqlite": sqlite_in}[request.param](tmp_path)


@pytest.mark.parametrize("name", ITEM_OUTPUT_CHECKS)
async def test_contract(make, name):
    await ITEM_OUTPUT_CHECKS[name](make)


async def test_the_suite_runs_every_check(tmp_path):
    await check_item_output(file_in(tmp_path))
    assert len(ITEM_OUTPUT_CHECKS) >= 3


async def test_the_suite_catches_a_file_that_is_only_appended_to(tmp_path):
    class Careless(FileOutput):
        def _append(self, lines, planned):
            with self._path.open("ab") as file:
                file.writelines(lines)

    with pytest.raises(AssertionError, match="each once"):
        await ITEM_OUTPUT_CHECKS["a_batch_that_is_written_again_is_there_once"](file_in(tmp_path, Careless))


async def test_a_line_that_a_kill_has_cut_is_cut_off_and_what_was_there_before_stays(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(b'{"mine":1}\n')
    output = FileOutput(path)
    state = await output.read_state(b"", [ONE, TWO])
    whole = await output.write_batch(NAMES[0], [ONE, TWO], state)
    written = path.read_bytes()
    for size in (11, 12, 40, len(written) - 1):
        path.write_bytes(written[:size])
        assert await output.write_batch(NAMES[0], [ONE, TWO], state) == whole
        assert path.read_bytes() == written


async def test_what_others_append_to_a_cut_batch_stays_and_what_is_missing_of_it_follows(tmp_path):
    path = tmp_path / "items.jsonl"
    mine, theirs = FileOutput(path), FileOutput(path)
    state = await mine.read_state(b"", [ONE, TWO])
    await mine.write_batch(NAMES[0], [ONE, TWO], state)
    whole = path.read_bytes()
    for size in (len(whole) - 3, len(whole) - 1, whole.index(b"\n") + 1):
        path.write_bytes(whole[:size])  # the process was killed
        await theirs.write_batch(NAMES[0], [FOUR], await theirs.read_state(b"", [FOUR]))
        await mine.write_batch(NAMES[0], [ONE, TWO], state)
        assert sorted(key for key, _ in lines_of(path.read_bytes())) == ["1", "2", "4"], size
    path.write_text('{"mine":1}')  # whose last line somebody has not ended
    await theirs.write_batch(NAMES[1], [FOUR], await theirs.read_state(b"", [FOUR]))
    assert path.read_bytes().startswith(b'{"mine":1}\n{"spider"')


async def test_a_file_that_was_moved_away_begins_anew_also_after_a_kill(tmp_path):
    path = tmp_path / "items.jsonl"
    output = FileOutput(path)
    state = await output.write_batch(NAMES[0], [ONE, TWO], await output.read_state(b"", [ONE, TWO]))
    path.rename(tmp_path / "yesterday.jsonl")
    state = await output.read_state(state, [ONE])
    for _ in range(2):
        await output.write_batch(NAMES[1], [ONE], state)
    assert lines_of(path.read_bytes()) == [(ONE.key, ONE.data)]


async def test_a_file_that_a_stopped_process_keeps_locked_is_waited_for_no_longer_than_it_may(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("gossamer.outputs.file.LOCK_S", 0.0)
    path = tmp_path / "items.jsonl"
    output = FileOutput(path)
    state = await output.read_state(b"", [ONE])
    with path.open("ab") as stopped:
        fcntl.flock(stopped, fcntl.LOCK_EX)
        with pytest.raises(
            StorageError, match=r"items\.jsonl cannot be written \(another process keeps it locked\)"
        ):
            await output.write_batch(NAMES[0], [ONE], state)
    await output.write_batch(NAMES[0], [ONE], state)
    assert lines_of(path.read_bytes()) == [(ONE.key, ONE.data)]
