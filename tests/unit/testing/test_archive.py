"""The archive in memory behaves as one of files: what is not flushed is not there."""

from __future__ import annotations

import pytest

from gossamer.core.errors import BlobMissingError
from gossamer.core.requests import Request
from gossamer.core.results import FetchResult
from gossamer.testing.archive import MemoryArchive

URL = "http://shop.test/1"


def answer(status: int, body: bytes, at: float) -> FetchResult:
    return FetchResult(
        url=URL,
        status=status,
        headers=(("content-type", "text/html; charset=utf-8"), ("set-cookie", "session=secret")),
        body=body,
        started_at=at,
        latency_s=0.1,
        elapsed_s=0.2,
        rung="http",
        flags=("truncated",),
    )


async def test_what_was_flushed_is_found_and_read_without_credentials() -> None:
    archive = MemoryArchive()
    writer = archive.open_writer("shop-1-abc")
    place = await writer.write_exchange(Request(URL), answer(200, b"<p>", 5.0))
    assert await archive.find_page("shop-1-abc", URL) is None
    with pytest.raises(BlobMissingError):
        await archive.read_page(place)
    await writer.close()
    entry = await archive.find_page("shop-1-abc", URL)
    assert entry is not None
    assert (entry.location.text, entry.at) == (place, 5.0)
    page = await archive.read_page(place)
    assert page.entry == entry
    assert (page.fetched.body, page.fetched.flags, page.fetched.rung) == (b"<p>", ("truncated",), "archive")
    assert page.fetched.header("set-cookie") == "-"
    assert await archive.find_page("shop-2-abc", URL) is None, "another job's pages are not this one's"
    assert await archive.find_page("shop-1-abc", URL, "POST", b"x") is None


async def test_the_list_has_the_latest_good_answer_and_the_search_the_latest() -> None:
    archive = MemoryArchive()
    writer = archive.open_writer("shop-1-abc")
    for status, body, at in [(200, b"one", 1.0), (200, b"two", 2.0), (503, b"later", 3.0)]:
        await writer.write_exchange(Request(URL), answer(status, body, at))
    await writer.flush()
    assert [entry.at async for entry in archive.list_pages("shop-1-abc")] == [2.0]
    found = await archive.find_page("shop-1-abc", URL)
    assert found is not None
    assert found.status == 503
