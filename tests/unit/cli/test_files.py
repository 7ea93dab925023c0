"""The files that crawls have saved, as they are listed: however many there are."""

import asyncio
import json
from contextlib import closing

import pytest

from gossamer.cli.terminal.output import print_json_rows
from gossamer.core.files import StoredFile
from gossamer.drivers.sqlite.database import Database
from gossamer.store.sqlite.files import SqliteFileStore
from kit.command_line import asked, gossamer


def make_file(number, job="shop-1"):
    return StoredFile(
        job=job, url=f"http://a.example/{number}", sha256=f"{number:064x}", blob=f"{number}.bin",
        size_bytes=1, stored_at=float(number), last_seen=float(number),
    )  # fmt: skip


async def test_rows_are_written_as_they_are_read(capsys):
    """All files of all crawls were held before the first was written."""
    written = []

    async def read_rows(count):
        for number in range(count):
            yield {"n": number}
            written.append(capsys.readouterr().out)

    await print_json_rows(read_rows(3))
    assert written == ['[{"n": 0}', ',{"n": 1}', ',{"n": 2}']
    assert capsys.readouterr().out == "]\n"
    await print_json_rows(read_rows(0))
    assert capsys.readouterr().out == "[]\n"


async def fill(folder):
    (folder / ".gossamer").mkdir()
    with closing(Database(folder / ".gossamer" / "gossamer.db")) as db:
        for number in range(12):
            await SqliteFileStore(db).save_file(make_file(number, f"shop-{number % 2}"))


@pytest.mark.slow
def test_the_newest_are_shown_and_programs_get_all(tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.queries.files.PART", 5)
    asyncio.run(fill(tmp_path))
    everything = asked("files list", cwd=tmp_path)
    assert sorted(file["url"] for file in everything) == sorted(make_file(n).url for n in range(12))
    some = asked("files list --limit 3", cwd=tmp_path)
    assert [file["url"] for file in some] == [make_file(n).url for n in (9, 10, 11)]
    assert json.loads(gossamer("files list -n 1 --json", cwd=tmp_path).stdout) == some[-1:]
    monkeypatch.setattr("gossamer.cli.commands.files.SHOWN", 2)
    shown = gossamer("files list", cwd=tmp_path).stdout.splitlines()[1:]
    assert [line.split()[-1] for line in shown] == ["http://a.example/10", "http://a.example/11"]
