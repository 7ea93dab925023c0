"""The contract of what writes an archive, as named checks.

Use: ``await check_archive_writer(make)``, or one by one from ``ARCHIVE_WRITER_CHECKS``; ``make(clock)`` is an
async context manager that gives an :class:`~gossamer.testing.contracts.archive_harness.ArchiveSubject`.
"""

from __future__ import annotations

import asyncio

from gossamer.core.archive import ArchiveLocation
from gossamer.core.requests import Request
from gossamer.testing.clock import EPOCH
from gossamer.testing.contracts.archive_harness import (
    JOB,
    PAGE,
    SITE,
    ArchiveSubject,
    make_answer,
    plain,
    sent_by_http,
)
from gossamer.testing.contracts.suite import ContractSuite, Make, assert_equal, assert_holds

__all__ = ["ARCHIVE_WRITER_CHECKS", "check_archive_writer"]

ARCHIVE_WRITER_CHECKS: ContractSuite[ArchiveSubject] = ContractSuite()
"""The checks by name."""


async def check_archive_writer(make: Make[ArchiveSubject]) -> None:
    """Run every check on a fresh archive each. Raises ``AssertionError`` for a broken promise."""
    await ARCHIVE_WRITER_CHECKS.run(make)


@ARCHIVE_WRITER_CHECKS.register
async def what_was_flushed_is_read_where_it_was_said_to_be(s: ArchiveSubject) -> None:
    """Each at its own place, before the file is finished and after."""
    places = await asyncio.gather(*(s.write(f"{SITE}/{n}", body=b"%d" % n * 1000) for n in range(40)))
    assert_equal(len({*places}), 40, "each has a place of its own")
    await s.settle()
    for _ in range(2):
        for number, place in enumerate(places):
            page = await s.reader.read_page(place)
            assert_equal(page.fetched.body, b"%d" % number * 1000, f"the body at {place}")
            assert_equal(page.entry.location, ArchiveLocation.from_text(place), "the entry says where it is")
        await s.writer.close()


@ARCHIVE_WRITER_CHECKS.register
async def what_is_queued_is_written_by_the_next_flush(s: ArchiveSubject) -> None:
    """Order is kept, also beside direct writes; a second flush writes nothing twice."""
    for number in range(5):
        url = f"{SITE}/{number}"
        s.writer.queue_exchange(Request(url), make_answer(url, b"%d" % number, at=EPOCH + number))
    await s.write(f"{SITE}/at-once", at=EPOCH + 9)
    s.writer.queue_exchange(Request(PAGE), make_answer(PAGE, b"last", at=EPOCH + 10))
    if s.is_shared_at_once:
        await s.writer.flush()
    await s.settle()
    found = [entry async for entry in s.reader.list_pages(JOB)]
    urls = [*(f"{SITE}/{number}" for number in range(5)), f"{SITE}/at-once", PAGE]
    assert_equal([entry.url for entry in found], urls, "all of them, once")
    page = await s.reader.read_page(found[3].location.text)
    assert_equal(page.fetched.body, b"3", "each as it was")


@ARCHIVE_WRITER_CHECKS.register
async def what_came_over_http_is_kept_as_it_came(s: ArchiveSubject) -> None:
    """Compressed bodies and the order of fields are kept; reading returns the fetched response."""
    fetched = sent_by_http()
    place = await s.writer.write_exchange(Request(PAGE), fetched)
    await s.settle()
    page = await s.reader.read_page(place)
    assert_equal(plain(page.fetched), plain(fetched), "what was fetched")
    assert_holds(
        fetched.raw is not None and page.fetched.wire_bytes == len(fetched.raw.body), "as it was sent"
    )


@ARCHIVE_WRITER_CHECKS.register
async def a_body_that_was_there_before_is_given_back_all_the_same(s: ArchiveSubject) -> None:
    """Whether the page is the same or another one; a body without an equal is not a revisit."""
    body = b"the same on every page" * 100
    urls = [PAGE, PAGE, f"{SITE}/other", f"{SITE}/third"]
    bodies = [body, body, body, b"another"]
    places = [await s.write(url, body=own) for url, own in zip(urls, bodies, strict=True)]
    await s.settle()
    pages = [await s.reader.read_page(place) for place in places]
    assert_equal([page.fetched.body for page in pages], bodies, "each its body")
    assert_equal([page.entry.url for page in pages], urls, "each its URL")
    assert_holds(not pages[0].entry.is_revisit and not pages[3].entry.is_revisit, "these are new")


@ARCHIVE_WRITER_CHECKS.register
async def a_worker_never_writes_into_the_files_of_another(s: ArchiveSubject) -> None:
    """Side by side for one job, and for another one."""
    others = [s.make_writer(JOB), s.make_writer("blog-1-0123456789ab")]
    writers = [s.writer, *others]
    answers = [make_answer(f"{SITE}/{number}", b"%d" % number) for number in range(3)]
    places = [await w.write_exchange(Request(a.url), a) for w, a in zip(writers, answers, strict=True)]
    for writer in writers:
        await writer.close()
    files = [ArchiveLocation.from_text(place).file for place in places]
    assert_equal(len({*files}), 3, "files of their own")
    assert_equal([file.partition("/")[0] for file in files], [JOB, JOB, "blog-1-0123456789ab"], "by job")
    bodies = [(await s.reader.read_page(place)).fetched.body for place in places]
    assert_equal(bodies, [b"0", b"1", b"2"], "each its own records")


@ARCHIVE_WRITER_CHECKS.register
async def it_is_closed_twice_and_without_anything_to_write(s: ArchiveSubject) -> None:
    """Closing may be repeated; a worker that has fetched nothing leaves nothing."""
    await s.writer.flush()
    await s.writer.close()
    await s.writer.close()
    assert_equal([entry async for entry in s.reader.list_pages(JOB)], [], "nothing is there")
