"""Versions of a job: names are given once, and what was not finished does not stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.core.errors import UsageError
from gossamer.core.jobs import Job
from gossamer.core.result_versions import ResultVersion, VersionState
from gossamer.crawl.versions import VersionFolder, find_version
from gossamer.store.memory.result_versions import MemoryResultVersions

JOB = Job(id="shop-1", name="shop", target="shop", created_at=1.0, key=b"k")


def folder_in(data: Path) -> VersionFolder:
    return VersionFolder(str(data), JOB)


def test_a_number_is_never_given_twice(tmp_path: Path) -> None:
    first, lock = folder_in(tmp_path).create_version([])
    lock.release()
    second, lock = folder_in(tmp_path).create_version([first])
    lock.release()
    folder_in(tmp_path).delete_version(second)
    folder_in(tmp_path).delete_version(second)  # again, as after a kill
    third, lock = folder_in(tmp_path).create_version([first, second])
    lock.release()
    assert [first, second, third] == ["shop-1-r1", "shop-1-r2", "shop-1-r3"]
    assert folder_in(tmp_path).path_of(first).is_dir()


def test_what_a_killed_replay_left_is_deleted_and_what_one_works_on_is_not(tmp_path: Path) -> None:
    killed, lock = folder_in(tmp_path).create_version([])
    lock.release()  # as the system does for a dead process
    other = VersionFolder(
        str(tmp_path), Job(id="shop-1", name="shop", target="shop", created_at=1.0, key=b"o")
    )
    others, lock = other.create_version([])
    lock.release()
    mine, mine_lock = folder_in(tmp_path).create_version([])
    assert not folder_in(tmp_path).path_of(killed).exists()
    assert other.path_of(others).exists(), "the job of another store, although its id is the same"
    beside, beside_lock = folder_in(tmp_path).create_version([])
    assert mine != beside
    assert folder_in(tmp_path).path_of(mine).is_dir()
    mine_lock.release()
    beside_lock.release()


async def test_a_version_is_found_by_its_name_or_its_number() -> None:
    versions = MemoryResultVersions()
    for number, state in enumerate(VersionState, 1):
        await versions.save_version(
            ResultVersion(job=f"shop-1-r{number}", base="shop-1", state=state, created_at=float(number))
        )
    for name in ("shop-1-r2", "r2", "2"):
        assert (await find_version(versions, JOB, name)).job == "shop-1-r2"
    with pytest.raises(UsageError, match=r"no version '3'; there are: .*shop-1-r1 \(new\)"):
        await find_version(versions, JOB, "3")  # it is discarded
    with pytest.raises(UsageError, match="`gossamer replay shop-9` makes one"):
        await find_version(versions, Job(id="shop-9", name="shop", target="", created_at=1.0), "1")
