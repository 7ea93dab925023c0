"""The contract of a file store, as named checks.

Use: ``await check_file_store(make)``, or one by one from ``FILE_STORE_CHECKS``; ``make(clock)`` is an async
context manager that gives a ``FileStore`` with nothing in it.
"""

from __future__ import annotations

from msgspec.structs import replace

from gossamer.core.files import StoredFile
from gossamer.ports.file_store import FileStore
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["FILE_STORE_CHECKS", "check_file_store"]

FILE_STORE_CHECKS: ContractSuite[FileStore] = ContractSuite()
"""The checks by name."""
ONE = StoredFile(
    job="shop-1",
    url="http://a.example/one.pdf?" + "é" * 1500,
    sha256="11" * 32,
    blob="11/11.pdf",
    size_bytes=3_000_000_000,
    type="application/pdf",
    thumbnails=("small", "big"),
    etag='W/"1"',
    modified="Tue, 15 Nov 1994 12:45:26 GMT",
    stored_at=1.5,
    last_seen=1.5,
)


async def check_file_store(make: Make[FileStore]) -> None:
    """Run every check against a fresh store each. Raises ``AssertionError`` for a broken promise."""
    await FILE_STORE_CHECKS.run(make)


@FILE_STORE_CHECKS.register
async def a_file_comes_back_as_it_was_saved(s: FileStore) -> None:
    """All that is known of it; a URL may be long."""
    await s.save_file(ONE)
    assert_equal(await s.find_file(ONE.url), ONE, "by its URL")
    assert_equal(await s.find_file("http://a.example/"), None, "another URL")
    assert_equal(await s.read_files(), [ONE], "among all")


@FILE_STORE_CHECKS.register
async def a_file_that_is_saved_again_keeps_its_first_time(s: FileStore) -> None:
    """As long as it is the same; another one in its place begins anew."""
    await s.save_file(ONE)
    await s.save_file(replace(ONE, etag="2", stored_at=5.0, last_seen=5.0))
    assert_equal(await s.read_files(), [replace(ONE, etag="2", last_seen=5.0)], "the same bytes")
    other = replace(ONE, sha256="22" * 32, stored_at=7.0, last_seen=7.0)
    await s.save_file(other)
    assert_equal(await s.read_files(), [other], "other bytes")


@FILE_STORE_CHECKS.register
async def files_are_read_job_by_job_and_part_by_part(s: FileStore) -> None:
    """Each once; a job whose id begins like another's is another one."""
    files = {
        (job, url): replace(ONE, job=job, url=url)
        for job in ("shop-1", "shop-10", "shop-2")
        for url in (f"http://a.example/{number}" for number in range(5))
    }
    for file in files.values():
        await s.save_file(file)
    for job, number in (("", 15), ("shop-1", 5), ("shop-10", 5), ("shop-3", 0)):
        found: list[StoredFile] = []
        after = ("", "")
        while part := await s.read_files(job, after, 2):
            assert_holds(len(part) <= 2, "no part is larger than asked for")
            found += part
            after = (part[-1].job, part[-1].url)
        assert_equal(len(found), number, f"files of {job or 'all'}")
        assert_equal(
            {(file.job, file.url) for file in found}, {key for key in files if job in ("", key[0])}, ""
        )


@FILE_STORE_CHECKS.register
async def the_file_that_was_seen_last_is_found(s: FileStore) -> None:
    """Whichever job it was."""
    for job, at in (("shop-1", 1.0), ("shop-2", 3.0), ("shop-3", 2.0)):
        await s.save_file(replace(ONE, job=job, etag=job, stored_at=at, last_seen=at))
    found = await s.find_file(ONE.url)
    assert_equal(found and found.job, "shop-2", "the last one")


@FILE_STORE_CHECKS.register
async def what_is_seen_is_not_forgotten(s: FileStore) -> None:
    """Seeing bytes is seeing one of the files that have them; the others go when their time has come."""
    same, other = replace(ONE, job="shop-2"), replace(ONE, job="shop-3", sha256="33" * 32)
    for file in (ONE, same, other):
        await s.save_file(file)
    assert_equal(await s.see_body("44" * 32, 9.0), None, "unknown bytes")
    seen = await s.see_body(ONE.sha256, 9.0)
    kept = ONE if seen and seen.job == ONE.job else same
    assert_equal(seen, replace(kept, last_seen=9.0), "as it is from now on")
    assert_equal(await s.forget_files(1.0), 0, "time has not come for any")
    both = {ONE.sha256, other.sha256}
    assert_equal(await s.select_named([*both, "44" * 32]), both, "what rows name")
    assert_equal(await s.forget_files(9.0), 2, "files that were not seen since")
    assert_equal(await s.read_files(), [replace(kept, last_seen=9.0)], "the one that was seen stays")
    assert_equal(await s.see_body(ONE.sha256, 4.0), replace(kept, last_seen=9.0), "time does not go back")
    assert_equal(await s.select_named(both), {ONE.sha256}, "what is left")
    assert_equal(await s.select_named([]), set(), "of none, none")
