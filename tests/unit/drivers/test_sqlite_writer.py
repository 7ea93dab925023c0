"""Who keeps a file locked is named, and is who it is."""

import os
import sqlite3
import subprocess
import sys

import pytest

from gossamer.core.errors import StorageError
from gossamer.drivers.sqlite.database import Database
from gossamer.drivers.sqlite.writer import writer_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc/locks")

HOLD = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], isolation_level=None)
conn.execute("begin immediate")
print("held", flush=True)
sys.stdin.read()
"""


def holding(path, **options):
    """A process that has begun to write."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )
    assert process.stdout.readline() == "held\n"
    return process


def ended(process):
    process.kill()
    process.wait(10)
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_the_writer_is_known_while_it_writes(tmp_path, mode):
    path = tmp_path / "x.db"
    conn = sqlite3.connect(path, isolation_level=None)
    conn.execute(f"pragma journal_mode = {mode}").fetchall()
    conn.execute("create table t (n)")
    assert writer_of(path) is None
    process = holding(path)
    assert writer_of(path) == process.pid
    ended(process)
    assert writer_of(path) is None
    conn.execute("begin immediate")
    assert writer_of(path) == os.getpid()
    conn.close()


def test_where_nobody_knows(tmp_path):
    assert writer_of(tmp_path / "x.db") is None
    assert writer_of(tmp_path / "x.db", locks=tmp_path / "none") is None


def test_who_only_waits_is_not_the_writer(tmp_path):
    path = tmp_path / "x.db"
    path.touch()
    inode = path.stat().st_ino
    locks = tmp_path / "locks"
    locks.write_text(
        f"1: POSIX  ADVISORY  READ 11 fe:00:{inode} 1073741826 1073742335\n"
        f"1: -> POSIX  ADVISORY  WRITE 12 fe:00:{inode} 1073741825 1073741825\n"
        f"2: FLOCK  ADVISORY  WRITE 13 fe:00:{inode} 0 EOF\n"
        f"3: POSIX  ADVISORY  WRITE 14 fe:00:{inode + 1} 0 EOF\n"
        f"4: POSIX  ADVISORY  WRITE 15 fe:00:{inode} 0 EOF\n"
    )
    assert writer_of(path, locks) == 15


@pytest.mark.parametrize("whose", ["of a crawl", "a stranger"])
def test_the_message_names_the_process_and_says_what_it_is(tmp_path, whose):
    database = Database(tmp_path / "x.db", busy_timeout_s=0.05)
    if whose == "of a crawl":
        process = holding(database.path)
        pid = process.pid
    else:
        # Its parent is not ours, and does not wait for it.
        code = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"
        process = subprocess.Popen(
            [sys.executable, "-c", code, sys.executable, "-c", HOLD, str(database.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "held\n"
        pid = writer_of(database.path)
    with pytest.raises(StorageError, match=f"process {pid} .*keeps the file locked") as caught:
        database.run_sync(lambda conn: conn.execute("create table t (n)"))
    text = str(caught.value)
    assert ("of a crawl" in text) == (whose == "of a crawl")
    assert ("stop it" in text) == (whose == "a stranger")
    process.stdin.close()
    process.wait(10)
    process.stdout.close()
    database.close()
