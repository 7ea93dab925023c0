"""One process per crawl."""

import os
import subprocess
import sys

import pytest

from gossamer.core.errors import JobBusyError, StorageError
from gossamer.runtime.file_lock import JobLock


def test_the_second_is_told_who_has_it(tmp_path):
    with JobLock(tmp_path / "data", "shop-1") as lock:
        with pytest.raises(
            JobBusyError, match=rf"shop-1 .* process {os.getpid()} \(.*shop-1\.lock\); wait for it"
        ):
            JobLock(tmp_path / "data", "shop-1")
        JobLock(tmp_path / "data", "shop-2").release()
        lock.release()
        lock.release()
        JobLock(tmp_path / "data", "shop-1").release()


def test_a_dead_process_keeps_nothing(tmp_path):
    code = (
        "import os, sys; from gossamer.runtime.file_lock import JobLock\n"
        f"lock = JobLock({str(tmp_path)!r}, 'shop-1'); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(JobBusyError, match=f"process {child.pid} "):
            JobLock(tmp_path, "shop-1")
        child.kill()
        child.wait(10)
    JobLock(tmp_path, "shop-1").release()


def test_a_place_where_no_lock_can_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="lock file cannot be created"):
        JobLock(tmp_path / "file", "x")
